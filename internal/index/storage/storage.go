// Package storage decides whether more data may be stored: it watches the free space of
// the database's disk and the bytes of each tenant. Reads and deletions do not ask it.
package storage

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	// checkTTL is how long a measurement of the disk is used.
	checkTTL = time.Second
	// fullPause is how long writes are refused after the server reported a full disk. The
	// next write then shows whether there is space again.
	fullPause = 30 * time.Second
	// retryAfter is the delay that refused callers are told.
	retryAfter = 30 * time.Second
)

// Defaults of Config.MinFree: a fraction of the disk, with bounds.
const (
	freeFraction = 50 // a fiftieth: 2%
	leastFree    = 1 << 30
	mostFree     = 10 << 30
)

// Config holds the settings of a Guard. The zero Config limits nothing until the server
// reports a full disk.
type Config struct {
	// Free returns the free and the total bytes of the database's disk. Default: they
	// are not known.
	Free func() (free, total int64, err error)
	// MinFree is how many bytes of the disk must be free for writes. Default: 2% of the
	// disk, at least 1 GiB, at most 10 GiB.
	MinFree int64
	// Quota is how many bytes the tables of a tenant may have. Default: no limit.
	Quota int64
	// Logger gets a line when writes are refused and when they are accepted again.
	Logger *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Guard decides whether data may be stored. A nil Guard allows everything. Safe for
// concurrent use.
type Guard struct {
	config Config
	tenants

	mu        sync.Mutex
	checkedAt time.Time
	refusal   error     // nil while writes are accepted
	fullUntil time.Time // after the server reported a full disk
}

// New returns a Guard.
func New(config Config) *Guard {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Guard{config: config, tenants: tenants{known: map[string]*usage{}}}
}

// FreeIn returns a function for Config.Free that measures the file system of a folder.
func FreeIn(dir string) func() (free, total int64, err error) {
	return func() (free, total int64, err error) {
		if free, total, err = measureDisk(dir); err != nil {
			return 0, 0, fmt.Errorf("measure the disk of %s: %w", dir, err)
		}
		return free, total, nil
	}
}

// Disk returns nil if the database's disk has space for writes. It blocks for a system
// call at most. Errors: Exhausted, with the time to wait.
func (g *Guard) Disk() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.config.Now()
	if now.Sub(g.checkedAt) < checkTTL {
		return g.refusal
	}
	g.checkedAt = now
	g.set(g.measure(now))
	return g.refusal
}

// ReportFull refuses writes for a while, after the database server answered that its disk
// is full.
func (g *Guard) ReportFull() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.config.Now()
	g.checkedAt, g.fullUntil = now, now.Add(fullPause)
	g.set(g.measure(now))
}

// measure returns the refusal of writes; nil if there is space.
func (g *Guard) measure(now time.Time) error {
	if now.Before(g.fullUntil) {
		return fault.Retry(retryAfter, "the disk of the PostgreSQL server is full, so nothing can be stored: its operator must free or add space. Reads go on")
	}
	if g.config.Free == nil {
		return nil
	}
	free, total, err := g.config.Free()
	if err != nil {
		g.config.Logger.Warn("the free space of the database's disk is not known", "err", err)
		return nil
	}
	need := g.config.MinFree
	if need <= 0 {
		need = min(max(total/freeFraction, leastFree), mostFree)
	}
	if g.refusal != nil {
		need += need / 8 // so that the answer does not alternate
	}
	if free >= need {
		return nil
	}
	return fault.Retry(retryAfter,
		"the disk of the database is almost full, so nothing is stored: %s are free, and %s are kept free (setting min-free-bytes). Its operator must free or add space. Reads and deletions go on",
		size(free), size(need))
}

// set stores the refusal and logs a change.
func (g *Guard) set(refusal error) {
	switch {
	case refusal != nil && g.refusal == nil:
		g.config.Logger.Error("writes are refused", "err", refusal)
	case refusal == nil && g.refusal != nil:
		g.config.Logger.Info("writes are accepted again: the database's disk has space")
	}
	g.refusal = refusal
}

// Admit returns nil if a tenant may store about so many bytes more. name is the tenant's.
// count returns the bytes of its tables; it is called if the last count is older than
// countTTL and there is a quota. Errors: Exhausted, those of count.
func (g *Guard) Admit(ctx context.Context, name string, bytes int64, count func(context.Context) (int64, error)) error {
	if g == nil {
		return nil
	}
	if err := g.Disk(); err != nil {
		return err
	}
	if g.config.Quota <= 0 {
		return nil
	}
	used, err := g.used(ctx, name, g.config.Now(), count)
	if err != nil {
		return err
	}
	if used+bytes > g.config.Quota {
		return fault.Retry(retryAfter,
			"this tenant's data takes %s, and with this it would be more than its quota of %s (setting max-tenant-bytes): delete documents or indexes, or ask the operator for more",
			size(used), size(g.config.Quota)).Of("max-tenant-bytes")
	}
	g.add(name, bytes)
	return nil
}

// size formats a number of bytes.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	value, unit := float64(n), -1
	for value >= 1<<10 && unit < len(units)-1 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", value, units[unit])
}
