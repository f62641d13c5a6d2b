package migrations

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "add the files to landed.sha256 that it does not have; those that it has stay as they are")

// landed has the checksums of all migrations, as sha256sum writes them.
const landed = "landed.sha256"

// A migration that has landed has run in databases, so it never changes: a change is a new file.
func TestMigrationsThatHaveLandedDoNotChange(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(landed)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("%s has the line %q", landed, line)
		}
		known[name] = sum
	}
	added := string(text)
	for _, schema := range []string{"control", "shared", "tenant"} {
		names, err := fs.Glob(files, schema+"/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			content, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			sum := fmt.Sprintf("%x", sha256.Sum256(content))
			switch was, ok := known[name]; {
			case !ok && *update:
				added += sum + "  " + name + "\n"
			case !ok:
				t.Errorf("%s does not have %s: go test ./migrations -update", landed, name)
			case was != sum:
				t.Errorf("%s has changed since it landed: databases have run it, so restore it and write a new migration", name)
			}
			delete(known, name)
		}
	}
	for name := range known {
		t.Errorf("%s is gone: databases that have run it need it", name)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(landed, []byte(added), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
