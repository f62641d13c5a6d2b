package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsDependOnMemoryAndCPUs(t *testing.T) {
	t.Parallel()
	names := []string{"shared_buffers", "effective_cache_size", "maintenance_work_mem", "work_mem", "max_connections", "max_parallel_maintenance_workers"}
	for _, tc := range []struct {
		name   string
		memory int64
		cpus   int
		want   []string
	}{
		{"a small container", 256 * mib, 1, []string{"128MB", "256MB", "64MB", "4MB", "100", "2"}},
		{"a laptop", 16 * gib, 8, []string{"2048MB", "8192MB", "1024MB", "32MB", "100", "4"}},
		{"a big server", 1024 * gib, 64, []string{"4096MB", "524288MB", "2048MB", "32MB", "640", "8"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			settings := machineSettings(tc.memory, tc.cpus)
			got := make([]string, len(names))
			for i, name := range names {
				got[i] = settings[name]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSettingsDependOnTheNumberOfTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 7 {
		database := filepath.Join(dir, fmt.Sprint(n%2))
		if err := os.MkdirAll(database, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(database, fmt.Sprint(n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := countFiles(dir); n != 7 {
		t.Errorf("%d files counted, want 7", n)
	}
	for files, want := range map[int][2]string{
		0: {"60s", "256"}, 80_000: {"60s", "400"}, 160_000: {"120s", "800"}, 340_000: {"255s", "1700"}, 5_000_000: {"600s", "8192"},
	} {
		if got := [2]string{vacuumPause(files), locks(files)}; got != want {
			t.Errorf("%d files: pause and locks %s, want %s", files, got, want)
		}
	}
}
