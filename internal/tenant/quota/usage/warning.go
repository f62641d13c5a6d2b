package usage

import (
	"context"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

const (
	// WarnPercent is how much of a quota of an amount a tenant uses when it is warned.
	WarnPercent = 80
	// RearmPercent is how little it must use before it is warned again.
	RearmPercent = 70
	// warningsTTL is how long an instance uses what it knows of the warnings of a tenant.
	warningsTTL = 10 * time.Second
	// warningsWait bounds the time that an answer waits for them.
	warningsWait = time.Second
	// maxWarnings is how many tenants an instance knows the warnings of.
	maxWarnings = 10_000
)

// Amount is what a tenant uses of a quota of documents, bytes or tokens.
type Amount struct {
	Quota string // its key
	Used  int64
	Limit int64 // 0 for none
	// Period is the month of a quota that begins anew, such as 2026-11, in which the use only grows; empty for another.
	Period string
	Plan   string // of the tenant; empty for none
}

// Near reports whether so much is used that the tenant is warned.
func (a Amount) Near() bool { return a.Limit > 0 && a.Used >= share(a.Limit, WarnPercent) }

// low reports whether so little is used that the tenant may be warned again.
func (a Amount) low() bool { return a.Limit == 0 || a.Used < share(a.Limit, RearmPercent) }

// share returns a percentage of a limit, rounded up.
func share(limit, percent int64) int64 { return (limit*percent + 99) / 100 }

// Warn writes the event quota.warning for each quota which the transaction's tenant is near after a change and of which it
// was not warned since it last used little, at the latest before the change. Both lists have the same quotas. Whichever
// instance warns, there is one event.
func Warn(ctx context.Context, tx *data.Tx, before, after []Amount) error {
	warned, err := Warned(ctx, tx)
	if err != nil {
		return err
	}
	for i, a := range after {
		is := slices.Contains(warned, a.Quota)
		if is && before[i].low() {
			// Within a month, a tenant uses less than before only of another limit: else this instance knows old numbers.
			forgotten, err := tx.Exec(ctx, `DELETE FROM ragd_shared.quota_warnings AS w WHERE w.quota = $1 AND (w.period = '' OR w.quota_limit <> $2)`, a.Quota, a.Limit)
			if err != nil {
				return err
			}
			is = forgotten == 0
		}
		if !a.Near() || is && a.Period == "" {
			continue
		}
		_, err := tx.Exec(ctx, `
			WITH warned AS (
				INSERT INTO ragd_shared.quota_warnings AS w (quota, period, quota_limit) VALUES ($1, $2, $3)
				ON CONFLICT (tenant_id, quota) DO UPDATE SET period = excluded.period, quota_limit = excluded.quota_limit, warned_at = now()
				WHERE w.period <> excluded.period RETURNING w.quota
			)
			INSERT INTO ragd_shared.events (type, data) SELECT 'quota.warning', $4 FROM warned WHERE ragd_shared.event_wanted('quota')`,
			a.Quota, a.Period, a.Limit, map[string]any{"quota": a.Quota, "used": a.Used, "limit": a.Limit, "plan": a.Plan})
		if err != nil {
			return err
		}
	}
	return nil
}

// Warned returns the keys of the quotas of which a tenant was warned since it last used little of them, or since the month
// began.
func Warned(ctx context.Context, q data.Queryer) ([]string, error) {
	rows, err := data.Select[struct{ Quota string }](ctx, q, `
		SELECT w.quota FROM ragd_shared.quota_warnings AS w WHERE w.period IN ('', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')) ORDER BY w.quota`)
	warned := make([]string, len(rows))
	for i, r := range rows {
		warned[i] = r.Quota
	}
	return warned, err
}

// Warnings knows of which quotas tenants are warned, up to warningsTTL late. A nil Warnings knows none. Safe for concurrent use.
type Warnings struct {
	db    *data.DB
	known *cache.Cache[tenant.ID, []string]
}

// NewWarnings returns the warnings of all tenants.
func NewWarnings(db *data.DB) *Warnings {
	return &Warnings{db, cache.New(cache.Config[tenant.ID, []string]{Entries: maxWarnings, TTL: warningsTTL})}
}

// Of returns the keys of the quotas of which a tenant with these limits is warned. It returns none if they cannot be read.
func (w *Warnings) Of(ctx context.Context, id tenant.ID, limits quota.Limits) []string {
	if w == nil || id == "" || limits.Documents == 0 && limits.Bytes == 0 && limits.TokensPerMonth == 0 {
		return nil
	}
	if known, ok := w.known.Get(id); ok {
		return known
	}
	limited, cancel := context.WithTimeout(ctx, warningsWait)
	defer cancel()
	warned, _ := Warned(limited, w.db.Handle(id)) // an answer is not worth less without them
	w.known.Put(id, warned)
	return warned
}
