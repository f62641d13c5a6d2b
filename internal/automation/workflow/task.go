package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

const (
	// recheckEvery is the interval between checks of the credential that started a run.
	recheckEvery = 5 * time.Second
	// busyPause is how long a run waits while too many of its tenant run on this instance.
	busyPause = 300 * time.Millisecond
	// endTimeout bounds the time in which the end of a run is stored.
	endTimeout = 10 * time.Second
)

// Runners returns the runner of runs.
func (s *Service) Runners() job.Registry {
	return job.Registry{job.Workflow: {Run: s.attempt, Lane: job.LaneWorkflow, Timeout: maxRunTime + time.Minute}}
}

// attempt runs the steps of a run that have not ended, until the run has ended or waits.
func (s *Service) attempt(ctx context.Context, a job.Attempt) error {
	if !s.slots.TryAcquire(a.Tenant, 1) {
		return job.Snooze(busyPause)
	}
	defer s.slots.Release(a.Tenant, 1)
	h := s.Work.Handle(a.Tenant)
	metered, release := s.Gate.WithMemory(ctx, a.Tenant)
	defer release()
	again, err := s.work(metered, h, a.Name)
	var gone *data.GoneError
	switch {
	case errors.Is(err, job.ErrEnded) || errors.As(err, &gone):
		return job.Stop(err)
	case ctx.Err() != nil && !a.Last: // the instance stops
		return job.Snooze(0)
	case err != nil && a.Last:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		return job.Stop(errors.Join(err, endRun(ctx, h, a.Name, Failed, nil, fault.KindOf(err).String(), fault.Public(err))))
	case err != nil:
		s.Logger.WarnContext(ctx, "attempt at a run of a workflow failed", "tenant", a.Tenant, "run", a.Name, "err", err)
		return err
	case again > 0:
		return job.Snooze(again)
	}
	return nil
}

// work runs steps once. It returns how long the run waits then, 0 if it has ended. An error means
// that the attempt failed, not the run.
func (s *Service) work(ctx context.Context, h *data.Handle, id string) (again time.Duration, err error) {
	if err := begin(ctx, h, id); err != nil {
		return 0, err
	}
	request, err := s.request(ctx, h, id)
	if kind := fault.KindOf(err); kind == fault.Unauthenticated || kind == fault.Denied {
		return 0, endRun(ctx, h, id, Failed, nil, kind.String(), fault.Public(err))
	}
	if err != nil {
		return 0, err
	}
	limited, cancel := context.WithTimeoutCause(access.NewContext(ctx, request), maxRunTime, fault.New(fault.Deadline, "the run took longer than %v", maxRunTime))
	defer cancel()
	watched, stop := s.watch(limited, h, id)
	defer stop()
	for {
		err = s.steps(watched, h, id, request)
		if errors.Is(err, errWaits) {
			until, waits, err := rest(ctx, h, id)
			if err != nil {
				return 0, err
			}
			if !waits {
				continue // it was resumed meanwhile
			}
			return max(time.Until(until), time.Millisecond), nil
		}
		break
	}
	var store storeError
	switch {
	case err == nil, ctx.Err() != nil, errors.As(err, &store) && watched.Err() == nil:
		return 0, err
	case watched.Err() != nil:
		err = context.Cause(watched)
	}
	if errors.Is(err, job.ErrEnded) {
		return 0, err
	}
	return 0, endRun(ctx, h, id, Failed, nil, fault.KindOf(err).String(), textlimit.Shorten(fault.Public(err), maxTextBytes))
}

// request returns the request as which the steps of a run run. Errors: those of Act; Denied if the tenant's plan has no
// workflows.
func (s *Service) request(ctx context.Context, h *data.Handle, id string) (*access.Request, error) {
	access, err := accessOf(ctx, h, id)
	if err != nil {
		return nil, err
	}
	if access.Tenant != h.Tenant() {
		return nil, fmt.Errorf("run %s of tenant %s has the rights of another tenant", id, h.Tenant())
	}
	request, err := s.Auth.Act(ctx, access)
	if err != nil {
		return nil, err
	}
	return request, request.Quotas.Check(quota.Workflows)
}

// watch returns a context that ends when the run is no longer running, or when the credential that
// started it is no longer valid.
func (s *Service) watch(ctx context.Context, h *data.Handle, id string) (context.Context, func()) {
	valid, stopValid := access.WhileValid(ctx, recheckEvery, access.Recheck)
	watched, stop := s.watcher.watch(valid, h, id)
	return watched, func() { stop(); stopValid() }
}

// steps runs the steps of a run and stores its result. Errors: errWaits; storeError; that of the
// step that failed.
func (s *Service) steps(ctx context.Context, h *data.Handle, id string, request *access.Request) error {
	r, ok, err := getRun(ctx, h, "", id)
	if err != nil || !ok {
		return storeError{cmpErr(err)}
	}
	if r.Status != Running {
		return storeError{job.ErrEnded}
	}
	w, ok, err := version(ctx, h, r.WorkflowName, r.Version)
	if err != nil {
		return storeError{err}
	}
	if !ok || !request.Bounds.MayUseTool(ToolPrefix+r.WorkflowName) {
		return workflows.NotFoundAmong(r.WorkflowName, nil)
	}
	p, err := s.planOf(ctx, w)
	if err != nil {
		return err
	}
	input, err := schema.Decode(r.Input)
	if err != nil {
		return err
	}
	recorded, err := stepsOf(ctx, h, id)
	if err != nil {
		return storeError{err}
	}
	x := &execution{service: s, handle: h, runID: id, context: contextOf(request), done: map[string]StepRun{}}
	for _, step := range recorded {
		x.done[step.Path] = step
		if err := admission.Grow(ctx, memoryFactor*int64(len(step.Input)+len(step.Output)+len(step.Message)+len(step.Schema))); err != nil {
			return storeError{err}
		}
	}
	out, err := x.workflow(ctx, p, input, frame{})
	if err != nil {
		return err
	}
	raw, err := marshal(out)
	if err == nil && len(raw) > maxOutputBytes {
		err = fault.New(fault.Exhausted, "the result has %d bytes, but may have %d", len(raw), maxOutputBytes)
	}
	if err != nil {
		return err
	}
	if err := endRun(ctx, h, id, Succeeded, raw, "", ""); err != nil {
		return storeError{err}
	}
	return nil
}

// cmpErr returns err, or job.ErrEnded for a run that is gone.
func cmpErr(err error) error {
	if err == nil {
		return job.ErrEnded
	}
	return err
}

// contextOf returns the request context without secrets.
func contextOf(r *access.Request) map[string]any {
	values := map[string]any{}
	for _, v := range r.Context() {
		if !v.Secret {
			values[v.Name] = v.Value
		}
	}
	return values
}
