package column

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/query/facet"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// State identifies the contents of an index exactly: another one has other counts, or another table of chunks.
type State struct {
	Chunks  int64
	Written int64 // ever; grows with every change
	File    int64 // of the table; another one after TRUNCATE, which starts the counts again
}

// StateSQL returns the state of index $1.
const StateSQL = `
	SELECT coalesce(sum(n.chunks), 0)::bigint AS chunks, coalesce(sum(n.written), 0)::bigint AS written,
		coalesce(pg_relation_filenode('tenant.chunk'), 0)::bigint AS file
	FROM tenant.index_counts AS n WHERE n.index_id = $1`

// Read is a function for Batch.Query that scans a state.
func (s *State) Read(rows pgx.Rows) (err error) {
	*s, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[State])
	return err
}

// moment is what a statement saw.
type moment struct {
	State
	Snapshot string // of PostgreSQL
}

// change is what a transaction has changed.
type change struct {
	Chunks, Written int64
	Documents       []uuid.UUID // null for none
	Namespace       string
	ChunkIDs        []string `json:"chunk_ids"` // null for none; with no documents either it is not known what has changed
}

// ownerOf returns the owner of a ready-made vector.
func ownerOf(namespace, id []byte) owner {
	sum := sha256.Sum256(append(append(binary.AppendUvarint(nil, uint64(len(namespace))), namespace...), id...))
	return owner(sum[:])
}

// owners returns whose chunks the transaction has changed. ok is false if it is not known.
func (c change) owners() (all []owner, ok bool) {
	for _, id := range c.Documents {
		all = append(all, owner(id))
	}
	for _, id := range c.ChunkIDs {
		all = append(all, ownerOf([]byte(c.Namespace), []byte(id)))
	}
	return all, len(all) > 0
}

// Kinds of rows of the statements.
const (
	momentRow = '0'
	changeRow = '1'
	chunkRow  = '2'
)

// watchTime is how long the changes of an index are recorded after it was counted last, and kept.
const watchTime = 15 * time.Minute

// watch has the changes of an index recorded for watchTime, and deletes old ones.
func watch(ctx context.Context, h *data.Handle, indexID int64) error {
	b := h.Batch()
	b.Exec(`
		INSERT INTO ragd_shared.watched_indexes (index_id, until) VALUES ($1, now() + $2 * interval '1 second')
		ON CONFLICT (tenant_id, index_id) DO UPDATE SET until = excluded.until`, indexID, watchTime.Seconds())
	b.Exec(`DELETE FROM ragd_shared.chunk_changes WHERE index_id = $1 AND created_at < now() - $2 * interval '1 second'`, indexID, watchTime.Seconds())
	return b.Run(ctx)
}

// errTooLarge is returned for a table that takes more than maxTableBytes.
var errTooLarge = errors.New("the columns take too much memory")

// read reads the columns of fields of all chunks of an index.
func read(ctx context.Context, h *data.Handle, indexID int64, fields []string) (t *table, at moment, err error) {
	args := filter.NewArgs(indexID)
	chunks := chunksSQL(fields, args)
	b := h.Batch()
	b.Set("statement_timeout", strconv.FormatInt(loadTimeout.Milliseconds(), 10))
	b.Query(func(rows pgx.Rows) error {
		t = newTable(fields)
		return scan(rows, &at, nil, func(r row) error {
			if t.add(r); len(t.of)%1024 == 0 && t.bytes() > maxTableBytes {
				return errTooLarge
			}
			return nil
		})
	}, `WITH now AS MATERIALIZED (SELECT s.*, pg_current_snapshot()::text AS snapshot FROM (`+StateSQL+`) AS s)
		`+momentSQL+nulls(fields)+` FROM now AS n
		UNION ALL `+chunks+` FROM tenant.chunk AS c`, args.Values()...)
	if err := b.Run(ctx); err != nil {
		return nil, at, err
	}
	if t.bytes() > maxTableBytes {
		return nil, at, errTooLarge
	}
	return t, at, nil
}

