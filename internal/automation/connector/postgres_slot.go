package connector

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Replication is how the changes of the table of a query are followed, by logical decoding with pgoutput.
type Replication struct {
	Publication string `json:"publication"`
	Slot        string `json:"slot"`
	CreateSlot  bool   `json:"createSlot,omitempty"` // if there is none, or it is lost
}

const (
	slotPause = 100 * time.Millisecond // between two looks at a slot that is in use
	slotTries = 100
)

var (
	slotName        = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)
	publicationName = regexp.MustCompile(`^[A-Za-z0-9_]{1,63}$`)
)

// complete checks the settings.
func (r *Replication) complete() error {
	if !publicationName.MatchString(r.Publication) {
		return fault.Field("postgres.replication.publication", "must have 1 to %d letters, digits and _", maxColumnBytes)
	}
	if !slotName.MatchString(r.Slot) {
		return fault.Field("postgres.replication.slot", "must have 1 to %d of the characters a to z, 0 to 9 and _", maxColumnBytes)
	}
	return nil
}

// replicates reports whether the changes of the connector's table are followed.
func (d *Definition) replicates() bool { return d.Postgres != nil && d.Postgres.Replication != nil }

// publishedTable is the table whose changes are followed.
type publishedTable struct {
	oid          uint32
	schema, name string
	key          string // the column that is the id of the query
}

// slot is a replication slot of the database.
type slot struct {
	exists    bool
	lost      string // why the database no longer has its changes; empty if it has
	active    bool
	confirmed pglogrepl.LSN // up to where changes need not be sent again
}

// slotReader reads the settings of logical replication in a database, over the connection of rows.
type slotReader struct {
	*postgresRows
	*Replication
}

// table returns the table that the column of the ids comes from. Errors: Precondition if its changes cannot be followed.
func (s slotReader) table(ctx context.Context) (t publishedTable, err error) {
	var id pgconn.FieldDescription
	err = s.query(ctx, maxListedBytes, `SELECT `+column(s.IDColumn)+s.from()+` LIMIT 0`, nil, func(pgx.Rows) error { return nil }, func(columns []pgconn.FieldDescription) {
		if len(columns) == 1 {
			id = columns[0]
		}
	})
	if err != nil {
		return t, err
	}
	t.oid = id.TableOID
	var level string
	var publication, published, identified bool
	err = s.query(ctx, maxListedBytes, `
		SELECT pg_catalog.current_setting('wal_level'), EXISTS (SELECT FROM pg_catalog.pg_publication WHERE pubname = $1),
			EXISTS (SELECT FROM pg_catalog.pg_publication_tables AS t WHERE t.pubname = $1 AND t.schemaname = n.nspname AND t.tablename = c.relname),
			coalesce(n.nspname, '')::text, coalesce(c.relname, '')::text, coalesce(a.attname, '')::text,
			coalesce(c.relreplident = 'f', false) OR EXISTS (
				SELECT FROM pg_catalog.pg_index AS i
				WHERE i.indrelid = c.oid AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident) AND given.attnum = ANY(i.indkey))
		FROM (SELECT $2::oid AS oid, $3::int2 AS attnum) AS given
		LEFT JOIN pg_catalog.pg_class AS c ON c.oid = given.oid LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
		LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = given.attnum AND NOT a.attisdropped`,
		[]any{s.Publication, id.TableOID, int16(id.TableAttributeNumber)}, func(rows pgx.Rows) error {
			return rows.Scan(&level, &publication, &published, &t.schema, &t.name, &t.key, &identified)
		}, nil)
	switch {
	case err != nil:
		return t, err
	case level != "logical":
		return t, fault.New(fault.Precondition, "the server of the database has wal_level = %s: set wal_level = logical and restart it", textlimit.Shorten(level, maxColumnBytes))
	case !publication:
		return t, fault.New(fault.Precondition, "the database has no publication %q: CREATE PUBLICATION %s FOR TABLE ...", s.Publication, s.Publication)
	case t.key == "":
		return t, fault.New(fault.Precondition, "the column %q of the query must be a column of a table, without a cast, function or view, if its changes are to be followed", s.IDColumn)
	case !published:
		return t, fault.New(fault.Precondition, "the publication %q does not publish the table %s of the column %q: ALTER PUBLICATION %s ADD TABLE %s (of a partitioned table WITH (publish_via_partition_root))",
			s.Publication, t.shown(), s.IDColumn, s.Publication, t.shown())
	case !identified:
		return t, fault.New(fault.Precondition, "REPLICA IDENTITY of the table %s does not have the column %q, so deletions are not known: ALTER TABLE %s REPLICA IDENTITY FULL, or make the column its primary key",
			t.shown(), t.key, t.shown())
	case id.DataTypeOID == pgtype.BPCharOID:
		return t, fault.New(fault.Precondition, "the column %q has the type character(n), whose ids cannot be followed: use text or varchar", s.IDColumn)
	}
	return t, nil
}

