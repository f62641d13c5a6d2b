package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

// Import says how to import an archive.
type Import struct {
	// Tenant is the name of the imported tenant. Empty for that in the archive.
	Tenant string
	// Database is the database in which the tenant lives from then on. Empty for the one that a new tenant gets, and to resume.
	Database string
	// WithoutKeys leaves out API keys and issuers, also under the name in the archive.
	WithoutKeys bool
	// Resume goes on with the import of Tenant, which is required then. The archive that is given begins
	// with the frame after the last that was stored, without a preamble.
	Resume bool
}

// Progress is how far an import is that has not ended.
type Progress struct {
	Tenant    tenant.ID
	From      tenant.ID // the name in the archive
	Frames    int64     // that are stored
	Rows      int64     // in these
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Result is what an import made.
type Result struct {
	Tenant tenant.Tenant
	From   tenant.ID        // the name in the archive
	Rows   map[string]int64 // stored, by table
	// LeftOut are rows of the archive that were not stored, by table: keys and usage under another
	// name, keys that were not wanted, and keys whose ids the service has already.
	LeftOut map[string]int64
	// LostSecrets are the names of secrets, such as secrets/crm, that no master key of the service opens.
	LostSecrets []string
}

// progress is the state of an import, which is stored with the rows.
type progress struct {
	Header      Header           `json:"header"`
	WithoutKeys bool             `json:"withoutKeys"`
	Order       int              `json:"order"` // of the present section in tables; -1 before the first
	Section     section          `json:"section"`
	Rows        map[string]int64 `json:"rows"` // read, by section
	LeftOut     map[string]int64 `json:"leftOut"`
	LastID      int64            `json:"lastId"` // of indexes
	Imported    tenant.Imported  `json:"imported"`
	Completed   []int64          `json:"completed"` // indexes with their Postgres indexes
}

func (p progress) clone() progress {
	p.Rows, p.LeftOut, p.Completed = maps.Clone(p.Rows), maps.Clone(p.LeftOut), slices.Clone(p.Completed)
	return p
}

// Importing returns the progress of the import of a tenant. Errors: Denied unless the caller is the operator; NotFound, also
// when it has ended.
func (s *Service) Importing(ctx context.Context, name string) (Progress, error) {
	at, err := s.config.Tenants.Importing(ctx, name)
	if err != nil {
		return Progress{}, err
	}
	p, err := read(at)
	var rows int64
	for _, n := range p.Rows {
		rows += n
	}
	return Progress{Tenant: at.TenantID, From: p.Header.TenantID, Frames: at.Frames, Rows: rows, CreatedAt: at.CreatedAt, UpdatedAt: at.UpdatedAt}, err
}

func read(at tenant.Import) (p progress, err error) {
	if err := json.Unmarshal(at.State, &p); err != nil {
		return p, fmt.Errorf("read the state of the import of %s: %w", at.TenantID, err)
	}
	return p, nil
}

// Import makes a tenant from an archive. What is stored when it fails stays, and Resume goes on with it; deleting
// the tenant gives it up. Errors: Denied unless the caller is the operator; Invalid for what is no
// archive, is damaged, or was made by a newer ragd; NotFound for the database; Precondition when the import
// began in another one; Exists; Conflict when another call goes on with the same import; Exhausted when
// MaxAtOnce imports are under way, and without space.
func (s *Service) Import(ctx context.Context, i Import, archive io.Reader) (Result, error) {
	if i.Resume { // also checks the caller before anything is read
		at, err := s.config.Tenants.Importing(ctx, i.Tenant)
		if err != nil {
			return Result{}, err
		}
		if i.Database != "" && i.Database != at.Database {
			return Result{}, fault.New(fault.Precondition,
				"tenant %q is being imported into the database %q: go on there, or delete the tenant to begin anew", at.TenantID, at.Database)
		}
		return s.limited(func() (Result, error) { return s.resume(ctx, at, archive) })
	}
	if err := tenant.RequireOperator(ctx); err != nil {
		return Result{}, err
	}
	return s.limited(func() (Result, error) { return s.begin(ctx, i, archive) })
}

// limited runs do unless MaxAtOnce imports are under way.
func (s *Service) limited(do func() (Result, error)) (Result, error) {
	if !s.imports.TryAcquire("", 1) {
		return Result{}, fault.Retry(busyPause, "this instance makes %d imports already: wait for one of them", MaxAtOnce)
	}
	defer s.imports.Release("", 1)
	return do()
}

func (s *Service) begin(ctx context.Context, i Import, archive io.Reader) (Result, error) {
	frames := frame.NewReader(archive)
	first, err := frames.Next()
	if err != nil {
		return Result{}, err
	}
	p := progress{WithoutKeys: i.WithoutKeys, Order: -1, Rows: map[string]int64{}, LeftOut: map[string]int64{}}
	if err := decode(first.Content, &p.Header, maxDescription); err != nil {
		return Result{}, err
	}
	if err := p.Header.check(); err != nil {
		return Result{}, err
	}
	name := i.Tenant
	if name == "" {
		name = string(p.Header.TenantID)
	}
	begun, err := p.at(frames.Position())
	if err != nil {
		return Result{}, err
	}
	if begun, err = s.config.Tenants.BeginImport(ctx, i.Database, name, begun); err != nil {
		return Result{}, err
	}
	return s.load(ctx, begun, p, frames)
}

func (s *Service) resume(ctx context.Context, at tenant.Import, archive io.Reader) (Result, error) {
	p, err := read(at)
	if err != nil {
		return Result{}, err
	}
	position := frame.Position{Frames: uint32(at.Frames)}
	copy(position.Chain[:], at.Chain)
	return s.load(ctx, at, p, frame.Continue(archive, position))
}

// at returns the import as it is stored at a position.
func (p progress) at(position frame.Position) (tenant.Import, error) {
	state, err := json.Marshal(p)
	if err != nil {
		return tenant.Import{}, fmt.Errorf("write the state of an import: %w", err)
	}
	return tenant.Import{Frames: int64(position.Frames), Chain: position.Chain[:], State: state}, nil
}

// load stores the frames that are read, and completes the tenant after the last.
func (s *Service) load(ctx context.Context, stored tenant.Import, p progress, frames *frame.Reader) (Result, error) {
	l := &loading{service: s, handle: s.config.DB.Handle(stored.TenantID), stored: stored, progress: p.clone(), frames: frames}
	for {
		f, err := frames.Next()
		if err != nil {
			l.flushRead(ctx)
			return Result{}, unexpected(err)
		}
		switch f.Kind {
		case frame.Section:
			err = l.section(ctx, f.Content)
		case frame.Rows:
			err = l.rows(ctx, f.Content)
		case frame.End:
			return l.end(ctx, f.Content)
		}
		if err != nil {
			return Result{}, err
		}
	}
}

// unexpected returns the error for an archive that ends without its last frame.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return fault.New(fault.Invalid, "the archive ends before it is complete")
	}
	return err
}

