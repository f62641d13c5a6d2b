package replica

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

const (
	// Setting is the name of the setting with the addresses of replicas.
	Setting = "database-read-urls"
	// MaxStaleness is the largest staleness that a read may allow.
	MaxStaleness = 5 * time.Minute
	// MaxReplicas is the most replicas of a database.
	MaxReplicas = 16
	// watchEvery is the interval at which the servers are looked at.
	watchEvery = 250 * time.Millisecond
)

// Config configures a Set. Primary and URLs have no defaults.
type Config struct {
	// Primary is the pool of the database that the replicas replicate.
	Primary *pgxpool.Pool
	// URLs are the addresses of replicas, at most MaxReplicas.
	URLs []string
	// Pool has the other settings of the pools of replicas.
	Pool postgres.Config
	// Staleness is what reads allow that do not say. Default: 0, they run at the primary.
	Staleness time.Duration
	// Logger receives what happens to replicas. Default slog.Default().
	Logger *slog.Logger
}

// Set reads at the replicas of one database. A tenant uses at most half of the connections to a replica
// at a time. Safe for concurrent use. A nil Set has no replicas.
type Set struct {
	primary   *pgxpool.Pool
	replicas  []*replica
	staleness time.Duration
	log       *slog.Logger

	history atomic.Pointer[history]
	turn    atomic.Uint64
	counts  *counts
}

// New returns a Set of the replicas, which are not used before Run. It does not connect to them: one
// that is down does not prevent a start. It returns nil without URLs. Errors: Invalid.
func New(config Config) (*Set, error) {
	if err := CheckStaleness("database-max-staleness", config.Staleness); err != nil {
		return nil, err
	}
	if len(config.URLs) > MaxReplicas {
		return nil, fault.Field(Setting, "names %d replicas, but at most %d are allowed", len(config.URLs), MaxReplicas)
	}
	if len(config.URLs) == 0 {
		return nil, nil
	}
	s := &Set{primary: config.Primary, staleness: config.Staleness, log: cmp.Or(config.Logger, slog.Default()), counts: newCounts()}
	s.history.Store(&history{})
	most := cmp.Or(config.Pool.MaxConns, postgres.DefaultMaxConns())
	for i, url := range config.URLs {
		if err := postgres.CheckURL(url, Setting); err != nil {
			return nil, err
		}
		pool := config.Pool
		pool.URL, pool.Setting, pool.ApplicationName = url, Setting, "ragd read"
		pool.Logger = cmp.Or(pool.Logger, s.log)
		s.replicas = append(s.replicas, newReplica(i+1, pool, max(1, most/2), s.log))
	}
	return s, nil
}

// SplitURLs returns the addresses in the text of the setting, which are separated by white space.
func SplitURLs(text string) []string { return strings.Fields(text) }

// CheckStaleness returns an error unless a read may be so stale. Errors: Invalid, naming the
// field.
func CheckStaleness(field string, staleness time.Duration) error {
	if staleness < 0 || staleness > MaxStaleness {
		return fault.Field(field, "must be from 0s to %gs, got %gs", MaxStaleness.Seconds(), staleness.Seconds())
	}
	return nil
}

// Run watches the servers until ctx ends.
func (s *Set) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { s.watchPrimary(ctx); return nil })
	for _, r := range s.replicas {
		group.Go(func() error { r.watch(ctx, s.observed); return nil })
	}
	return group.Wait()
}

// Close closes the connections to the replicas. Call it after Run has returned.
func (s *Set) Close() {
	if s == nil {
		return
	}
	for _, r := range s.replicas {
		r.close()
	}
}

// observed returns the observations of the primary.
func (s *Set) observed() history { return *s.history.Load() }

// watchPrimary observes the primary at intervals until ctx ends. Its connection is its own: while
// the pool is busy, the replicas are needed most.
func (s *Set) watchPrimary(ctx context.Context) {
	var conn *pgx.Conn
	drop := func() {
		if conn != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTimeout)
			defer cancel()
			_ = conn.Close(closing)
			conn = nil
		}
	}
	defer drop()
	for sleep(ctx, watchEvery) {
		if err := s.observe(ctx, &conn); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the position of the database's log cannot be read, which reads at replicas need", "err", err)
			drop()
		}
	}
}

// observe adds an observation of the primary.
func (s *Set) observe(ctx context.Context, conn **pgx.Conn) (err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	if *conn == nil {
		config := s.primary.Config().ConnConfig.Copy()
		config.RuntimeParams["application_name"], config.Tracer = "ragd watch", nil
		if *conn, err = pgx.ConnectConfig(ctx, config); err != nil {
			return err
		}
	}
	before := time.Now()
	of, position, err := readPosition(ctx, *conn)
	if err != nil {
		return err
	}
	seen := s.observed().add(of, observation{before, position})
	s.history.Store(&seen)
	return nil
}

// Token returns the write token of a tenant for everything that was acknowledged before the call;
// empty for a nil Set. If it cannot be read, the token demands a read at the primary.
func (s *Set) Token(ctx context.Context, tenant string) string {
	if s == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	of, position, err := readPosition(ctx, s.primary)
	if err != nil {
		s.log.WarnContext(ctx, "the position of a write cannot be read", "err", err)
		return AnyPrimary
	}
	return encodeToken(of, tenant, position)
}

// sleep waits, and reports whether ctx still lasts.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