// shown returns the name of the table for messages.
func (t publishedTable) shown() string {
	return textlimit.Shorten(pgx.Identifier{t.schema, t.name}.Sanitize(), 2*maxColumnBytes)
}

// slot returns the state of the slot. Errors: Precondition if it is one for another purpose.
func (s slotReader) slot(ctx context.Context) (is slot, err error) {
	var plugin, database, here, status, confirmed string
	err = s.query(ctx, maxListedBytes, `
		SELECT coalesce(s.plugin, '')::text, coalesce(s.database, '')::text, pg_catalog.current_database()::text, s.active, coalesce(s.confirmed_flush_lsn::text, ''),
			CASE WHEN to_jsonb(s)->>'wal_status' = 'lost' OR coalesce(to_jsonb(s)->>'invalidation_reason', '') <> '' THEN coalesce(to_jsonb(s)->>'invalidation_reason', 'wal_removed') ELSE '' END
		FROM pg_catalog.pg_replication_slots AS s WHERE s.slot_name = $1`, []any{s.Slot}, func(rows pgx.Rows) error {
		is.exists = true
		return rows.Scan(&plugin, &database, &here, &is.active, &confirmed, &status)
	}, nil)
	if err != nil || !is.exists {
		return is, err
	}
	if plugin != "pgoutput" || database != here {
		return is, fault.New(fault.Precondition, "the slot %q of the database is not one of this database with the plugin pgoutput: name another one", s.Slot)
	}
	is.lost = textlimit.OneLine(status, maxColumnBytes)
	if is.lost == "" {
		is.confirmed, err = logPosition(confirmed)
	}
	return is, err
}

// logPosition returns a position of the log in a text such as 16/B374D848, 0 for an empty one.
func logPosition(text string) (pglogrepl.LSN, error) {
	if text == "" {
		return 0, nil
	}
	at, err := pglogrepl.ParseLSN(text)
	if err != nil {
		return 0, fault.New(fault.Precondition, "the database answered a position of its log that cannot be read")
	}
	return at, nil
}

// value runs a statement that returns a position.
func (s slotReader) value(ctx context.Context, statement string, args ...any) (pglogrepl.LSN, error) {
	var text string
	if err := s.query(ctx, maxListedBytes, statement, args, func(rows pgx.Rows) error { return rows.Scan(&text) }, nil); err != nil {
		return 0, err
	}
	return logPosition(text)
}

// create creates the slot, and returns the position from which it has changes.
func (s slotReader) create(ctx context.Context) (pglogrepl.LSN, error) {
	return s.value(ctx, `SELECT lsn::text FROM pg_catalog.pg_create_logical_replication_slot($1::name, 'pgoutput')`, s.Slot)
}

// skip leaves out all changes up to now, and returns the position.
func (s slotReader) skip(ctx context.Context) (pglogrepl.LSN, error) {
	if err := s.awaitFree(ctx, false); err != nil {
		return 0, err
	}
	return s.value(ctx, `
		SELECT end_lsn::text FROM pg_catalog.pg_replication_slot_advance($1::name,
			CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_flush_lsn() END)`, s.Slot)
}

// awaitFree waits until no connection uses the slot. With end, it ends those of its own role that do.
func (s slotReader) awaitFree(ctx context.Context, end bool) error {
	for range slotTries {
		is, err := s.slot(ctx)
		if err != nil || !is.active {
			return err
		}
		if end {
			err := s.query(ctx, maxListedBytes, `SELECT pg_catalog.pg_terminate_backend(active_pid) FROM pg_catalog.pg_replication_slots WHERE slot_name = $1 AND active`, []any{s.Slot}, func(pgx.Rows) error { return nil }, nil)
			if err != nil {
				return err
			}
		}
		if err := sleep(ctx, slotPause); err != nil {
			return err
		}
	}
	return fault.New(fault.Precondition, "the slot %q of the database is in use by another program", s.Slot)
}

// drop drops the slot, if there is one.
func (s slotReader) drop(ctx context.Context) error {
	if err := s.awaitFree(ctx, true); err != nil {
		return err
	}
	return s.query(ctx, maxListedBytes, `SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots WHERE slot_name = $1`, []any{s.Slot}, func(pgx.Rows) error { return nil }, nil)
}