// loading is an import under way.
type loading struct {
	service  *Service
	handle   *tenant.Handle
	stored   tenant.Import // what is in the database
	progress progress      // after the frames that were read
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
	if err := follows(p, next, order); err != nil {
		return l.located(err)
	}
	p.Order, p.Section = order, next
	p.Rows[next.key()] = 0
	if next.LastID > 0 {
		p.LastID = next.LastID
	}
	l.read = l.frames.Position()
	return l.store(ctx, &p, func(tx *tenant.Tx) error {
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
func (l *loading) choose(ctx context.Context, tx *tenant.Tx, t table, s section) error {
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
	if err := l.handle.Admit(ctx, int64(len(l.batch))); err != nil {
		return err
	}
	p := l.progress.clone()
	t := tables[p.Order]
	return l.store(ctx, &p, func(tx *tenant.Tx) error {
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

// write stores the rows of the batch.
func (l *loading) write(ctx context.Context, tx *tenant.Tx, t table, p *progress) error {
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
func (l *loading) insert(ctx context.Context, tx *tenant.Tx, t table, p *progress, values [][][]byte) error {
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

// readTenant keeps what the tenant's own row has, for the end.
func (p *progress) readTenant(columns []column, rows [][][]byte) error {
	if len(rows) != 1 || p.Rows[p.Section.key()] != 1 {
		return fault.New(fault.Invalid, "the archive must have one tenant")
	}
	kinds := pgtype.NewMap()
	for i, c := range columns {
		var err error
		switch c.Name {
		case "display_name":
			err = kinds.Scan(pgtype.TextOID, pgtype.BinaryFormatCode, rows[0][i], &p.Imported.DisplayName)
		case "settings":
			err = kinds.Scan(pgtype.JSONBOID, pgtype.BinaryFormatCode, rows[0][i], &p.Imported.Settings)
		case "vector_store_names":
			err = kinds.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, rows[0][i], &p.Imported.VectorStoreNames)
		case "created_at":
			err = kinds.Scan(pgtype.TimestamptzOID, pgtype.BinaryFormatCode, rows[0][i], &p.Imported.CreatedAt)
		}
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "the archive has a tenant whose %s cannot be read", c.Name)
		}
	}
	return nil
}

// checkScopes returns an error for keys with rights that no key of a tenant can have. Errors: Invalid.
func checkScopes(columns []column, rows [][][]byte) error {
	at := slices.IndexFunc(columns, func(c column) bool { return c.Name == "scopes" })
	if at < 0 {
		return fault.New(fault.Invalid, "the archive has API keys without scopes")
	}
	kinds := pgtype.NewMap()
	for _, row := range rows {
		var scopes []string
		if err := kinds.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, row[at], &scopes); err != nil {
			return fault.Wrap(fault.Invalid, err, "the archive has API keys whose scopes cannot be read")
		}
		if err := tenant.CheckImportedScopes(scopes); err != nil {
			return err
		}
	}
	return nil
}

// checkIssuers returns an error for issuers that CreateIssuer would refuse. all is how many issuers the archive has so far.
// Errors: Invalid.
func (s *Service) checkIssuers(columns []column, rows [][][]byte, all int64) error {
	kinds := pgtype.NewMap()
	for _, row := range rows {
		var i tenant.OwnIssuer
		for n, c := range columns {
			var err error
			text := func(into *string) { err = kinds.Scan(pgtype.TextOID, pgtype.BinaryFormatCode, row[n], into) }
			switch c.Name {
			case "issuer_name":
				text(&i.Name)
			case "url":
				text(&i.URL)
			case "audiences":
				err = kinds.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, row[n], &i.Audiences)
			case "jwks_url":
				text(&i.JWKSURL)
			case "scope_claim":
				text(&i.ScopeClaim)
			case "scope_prefix":
				text(&i.ScopePrefix)
			case "scopes":
				var scopes []string
				err = kinds.Scan(pgtype.TextArrayOID, pgtype.BinaryFormatCode, row[n], &scopes)
				for _, scope := range scopes {
					i.Scopes = append(i.Scopes, tenant.Scope(scope))
				}
			case "filter_claim":
				text(&i.FilterClaim)
			case "bounds_claim":
				text(&i.BoundsClaim)
			}
			if err != nil {
				return fault.Wrap(fault.Invalid, err, "the archive has an issuer whose %s cannot be read", c.Name)
			}
		}
		if err := s.config.Tenants.CheckImportedIssuer(i, all); err != nil {
			return err
		}
	}
	return nil
}

// checkIndexes returns an error if an archive has more indexes than the tenant may have: as many as the settings in the archive
// say, or else Config.MaxIndexes. Errors: Exhausted.
func (s *Service) checkIndexes(p progress) error {
	have, most := p.Rows[string(own)+"/indexes"], tenant.IndexQuota(p.Imported.Settings, s.config.MaxIndexes)
	if have <= int64(most) {
		return nil
	}
	return fault.New(fault.Exhausted, "the archive has more than the %d indexes that the tenant may have: the operator sets more with the setting max-indexes", most).Of(tenant.MaxIndexes)
}

// store runs do in a transaction that also stores the progress, which do may change, and drops the batch.
func (l *loading) store(ctx context.Context, p *progress, do func(tx *tenant.Tx) error) error {
	return l.advance(ctx, p, func(tx *tenant.Tx) error {
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
func (l *loading) advance(ctx context.Context, p *progress, do func(tx *tenant.Tx) error) error {
	var next tenant.Import
	err := l.handle.Tx(ctx, func(tx *tenant.Tx) error {
		// First, so that of two calls one waits for the other, and then fails.
		if err := tx.Advance(ctx, l.stored, l.stored); err != nil {
			return err
		}
		if err := do(tx); err != nil {
			return err
		}
		var err error
		if next, err = p.at(l.read); err != nil {
			return err
		}
		return tx.Advance(ctx, l.stored, next)
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
	indexes, err := tenant.Values[int64](ctx, l.handle, `SELECT i.index_id FROM tenant.indexes AS i ORDER BY i.index_id`)
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
		if err := l.advance(ctx, &p, func(tx *tenant.Tx) error { return index.Complete(ctx, tx, id) }); err != nil {
			return err
		}
	}
	return nil
}

// settle ends the import: the tenant is there.
func (l *loading) settle(ctx context.Context) (Result, error) {
	p := l.progress
	result := Result{From: p.Header.TenantID, Rows: map[string]int64{}, LeftOut: p.LeftOut}
	err := l.handle.Tx(ctx, func(tx *tenant.Tx) error {
		if err := tx.Advance(ctx, l.stored, l.stored); err != nil {
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
		if l.as() { // it is another tenant
			p.Imported.CreatedAt = nil
		}
		return tx.EndImport(ctx, p.Imported)
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
