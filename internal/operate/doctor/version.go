package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// fixedMinor is, for each major version of PostgreSQL, the minor version of 14 May 2026,
// which mends among others CVE-2026-6473: any role that may send statements can write out of
// bounds in the server's memory.
var fixedMinor = map[int]int{15: 18, 16: 14, 17: 10, 18: 4}

const oldestMajor = 15

// serverVersion checks the server's version against the releases that mend security bugs.
func (inspection) serverVersion(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var number int // such as 150018
	err := tx.QueryRow(ctx, `SELECT pg_catalog.current_setting('server_version_num')::int`).Scan(&number)
	if err != nil {
		return Finding{}, err
	}
	return judgeServer(number/10_000, number%10_000), nil
}

func judgeServer(major, minor int) Finding {
	fixed, known := fixedMinor[major]
	switch {
	case major < oldestMajor:
		return fail(fmt.Sprintf("%d.%d is older than %d, the oldest version that ragd works with", major, minor, oldestMajor), "upgrade the server")
	case known && minor < fixed:
		return warn(fmt.Sprintf("%d.%d has CVE-2026-6473 (a role that may send statements can write out of bounds in memory) and other bugs that %d.%d mends", major, minor, major, fixed),
			fmt.Sprintf("install %d.%d or newer and restart the server; nothing has to be migrated", major, fixed))
	}
	return ok("%d.%d", major, minor)
}

// vectorBug is a bug of pgvector that concerns databases with indexes of a kind.
type vectorBug struct {
	method      string // access method of the indexes
	from, fixed string // the first version with the bug, the first without
	text        string
	action      string // besides the upgrade
}

// vectorBugs are from pgvector's public list of changes, worst first.
var vectorBugs = []vectorBug{
	{"hnsw", "0.8.0", "0.8.3", "its VACUUM may corrupt HNSW indexes", "; then REINDEX every HNSW index"},
	{"hnsw", "0.6.0", "0.8.2", "CVE-2026-3172: a parallel build of an HNSW index may write out of bounds and show rows of other tables", ""},
	{"hnsw", "0.8.0", "0.8.4", "its VACUUM of HNSW indexes and inserts meanwhile may fail", ""},
	{"ivfflat", "0.8.0", "0.8.7", "building an IVFFlat index may write out of bounds", ""},
}

// vectorVersion checks the version of pgvector against its known bugs. A bug in building
// an index counts if the database has an index of that kind; HNSW is the default, and
// counts always.
func (inspection) vectorVersion(ctx context.Context, tx pgx.Tx) (Finding, error) {
	var created, available *string
	var ivf int
	err := tx.QueryRow(ctx, `
		SELECT (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector'),
			(SELECT default_version FROM pg_catalog.pg_available_extensions WHERE name = 'vector'),
			(SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_am AS a ON a.oid = c.relam WHERE a.amname = 'ivfflat')`).
		Scan(&created, &available, &ivf)
	if err != nil {
		return Finding{}, err
	}
	switch {
	case created == nil && available == nil:
		return fail("the server has no pgvector", "install it on the server: `ragd doctor --fix` there"), nil
	case created == nil:
		return warn("pgvector "+*available+" is installed, but the database has not the extension", "`ragd migrate` or the first start of the service creates it"), nil
	}
	installed := *created
	if available != nil {
		installed = *available
	}
	return judgeVector(*created, installed, ivf > 0), nil
}

// judgeVector returns the finding for the version of the extension in the database, and
// for that of the library, which has the bugs.
func judgeVector(created, library string, ivf bool) Finding {
	const oldest = "0.8.0"
	if older(created, oldest) {
		return fail("pgvector "+created+" is older than "+oldest+", the oldest version that ragd works with", "upgrade it on the server, then ALTER EXTENSION vector UPDATE")
	}
	var texts []string
	fixed, more := "", ""
	for _, bug := range vectorBugs {
		if older(library, bug.fixed) && !older(library, bug.from) && (bug.method != "ivfflat" || ivf) {
			texts, more = append(texts, bug.text), more+bug.action
			if fixed == "" || older(fixed, bug.fixed) {
				fixed = bug.fixed
			}
		}
	}
	if len(texts) > 0 {
		return warn("pgvector "+library+": "+strings.Join(texts, "; "), "install pgvector "+fixed+" or newer on the server (`ragd doctor --fix` there), reconnect, and ALTER EXTENSION vector UPDATE"+more)
	}
	if older(created, library) {
		return warn("the database has pgvector "+created+", the server "+library, "ALTER EXTENSION vector UPDATE")
	}
	return ok("%s", created)
}

// older reports whether version a, such as 0.8.6, is older than b.
func older(a, b string) bool {
	parts := func(version string) (numbers [3]int) {
		for i, part := range strings.SplitN(version, ".", len(numbers)) {
			numbers[i], _ = strconv.Atoi(part) // 0 for a form that is not known
		}
		return numbers
	}
	x, y := parts(a), parts(b)
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}
