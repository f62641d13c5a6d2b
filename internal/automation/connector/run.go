package connector

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

const (
	// busyPause is how long a run waits while too many of its tenant run on this instance.
	busyPause = 2 * time.Second
	// againPause is how long a run waits that failed for a reason of this service.
	againPause = 10 * time.Second
	// recheckEvery is the interval between checks of the credential with whose rights a run runs.
	recheckEvery = 5 * time.Second
	// endTimeout bounds the time in which the end of a run is stored.
	endTimeout = 10 * time.Second
	// uploadAttempts is how often uploads are tried while the backlog of the tenant is full.
	uploadAttempts = 10
	maxUploadWait  = 30 * time.Second
	// deleteBatch is how many documents are deleted at once.
	deleteBatch = 500
)

// The states of an item. The constraint of the table lists the same.
const (
	itemStored  = "stored"
	itemSkipped = "skipped"
	itemFailed  = "failed"
)

// Runners returns the runner of runs.
func (s *Service) Runners() job.Registry {
	return job.Registry{job.Sync: {Run: s.attempt, Lane: job.LaneSync, Timeout: maxRunTime + time.Minute}}
}

// wake makes the task of a connector due.
func (s *Service) wake(ctx context.Context, tx *data.Tx, r row) error {
	if r.Paused || r.NextRunAt == nil {
		return nil
	}
	return s.Queue.Wake(ctx, tx, job.Sync, r.ConnectorName)
}

// attempt makes the run of a connector that is due, then waits for the next one. A failure of the
// run is its result, not one of the task, which is never given up.
func (s *Service) attempt(ctx context.Context, a job.Attempt) error {
	h := s.Work.Handle(a.Tenant)
	r, ok, err := connectors.Find(ctx, h, a.Name)
	if err == nil && ok && r.due(time.Now()) {
		if !s.slots.TryAcquire(a.Tenant, 1) {
			return job.Snooze(s.wait(busyPause))
		}
		var free bool
		free, err = s.runAlone(ctx, h, r)
		s.slots.Release(a.Tenant, 1)
		if err == nil && !free {
			return job.Snooze(s.wait(busyPause))
		}
	}
	if err == nil {
		r, ok, err = connectors.Find(ctx, h, a.Name)
	}
	var gone *data.GoneError
	switch {
	case errors.As(err, &gone), fault.KindOf(err) == fault.NotFound: // the tenant was deleted
		return job.Stop(err)
	case err != nil && ctx.Err() != nil: // the instance stops
		return job.Snooze(0)
	case err != nil:
		s.Logger.WarnContext(ctx, "run of a connector was interrupted", "tenant", a.Tenant, "connector", a.Name, "err", err)
		return job.Snooze(s.wait(againPause))
	case !ok || r.Paused:
		return nil
	case r.follows():
		s.follow(ctx, h, r)
		if r.NextRunAt == nil {
			return job.Snooze(s.wait(followCheck))
		}
		return job.Snooze(min(max(time.Until(*r.NextRunAt), 0), s.wait(followCheck)))
	case r.NextRunAt == nil && r.Status == Failed && r.replicates(): // until it is followed, its slot keeps the log of the database
		r, ok, err = dueAfter(ctx, h, a.Name, minInterval)
		if err != nil || !ok {
			return err
		}
		return job.Snooze(max(time.Until(*r.NextRunAt), 0))
	case r.NextRunAt == nil && r.Status != Running && r.announced():
		return job.Snooze(pushCheck)
	case r.NextRunAt == nil && r.Status != Running:
		return nil
	case r.NextRunAt == nil:
		return job.Snooze(0)
	}
	return job.Snooze(max(time.Until(*r.NextRunAt), 0))
}

// replicates reports whether the changes of the connector's table are followed.
func (r row) replicates() bool {
	c, err := r.connector()
	return err == nil && c.replicates()
}

// runAlone makes one run while nobody follows the changes of the connector's table. free is false if somebody does, who
// stops soon.
func (s *Service) runAlone(ctx context.Context, h *data.Handle, r row) (free bool, err error) {
	if !r.replicates() {
		return true, s.run(ctx, h, r)
	}
	if !s.followers.stop(followKey{h.Tenant(), r.ConnectorName}) {
		return false, nil
	}
	if _, free, err = claimFollow(ctx, h, r.ConnectorName, s.Instance); err != nil || !free {
		return false, err
	}
	running, cancel := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		for sleep(running, s.wait(renewEvery)) == nil {
			_, ok, err := extendFollow(running, h, r.ConnectorName, s.Instance)
			if err == nil && !ok { // paused, or deleted
				return
			}
		}
	}()
	err = s.run(running, h, r)
	cancel()
	<-kept
	ending, end := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer end()
	return true, errors.Join(err, releaseFollow(ending, h, r.ConnectorName, s.Instance))
}

