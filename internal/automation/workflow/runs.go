package workflow

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Start starts a run of a workflow, of the latest version for 0, with an input in JSON. Its steps
// run with the rights of the caller. Errors: NotFound; Invalid for an input that does not fit the
// schema; Exhausted for too many runs; Denied if the tenant's plan has no workflows.
func (s *Service) Start(ctx context.Context, name string, number int, input json.RawMessage) (Run, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Run{}, err
	}
	if err := r.Quotas.Check(quota.Workflows); err != nil {
		return Run{}, err
	}
	w, err := s.Get(ctx, name, number)
	if err != nil {
		return Run{}, err
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := s.checkInput(ctx, w, input); err != nil {
		return Run{}, err
	}
	h := s.DB.Handle(r.Tenant)
	if err := h.Admit(ctx, int64(len(input))); err != nil {
		return Run{}, err
	}
	access, err := s.Auth.Delegate(ctx, r)
	if err != nil {
		return Run{}, err
	}
	run := Run{RunID: uuid.Must(uuid.NewV7()).String(), WorkflowName: w.Name, Version: w.Version, Subject: subjectOf(r), Input: input}
	if err := insertRun(ctx, h, s.Queue, run, access); err != nil {
		return Run{}, err
	}
	started, _, err := getRun(ctx, h, "", run.RunID)
	return started, err
}

// subjectOf returns who the caller is, unique in the tenant.
func subjectOf(r *access.Request) string {
	if r.Principal.Issuer == "" {
		return r.Principal.Subject
	}
	return r.Principal.Issuer + " " + r.Principal.Subject
}

// checkInput checks the input of a run against the workflow's schema.
func (s *Service) checkInput(ctx context.Context, w Workflow, input json.RawMessage) error {
	if len(input) > maxInputBytes {
		return fault.Field("input", "must be at most %d bytes of JSON, got %d", maxInputBytes, len(input))
	}
	value, err := schema.Decode(input)
	if err != nil {
		return fault.Field("input", "%s", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return fault.Field("input", "must be an object")
	}
	p, err := s.planOf(ctx, w)
	if err != nil || p.input == nil {
		return err
	}
	return p.input.Validate("input", value)
}

// caller is who looks at runs: somebody who sees all runs of the tenant, or only their own. What a
// run has read with the rights of one credential is not shown to one that is restricted.
type caller struct {
	request *access.Request
	handle  *data.Handle
	subject string // "" for one who sees all
}

func (s *Service) caller(ctx context.Context) (caller, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return caller{}, err
	}
	c := caller{request: r, handle: s.DB.Handle(r.Tenant)}
	if !r.Principal.MandatoryFilter.IsZero() || !r.Bounds.IsZero() || !r.Principal.Has(access.Write) {
		c.subject = subjectOf(r)
	}
	return c, nil
}

// find returns a run that the caller may see.
func (c caller) find(ctx context.Context, id string) (Run, error) {
	if len(id) == len(uuid.Nil.String()) && uuid.Validate(id) == nil {
		r, ok, err := getRun(ctx, c.handle, c.subject, id)
		if err != nil || ok && c.request.Bounds.MayUseTool(ToolPrefix+r.WorkflowName) {
			return r, err
		}
	}
	if id == "" {
		return Run{}, fault.Field("runId", "is missing")
	}
	return Run{}, fault.New(fault.NotFound, "run %q not found", textlimit.Shorten(id, 100))
}

// GetRun returns a run with its steps. Errors: NotFound, also for a run that the caller may not
// see: those of others, for a credential with a mandatory filter or bounds, or without the scope
// write.
func (s *Service) GetRun(ctx context.Context, id string) (Run, error) {
	c, err := s.caller(ctx)
	if err != nil {
		return Run{}, err
	}
	r, err := c.find(ctx, id)
	if err != nil {
		return Run{}, err
	}
	r.Steps, err = stepsOf(ctx, c.handle, id)
	return r, err
}

// ListRuns returns a page of the runs that the caller may see, the newest first, without their
// steps. An empty workflow or status means any. Errors: Invalid.
func (s *Service) ListRuns(ctx context.Context, name, status string, pageSize int32, pageToken string) ([]Run, string, error) {
	c, err := s.caller(ctx)
	if err != nil {
		return nil, "", err
	}
	if !slices.Contains([]Status{"", Queued, Running, Waiting, Succeeded, Failed, Cancelled}, Status(status)) {
		return nil, "", fault.Field("status", "unknown status %q; known are queued, running, waiting, succeeded, failed and cancelled", textlimit.Shorten(status, 50))
	}
	key := func(r Run) *runPosition { return &runPosition{r.CreatedAt, r.RunID} }
	return pagination.List(access.Pages(ctx, "workflow runs", name, status), pageSize, pageToken, nil, key, func(after *runPosition, most int) ([]Run, error) {
		return listRuns(ctx, c.handle, c.subject, name, Status(status), after, most)
	})
}

// Cancel cancels a run that has not ended, and returns it. The step that is running is stopped. One
// that is cancelled already is returned unchanged. Errors: NotFound; Precondition for a run that has
// ended otherwise.
func (s *Service) Cancel(ctx context.Context, id string) (Run, error) {
	c, err := s.caller(ctx)
	if err != nil {
		return Run{}, err
	}
	if _, err := c.find(ctx, id); err != nil {
		return Run{}, err
	}
	if err := endRun(ctx, c.handle, id, Cancelled, nil, fault.Canceled.String(), "cancelled on request"); err != nil {
		return Run{}, err
	}
	r, err := s.GetRun(ctx, id)
	if err == nil && r.Status != Cancelled {
		err = fault.New(fault.Precondition, "run %q has %s: there is nothing to cancel", id, r.Status)
	}
	return r, err
}

