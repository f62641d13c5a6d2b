package archive

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// loading is an import under way.
type loading struct {
	service  *Service
	handle   *data.Handle
	stored   provision.Import // what is in the database
	progress progress         // after the frames that were read
	frames   *frame.Reader
	read     frame.Position // after the frames in batch

	kept  []int    // columns of the section that are stored; nil before they are known
	batch []byte   // rows that are not stored yet
	into  []column // of kept
}

func (l *loading) as() bool { return l.handle.Tenant() != l.progress.Header.TenantID }

// leavesOut reports whether the rows of a table are not stored.
func (l *loading) leavesOut(t table) bool {
	return t.credentials && (l.as() || l.progress.WithoutKeys) || t.ofName && l.as()
}

// section begins a section.
func (l *loading) section(ctx context.Context, content []byte) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	var next section
	if err := decode(content, &next, maxDescription); err != nil {
		return err
	}
	p := l.progress.clone()
	order, err := next.find()
	if err != nil {
		return l.located(err)
	}
	if tables[order].ofService && !p.Header.Asleep {
		return l.located(fault.New(fault.Invalid, "the archive has rows of %s, which mean nothing in another service", next.Table))
	}
	if err := follows(p, next, order); err != nil {
		return l.located(err)
	}
	p.Order, p.Section = order, next
	p.Rows[next.key()] = 0
	if next.LastID > 0 {
		p.LastID = next.LastID
	}
	l.read = l.frames.Position()
	return l.store(ctx, &p, func(tx *data.Tx) error {
		t := tables[order]
		if t.place == ofIndex {
			var err error
			if tx, err = index.MakeBare(ctx, tx, next.IndexID, t.name); err != nil {
				return err
			}
		}
		if t.place == own && t.name == "index_counts" { // triggers counted what was stored
			if _, err := tx.Exec(ctx, `DELETE FROM tenant.index_counts`); err != nil {
				return err
			}
		}
		return l.choose(ctx, tx, t, next)
	})
}

// follows returns an error if a section may not follow the present one: the sections have an order, in which those of an index
// are together.
func follows(p progress, next section, order int) error {
	if _, twice := p.Rows[next.key()]; twice {
		return fault.New(fault.Invalid, "the archive has %s twice", next.key())
	}
	place := func(order int, indexID int64) []int64 {
		if order >= 0 && tables[order].place == ofIndex {
			first := slices.IndexFunc(tables, func(t table) bool { return t.place == ofIndex })
			return []int64{int64(first), indexID, int64(order)}
		}
		return []int64{int64(order), 0, 0}
	}
	if slices.Compare(place(p.Order, p.Section.IndexID), place(order, next.IndexID)) >= 0 {
		return fault.New(fault.Invalid, "the archive has %s after %s", next.key(), p.Section.key())
	}
	return nil
}

// choose sets which columns of a section are stored.
func (l *loading) choose(ctx context.Context, tx *data.Tx, t table, s section) error {
	here, err := columnsOf(ctx, tx, t)
	if err != nil {
		return err
	}
	kept, err := s.kept(here)
	if err != nil {
		return err
	}
	l.kept, l.into = kept, nil
	for _, i := range kept {
		l.into = append(l.into, s.Columns[i])
	}
	return nil
}

// rows adds rows to the batch.
func (l *loading) rows(ctx context.Context, content []byte) error {
	if l.progress.Order < 0 {
		return l.located(fault.New(fault.Invalid, "it has rows before it says of what"))
	}
	n, err := countRows(content, len(l.progress.Section.Columns))
	if err != nil {
		return l.located(fault.New(fault.Invalid, "it has rows that cannot be read"))
	}
	if n > maxFrameRows {
		return l.located(fault.New(fault.Invalid, "it has %d rows in one frame, and may have %d", n, maxFrameRows))
	}
	if len(l.batch) > 0 && len(l.batch)+len(content) > batchBytes {
		if err := l.flush(ctx); err != nil {
			return err
		}
	}
	l.batch = append(l.batch, content...)
	l.progress.Rows[l.progress.Section.key()] += int64(n)
	if err := l.service.checkIndexes(l.progress); err != nil {
		return err
	}
	l.read = l.frames.Position()
	return nil
}

