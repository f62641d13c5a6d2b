package connector_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/ncruces/go-sqlite3"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// newSQLite makes a database in a folder, and returns a connection that writes it.
func newSQLite(t *testing.T, path, statements string) *sqlite3.Conn {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	execute(t, db, statements)
	return db
}

func execute(t *testing.T, db *sqlite3.Conn, statements string) {
	t.Helper()
	if err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

func sqliteRows(path, query string) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", IndexName: "docs", Source: &ragdv1.CreateConnectorRequest_Sqlite{Sqlite: &ragdv1.SqliteSource{Path: path, Query: query}}}
}

func TestAnSQLiteDatabaseIsFollowed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "shop?x=1.db") // no parameters
	db := newSQLite(t, path, `PRAGMA journal_mode = WAL;
		CREATE TABLE articles (id INTEGER PRIMARY KEY, updated_at TEXT NOT NULL, body TEXT, team TEXT, price REAL, raw BLOB);
		INSERT INTO articles SELECT 9007199254740000 + value, datetime('now', '-' || value || ' hours'), 'Dies ist Artikel № ' || value, 'red', 1.5, X'FF00' FROM generate_series(1, 1203);
		UPDATE articles SET body = ' ' WHERE id = 9007199254740007;
		UPDATE articles SET body = CAST(zeroblob(17 * 1024 * 1024) AS TEXT) WHERE id = 9007199254740008;
		UPDATE articles SET team = NULL WHERE id = 9007199254740009`)
	s := servicetest.New(t, service.Config{ConnectorFolders: []string{root}})
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	operator := asOperator(t, s, "acme")
	req := sqliteRows(path, "SELECT id, updated_at, body AS text, team, price, raw FROM articles -- all of them")
	req.MaxItems, req.GetSqlite().RelistHours = 2000, 24
	req.Metadata = map[string]string{"team": "item.attributes.team", "at": "item.modifiedTime", "price": "item.attributes.price"}
	if _, err := acme.CreateConnector(t.Context(), req); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Fatalf("an admin of the tenant: %v", err)
	}
	got := create(t, operator, req)
	if n := got.Counts; got.Status != "succeeded" || n.Added != 1201 || n.Skipped != 1 || n.Failed != 1 {
		t.Fatalf("first run: %v", got)
	}
	d, err := acme.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "sqlite://site/9007199254740001"})
	if err != nil {
		t.Fatal(err)
	}
	if m := d.Metadata.AsMap(); m["team"] != "red" || m["price"] != 1.5 || !strings.HasPrefix(fmt.Sprint(m["at"]), "20") {
		t.Errorf("metadata: %v", m)
	}
	equal(t, "documents of another tenant", documentsUnder(t, bolt, ""), []string{})

	// The rows that changed are asked for, and the one that had the greatest time; the other program still has the file open.
	execute(t, db, `UPDATE articles SET body = 'This is new', updated_at = datetime('now') WHERE id = 9007199254740600;
		INSERT INTO articles VALUES (1, datetime('now'), 'This is another article', 'blue', 2, NULL);
		DELETE FROM articles WHERE id = 9007199254740003`)
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Updated != 1 || got.Counts.Added != 1 || got.Counts.Deleted != 0 || got.Counts.Seen > 3 {
		t.Errorf("second run: %v", got)
	}
	if _, err := operator.UpdateConnector(t.Context(), &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Description: new("All is listed again.")}); err != nil {
		t.Fatal(err)
	}
	if got = ended(t, acme, got); got.Status != "succeeded" || got.Counts.Deleted != 1 || got.Counts.Seen != 1203 {
		t.Errorf("third run: %v", got)
	}

	all := "SELECT id, updated_at, body AS text FROM articles"
	for path, code := range map[string]connect.Code{
		filepath.Join(t.TempDir(), "other.db"): connect.CodeFailedPrecondition, root + "/../shop.db": connect.CodeInvalidArgument, "shop.db": connect.CodeInvalidArgument, "": connect.CodeInvalidArgument,
	} {
		req := sqliteRows(path, all)
		req.ConnectorName = "other"
		if _, err := operator.CreateConnector(t.Context(), req); connect.CodeOf(err) != code {
			t.Errorf("%q: %v", path, err)
		}
	}

	// Ids may be texts, which are digits here, and integers of an expression.
	for query, added := range map[string]int32{
		`SELECT json_extract('["' || value || '"]', '$[0]') AS id, 1 AS updated_at, 'Text ' || value AS text FROM generate_series(1, 1500)`: 1500,
		`SELECT value + 0 AS id, 1.5 AS updated_at, 'Text ' || value AS text FROM generate_series(8, 1507)`:                                 1500,
		`SELECT 1 AS id, 2 AS updated_at, NULL AS text WHERE 0`:                                                                             0,
	} {
		remove(t, operator)
		req := sqliteRows(path, query)
		req.MaxItems, req.GetSqlite().RelistHours = 2000, 24
		if got := create(t, operator, req); got.Status != "succeeded" || got.Counts.Added != added {
			t.Errorf("%s: %v", query, got)
		}
		if got := resync(t, acme); got.Status != "succeeded" || got.Counts.Unchanged != added || got.Counts.Deleted != 0 {
			t.Errorf("%s again: %v", query, got)
		}
	}
}

// remove deletes the connector with its documents.
func remove(t *testing.T, tenant servicetest.Client) {
	t.Helper()
	if _, err := tenant.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site", DeleteDocuments: true}); err != nil {
		t.Fatal(err)
	}
}
