package usage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// ErrQuota is the cause of errors about a quota of a month: trying again soon does not help.
var ErrQuota = errors.New("quota used up")

// allowanceTTL is how long an instance uses what it knows of a tenant's quota and of the tokens
// that other instances have written.
const allowanceTTL = 5 * time.Second

// allowance is what is known of a tenant's quota of tokens.
type allowance struct {
	mu sync.Mutex // held while it is read from the database

	state   sync.Mutex
	month   time.Time
	readAt  time.Time
	quotas  quota.Limits
	written int64 // tokens of this month in the database
	warned  int64 // the limit of this month of which this instance warned
}

// Admit returns an error if a tenant has used up its quota of tokens of this month, which is
// counted by UTC. Calls in flight may exceed it, and so may what other instances have not yet
// written or this one has not read: the tokens of FlushInterval and allowanceTTL. It implements
// endpoint.Meter. Errors: Exhausted with the time until the next month, and the cause ErrQuota.
func (m *Meter) Admit(ctx context.Context, id string) error {
	if m == nil || id == "" {
		return nil
	}
	known, _ := m.allowances.LoadOrStore(id, &allowance{})
	a := known.(*allowance)
	now := m.config.Now().UTC()
	if err := m.refresh(ctx, id, a, now); err != nil {
		return err
	}
	m.mu.Lock()
	a.state.Lock()
	quotas, used := a.quotas, a.written+m.tokens[id]
	a.state.Unlock()
	m.mu.Unlock()
	if most := quotas.TokensPerMonth; most == 0 || used < most {
		return nil
	}
	next := monthOf(now).AddDate(0, 1, 0)
	refused := fault.Wrap(fault.Exhausted, ErrQuota, "this tenant has used %d tokens of models in this month, and its quota %s is %d: wait until %s, or %s",
		used, quota.MaxTokensPerMonth, quotas.TokensPerMonth, next.Format(time.DateOnly), quotas.More(quota.MaxTokensPerMonth))
	refused.RetryAfter = next.Sub(now)
	return refused.Of(quota.MaxTokensPerMonth)
}

// refresh reads the tenant's quota and use, if they are not known or old.
func (m *Meter) refresh(ctx context.Context, id string, a *allowance, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	month := monthOf(now)
	a.state.Lock()
	current := a.month.Equal(month) && now.Sub(a.readAt) < allowanceTTL
	a.state.Unlock()
	if current {
		return nil
	}
	m.writing.RLock() // nothing is between memory and the database
	defer m.writing.RUnlock()
	read, err := tokensOf(ctx, m.config.Control, id, month)
	if err != nil {
		return err
	}
	a.state.Lock()
	defer a.state.Unlock()
	if !a.month.Equal(month) {
		a.warned = 0
	}
	a.month, a.readAt, a.written = month, now, read.Used
	a.quotas = quota.Of(read.Settings, read.Plan, m.config.PlanContact)
	return nil
}

// Tokens returns the tokens of models that a tenant has used in the month of a time, without those that are not yet written.
func (m *Meter) Tokens(ctx context.Context, id tenant.ID, at time.Time) (int64, error) {
	var used int64
	rows, err := m.config.Control.Query(ctx, `
		SELECT coalesce(sum(u.input_tokens + u.output_tokens), 0)::bigint FROM ragd.usage AS u WHERE u.tenant_id = $1 AND u.hour >= $2`, id, monthOf(at))
	if err == nil {
		used, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	}
	return used, postgres.Fault(err)
}

// written notes that tokens of a tenant went from memory to the database.
func (m *Meter) written(id string, tokens int64) {
	if known, ok := m.allowances.Load(id); ok {
		a := known.(*allowance)
		a.state.Lock()
		a.written += tokens
		a.state.Unlock()
	}
}

// warn warns the tenants that are near their quota of tokens. A warning that fails is tried again after the next flush.
func (m *Meter) warn(ctx context.Context) {
	if m.config.Warn == nil {
		return
	}
	m.allowances.Range(func(id, known any) bool {
		a := known.(*allowance)
		a.state.Lock()
		amount := Amount{
			Quota: quota.MaxTokensPerMonth, Used: a.written, Limit: a.quotas.TokensPerMonth, Period: a.month.Format("2006-01"), Plan: a.quotas.PlanName(),
		}
		due := a.month.Equal(monthOf(m.config.Now())) && a.warned != amount.Limit && amount.Near()
		a.state.Unlock()
		if !due {
			return true
		}
		if err := m.config.Warn(ctx, tenant.ID(id.(string)), amount); err != nil && fault.KindOf(err) != fault.NotFound {
			m.config.Logger.WarnContext(ctx, "a tenant was not warned of its quota of tokens", "tenant", id, "err", err)
			return true
		}
		a.state.Lock()
		a.warned = amount.Limit
		a.state.Unlock()
		return true
	})
}

// forgetAllowances drops what is known of all tenants, so that it does not grow for ever.
func (m *Meter) forgetAllowances() { m.allowances.Clear() }

func monthOf(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}