// attach makes a walk begin where the slot has all later changes: a change that is committed while the walk reads is
// followed after it. The walk reads all texts again after changes that are not known.
func (s slotReader) attach(ctx context.Context, r *reading) error {
	if _, err := s.table(ctx); err != nil || r.preview {
		return err
	}
	is, err := s.slot(ctx)
	if err != nil {
		return err
	}
	last := r.source.Rows
	known, err := logPosition(last.Confirmed)
	if err != nil {
		return err
	}
	switch {
	case (!is.exists || is.lost != "") && !s.CreateSlot:
		return s.missing(is)
	case !is.exists || is.lost != "":
		if err := s.recreate(ctx, r, &is); err != nil {
			return err
		}
		r.from = nil
		r.begin = rowList{Confirmed: is.confirmed.String(), Reread: true}
	case r.from != nil && r.from.Rows.Confirmed != "" && (r.from.Rows.Reread || !last.Reread):
		return nil // it goes on, before what is not confirmed
	case last.Reread:
		if is.confirmed, err = s.skip(ctx); err != nil {
			return err
		}
		r.from = nil
		r.begin = rowList{Confirmed: is.confirmed.String(), Reread: true}
	case last.Confirmed == "" || is.confirmed > known:
		r.begin = rowList{Confirmed: is.confirmed.String(), Reread: true}
	default:
		r.begin = rowList{Confirmed: last.Confirmed}
	}
	return nil
}

// recreate creates a slot that does not exist, or whose changes are lost.
func (s slotReader) recreate(ctx context.Context, r *reading, is *slot) (err error) {
	if err := r.own(ctx, s.Slot); err != nil { // before, so that no slot is forgotten
		return err
	}
	if is.exists {
		if err := s.drop(ctx); err != nil {
			return err
		}
	}
	is.confirmed, err = s.create(ctx)
	return err
}

// missing returns the error of a slot that the service may not create.
func (s slotReader) missing(is slot) error {
	create := fmt.Sprintf("SELECT pg_create_logical_replication_slot('%s', 'pgoutput')", s.Slot)
	if is.exists {
		return fault.New(fault.Precondition, "the database has removed changes of the slot %q (%s): SELECT pg_drop_replication_slot('%s'); %s", s.Slot, is.lost, s.Slot, create)
	}
	return fault.New(fault.Precondition, "the database has no slot %q: %s, or set createSlot", s.Slot, create)
}

// visible waits until statements see what transactions have changed: the database sends the changes of a transaction
// when its log has them, which may be before other sessions see them.
func (p *postgresRows) visible(ctx context.Context, transactions map[uint32]bool) error {
	for {
		var snapshot string
		err := p.query(ctx, maxListedBytes, `SELECT pg_catalog.txid_current_snapshot()::text`, nil, func(rows pgx.Rows) error { return rows.Scan(&snapshot) }, nil)
		if err != nil {
			return err
		}
		seen, err := sees(snapshot, transactions)
		if err != nil || seen {
			return err
		}
		if err := sleep(ctx, slotPause/5); err != nil {
			return err
		}
	}
}

// sees reports whether a snapshot such as 10:20:10,14,15 sees the changes of transactions that were committed.
func sees(snapshot string, transactions map[uint32]bool) (bool, error) {
	parts := strings.SplitN(snapshot, ":", 3)
	numbers := func(text string) (uint32, error) {
		n, err := strconv.ParseUint(text, 10, 64)
		return uint32(n), err // without the epoch
	}
	if len(parts) != 3 {
		return false, fault.New(fault.Precondition, "the database answered a snapshot that cannot be read")
	}
	end, err := numbers(parts[1])
	if err != nil {
		return false, fault.New(fault.Precondition, "the database answered a snapshot that cannot be read")
	}
	for transaction := range transactions {
		if int32(transaction-end) >= 0 { // numbers wrap around
			return false, nil
		}
	}
	for running := range strings.SplitSeq(parts[2], ",") {
		if n, err := numbers(running); err == nil && transactions[n] {
			return false, nil
		}
	}
	return true, nil
}

// lookup returns those rows of the query that have one of the ids.
func (p *postgresRows) lookup(ctx context.Context, ids []string) (found []listedRow, err error) {
	key := column(p.IDColumn)
	asked := make([]listedRow, len(ids))
	for i, id := range ids {
		asked[i].ID = id
	}
	statement := p.listed() + ` WHERE ` + key + ` = ANY($1) ORDER BY ` + key + ` LIMIT ` + strconv.Itoa(len(ids)+1)
	err = p.query(ctx, maxListedBytes, statement, []any{arrayOf(asked)}, func(rows pgx.Rows) error {
		var row listedRow
		if err := rows.Scan(&row.ID, &row.Updated, &row.Size); err != nil {
			return err
		}
		if n := len(found); n > 0 && found[n-1].ID == row.ID || n == len(ids) {
			return sameID(row.ID)
		}
		found = append(found, row)
		return p.fetch.countBytes(int64(len(row.ID) + len(row.Updated)))
	}, nil)
	return found, err
}
