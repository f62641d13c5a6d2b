package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// The machine under the service: its database's rights, its disk and its log.

// machineAttacks returns the attacks on the machine.
func machineAttacks() []attack {
	return []attack{
		{name: "superuser", what: "nothing: it looks at the roles of the service's own connections", run: findSuperuser},
		{name: "full-disk", what: "writes until the disk of the data directory is full, with a write key", unlimited: true, settings: onSmallDisk, run: fillDisk},
		{name: "database-down", what: "nothing for 20 s in which PostgreSQL cannot start", run: breakDatabase},
	}
}

// adminConnections are the connections that migrate schemas and create tenants, and run no
// statement of a request.
const adminConnections = "ragd admin as "

// findSuperuser looks for connections of the service whose role may do anything to the
// server, such as run programs.
func findSuperuser(ctx context.Context, s *arena) (result, error) {
	s.rpc(ctx, s.attacker.read, "IndexService/ListIndexes", object{}) // so that there is a connection
	conn, err := pgx.Connect(ctx, s.DatabaseURL())
	if err != nil {
		return result{}, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `
		select coalesce(a.application_name, '') || ' as ' || r.rolname, r.rolsuper or pg_has_role(r.oid, 'pg_execute_server_program', 'member')
		from pg_stat_activity a join pg_roles r on r.oid = a.usesysid
		where a.pid <> pg_backend_pid() and a.backend_type = 'client backend' group by 1, 2`)
	if err != nil {
		return result{}, err
	}
	r := result{}
	var connections []string
	var connection string
	var super bool
	_, err = pgx.ForEachRow(rows, []any{&connection, &super}, func() error {
		connections = append(connections, connection)
		if super && !strings.HasPrefix(connection, adminConnections) {
			r.breaks("connections %s are a superuser's", connection)
		}
		return nil
	})
	r.answer = "connections: " + strings.Join(connections, ", ")
	return r, err
}

// diskSize is the size of the small disk, in bytes.
const diskSize = 3 << 30

// onSmallDisk mounts a small disk as the data directory, if it may.
func onSmallDisk(s *arena) (args, env []string) {
	_ = mountSmall(s.Dir) // fillDisk notices an error
	// As a variable, which older binaries ignore.
	return nil, []string{fmt.Sprint("RAGD_MIN_FREE_BYTES=", 256<<20)}
}

// fillDisk writes until the disk is full. Reads must go on, and writes after the disk has
// space again.
func fillDisk(ctx context.Context, s *arena) (result, error) {
	defer unmount(s.Dir) // does nothing if it is not mounted
	if free, err := freeSpace(s.Dir); err != nil || free > diskSize {
		return result{}, errors.Join(errors.New("a small disk could not be mounted: run it as root on Linux"), err)
	}
	if err := s.upload(ctx, s.victim, 10); err != nil {
		return result{}, err
	}
	filler := filepath.Join(s.Dir, "filler")
	if err := fill(filler, s.Dir, 24<<20); err != nil {
		return result{}, err
	}
	write := func(n int) answer {
		return s.rpc(ctx, s.attacker.write, "DocumentService/UploadDocument", object{"indexName": "docs", "uri": fmt.Sprint(n), "text": prose("mallory", n, 2_000_000)})
	}
	var writes, reads []answer
	for n := range 30 {
		writes = append(writes, write(n))
		reads = append(reads, s.ask(ctx))
	}
	time.Sleep(5 * time.Second)
	for range 5 {
		reads = append(reads, s.ask(ctx))
	}
	r := result{answer: "writes " + tally(writes) + "; reads of the other tenant " + tally(reads)}
	refused := slices.IndexFunc(writes, func(a answer) bool { return a.code == "resource_exhausted" })
	if refused < 0 || !strings.Contains(writes[refused].text, "disk") {
		r.breaks("no write was refused with an error that names the disk")
	}
	if slices.ContainsFunc(reads, func(a answer) bool { return a.code != "ok" }) {
		r.breaks("reads failed while the disk was full")
	}
	if err := os.Remove(filler); err != nil {
		return r, err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		a := s.rpc(ctx, s.victim.write, "DocumentService/UploadDocument", object{"indexName": "docs", "uri": "after.txt", "text": "after"})
		if a.code == "ok" {
			return r, nil
		}
		if time.Now().After(end) {
			r.breaks("a minute after the disk had space again, writes answer %s: %s", a.code, brief(a.text))
			return r, nil
		}
	}
}

// fill writes a file until a disk has no more than the given free bytes.
func fill(file, disk string, left int64) error {
	free, err := freeSpace(disk)
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	const atOnce = 1 << 20
	block := make([]byte, atOnce)
	for ; free > left+atOnce; free -= atOnce {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// breakDatabase keeps PostgreSQL from starting for a while and counts what the log says.
func breakDatabase(ctx context.Context, s *arena) (result, error) {
	version := filepath.Join(s.Cluster(), "PG_VERSION")
	if err := os.Rename(version, version+".away"); err != nil {
		return result{}, err
	}
	pid := s.Postmaster()
	before := len(s.log.lines())
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		return result{}, err
	}
	const down = 20 * time.Second
	var answers []answer
	for end := time.Now().Add(down); time.Now().Before(end); time.Sleep(time.Second) {
		bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
		answers = append(answers, s.rpc(bounded, s.attacker.read, "IndexService/ListIndexes", object{}))
		cancel()
	}
	if err := os.Rename(version+".away", version); err != nil {
		return result{}, err
	}
	r := reject(answers)
	counts := map[string]int{}
	for _, line := range s.log.lines()[before:] {
		if line.Level == "WARN" || line.Level == "ERROR" {
			counts[line.Msg]++
		}
	}
	for _, message := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[message]; n > int(down/time.Second) {
			r.breaks("the log says %d times in %v: %s", n, down, brief(message))
		}
	}
	return r, nil
}
