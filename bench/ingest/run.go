package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// usage is what was used until some moment.
type usage struct {
	at                     time.Time
	client, ragd, database time.Duration // processor time
	wal                    int64         // bytes
}

// usage returns what was used until now, without the clients.
func (a *arena) usage(ctx context.Context) (u usage, err error) {
	u = usage{at: time.Now(), ragd: a.daemon.CPU(), database: a.daemon.DatabaseCPU()}
	err = a.database.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&u.wal)
	return u, err
}

// outcome is what `ragd ingest --json` prints, as far as it is read here.
type outcome struct {
	Ready     int `json:"ready"`
	Unchanged int `json:"unchanged"`
	Failed    int `json:"failed"`
}

// ingest runs `ragd ingest` and returns its outcome and what it cost.
func (a *arena) ingest(ctx context.Context, index string, input io.Reader, args ...string) (outcome, usage, error) {
	before, err := a.usage(ctx)
	if err != nil {
		return outcome{}, usage{}, err
	}
	command := exec.CommandContext(ctx, a.ragd, append([]string{"ingest", "--json", "--index", index, "--server", a.daemon.URL(), "--jsonl"}, args...)...)
	command.Env = a.environment()
	command.Stdin, command.Stderr = input, os.Stderr
	output, err := command.Output()
	if err != nil {
		return outcome{}, usage{}, fmt.Errorf("%w\n%s", err, output)
	}
	after, err := a.usage(ctx)
	if err != nil {
		return outcome{}, usage{}, err
	}
	cost := usage{
		client: command.ProcessState.UserTime() + command.ProcessState.SystemTime(),
		ragd:   after.ragd - before.ragd, database: after.database - before.database, wal: after.wal - before.wal,
	}
	cost.at = time.Time{}.Add(after.at.Sub(before.at))
	var o outcome
	return o, cost, json.Unmarshal(output, &o)
}

// repeat ingests the corpus several times, each into a fresh index, and each a second time.
func (a *arena) repeat(ctx context.Context, docs []document) error {
	path := filepath.Join(a.daemon.Dir, "corpus.jsonl")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	bytes, err := write(f, "", docs)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Printf("%d documents, %.1f MB of text\n\n", len(docs), float64(bytes)/1e6)
	fmt.Println("| run | documents/s | seconds | CPU s: client | ragd | PostgreSQL | WAL bytes/document |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for n := range a.runs {
		index := fmt.Sprint("run", n+1)
		for _, name := range []string{"new", "unchanged"} {
			done, cost, err := a.ingest(ctx, index, nil, path)
			if err != nil {
				return err
			}
			if done.Ready != len(docs) || name == "unchanged" && done.Unchanged != len(docs) {
				return fmt.Errorf("%s documents: %+v", name, done)
			}
			seconds := cost.at.Sub(time.Time{}).Seconds()
			fmt.Printf("| %d, %s | %.0f | %.2f | %.2f | %.2f | %.2f | %d |\n", n+1, name, float64(len(docs))/seconds, seconds,
				cost.client.Seconds(), cost.ragd.Seconds(), cost.database.Seconds(), cost.wal/int64(len(docs)))
		}
		if err := a.deleteIndex(ctx, index); err != nil {
			return err
		}
	}
	if a.statements {
		return a.printStatements(ctx)
	}
	return nil
}

// deleteIndex deletes an index, so that the next run is not slowed down by the build of its
// Postgres index.
func (a *arena) deleteIndex(ctx context.Context, index string) error {
	command := exec.CommandContext(ctx, a.ragd, "index", "delete", index, "--yes", "--server", a.daemon.URL())
	command.Env = a.environment()
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// environment returns the environment of a command that acts for the tenant.
func (a *arena) environment() []string {
	return append(os.Environ(), "RAGD_API_KEY="+a.key, "XDG_CONFIG_HOME="+a.daemon.Dir)
}

// printStatements prints the statements that took the most time.
func (a *arena) printStatements(ctx context.Context) error {
	rows, err := a.database.Query(ctx, `
		SELECT calls, total_exec_time, rows, wal_bytes::bigint, regexp_replace(left(query, 200), '\s+', ' ', 'g')
		FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 45`)
	if err != nil {
		return err
	}
	defer rows.Close()
	fmt.Println("\n| calls | ms | rows | WAL bytes | statement |\n| --- | --- | --- | --- | --- |")
	for rows.Next() {
		var calls, count, wal int64
		var took float64
		var query string
		if err := rows.Scan(&calls, &took, &count, &wal, &query); err != nil {
			return err
		}
		fmt.Printf("| %d | %.0f | %d | %d | %s |\n", calls, took, count, wal, query)
	}
	return rows.Err()
}
