package connector_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/go-sql-driver/mysql"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/program"
)

// newMariaDB starts a server, and returns its database and the address of that.
func newMariaDB(t *testing.T) (*sql.DB, string) {
	t.Helper()
	values, stop, err := program.Start(t.Context(), "mariadb")
	var missing *program.MissingError
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	address, err := url.Parse(values[0])
	if err != nil {
		t.Fatal(err)
	}
	config := mysql.NewConfig()
	config.User, config.Net, config.Addr, config.DBName, config.MultiStatements = address.User.Username(), "tcp", address.Host, strings.TrimPrefix(address.Path, "/"), true
	config.Passwd, _ = address.User.Password()
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, values[0]
}

func run(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func mysqlRows(query string) *ragdv1.CreateConnectorRequest {
	return &ragdv1.CreateConnectorRequest{ConnectorName: "site", Source: &ragdv1.CreateConnectorRequest_Mysql{Mysql: &ragdv1.MysqlSource{SecretName: "db", Query: query}}}
}

func TestAMariaDBIsFollowed(t *testing.T) {
	t.Parallel()
	db, address := newMariaDB(t)
	run(t, db, `CREATE TABLE articles (id BIGINT UNSIGNED PRIMARY KEY, updated_at DATETIME(6) NOT NULL, body LONGTEXT, team VARCHAR(20), price DECIMAL(8,2), data JSON, raw VARBINARY(8));
		INSERT INTO articles SELECT 9007199254740000 + seq, UTC_TIMESTAMP(6) - INTERVAL seq HOUR, CONCAT('Dies ist Artikel № ', seq), 'red', 1.50, '{"a": [1]}', X'FF00' FROM seq_1_to_1203;
		UPDATE articles SET body = ' ' WHERE id = 9007199254740007;
		UPDATE articles SET body = REPEAT('a', 17 * 1024 * 1024) WHERE id = 9007199254740008;
		UPDATE articles SET team = NULL WHERE id = 9007199254740009`)
	s := newSecretService(t, "127.0.0.1")
	acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
	setSecret(t, acme, "db", address)
	req := mysqlRows("SELECT id, updated_at, body AS text, team, price, data, raw FROM articles -- all of them")
	req.MaxItems, req.GetMysql().RelistHours = 2000, 24
	req.Metadata = map[string]string{"team": "item.attributes.team", "at": "item.modifiedTime", "price": "item.attributes.price"}
	got := create(t, acme, req)
	if n := got.Counts; got.Status != "succeeded" || n.Added != 1201 || n.Skipped != 1 || n.Failed != 1 {
		t.Fatalf("first run: %v", got)
	}
	d, err := acme.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "mysql://site/9007199254740001"})
	if err != nil {
		t.Fatal(err)
	}
	if m := d.Metadata.AsMap(); m["team"] != "red" || m["price"] != 1.5 || !strings.HasPrefix(fmt.Sprint(m["at"]), "20") {
		t.Errorf("metadata: %v", m)
	}
	equal(t, "documents of another tenant", documentsUnder(t, bolt, ""), []string{})
	if shown := fmt.Sprint(got); strings.Contains(shown, "pass-word") {
		t.Errorf("the password is shown: %s", shown)
	}
	// The rows that changed are asked for, and the one that had the newest time.
	run(t, db, `UPDATE articles SET body = 'This is new', updated_at = UTC_TIMESTAMP(6) WHERE id = 9007199254740600;
		INSERT INTO articles VALUES (1, UTC_TIMESTAMP(6), 'This is another article', 'blue', 2, '{}', NULL);
		DELETE FROM articles WHERE id = 9007199254740003`)
	if got = resync(t, acme); got.Status != "succeeded" || got.Counts.Seen != 3 || got.Counts.Updated != 1 || got.Counts.Added != 1 || got.Counts.Deleted != 0 {
		t.Errorf("second run: %v", got)
	}
	if _, err := acme.UpdateConnector(t.Context(), &ragdv1.UpdateConnectorRequest{ConnectorName: "site", Description: new("All is listed again.")}); err != nil {
		t.Fatal(err)
	}
	if got = ended(t, acme, got); got.Status != "succeeded" || got.Counts.Deleted != 1 || got.Counts.Seen != 1203 {
		t.Errorf("third run: %v", got)
	}

	for query, reason := range map[string]string{
		`SELECT 1 AS id, NOW() AS updated_at, 'a' AS text UNION ALL SELECT 1, NOW(), 'b'`:               "more than one row with the id",
		`SELECT seq AS id, NOW() AS updated_at, 'a' AS text FROM seq_1_to_1000000`:                      "more than 20 rows",
		`SELECT REPEAT('x', 100000) AS id, NOW() AS updated_at, 'a' AS text`:                            "a row of more than 65536 bytes",
		`SELECT 1 AS id, NOW() AS updated_at, 'a' AS text) AS q; DROP TABLE articles; SELECT * FROM (1`: "error 1064",
		`DELETE FROM articles`: "error 1064",
		`SELECT NEXTVAL(s) AS id, NOW() AS updated_at, 'a' AS text`: "error 1792", // a read-only transaction
		`SELECT id, body AS text FROM articles`:                     `no column "updated_at"`,
		`SELECT id, updated_at, body AS text FROM none`:             "error 1146",
	} {
		if strings.Contains(query, "NEXTVAL") {
			run(t, db, `CREATE SEQUENCE s`)
		}
		if _, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site"}); err != nil {
			t.Fatal(err)
		}
		req := mysqlRows(query)
		req.MaxItems = 20
		if got := create(t, acme, req); got.Status != "failed" || !strings.Contains(got.Error, reason) || strings.Contains(got.Error, "pass-word") {
			t.Errorf("%s: %v", query, got)
		}
	}
	var count int
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM articles`).Scan(&count); err != nil || count != 1203 {
		t.Errorf("%d articles are left, %v", count, err)
	}

	// Its address is guarded.
	for value, code := range map[string]connect.Code{
		strings.Replace(address, "127.0.0.1", "192.168.1.1", 1):           connect.CodeFailedPrecondition, // inside the network of the service
		strings.Replace(address, "sslmode=disable", "allowAllFiles=1", 1): connect.CodeFailedPrecondition,
		strings.Replace(address, "mysql:", "postgres:", 1):                connect.CodeFailedPrecondition,
		strings.Replace(address, "disable", "skip-verify", 1):             connect.CodeFailedPrecondition,
	} {
		setSecret(t, acme, "db2", value)
		req := mysqlRows("SELECT 1 AS id")
		req.ConnectorName, req.GetMysql().SecretName = "other", "db2"
		if _, err := acme.CreateConnector(t.Context(), req); connect.CodeOf(err) != code || strings.Contains(err.Error(), "pass-word") {
			t.Errorf("%s: %v", value, err)
		}
	}
	// An encrypted connection is asked of a server that has none.
	setSecret(t, acme, "db", strings.Replace(address, "disable", "require", 1))
	if _, err := acme.DeleteConnector(t.Context(), &ragdv1.DeleteConnectorRequest{ConnectorName: "site"}); err != nil {
		t.Fatal(err)
	}
	if got := create(t, acme, mysqlRows("SELECT id, updated_at, body AS text FROM articles")); got.Status != "failed" {
		t.Errorf("without encryption: %v", got)
	}
}
