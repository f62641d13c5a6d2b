package embedded

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// confName is the file with ragd's settings, in the folder of postgresql.conf.
const confName = "ragd.conf"

// appendInclude includes ragd's settings at the end of postgresql.conf. Lines that an
// operator adds below, and ALTER SYSTEM, override them.
func appendInclude(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("configure the cluster: %w", err)
	}
	_, err = fmt.Fprintf(f, "\n# Written by ragd at each start. Settings below this line override it.\ninclude '%s'\n", confName)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// configure writes ragd.conf: the settings for this machine, overridden by extra.
func (c *cluster) configure(extra map[string]string) error {
	settings := machineSettings(memoryBytes(), runtime.NumCPU())
	if smallSharedMemory() {
		// Parallel index builds use shared memory, of which containers often have only
		// 64 MB. Files in the data directory have no such limit.
		settings["dynamic_shared_memory_type"] = "mmap"
	}
	files := countFiles(filepath.Join(c.dir, "base"))
	settings["autovacuum_naptime"] = vacuumPause(files)
	settings["max_locks_per_transaction"] = locks(files)
	maps.Copy(settings, extra)
	var text strings.Builder
	text.WriteString("# Written by ragd at each start; see docs/how-to/postgres.md.\n")
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.NewReplacer("'", "''", `\`, `\\`).Replace(settings[name]))
	}
	path := filepath.Join(c.dir, confName)
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("write the server's settings: %w", err)
	}
	return c.account.own(path)
}

// vacuumPause returns the setting autovacuum_naptime for a cluster with this number of
// files, about one for each table and index. After each pause a worker of autovacuum looks
// at all of them, which took 0.3 s of a CPU for 80,000: the pause keeps that below 0.5 % of
// a CPU. Hot tables should not wait for longer than a few minutes.
func vacuumPause(files int) string {
	const least, most, perMinute = 60, 600, 80_000
	return fmt.Sprintf("%ds", min(max(files*60/perMinute, least), most))
}

// locks returns the setting max_locks_per_transaction for a cluster with this number of
// files. The server has as many locks for each of its connections, at least 100. pg_dump
// locks all tables at once, of which there are fewer than half as many as files.
func locks(files int) string {
	const least, most, connections = 256, 8192, 100
	return fmt.Sprint(min(max(files/2/connections, least), most))
}

// countFiles returns the number of files in the folders of a folder.
func countFiles(dir string) (n int) {
	databases, _ := os.ReadDir(dir) // a new cluster may have none yet
	for _, database := range databases {
		f, err := os.Open(filepath.Join(dir, database.Name()))
		if err != nil {
			continue
		}
		names, _ := f.Readdirnames(-1)
		n += len(names)
		_ = f.Close()
	}
	return n
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

// machineSettings returns PostgreSQL settings for a machine with this memory, in bytes,
// and number of CPUs. The server shares the machine with ragd and other programs, so
// shared_buffers is an eighth of the memory, not the quarter that is usual for a dedicated
// server.
func machineSettings(memory int64, cpus int) map[string]string {
	megabytes := func(n, low, high int64) string {
		return fmt.Sprintf("%dMB", min(max(n, low), high)/mib)
	}
	return map[string]string{
		"shared_buffers":       megabytes(memory/8, 128*mib, 4*gib),
		"effective_cache_size": megabytes(memory/2, 256*mib, 1024*gib),
		// An HNSW build that needs more memory than this is many times slower.
		"maintenance_work_mem":             megabytes(memory/16, 64*mib, 2*gib),
		"work_mem":                         megabytes(memory/512, 4*mib, 32*mib),
		"max_parallel_maintenance_workers": fmt.Sprint(min(max(cpus/2, 2), 8)),
		"max_connections":                  fmt.Sprint(max(100, 10*cpus)),
		// Compiling would take longer than queries of a few milliseconds.
		"jit":              "off",
		"random_page_cost": "1.1",
		// For TakeBackup, which copies the cluster and, on a connection of its own, the log.
		"wal_level":       "replica",
		"max_wal_senders": "4",
		"max_wal_size":    "2GB",
		"wal_compression": "on",
		"timezone":        "UTC",
		"log_timezone":    "UTC",
		// The server's log is copied to ragd's, which must not contain questions, texts
		// or keys. So failed statements and row values are not logged; callers get the
		// errors.
		"lc_messages":             "C",
		"log_checkpoints":         "off",
		"log_error_verbosity":     "terse",
		"log_line_prefix":         "",
		"log_min_error_statement": "panic",
		"log_min_messages":        "log",
	}
}
