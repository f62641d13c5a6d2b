package subprocess

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// compiled returns the files below a directory with their times of change.
func compiled(t *testing.T, directory string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		found[path] = info.ModTime().String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// readAtOnce reads a PDF file in several new children at once.
func readAtOnce(t *testing.T, p *Pool) {
	t.Helper()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if d, err := p.Parse(t.Context(), "acme", file(t, "files/handbook.pdf")); err != nil || d.Format != parse.PDF {
				t.Errorf("format %q, %v", d.Format, err)
			}
		})
	}
	all.Wait()
}

func TestTheReaderOfPDFFilesIsCompiledOnce(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("it compiles too slowly with the race detector")
	}
	cache := t.TempDir()
	p := newPool(t, Config{Processes: 3, PerTenant: 3, UserCache: cache})
	readAtOnce(t, p)
	before := compiled(t, parse.CacheDirectory(cache))
	if len(before) == 0 {
		t.Fatal("nothing is in the cache")
	}
	again := newPool(t, Config{Processes: 1, UserCache: cache})
	readAtOnce(t, again)
	for path, changed := range compiled(t, parse.CacheDirectory(cache)) {
		if before[path] != changed {
			t.Errorf("%s is compiled again", path)
		}
	}
}

func TestAUsersCacheThatCannotBeWrittenIsReplacedByATemporaryOne(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("it compiles too slowly with the race detector")
	}
	occupied := filepath.Join(t.TempDir(), "cache")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPool(t, Config{Processes: 3, PerTenant: 3, UserCache: occupied})
	readAtOnce(t, p)
	temporary := p.pdf.cache()
	if len(compiled(t, parse.CacheDirectory(temporary))) == 0 {
		t.Errorf("nothing is in the cache %q", temporary)
	}
	p.Close()
	if _, err := os.Stat(temporary); !os.IsNotExist(err) {
		t.Errorf("the temporary cache is still there: %v", err)
	}
}

func TestAPoolThatIsClosedDoesNotPrepare(t *testing.T) {
	t.Parallel()
	p := newPool(t, Config{Processes: 1, UserCache: t.TempDir()})
	p.Close()
	if _, err := p.Parse(t.Context(), "acme", file(t, "files/handbook.pdf")); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("error %v", err)
	}
}