// Resume gives a waiting step of a run its data, which must fit the step's schema, and returns the
// run. An empty path means the only step that waits. The run goes on with the rights of who started
// it. Errors: NotFound; Invalid; Precondition if no such step waits; Denied if the tenant's plan has no workflows.
func (s *Service) Resume(ctx context.Context, id, path string, given json.RawMessage) (Run, error) {
	c, err := s.caller(ctx)
	if err != nil {
		return Run{}, err
	}
	r, err := c.find(ctx, id)
	if err != nil {
		return Run{}, err
	}
	if err := access.CheckFeature(ctx, quota.Workflows); err != nil {
		return Run{}, err
	}
	step, err := waitingStep(ctx, c.handle, r, path)
	if err != nil {
		return Run{}, err
	}
	if len(given) == 0 {
		given = json.RawMessage("{}")
	}
	if err := checkAnswer(step, given); err != nil {
		return Run{}, err
	}
	ok := false
	err = c.handle.Tx(ctx, func(tx *data.Tx) (err error) {
		if ok, err = answer(ctx, tx, id, step.Path, given); err != nil || !ok {
			return err
		}
		return s.Queue.Wake(ctx, tx, job.Workflow, id)
	})
	if err != nil {
		return Run{}, err
	}
	if !ok {
		return Run{}, fault.New(fault.Precondition, "step %q of run %q no longer waits", step.Path, id)
	}
	return s.GetRun(ctx, id)
}

// waitingStep returns the step of a run that waits at a path, or the only one that waits.
func waitingStep(ctx context.Context, q data.Queryer, r Run, path string) (StepRun, error) {
	steps, err := stepsOf(ctx, q, r.RunID)
	if err != nil {
		return StepRun{}, err
	}
	var waiting []StepRun
	var paths []string
	for _, step := range steps {
		if step.Status != Waiting {
			continue
		}
		paths = append(paths, step.Path)
		if path == "" || step.Path == path {
			waiting = append(waiting, step)
		}
	}
	switch {
	case r.Status.Ended():
		return StepRun{}, fault.New(fault.Precondition, "run %q has ended as %s", r.RunID, r.Status)
	case len(paths) == 0:
		return StepRun{}, fault.New(fault.Precondition, "no step of run %q waits", r.RunID)
	case len(waiting) == 0:
		return StepRun{}, fault.New(fault.Precondition, "no step of run %q waits at %s; waiting are %s", r.RunID, textlimit.Shorten(path, 100), shownPaths(paths))
	case len(waiting) > 1:
		return StepRun{}, fault.Field("stepPath", "must name one of the steps that wait: %s", shownPaths(paths))
	}
	return waiting[0], nil
}

// shownPaths returns what an error shows of many paths.
func shownPaths(paths []string) string {
	const most = 20
	if len(paths) > most {
		paths = append(slices.Clone(paths[:most]), "...")
	}
	return strings.Join(paths, ", ")
}

// checkAnswer checks the data with which a step is resumed. Errors: Invalid.
func checkAnswer(s StepRun, data json.RawMessage) error {
	if len(data) > maxInputBytes {
		return fault.Field("data", "must be at most %d bytes of JSON, got %d", maxInputBytes, len(data))
	}
	value, err := schema.Decode(data)
	if err != nil {
		return fault.Field("data", "%s", err)
	}
	if len(s.Schema) == 0 {
		return nil
	}
	compiled, err := schema.Compile("schema", s.Schema)
	if err != nil {
		return err
	}
	return compiled.Validate("data", value)
}

// Intervals between looks at a run; they grow from minLook to maxLook while nothing changes.
const (
	minLook = 50 * time.Millisecond
	maxLook = time.Second
)

// Watch sends the steps of a run as they change, until the run has ended or waits, send fails or
// ctx ends. It returns the run as it is then, without its steps. Steps that changed before are sent
// first. Errors: NotFound; those of send.
func (s *Service) Watch(ctx context.Context, id string, send func(StepRun) error) (Run, error) {
	c, err := s.caller(ctx)
	if err != nil {
		return Run{}, err
	}
	var seen int64
	for pause := minLook; ; {
		r, err := c.find(ctx, id) // before the steps, so that none of an ended run is missed
		if err != nil {
			return Run{}, err
		}
		steps, err := stepsAfter(ctx, c.handle, id, seen)
		if err != nil {
			return Run{}, err
		}
		for _, step := range steps {
			seen, pause = step.Change, minLook
			if err := send(step); err != nil {
				return Run{}, err
			}
		}
		if r.Status.Ended() || r.Status == Waiting {
			return r, nil
		}
		if pause, err = awaitChange(ctx, c.handle, id, seen, pause); err != nil {
			return r, err
		}
	}
}

// awaitChange waits until a run has changes after the one that was seen, or is no longer running. It
// looks after pauses that grow from the given one, and returns the next.
func awaitChange(ctx context.Context, h *data.Handle, id string, seen int64, pause time.Duration) (next time.Duration, err error) {
	for {
		select {
		case <-ctx.Done():
			return pause, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(pause*3/2, maxLook)
		if same, err := unchanged(ctx, h, id, seen); err != nil || !same {
			return pause, err
		}
	}
}
