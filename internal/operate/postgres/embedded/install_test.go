package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// fakeServer creates an installation of scripts that print a version, and returns its
// folder of binaries. An empty vector means no pgvector.
func fakeServer(t *testing.T, version, vector string) string {
	t.Helper()
	dir := t.TempDir()
	bin, extension := filepath.Join(dir, "bin"), filepath.Join(dir, "share", "extension")
	for _, d := range []string{bin, extension} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{
		filepath.Join(bin, "postgres"): "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n",
		filepath.Join(bin, "initdb"):   "#!/bin/sh\n",
	}
	if vector != "" {
		files[filepath.Join(extension, "vector.control")] = "comment = 'x'\ndefault_version = '" + vector + "'\n"
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func TestFindReturnsVersions(t *testing.T) {
	t.Parallel()
	old := fakeServer(t, "15.18 (Debian 15.18-0+deb12u1)", "0.8.6")
	beta := fakeServer(t, "18beta2", "")
	linked := t.TempDir() // a link to the binary, as in Debian's alternatives
	if err := os.Symlink(filepath.Join(old, "postgres"), filepath.Join(linked, "postgres")); err != nil {
		t.Fatal(err)
	}
	client := t.TempDir() // a PATH entry without a server
	got := findIn([]string{linked, old, client, beta, "", "/nonexistent"})
	want := []Installation{
		{BinDir: beta, Version: "18beta2", Major: 18},
		{BinDir: old, Version: "15.18", Major: 15, Vector: "0.8.6"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChooseSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	in := func(major int, vector string) Installation {
		return Installation{BinDir: fmt.Sprintf("/pg/%d/bin", major), Version: fmt.Sprintf("%d.1", major), Major: major, Vector: vector}
	}
	for _, tc := range []struct {
		name  string
		found []Installation
		major int // of the cluster
		want  string
		errs  []string
	}{
		{"the newest", []Installation{in(17, "0.8.6"), in(15, "0.8.6")}, 0, "17.1", nil},
		{"the newest that has pgvector", []Installation{in(17, ""), in(15, "0.8.6")}, 0, "15.1", nil},
		{"the one that made the cluster", []Installation{in(17, "0.8.6"), in(15, "0.8.6")}, 15, "15.1", nil},
		{"no server", nil, 0, "", []string{"no PostgreSQL server is installed", "ragd doctor --fix", "postgresql-NN-pgvector", "Fedora: postgresql-server and pgvector", "RAGD_DATABASE_URL"}},
		{"no pgvector", []Installation{in(15, "")}, 0, "", []string{"15.1 in /pg/15/bin", "without pgvector", "ragd doctor --fix", "postgresql-15-pgvector"}},
		{"an old server", []Installation{in(14, "0.8.6")}, 0, "", []string{"14.1 in /pg/14/bin is too old", "ragd doctor --fix"}},
		{"an old server beside one without pgvector", []Installation{in(16, ""), in(14, "0.8.6")}, 0, "", []string{"16.1", "without pgvector"}},
		{"a cluster of another major version", []Installation{in(17, "0.8.6")}, 15, "", []string{"/data was made by PostgreSQL 15", "17.1 in", "install PostgreSQL 15"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := choose(tc.found, tc.major, "/data")
			if got.Version != tc.want {
				t.Errorf("chose %q, want %q (%v)", got.Version, tc.want, err)
			}
			if (fault.KindOf(err) == fault.Precondition) != (len(tc.errs) > 0) {
				t.Fatalf("error %v, want one that says %q", err, tc.errs)
			}
			for _, want := range tc.errs {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}