// located adds to an error about the content of a frame which frame it is.
func (l *loading) located(err error) error {
	return fault.Wrap(fault.Invalid, err, "the archive cannot be imported, at frame %d: %s", l.frames.Position().Frames-1, fault.Public(err))
}

// flushRead stores the rows that were read before an error, so that they need not be sent again.
func (l *loading) flushRead(ctx context.Context) {
	if ctx.Err() == nil {
		_ = l.flush(ctx) // the error that ended the import counts
	}
}

// flush stores the batch.
func (l *loading) flush(ctx context.Context) error {
	if len(l.batch) == 0 {
		return nil
	}
	if err := l.admit(ctx); err != nil {
		return err
	}
	p := l.progress.clone()
	t := tables[p.Order]
	return l.store(ctx, &p, func(tx *data.Tx) error {
		if t.place == ofIndex {
			i, err := index.ByID(ctx, tx, p.Section.IndexID)
			if err != nil {
				return err
			}
			tx = tx.OfIndex(i.ID, i.Generation)
		}
		if l.kept == nil { // the import was resumed
			if err := l.choose(ctx, tx, t, p.Section); err != nil {
				return err
			}
		}
		return l.write(ctx, tx, t, &p)
	})
}

// admit returns an error if the batch may not be stored. A tenant that wakes may have the bytes that it had. Errors: Exhausted.
func (l *loading) admit(ctx context.Context) error {
	if l.progress.Header.Asleep {
		return l.handle.Disk()
	}
	return l.handle.Admit(ctx, int64(len(l.batch)))
}