// announced reports whether the source announces changes.
func (r row) announced() bool {
	c, err := r.connector()
	return err == nil && c.PushSecret != ""
}

// run makes one run. An error means that it has not ended and begins anew.
func (s *Service) run(ctx context.Context, h *data.Handle, r row) error {
	c, err := r.connector()
	if err != nil {
		return err
	}
	next := nextRun(c.Schedule, time.Now(), rand.Float64())
	request, err := s.request(ctx, h, r)
	var indexID int64
	if err == nil {
		into, resolveErr := s.Indexes.Resolve(access.NewContext(ctx, request), h.Tenant(), r.IndexName)
		indexID, err = into.ID, resolveErr
	}
	if err != nil && ours(err) {
		return err
	}
	if err != nil {
		indexID = r.IndexID // as it was
	}
	begun, ok, beginErr := begin(ctx, h, r.ConnectorName, indexID, next)
	if beginErr != nil || !ok {
		return beginErr
	}
	if c.replicates() {
		begun.holder = s.Instance
	}
	x := &run{service: s, handle: h, row: begun, connector: c, fetch: s.fetcher(c.MaxItems), since: begun.Run, uploadTries: uploadAttempts}
	if err == nil {
		limited, cancel := context.WithTimeoutCause(access.NewContext(ctx, request), maxRunTime, fault.New(fault.Deadline, "the run took longer than %v", maxRunTime))
		defer cancel()
		watched, stop := access.WhileValid(limited, s.wait(recheckEvery), access.Recheck)
		err = x.sync(watched)
		if err != nil && watched.Err() != nil && ctx.Err() == nil {
			err = context.Cause(watched)
		}
		stop()
	}
	switch {
	case errors.Is(err, errChanged):
		err = fault.New(fault.Precondition, "it was paused, or changed meanwhile")
	case err != nil && (ctx.Err() != nil || ours(err)):
		return err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	return x.end(ending, err)
}

// ours reports whether an error is about this service, so that the run begins anew.
func ours(err error) bool {
	var one *sourceError
	if errors.As(err, &one) {
		return false
	}
	var gone *data.GoneError
	kind := fault.KindOf(err)
	return errors.As(err, &gone) || kind == fault.Internal || kind == fault.Unavailable || kind == fault.Conflict
}

// sourceError is what a source failed with: the result of a run, whatever its kind.
type sourceError struct{ cause error }

func (e *sourceError) Error() string { return e.cause.Error() }
func (e *sourceError) Unwrap() error { return e.cause }

// request returns the request as which a run runs. Errors: those of Act; Denied if the tenant's plan has no connectors.
func (s *Service) request(ctx context.Context, h *data.Handle, r row) (*access.Request, error) {
	var delegation access.Delegation
	if err := json.Unmarshal(r.Access, &delegation); err != nil {
		return nil, err
	}
	if delegation.Tenant != h.Tenant() {
		return nil, fmt.Errorf("connector %s of tenant %s has the rights of another tenant", r.ConnectorName, h.Tenant())
	}
	request, err := s.Auth.Act(ctx, delegation)
	if err != nil {
		return nil, err
	}
	request.Overrides, request.Fixed = access.Overrides{}, access.Overrides{} // it has its own index
	return request, request.Quotas.Check(quota.Connectors)
}

// run is a run that has begun.
type run struct {
	service   *Service
	handle    *data.Handle
	row       row
	connector Connector
	fetch     *fetcher
	mapping   mapping
	counts    Counts // the storer's while it runs
	before    Counts // what fetch has not counted
	// uploadTries is how often uploads are tried while the backlog of the tenant is full.
	uploadTries int
	last        State           // of the source, as the last walk left it
	since       int64           // the run in which the walk began
	pause       string          // why the connector is to be paused
	source      json.RawMessage // the state of the source to be stored; nil to keep the stored one
}

// errChanged ends a run whose connector was paused, changed or deleted.
var errChanged = errors.New("the connector was changed")

// walking returns what a walk of the source of a connector uses.
func (s *Service) walking(h *data.Handle, c Connector, fetch *fetcher, known func(context.Context, string) (State, error)) walking {
	return walking{
		fetch: fetch, manifests: s.manifests, maxItems: c.MaxItems, guard: s.Guard, connector: c.Name, allow: s.allowPath, open: s.openFolder, address: s.Secrets.Address,
		known: known, expect: nothingExpected, reached: nothingReached,
		secret: func(ctx context.Context, name string, to *url.URL) (string, error) {
			if err := s.Secrets.CheckUse(ctx, []string{name}, to); err != nil {
				return "", err
			}
			values, err := s.Secrets.Values(ctx, h.Tenant(), []string{name}, to)
			return values[name], err
		},
		dial: func(ctx context.Context, m *MCP) (*mcpSession, error) { return s.dial(ctx, c.Name, m, fetch) },
	}
}

// recovered is deferred: it turns a panic of a parser into an error of the source.
func (s *Service) recovered(ctx context.Context, err *error) {
	if r := recover(); r != nil {
		s.Logger.ErrorContext(ctx, "a connector panicked", "panic", r, "stack", string(debug.Stack()))
		*err = &sourceError{fault.New(fault.Precondition, "the source has something that cannot be read")}
	}
}

// walk walks the source of a connector.
func (s *Service) walk(ctx context.Context, c Connector, w walking, visit func(Item) error) (found listing, err error) {
	defer s.recovered(ctx, &err)
	source, err := c.kind()
	if err != nil {
		return listing{}, err
	}
	return source.walk(ctx, w, func(item Item) error { return visit(named(item)) })
}

// named returns the item. One whose id cannot be stored has failed, and has what is left of the id.
func named(item Item) Item {
	err := textlimit.Check("its id", item.ID, maxPageURLBytes)
	if err == nil && item.ID != "" {
		return item
	}
	failed := Item{ID: cmp.Or(textlimit.OneLine(item.ID, maxPageURLBytes), "?"), Failed: "it has no id"}
	if err != nil {
		failed.Failed = fault.Public(err)
	}
	return failed
}

// sync walks the source and follows it.
func (x *run) sync(ctx context.Context) (err error) {
	if x.mapping, err = x.service.mapping(ctx, x.connector.Metadata); err != nil {
		return err
	}
	if err := json.Unmarshal(x.row.SourceState, &x.last); err != nil {
		return err
	}
	from := x.last.Position
	if x.last.Position = nil; from != nil {
		x.since, x.counts = from.Run, from.Counts
		x.fetch.requests.Store(int64(from.Counts.Requests))
		x.fetch.bytes.Store(from.Counts.Bytes)
	}
	found, err := x.walk(ctx, from)
	if err != nil {
		return err
	}
	switch {
	case !found.keepOthers:
		err = x.deleteGone(ctx)
	case found.deleteSkipped:
		err = x.deleteSkipped(ctx)
	}
	if err == nil && x.pause == "" { // else the next walk reads everything again
		found.state.Slot = x.last.Slot
		x.source, err = json.Marshal(found.state)
	}
	return err
}

// walk walks the source from a position, nil for its beginning, and stores what is visited.
func (x *run) walk(ctx context.Context, from *position) (listing, error) {
	s, walked := newStorer(ctx, x)
	states := &states{run: x, failed: s.fail}
	w := x.service.walking(x.handle, x.connector, x.fetch, states.known)
	w.expect, w.source, w.from = states.expect, x.last, from
	w.reached = func(ctx context.Context, at position) error { return s.add(ctx, visited{at: &at}) }
	if f := x.connector.Folder; f != nil {
		w.watch = x.service.watch(x.handle, x.connector.Name, f.Path)
	}
	w.own = func(ctx context.Context, slot string) error {
		err := ownSlot(ctx, x.handle, x.row, slot)
		if err != nil {
			s.fail(err)
		}
		x.last.Slot = slot
		return err
	}
	w.offer = func(ctx context.Context, has offers) error {
		err := storeOffers(ctx, x.handle, x.row, has)
		if err != nil {
			s.fail(err)
		}
		return err
	}
	found, err := x.service.walk(walked, x.connector, w, func(item Item) error { return s.add(walked, visited{item: item}) })
	switch stored := s.close(); {
	case stored != nil:
		return listing{}, stored
	case err != nil && ctx.Err() == nil:
		return listing{}, &sourceError{err}
	}
	return found, err
}

// statesAtOnce is for how many items a walk that knows which come next asks for their states.
const statesAtOnce = 500

// states has what the last walk left as the states of items. Safe for concurrent use.
type states struct {
	run    *run
	failed func(error) // called with an error that is not the source's

	mu       sync.Mutex
	expected map[string]itemRow
}

func (s *states) find(ctx context.Context, ids []string) (map[string]itemRow, error) {
	found, err := findItems(ctx, s.run.handle, s.run.connector.Name, ids)
	if err != nil && ctx.Err() == nil {
		s.failed(err)
	}
	return found, err
}

// expect implements walking.
func (s *states) expect(ctx context.Context, ids []string) error {
	found, err := s.find(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			found[id] = itemRow{}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = found
	return nil
}

// known implements walking.
func (s *states) known(ctx context.Context, id string) (state State, err error) {
	s.mu.Lock()
	r, ok := s.expected[id]
	s.mu.Unlock()
	if !ok {
		found, err := s.find(ctx, []string{id})
		if err != nil {
			return state, err
		}
		r = found[id]
	}
	if r.State != nil {
		if err := json.Unmarshal(r.State, &state); err != nil {
			s.failed(err)
			return state, err
		}
	}
	if !r.HasDocument && state.Skipped == "" { // its document was deleted: it is read again
		state.ETag, state.LastModified = "", ""
	}
	return state, nil
}

// fingerprint returns a hash of what is uploaded of an item.
func fingerprint(item Item, metadata map[string]any) (string, error) {
	described, err := json.Marshal([]any{item.Title, item.ContentType, metadata})
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	hash.Write(described)
	hash.Write([]byte{0})
	hash.Write(item.Content)
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// deleteGone deletes the documents of items that the source no longer has. If these are more than
// half, it pauses the connector instead.
func (x *run) deleteGone(ctx context.Context) error {
	older := x.row // than the walk
	older.Run = x.since
	all, gone, err := goneCount(ctx, x.handle, older)
	if err != nil {
		return err
	}
	now, ok, err := connectors.Find(ctx, x.handle, x.connector.Name)
	if err != nil {
		return err
	}
	if !ok || now.Paused || now.Run != x.row.Run {
		return errChanged
	}
	if gone*2 > all && !now.AcceptDeletions {
		x.pause = fmt.Sprintf("%d of %d documents are no longer in the source: resume the connector with acceptDeletions if they are to be deleted", gone, all)
		return nil
	}
	n, err := x.service.deleteDocuments(ctx, x.handle, older)
	x.counts.Deleted += n
	if err != nil {
		return err
	}
	return sweep(ctx, x.handle, older)
}

// deleteSkipped deletes the documents of skipped items alone.
func (x *run) deleteSkipped(ctx context.Context) error {
	none := x.row
	none.Run = 0 // no item is older
	n, err := x.service.deleteDocuments(ctx, x.handle, none)
	x.counts.Deleted += n
	return err
}

// deleteDocuments deletes the connector's own documents of items that the run of the row did not see or
// that shall have none, and returns their number.
func (s *Service) deleteDocuments(ctx context.Context, h *data.Handle, r row) (deleted int, err error) {
	own, err := filter.Parse(map[string]any{ownMetadata: r.ConnectorName})
	if err != nil {
		return 0, err
	}
	for {
		ids, err := unwanted(ctx, h, r, deleteBatch)
		if err != nil || len(ids) == 0 {
			return deleted, err
		}
		some, err := s.Documents.DeleteSelected(ctx, ingest.Selection{IndexName: r.IndexName, Namespace: r.Namespace, URIs: ids, Filter: own, Fence: r.fence()})
		deleted += some.Count
		if err != nil {
			return deleted, err
		}
		if err := forget(ctx, h, r, ids); err != nil {
			return deleted, err
		}
	}
}

// countTransfer sets the counts of what was transferred.
func (x *run) countTransfer() {
	x.counts.Requests, x.counts.Bytes = x.before.Requests+int(x.fetch.requests.Load()), x.before.Bytes+x.fetch.bytes.Load()
}

// end stores how the run ended.
func (x *run) end(ctx context.Context, err error) error {
	x.countTransfer()
	status, reason := Succeeded, ""
	if err != nil {
		status, reason = Failed, textlimit.OneLine(fault.Public(err), maxReasonBytes)
	}
	return end(ctx, x.handle, x.row, ending{status: status, reason: reason, paused: x.pause, counts: x.counts, source: x.source, signIn: errors.Is(err, errSignIn)})
}
