// Package audit keeps the audit log: which administrative actions were tried, by whom, on what
// and with which outcome, which calls were denied, and what policies did to calls of tools. An action is
// recorded before it begins, so that none happens unrecorded, and its outcome after it has ended. Denied calls
// and decisions of policies are summed up by the minute, so that an attacker cannot fill the disk. The database
// refuses to change entries.
//
//	err := log.Do(ctx, audit.Action{Method: "ragd.v1.IndexService/DeleteIndex", Object: names}, call)
package audit

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/time/rate"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Kind is what an entry is about.
type Kind string

// The kinds.
const (
	Actions  Kind = "action" // an administrative action
	Denials  Kind = "denied" // calls of a minute that were denied
	Policies Kind = "policy" // what a policy did to calls of tools in a minute
)

// OutcomeOK is the outcome of an action that succeeded. Others are kinds of faults.
const OutcomeOK = "ok"

const (
	// DefaultRetention is how long entries are kept by default: a year and a month.
	DefaultRetention = 400 * 24 * time.Hour
	// MinRetention is how long the database refuses to delete an entry.
	MinRetention = 30 * 24 * time.Hour

	// actionRate and actionBurst bound the actions of a tenant on an instance, and so the entries
	// that it can make: per second, and at once. Operators are not bounded.
	actionRate  = 20
	actionBurst = 10_000

	// maxNames and maxNameBytes bound what an entry says about the object of an action. More names
	// are left out, longer ones are cut.
	maxNames     = 8
	maxNameBytes = 200

	writeTimeout  = 5 * time.Second
	sweepInterval = time.Hour
)

// control runs statements on the control schema with the rights of the service.
type control interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Config configures a Log. Control and Logger are required.
type Config struct {
	Control control
	Logger  *slog.Logger
	// Retention is how long entries are kept. Default: DefaultRetention.
	Retention time.Duration
}

// Log is the audit log. A nil Log records nothing. Safe for concurrent use.
type Log struct {
	config Config

	rates sync.Map // tenant -> *rate.Limiter of actions

	mu       sync.Mutex
	denied   map[denial]*denials
	decided  map[decision]*denials
	ofTenant map[string]int // sums of decisions
}

// New returns a Log. Run writes the sums of denied calls. Errors: Invalid for a retention under
// MinRetention.
func New(config Config) (*Log, error) {
	config.Retention = cmp.Or(config.Retention, DefaultRetention)
	if config.Retention < MinRetention {
		return nil, fault.Field("audit-retention", "must be at least %s, because the database refuses to delete younger entries", MinRetention)
	}
	return &Log{config: config, denied: map[denial]*denials{}, decided: map[decision]*denials{}, ofTenant: map[string]int{}}, nil
}

// Action is an administrative action.
type Action struct {
	// Method is the RPC, such as ragd.v1.IndexService/DeleteIndex.
	Method string
	// Object is what it is about, as names by the fields of the request. It has no secrets.
	Object map[string]string
	// Tenant is the one that the request names, which counts for operators. Others act on the
	// tenant of the request context.
	Tenant string
}

// Do records an action of the caller, runs it, and records its outcome. The result of call are
// names of what it made. If the action cannot be recorded, it is not run. If its outcome cannot
// be recorded, the entry stays without one. Errors: those of call; Unavailable; Exhausted with the
// time to wait if the tenant has too many actions.
func (l *Log) Do(ctx context.Context, a Action, call func(context.Context) (result map[string]string, err error)) error {
	if l == nil {
		_, err := call(ctx)
		return err
	}
	r, ok := access.FromContext(ctx)
	if !ok {
		r = &access.Request{}
	}
	on := string(r.Tenant)
	if on == "" && r.Principal.Has(access.Operator) {
		on = a.Tenant
	}
	if !r.Principal.Has(access.Operator) {
		if err := l.admit(string(r.Tenant)); err != nil {
			return err
		}
	}
	id, err := l.begin(ctx, r, on, a)
	if err != nil {
		telemetry.AuditFailed(ctx)
		return fault.Wrap(fault.Unavailable, err, "the audit log cannot be written, so nothing was changed: try again")
	}
	httpserver.Add(ctx, httpserver.AuditEntry, id)
	outcome, result := fault.Internal.String(), map[string]string(nil) // of a panic
	defer func() { l.end(ctx, id, outcome, result) }()
	result, err = call(ctx)
	if outcome = OutcomeOK; err != nil {
		outcome, result = fault.KindOf(err).String(), nil
	}
	return err
}

// admit returns an error if the callers of a tenant have had too many actions.
func (l *Log) admit(id string) error {
	limiter, _ := l.rates.LoadOrStore(id, rate.NewLimiter(actionRate, actionBurst))
	reserved := limiter.(*rate.Limiter).Reserve()
	wait := reserved.Delay()
	if wait == 0 {
		return nil
	}
	reserved.Cancel()
	return fault.Retry(wait, "this tenant may make %d administrative changes at once, and then %d a second, which the audit log records: wait", actionBurst, actionRate)
}

// clean returns names as they may stand in an entry.
func clean(names map[string]string) map[string]string {
	kept := map[string]string{}
	for name, value := range names {
		if len(kept) < maxNames {
			kept[name] = cleanText(value)
		}
	}
	return kept
}

// cleanText returns a text that the database takes, without control characters.
func cleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, text)
	return textlimit.Shorten(strings.ToValidUTF8(text, string(utf8.RuneError)), maxNameBytes)
}

// Run writes the sums of denied calls every minute and deletes old entries, until ctx ends. Flush
// then writes the last sums.
func (l *Log) Run(ctx context.Context) error {
	flush, sweep := time.NewTicker(period), time.NewTicker(sweepInterval)
	defer flush.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-flush.C:
			if err := l.Flush(ctx); err != nil && ctx.Err() == nil {
				l.config.Logger.WarnContext(ctx, "denied calls were not written to the audit log, and are kept in memory", "err", err)
			}
		case <-sweep.C:
			l.rates.Range(func(id, limiter any) bool {
				if limiter.(*rate.Limiter).Tokens() >= actionBurst {
					l.rates.Delete(id)
				}
				return true
			})
			if err := l.Sweep(ctx); err != nil && ctx.Err() == nil {
				l.config.Logger.WarnContext(ctx, "deleting old entries of the audit log", "err", err)
			}
		}
	}
}
