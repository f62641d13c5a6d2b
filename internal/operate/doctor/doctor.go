// Package doctor looks for what is wrong, or will be, with the database of a service and
// with the machine that it runs on, and says what to do. It changes nothing. Its findings
// show no passwords, no text of statements and no rows.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Status is how bad a finding is.
type Status string

// The statuses, from good to bad.
const (
	OK   Status = "ok"
	Warn Status = "warn" // works, but will not for long, or not well
	Fail Status = "fail" // does not work, or loses data
)

// Finding is the outcome of a check. Action says what to do; it is empty if Status is OK.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Action string `json:"action,omitempty"`
}

// Worst returns the worst status of the findings, OK without any.
func Worst(findings []Finding) Status {
	worst := OK
	for _, f := range findings {
		if f.Status == Fail || worst == OK {
			worst = f.Status
		}
		if worst == Fail {
			break
		}
	}
	return worst
}

// Config holds the settings of Database.
type Config struct {
	// Connections is how many connections an instance of the service may open. Default:
	// that is not checked.
	Connections int
	// LongTransaction is how long a transaction may be open before it is a finding: until
	// its end the dead rows of the database cannot be cleaned up. Default 15 minutes.
	LongTransaction time.Duration
	// Now is the clock that the database's is compared with. Default: time.Now.
	Now func() time.Time
}

// statementTimeout bounds each statement, so that a check on a busy server is no burden.
const statementTimeout = "8s"

// inspection is one run of the checks of a database.
type inspection struct {
	config Config
	conn   *pgx.Conn
}

// databaseCheck is one check of a database. It runs in a transaction of its own.
type databaseCheck struct {
	name string
	run  func(context.Context, pgx.Tx) (Finding, error)
}

// Database checks the database of a connection, and the server behind it. A check that
// the connection's role may not do, or that takes too long, is a finding with Warn. The
// checks read in transactions that cannot write.
func Database(ctx context.Context, conn *pgx.Conn, config Config) []Finding {
	if config.Now == nil {
		config.Now = time.Now
	}
	config.LongTransaction = cmp.Or(config.LongTransaction, longTransaction)
	i := inspection{config, conn}
	var findings []Finding
	for _, check := range []databaseCheck{
		{"PostgreSQL version", i.serverVersion},
		{"pgvector version", i.vectorVersion},
		{"Citus", i.citus},
		{"durability", i.durability},
		{"memory settings", i.memory},
		{"planner settings", i.planner},
		{"connections", i.connections},
		{"autovacuum", i.autovacuum},
		{"transaction ids", i.transactionIDs},
		{"invalid indexes", i.invalidIndexes},
		{"bloat", i.bloat},
		{"unused indexes", i.unusedIndexes},
		{"sequential scans", i.sequentialScans},
		{"statistics of tables", i.neverAnalyzed},
		{"long transactions", i.longTransactions},
		{"replication slots", i.replicationSlots},
		{"log archive", i.logArchive},
		{"clock", i.clock},
	} {
		findings = append(findings, i.check(ctx, check))
	}
	return findings
}

// check runs one check in a transaction that is rolled back.
func (i inspection) check(ctx context.Context, check databaseCheck) Finding {
	var found Finding
	err := pgx.BeginTxFunc(ctx, i.conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_catalog.set_config('statement_timeout', $1, true)`, statementTimeout); err != nil {
			return err
		}
		var err error
		found, err = check.run(ctx, tx)
		return err
	})
	if err != nil {
		found = warn("the check could not be made: "+reason(err), "repeat it as a superuser or a member of pg_monitor, when the server is less busy")
	}
	found.Check = check.name
	return found
}

// reason returns the message of a database error without its context, which may show values.
func reason(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return fmt.Sprintf("%s (SQLSTATE %s)", pe.Message, pe.Code)
	}
	return err.Error()
}

func ok(format string, args ...any) Finding {
	return Finding{Status: OK, Detail: fmt.Sprintf(format, args...)}
}

func warn(detail, action string) Finding {
	return Finding{Status: Warn, Detail: detail, Action: action}
}

func fail(detail, action string) Finding {
	return Finding{Status: Fail, Detail: detail, Action: action}
}

// named is the name of a relation, or of another thing, with a number that tells its size.
type named struct {
	Name string
	N    int64
}

// maxNamed is how many names a finding shows.
const maxNamed = 5

// list returns the names with what show makes of their numbers, such as "a (3 MB), b (1 MB) and 2 more".
func list(all []named, show func(int64) string) string {
	var parts []string
	for _, one := range all[:min(len(all), maxNamed)] {
		parts = append(parts, fmt.Sprintf("%s (%s)", one.Name, show(one.N)))
	}
	text := strings.Join(parts, ", ")
	if more := len(all) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// size returns a number of bytes as text, such as "1.5 GB".
func size(n int64) string {
	const unit = 1024
	value, suffix := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB", "TB"} {
		if value < unit {
			break
		}
		value, suffix = value/unit, next
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + suffix
}

func collect(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]named, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[named])
}