// write stores the rows of the batch.
func (l *loading) write(ctx context.Context, tx *data.Tx, t table, p *progress) error {
	rows := l.batch
	if len(l.kept) < len(p.Section.Columns) {
		rows = nil
		err := eachRow(l.batch, len(p.Section.Columns), func(row [][]byte) error {
			kept := make([][]byte, len(l.kept))
			for i, at := range l.kept {
				kept[i] = row[at]
			}
			rows = appendRow(rows, kept)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if t.place == own || t.place == ofIndex {
		return tx.CopyIn(ctx, t.relation(), names(l.into), asCopy(rows))
	}
	if l.leavesOut(t) {
		n, err := countRows(rows, len(l.into))
		p.LeftOut[t.String()] += int64(n)
		return err
	}
	return eachChunk(rows, len(l.into), func(values [][][]byte) error { return l.insert(ctx, tx, t, p, values) })
}

// insert stores rows of a table with rows of all tenants.
func (l *loading) insert(ctx context.Context, tx *data.Tx, t table, p *progress, values [][][]byte) error {
	if t.place == shared {
		return tx.Insert(ctx, t.relation(), names(l.into), values)
	}
	switch t.name {
	case "tenants":
		return p.readTenant(l.into, values)
	case "api_keys":
		if err := checkScopes(l.into, values); err != nil {
			return err
		}
	case "issuers":
		if err := l.service.checkIssuers(l.into, values, p.Rows[p.Section.key()]); err != nil {
			return err
		}
	}
	inserted, err := tx.InsertAsService(ctx, t.relation(), names(l.into), values)
	if missing := int64(len(values)) - inserted; missing > 0 {
		p.LeftOut[t.String()] += missing
	}
	return err
}

// store runs do in a transaction that also stores the progress, which do may change, and drops the batch.
func (l *loading) store(ctx context.Context, p *progress, do func(tx *data.Tx) error) error {
	return l.advance(ctx, p, func(tx *data.Tx) error {
		err := do(tx)
		if code := postgres.Code(err); strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23") || code == invalidBinary {
			return fault.Wrap(fault.Invalid, err, "the archive cannot be imported: the database refuses rows of %s, before frame %d", p.Section.key(), l.read.Frames)
		}
		return err
	})
}

// invalidBinary is the SQLSTATE of values whose binary form cannot be read.
const invalidBinary = "08P01"

// advance runs do in a transaction that then stores the progress.
func (l *loading) advance(ctx context.Context, p *progress, do func(tx *data.Tx) error) error {
	var next provision.Import
	err := l.handle.Tx(ctx, func(tx *data.Tx) error {
		// First, so that of two calls one waits for the other, and then fails.
		if err := provision.Advance(ctx, tx, l.stored, l.stored); err != nil {
			return err
		}
		if err := do(tx); err != nil {
			return err
		}
		var err error
		if next, err = p.at(l.read); err != nil {
			return err
		}
		return provision.Advance(ctx, tx, l.stored, next)
	})
	if err != nil {
		return err
	}
	next.TenantID = l.stored.TenantID
	l.stored, l.progress, l.batch = next, *p, l.batch[:0]
	return nil
}

// end completes the tenant after the last frame.
func (l *loading) end(ctx context.Context, content []byte) (Result, error) {
	if err := l.flush(ctx); err != nil {
		return Result{}, err
	}
	var has manifest
	if err := decode(content, &has, maxDescription+maxManifestEntry*len(l.progress.Rows)); err != nil {
		return Result{}, err
	}
	if !maps.Equal(has.Rows, l.progress.Rows) {
		return Result{}, l.located(fault.New(fault.Invalid, "it has other rows than it says"))
	}
	if _, err := l.frames.Next(); !errors.Is(err, io.EOF) { // nothing may follow
		return Result{}, err
	}
	// The last frame counts as stored only when the tenant is there: who was cut off sends it again.
	l.read = frame.Position{Frames: uint32(l.stored.Frames), Chain: frame.Sum(l.stored.Chain)}
	if err := l.complete(ctx); err != nil {
		return Result{}, err
	}
	return l.settle(ctx)
}

// complete creates the Postgres indexes of the indexes, each in a transaction.
func (l *loading) complete(ctx context.Context) error {
	var made []int64
	for key := range l.progress.Rows {
		if id, ok := strings.CutPrefix(key, string(ofIndex)+"/chunk/"); ok {
			made = append(made, atoi(id))
		}
	}
	indexes, err := data.Values[int64](ctx, l.handle, `SELECT i.index_id FROM tenant.indexes AS i ORDER BY i.index_id`)
	if err != nil {
		return err
	}
	slices.Sort(made)
	if !slices.Equal(made, indexes) {
		return fault.New(fault.Invalid, "the archive has the indexes %v, and the chunks of %v", indexes, made)
	}
	for _, id := range indexes {
		if slices.Contains(l.progress.Completed, id) {
			continue
		}
		p := l.progress.clone()
		p.Completed = append(p.Completed, id)
		if err := l.advance(ctx, &p, func(tx *data.Tx) error { return index.Complete(ctx, tx, id) }); err != nil {
			return err
		}
	}
	return nil
}

// settle ends the import: the tenant is there.
func (l *loading) settle(ctx context.Context) (Result, error) {
	p := l.progress
	result := Result{From: p.Header.TenantID, Rows: map[string]int64{}, LeftOut: p.LeftOut}
	err := l.handle.Tx(ctx, func(tx *data.Tx) error {
		if err := provision.Advance(ctx, tx, l.stored, l.stored); err != nil {
			return err
		}
		if err := index.SetLastID(ctx, tx, p.LastID); err != nil {
			return err
		}
		var err error
		if result.LostSecrets, err = l.service.config.Settle(ctx, tx, p.Header.TenantID); err != nil {
			return err
		}
		if err := tx.Script(ctx, `ANALYZE tenant.documents, tenant.document_contents, tenant.jobs, tenant.indexes, tenant.index_counts`); err != nil {
			return err
		}
		if p.Header.Asleep {
			return provision.EndWaking(ctx, tx)
		}
		if l.as() { // it is another tenant
			p.Imported.CreatedAt = nil
		}
		return provision.EndImport(ctx, tx, p.Imported)
	})
	if err != nil {
		return Result{}, err
	}
	for key, n := range p.Rows {
		parts := strings.Split(key, "/")
		name := parts[0] + "/" + parts[1]
		result.Rows[name] += n
	}
	for name, n := range p.LeftOut {
		result.Rows[name] -= n
	}
	l.service.config.Wake(l.handle.Tenant())
	result.Tenant, err = l.service.config.Tenants.Ready(ctx, l.handle.Tenant())
	return result, err
}
