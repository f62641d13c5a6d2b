package postgres_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
)

// COPY writes Binary in the format in which a query returned it.
func TestBinaryIsWrittenAsItWasRead(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	var terms, weights postgres.Binary
	err := pool.QueryRow(t.Context(), `SELECT 'a:1 b:2,5'::tsvector, '{1:0.5,9:2}/10'::sparsevec`).Scan(&terms, &weights)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `CREATE TABLE extensions.note (id uuid, terms tsvector, weights sparsevec)`); err != nil {
		t.Fatal(err)
	}
	const id = "019d7e5a-0000-7000-8000-0123456789ab"
	_, err = pool.CopyFrom(t.Context(), pgx.Identifier{"extensions", "note"}, []string{"id", "terms", "weights"},
		pgx.CopyFromRows([][]any{{id, terms, weights}, {id, postgres.Binary(nil), postgres.Binary(nil)}}))
	if err != nil {
		t.Fatal(err)
	}
	type note struct{ ID, Terms, Weights *string }
	rows, err := pool.Query(t.Context(), `SELECT id::text, terms::text, weights::text FROM extensions.note ORDER BY terms`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[note])
	if err != nil {
		t.Fatal(err)
	}
	want := []note{{new(id), new("'a':1 'b':2,5"), new("{1:0.5,9:2}/10")}, {ID: new(id)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Arrays of UUIDs given as strings are sent in binary format. The server rejects strings
// that are no UUIDs.
func TestUUIDsMayBeStrings(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	ids := []string{"019d7e5a-0000-7000-8000-0123456789ab", "019d7e5a-0000-7000-8000-0123456789ac"}
	var n int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM unnest($1::uuid[]) AS id WHERE id::text = ANY($2)`, ids, ids).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d of 2 ids arrived: %v", n, err)
	}
	var one string
	if err := pool.QueryRow(t.Context(), `SELECT ($1::uuid)::text`, ids[0]).Scan(&one); err != nil || one != ids[0] {
		t.Errorf("the id arrived as %q: %v", one, err)
	}
	if err := pool.QueryRow(t.Context(), `SELECT $1::uuid[]`, []string{"nonsense"}).Scan(new([]pgtype.UUID)); err == nil {
		t.Error("nonsense was accepted as a UUID")
	}
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Conn().TypeMap().Encode(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, ids, nil); err != nil {
		t.Error(err)
	}
}
