package connector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

func TestAnSQLiteQueryReadsItsFileAlone(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	path, secret, text := filepath.Join(root, "shop.db"), filepath.Join(outside, "secret.db"), filepath.Join(root, "text.md")
	for _, name := range []string{path, secret} {
		db, err := sqlite3.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Exec(`CREATE TABLE articles (id INTEGER PRIMARY KEY, updated_at, text); INSERT INTO articles VALUES (1, 1, 'This is a.')`); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(text, []byte("# No database\n\n"+strings.Repeat("It is a text. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.db": secret, "up": outside} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	all := `SELECT id, updated_at, text FROM articles`
	for _, c := range []struct{ path, query, reason string }{
		{path, all, ""},
		{path, `SELECT id, updated_at, text FROM articles WHERE 0`, ""},
		{path, `ATTACH '` + secret + `' AS s`, "near"},
		{path, `SELECT 1 AS id, 1 AS updated_at, 'a' AS text) AS q; ATTACH '` + secret + `' AS s; SELECT * FROM (SELECT 1`, "one SELECT"},
		{path, `SELECT 1 AS id, 1 AS updated_at, 'a' AS text) AS q; DELETE FROM articles; --`, "one SELECT"},
		{path, `SELECT 1 AS id, 1 AS updated_at, name AS text FROM pragma_table_list`, "tables of the database alone"},
		{path, `SELECT 1 AS id, 1 AS updated_at, readfile('/etc/passwd') AS text`, "no such function"},
		{path, `SELECT 1 AS id, 1 AS updated_at, load_extension('x') AS text`, "no such function"},
		{path, `SELECT 1 AS id, 1 AS updated_at, hex(zeroblob(1000000000)) AS text`, "too much memory"},
		{path, `SELECT 1 AS id, 1 AS updated_at, 'a' AS text UNION ALL SELECT 'a', 1, 'b'`, "all of one type"},
		{path, `SELECT 1.5 AS id, 1 AS updated_at, 'a' AS text`, "all of one type"},
		{path, `SELECT hex(zeroblob(40000)) AS id, 1 AS updated_at, 'a' AS text`, "more than 65536 bytes"},
		{path, `SELECT id, text FROM articles`, `no column "updated_at"`},
		{path, `SELECT id, updated_at, text FROM none`, "no such table"},
		{text, all, "no SQLite database"},
		{filepath.Join(root, "none.db"), all, "no such file"},
		{filepath.Join(root, "link.db"), all, "not a regular file"},
		{filepath.Join(root, "up/secret.db"), all, "symbolic link"},
		{root, all, "not a regular file"},
	} {
		settings := &Rows{Query: c.query}
		if err := settings.complete("sqlite"); err != nil {
			t.Fatal(err)
		}
		rows := &sqliteRows{Rows: settings, fetch: &fetcher{maxItems: maxItems}}
		err := rows.open(c.path)
		if err == nil {
			_, err = rows.page(t.Context(), nil, nil)
			if wrong := rows.db.Close(); wrong != nil {
				t.Error(wrong)
			}
		}
		if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s, %s: %v", c.path, c.query, err)
		}
	}
}
