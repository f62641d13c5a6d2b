package archive

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Export says what to export.
type Export struct {
	Tenant      string
	WithoutKeys bool // leave out API keys and issuers
	// Known are checksums of frames with rows that the caller has from an export that was interrupted. They are
	// not sent again. At most MaxKnown.
	Known []frame.Sum
}

// Piece is a part of an archive.
type Piece struct {
	Data []byte // the next bytes
	// Known is the head of a frame that the caller has, which takes its place in the archive. Its stored
	// bytes are those that the caller has.
	Known *frame.Head
}

// pieceBytes is the most data of a piece.
const pieceBytes = 1 << 20

// errChanged says that an index was emptied or deleted, or got another embedding model, while its tenant was exported.
var errChanged = fault.New(fault.Conflict, "an index was deleted or emptied, or has got other embeddings, while the tenant was exported: begin again")

// Export reads a tenant from one snapshot of the database, and calls send with the pieces of its archive.
// Errors: Denied unless the caller is the operator; NotFound; Exhausted when MaxAtOnce exports are under way;
// Conflict when an index was emptied or deleted meanwhile; Deadline after MaxTime; those of send.
func (s *Service) Export(ctx context.Context, e Export, send func(Piece) error) error {
	of, err := s.config.Tenants.GetActive(ctx, e.Tenant)
	if err != nil {
		return err
	}
	if len(e.Known) > MaxKnown {
		return fault.Field("knownFrames", "may name at most %d frames, got %d", MaxKnown, len(e.Known))
	}
	if !s.exports.TryAcquire("", 1) {
		return fault.Retry(busyPause, "this instance makes %d exports already: wait for one of them", MaxAtOnce)
	}
	defer s.exports.Release("", 1)
	ctx, cancel := context.WithTimeoutCause(ctx, MaxTime, fault.New(fault.Deadline, "the export took longer than %v", MaxTime))
	defer cancel()
	start := time.Now()
	x := &export{codec: frame.NewCodec(), send: send, known: map[frame.Sum]bool{}, rows: map[string]int64{}, withoutKeys: e.WithoutKeys}
	for _, sum := range e.Known {
		x.known[sum] = true
	}
	err = s.config.DB.Handle(of.TenantID).Snapshot(ctx, func(snapshot *data.Snapshot) error { return x.run(ctx, s.config.Version, snapshot) })
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		s.config.Logger.InfoContext(ctx, "tenant exported", "tenant", of.TenantID, "frames", x.at.Frames, "frames_known", x.skipped, "duration_ms", time.Since(start).Milliseconds())
	}
	return err
}

// busyPause is the time after which a caller may try again who was refused because others export or import.
const busyPause = 10 * time.Second

// export is an export under way.
type export struct {
	codec       *frame.Codec
	send        func(Piece) error
	known       map[frame.Sum]bool
	withoutKeys bool
	asleep      bool // see Header.Asleep

	at      frame.Position
	skipped int
	rows    map[string]int64
	buffer  []byte
}

// indexTables are the tables of an index in a snapshot.
type indexTables struct {
	IndexID    int64
	Generation int
	Files      map[string]int64 // by stand-in name: the file that the table is in
}

