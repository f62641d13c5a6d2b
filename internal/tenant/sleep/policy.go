package sleep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const (
	// sweepInterval is how often Run looks for tenants that are unused, and for what interrupted calls have left.
	sweepInterval = time.Minute
	// retryInterval is how soon it looks again after the database has failed a call: until then the writes of a tenant may be refused.
	retryInterval = 2 * time.Second
	// duePage is how many tenants are looked at with one statement.
	duePage = 1000
)

// checkIdle returns an error if a tenant has work that has not ended: putting it to sleep would lose it, and a schedule would
// not run. Errors: Precondition.
func (s *Service) checkIdle(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error {
	var moves, documents bool
	var tasks []job.Kind
	err := conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM ragd.moves AS m WHERE m.tenant_id = $1 AND m.phase IN ('copying', 'switching', 'dropping')),
			EXISTS (SELECT FROM ragd.backlog AS b WHERE b.tenant_id = $1),
			array(SELECT DISTINCT t.kind FROM ragd.river_job AS t
				WHERE t.args ->> 'tenant' = $1 AND t.state IN ('available', 'pending', 'retryable', 'running', 'scheduled') ORDER BY t.kind)`,
		string(id)).Scan(&moves, &documents, &tasks)
	if err != nil {
		return postgres.Fault(err)
	}
	const q = `
		SELECT EXISTS (SELECT FROM tenant.jobs AS j WHERE j.status IN ('queued', 'running')) AS jobs,
			EXISTS (SELECT FROM tenant.indexes AS i WHERE i.next_model IS NOT NULL) AS models,
			EXISTS (SELECT FROM ragd_shared.workflow_runs AS r WHERE r.status IN ('queued', 'running', 'waiting')) AS runs,
			EXISTS (SELECT FROM ragd_shared.hook_deliveries AS d WHERE d.status = 'pending') AS deliveries`
	type work struct{ Jobs, Models, Runs, Deliveries bool }
	own, err := data.Select[work](ctx, s.config.DB.Handle(id), q)
	if err != nil {
		return err
	}
	for _, w := range []struct {
		has  bool
		what string
	}{
		{moves, "is being moved, or its old database keeps a copy of it"},
		{documents, "has documents that wait for ingest"},
		{own[0].Jobs, "has jobs that have not ended (`ragd job list` names them)"},
		{own[0].Models, "has an index whose embedding model is being changed"},
		{own[0].Runs, "has runs of workflows that have not ended"},
		{own[0].Deliveries, "has deliveries of hooks that have not ended"},
		{slices.Contains(tasks, job.Sync), "has connectors that run or have a schedule, which can be paused"},
		{slices.Contains(tasks, job.Maintain), "has an index that is built, counted or measured"},
		{slices.Contains(tasks, job.Erase), "keeps deleted documents, until the end of their retention or until they are erased"},
		{len(tasks) > 0, fmt.Sprintf("has tasks that run or wait (%v)", tasks)},
	} {
		if w.has {
			return fault.Wrap(fault.Precondition, errBusy, "tenant %q %s: it can be put to sleep when that has ended", id, w.what)
		}
	}
	return nil
}

// errBusy is the cause of an error about a tenant with work that has not ended.
var errBusy = errors.New("the tenant is busy")

// Run puts unused tenants to sleep and completes what interrupted calls have left, until ctx ends. It may run on several
// instances.
func (s *Service) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.left:
			timer.Reset(retryInterval)
			continue
		case <-timer.C:
		}
		next, swept := sweepInterval, s.sweep(ctx)
		if swept != nil {
			next = retryInterval
		}
		if err := errors.Join(swept, s.sleepUnused(ctx, time.Now())); err != nil && ctx.Err() == nil {
			s.config.Logger.WarnContext(ctx, "looking for unused tenants failed", "err", err)
		}
		timer.Reset(next)
	}
}

// sweep completes what interrupted calls have left, and deletes archives that were kept long enough.
func (s *Service) sweep(ctx context.Context) error {
	left, err := unfinished(ctx, s.config.Control, s.config.Keep)
	if err != nil || s.usable() != nil {
		return err
	}
	for _, r := range left {
		err := s.config.Tenants.Unshared(ctx, r.TenantID, func(conn *pgxpool.Conn) error {
			if r.Phase != awake {
				return s.settle(ctx, conn, r.TenantID)
			}
			if err := s.config.Store.Delete(ctx, r.name()); err != nil {
				return err
			}
			return forget(ctx, conn, r)
		})
		if err != nil && fault.KindOf(err) != fault.Conflict && ctx.Err() == nil { // a conflict: a call is at it
			s.config.Logger.WarnContext(ctx, "the archive of a tenant is left; it will be tried again", "tenant", r.TenantID, "err", err)
		}
	}
	wake, err := interrupted(ctx, s.config.Control)
	for _, id := range wake {
		_, _ = s.start(id, false) // else it is tried again
	}
	return err
}

// sleepUnused puts the tenants to sleep that are unused for as long as they should be.
func (s *Service) sleepUnused(ctx context.Context, now time.Time) error {
	if s.usable() != nil || s.first.Distributed() {
		return nil
	}
	for after := tenant.ID(""); ; {
		page, err := s.usedLast(ctx, after)
		if err != nil {
			return err
		}
		for _, u := range page {
			after = u.TenantID
			if limit := tenant.SleepAfter(u.Settings, s.config.After); limit == 0 || now.Sub(u.UsedAt) < limit {
				continue
			}
			err := s.sleep(ctx, u.TenantID)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && !errors.Is(err, errBusy) && fault.KindOf(err) != fault.Conflict && fault.KindOf(err) != fault.NotFound:
				return err // the next would fail too: the storage or the database is down
			}
		}
		if len(page) < duePage {
			return nil
		}
	}
}

// used says when a tenant was used last.
type used struct {
	TenantID tenant.ID
	Settings map[string]any // with those of its plan
	UsedAt   time.Time
}

// usedLast returns the next tenants after one that may be put to sleep. A tenant is used by its keys, by what is counted as usage, to
// the hour, and by the operator's changes.
func (s *Service) usedLast(ctx context.Context, after tenant.ID) ([]used, error) {
	rows, _ := s.config.Control.Query(ctx, `
		SELECT t.tenant_id, coalesce(p.settings, '{}') || t.settings AS settings, greatest(t.updated_at,
			(SELECT max(k.last_used_at) FROM ragd.api_keys AS k WHERE k.tenant_id = t.tenant_id),
			(SELECT max(u.hour) + interval '1 hour' FROM ragd.usage AS u WHERE u.tenant_id = t.tenant_id)) AS used_at
		FROM ragd.tenants AS t LEFT JOIN ragd.tenant_plans AS has USING (tenant_id) LEFT JOIN ragd.plans AS p USING (plan_name)
		WHERE t.status = 'ready' AND t.database_name = '' AND t.tenant_id > $1 AND ($2 OR t.settings ? $3 OR p.settings ? $3) ORDER BY t.tenant_id LIMIT $4`,
		after, s.config.After > 0, tenant.SleepAfterKey, duePage)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[used])
	return found, postgres.Fault(err)
}
