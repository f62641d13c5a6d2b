package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/testing/pgtest"
)

func TestDatabases(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	s := newSession(t, "RAGD_MASTER_KEY="+strings.Repeat("7", 64))
	file := filepath.Join(t.TempDir(), "east.url")
	if err := os.WriteFile(file, []byte(address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []step{
		{args: args("databases add east --file " + file), stdout: "...database     east\naddress"},
		{args: args("databases add east --file " + file), code: 1, stderr: "ragd: database \"east\" exists already: update it to change its URL\n"},
		{args: args("tenant create beta --database east"), stdout: "...database  east\n"},
		{args: args("tenant create beta --database west"), code: 1, stderr: "ragd: database \"west\" not found\n"},
		{args: args("databases update east --file " + file + " --connections 5"), stdout: "...connections  5\n"},
		{args: args("databases remove east"), code: 1, stderr: "ragd: the database \"east\" has tenants, 1 of them: move or delete them first\n"},
	} {
		s.want(t, want)
	}
	for command, part := range map[string]string{"databases list": "east      ok", "doctor": "database east"} {
		if _, stdout, stderr := s.run(args(command)...); !strings.Contains(stdout, part) {
			t.Errorf("%s: %s%s", command, stdout, stderr)
		}
	}
	s.want(t, step{args: args("tenant delete beta --yes"), stdout: anything})
	s.want(t, step{args: args("databases remove east"), stdout: "removed  east\n"})
}