func (x *export) run(ctx context.Context, version string, snapshot *data.Snapshot) error {
	header := Header{Ragd: version, Schemas: newest(), WithoutKeys: x.withoutKeys, Asleep: x.asleep}
	var indexes []indexTables
	var last int64
	err := snapshot.Tx(ctx, func(tx *data.Tx) (err error) {
		header.TenantID = tx.Tenant()
		if header.Schemas.Tenant, err = data.Value[int](ctx, tx, `SELECT version::int FROM tenant.schema_migrations`); err != nil {
			return err
		}
		if header.PGVector, err = data.Value[string](ctx, tx, `SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector'`); err != nil {
			return err
		}
		if last, err = index.LastID(ctx, tx); err != nil {
			return err
		}
		indexes, err = listIndexes(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	if err := x.write(frame.Preamble()); err != nil {
		return err
	}
	if err := x.encode(frame.Header, header); err != nil {
		return err
	}
	for _, t := range tables {
		if t.place == ofIndex {
			continue
		}
		if t.name == "index_counts" {
			if err := x.indexes(ctx, snapshot, indexes); err != nil {
				return err
			}
		}
		if x.leavesOut(t) {
			continue
		}
		s := section{Table: t.String()}
		if t.place == own && t.name == "indexes" {
			s.LastID = last
		}
		err := snapshot.Tx(ctx, func(tx *data.Tx) error { return x.table(ctx, tx, t, s) })
		if err != nil {
			return fmt.Errorf("export %s: %w", t, err)
		}
	}
	return x.encode(frame.End, manifest{ExportedAt: time.Now().UTC().Truncate(time.Second), Rows: x.rows})
}

// leavesOut reports whether a table has no section.
func (x *export) leavesOut(t table) bool {
	if x.asleep {
		return t.place == control
	}
	return t.ofService || t.credentials && x.withoutKeys
}

// listIndexes returns the indexes of the tenant with their tables.
func listIndexes(ctx context.Context, tx *data.Tx) ([]indexTables, error) {
	type row struct {
		IndexID    int64
		Generation int
		Name       string // of a table
		File       int64
	}
	found, err := data.Select[row](ctx, tx, `
		SELECT i.index_id, i.generation, t.name, c.relfilenode::bigint AS file FROM tenant.indexes AS i
		CROSS JOIN unnest($1::text[]) AS t (name)
		JOIN pg_catalog.pg_class AS c ON c.relkind = 'r'
			AND c.relnamespace = (SELECT s.relnamespace FROM pg_catalog.pg_class AS s WHERE s.oid = 'tenant.indexes'::regclass)
			AND c.relname = t.name || '_' || i.index_id || CASE WHEN t.name = 'chunk' AND i.generation > 0 THEN '_' || i.generation ELSE '' END
		ORDER BY i.index_id`, index.Archived)
	var all []indexTables
	for _, r := range found {
		if len(all) == 0 || all[len(all)-1].IndexID != r.IndexID {
			all = append(all, indexTables{r.IndexID, r.Generation, map[string]int64{}})
		}
		all[len(all)-1].Files[r.Name] = r.File
	}
	return all, err
}

// indexes exports the tables of the indexes.
func (x *export) indexes(ctx context.Context, snapshot *data.Snapshot, indexes []indexTables) error {
	for _, i := range indexes {
		for _, t := range tables {
			file, made := i.Files[t.name]
			if t.place != ofIndex || !made {
				continue
			}
			err := snapshot.Tx(ctx, func(tx *data.Tx) error {
				tx = tx.OfIndex(i.IndexID, i.Generation)
				if err := holdTable(ctx, tx, t, file); err != nil {
					return err
				}
				return x.table(ctx, tx, t, section{Table: t.String(), IndexID: i.IndexID})
			})
			var gone *data.GoneError
			// What deletes or empties an index cancels statements that it would wait for.
			if errors.As(err, &gone) || fault.KindOf(err) == fault.Deadline && ctx.Err() == nil {
				return errChanged
			}
			if err != nil {
				return fmt.Errorf("export %s of the index %d: %w", t, i.IndexID, err)
			}
		}
	}
	return nil
}

// holdTable keeps a table from being emptied until the transaction ends. Emptying it is not undone by a
// snapshot, but gives it another file. Errors: errChanged if it was emptied since the snapshot.
func holdTable(ctx context.Context, tx *data.Tx, t table, file int64) error {
	if _, err := tx.Exec(ctx, `LOCK TABLE `+t.relation()+` IN ACCESS SHARE MODE`); err != nil {
		return err
	}
	now, err := data.Value[int64](ctx, tx, `SELECT coalesce(pg_relation_filenode(to_regclass('`+t.relation()+`'))::bigint, 0)`)
	if err == nil && now != file {
		return errChanged
	}
	return err
}

// table exports the rows of a table.
func (x *export) table(ctx context.Context, tx *data.Tx, t table, s section) (err error) {
	if s.Columns, err = columnsOf(ctx, tx, t); err != nil {
		return err
	}
	if err := x.encode(frame.Section, s); err != nil {
		return err
	}
	rows := &cutter{fields: len(s.Columns), limit: frame.MaxBytes, emit: func(rows []byte, n int) error {
		x.rows[s.key()] += int64(n)
		return x.frame(frame.Rows, rows)
	}}
	x.rows[s.key()] = 0
	if t.place == control {
		err = tx.CopyOutControl(ctx, rows, t.relation(), names(s.Columns), t.order)
	} else {
		// Large tables are read in the order of their pages, by one process: two reads give the same frames.
		err = tx.Script(ctx, `SET LOCAL synchronize_seqscans = off`, `SET LOCAL max_parallel_workers_per_gather = 0`)
		if err == nil {
			err = tx.CopyOut(ctx, rows, t.query(s.Columns))
		}
	}
	if errors.Is(err, errRowTooLarge) {
		return fault.Wrap(fault.Precondition, err, "a row of %s is larger than %d bytes, which is the most that an archive can have", t, frame.MaxBytes)
	}
	if err != nil {
		return err
	}
	return rows.flush()
}

// encode writes a frame of JSON.
func (x *export) encode(kind frame.Kind, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write a frame: %w", err)
	}
	return x.frame(kind, text)
}

// frame writes a frame.
func (x *export) frame(kind frame.Kind, content []byte) error {
	head, next := x.at.Next(kind, len(content), sha256.Sum256(content))
	x.at = next
	if kind == frame.Rows && x.known[head.Sum] {
		x.skipped++
		return x.send(Piece{Known: &head})
	}
	x.buffer = x.codec.Append(x.buffer[:0], head, content)
	return x.write(x.buffer)
}

func (x *export) write(data []byte) error {
	for piece := range slices.Chunk(data, pieceBytes) {
		if err := x.send(Piece{Data: piece}); err != nil {
			return err
		}
	}
	return nil
}