// changed is what has changed since a moment.
type changed struct {
	now     moment
	changes []change
	chunks  []row // that the owners of changed chunks have now
}

// readChanges reads what has changed since a snapshot, with the columns of fields.
func readChanges(ctx context.Context, h *data.Handle, indexID int64, fields []string, snapshot string) (c changed, err error) {
	args := filter.NewArgs(indexID, snapshot)
	chunks := chunksSQL(fields, args)
	b := h.Batch()
	b.Set("statement_timeout", strconv.FormatInt(refreshTimeout.Milliseconds(), 10))
	for _, plan := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} { // the planner does not know how few they are
		b.Set(plan, "off")
	}
	b.Query(func(rows pgx.Rows) error {
		c = changed{}
		return scan(rows, &c.now, &c.changes, func(r row) error {
			c.chunks = append(c.chunks, r.clone())
			return nil
		})
	}, `WITH now AS MATERIALIZED (SELECT s.*, pg_current_snapshot()::text AS snapshot FROM (`+StateSQL+`) AS s),
		noted AS MATERIALIZED (
			SELECT n.chunks, n.written, n.documents, n.namespace, n.chunk_ids FROM ragd_shared.chunk_changes AS n
			WHERE n.index_id = $1 AND n.xid >= pg_snapshot_xmin($2::text::pg_snapshot) AND NOT pg_visible_in_snapshot(n.xid, $2::text::pg_snapshot)
		)
		`+momentSQL+nulls(fields)+` FROM now AS n
		UNION ALL SELECT '`+string(changeRow)+`', NULL, NULL, NULL, to_json(n)::text`+nulls(fields)+` FROM noted AS n
		UNION ALL `+chunks+` FROM tenant.chunk AS c WHERE c.document_id = ANY(ARRAY(SELECT unnest(n.documents) FROM noted AS n))
		UNION ALL `+chunks+` FROM (SELECT DISTINCT n.namespace, v.chunk_id FROM noted AS n, unnest(n.chunk_ids) AS v(chunk_id)) AS v
			JOIN tenant.chunk AS c ON c.namespace = v.namespace AND c.chunk_id = v.chunk_id WHERE c.document_id IS NULL`, args.Values()...)
	return c, b.Run(ctx)
}

const momentSQL = `SELECT '` + string(momentRow) + `'::text, NULL::bytea, NULL::text, NULL::text, to_json(n)::text`

func nulls(fields []string) string { return strings.Repeat(", NULL::text", len(fields)) }

// chunksSQL returns the SELECT of chunks c, without FROM.
func chunksSQL(fields []string, args *filter.Args) string {
	short := " <= " + strconv.Itoa(facet.MaxBytes)
	sql := `SELECT '` + string(chunkRow) + `', uuid_send(c.document_id), c.namespace, CASE WHEN c.document_id IS NULL THEN c.chunk_id END, array_to_json(c.content_keys)::text`
	for _, field := range fields {
		value := filter.FieldSQL("c.metadata", field, args)
		// Most metadata is short, so that no value of it has to be measured.
		sql += ",\n\t\t\tCASE WHEN pg_column_size(c.metadata)" + short + " OR pg_column_size(" + value + ")" + short +
			" THEN (" + value + ")::text WHEN " + value + " IS NOT NULL THEN '" + tooLong + "' END"
	}
	return sql
}

// scan reads the rows of a statement.
func scan(rows pgx.Rows, at *moment, changes *[]change, add func(row) error) error {
	for rows.Next() {
		values := rows.RawValues()
		switch values[0][0] {
		case momentRow:
			if err := json.Unmarshal(values[4], at); err != nil {
				return err
			}
		case changeRow:
			var c change
			if err := json.Unmarshal(values[4], &c); err != nil {
				return err
			}
			*changes = append(*changes, c)
		default:
			r := row{isDocument: len(values[1]) == len(owner{}), namespace: values[2], content: values[4], values: values[5:]}
			if r.isDocument {
				r.owner = owner(values[1])
			} else {
				r.owner = ownerOf(values[2], values[3])
			}
			if err := add(r); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}
