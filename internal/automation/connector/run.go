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
	"time"

	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
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
	// uploadAttempts is how often an upload is tried while the backlog of the tenant is full.
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
			return job.Snooze(busyPause)
		}
		err = s.run(ctx, h, r)
		s.slots.Release(a.Tenant, 1)
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
		return job.Snooze(againPause)
	case !ok || r.Paused:
		return nil
	case r.follows():
		s.follow(ctx, h, r)
		if r.NextRunAt == nil {
			return job.Snooze(followCheck)
		}
		return job.Snooze(min(max(time.Until(*r.NextRunAt), 0), followCheck))
	case r.NextRunAt == nil && r.Status != Running:
		return nil
	case r.NextRunAt == nil:
		return job.Snooze(0)
	}
	return job.Snooze(max(time.Until(*r.NextRunAt), 0))
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
	x := &run{service: s, handle: h, row: begun, connector: c, fetch: &fetcher{client: s.client}}
	if err == nil {
		limited, cancel := context.WithTimeoutCause(access.NewContext(ctx, request), maxRunTime, fault.New(fault.Deadline, "the run took longer than %v", maxRunTime))
		defer cancel()
		watched, stop := access.WhileValid(limited, recheckEvery, access.Recheck)
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

// request returns the request as which a run runs.
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
	return request, nil
}

// run is a run that has begun.
type run struct {
	service   *Service
	handle    *data.Handle
	row       row
	connector Connector
	fetch     *fetcher
	mapping   mapping
	counts    Counts
	pause     string          // why the connector is to be paused
	source    json.RawMessage // the state of the source to be stored; nil to keep the stored one
}

// errChanged ends a run whose connector was paused, changed or deleted.
var errChanged = errors.New("the connector was changed")

// walking returns what a walk of the source of a connector uses.
func (s *Service) walking(h *data.Handle, c Connector, fetch *fetcher, known func(context.Context, string) (State, error)) walking {
	return walking{
		fetch: fetch, manifests: s.manifests, maxItems: c.MaxItems, guard: s.Guard, connector: c.Name, known: known, open: s.openFolder, address: s.Secrets.Address,
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

// walk walks the source of a connector. A panic of a parser fails the run.
func (s *Service) walk(ctx context.Context, c Connector, w walking, visit func(Item) error) (found listing, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.Logger.ErrorContext(ctx, "a connector panicked", "panic", r, "stack", string(debug.Stack()))
			err = fault.New(fault.Precondition, "the source has something that cannot be read")
		}
	}()
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
	var visited error // failed for a reason that is not the source's
	known := func(ctx context.Context, id string) (State, error) {
		var state State
		r, err := findItem(ctx, x.handle, x.connector.Name, id)
		if err == nil && r.State != nil {
			err = json.Unmarshal(r.State, &state)
		}
		if !r.HasDocument && state.Skipped == "" { // its document was deleted: it is read again
			state.ETag, state.LastModified = "", ""
		}
		visited = err
		return state, err
	}
	w := x.service.walking(x.handle, x.connector, x.fetch, known)
	if f := x.connector.Folder; f != nil {
		w.watch = x.service.watch(x.handle, x.connector.Name, f.Path)
	}
	w.offer = func(ctx context.Context, has offers) error {
		visited = storeOffers(ctx, x.handle, x.row, has)
		return visited
	}
	if err := json.Unmarshal(x.row.SourceState, &w.source); err != nil {
		return err
	}
	found, err := x.service.walk(ctx, x.connector, w, func(item Item) error {
		visited = x.visit(ctx, item)
		return visited
	})
	switch {
	case visited != nil:
		return visited
	case err != nil && ctx.Err() == nil:
		return &sourceError{err}
	case err != nil:
		return err
	}
	switch {
	case !found.keepOthers:
		err = x.deleteGone(ctx)
	case found.deleteSkipped:
		err = x.deleteSkipped(ctx)
	}
	if err == nil && x.pause == "" { // else the next walk reads everything again
		x.source, err = json.Marshal(found.state)
	}
	return err
}

// visit follows one item.
func (x *run) visit(ctx context.Context, item Item) error {
	old, err := findItem(ctx, x.handle, x.connector.Name, item.ID)
	if err != nil {
		return err
	}
	r := itemRow{ItemID: item.ID, HasDocument: old.HasDocument, Status: itemStored}
	x.counts.Seen++
	switch {
	case item.Failed != "":
		x.counts.Failed++
		r.Status, r.Reason = itemFailed, item.Failed
	case item.Skipped != "":
		x.counts.Skipped++
		r.Status, r.Reason = itemSkipped, item.Skipped
		if item.Below {
			if err := x.keepBelow(ctx, item.ID); err != nil {
				return err
			}
		}
	case item.Unchanged && old.HasDocument:
		x.counts.Unchanged++
	default:
		if err := x.store(ctx, &item, old, &r); err != nil {
			return err
		}
	}
	if r.State, err = json.Marshal(item.State); err != nil {
		return err
	}
	r.Reason = textlimit.OneLine(r.Reason, maxReasonBytes)
	x.counts.Requests, x.counts.Bytes = int(x.fetch.requests.Load()), x.fetch.bytes.Load()
	ok, err := record(ctx, x.handle, x.row, r, x.counts)
	if err == nil && !ok {
		return errChanged
	}
	return err
}

// keepBelow keeps the items of an export that has not changed.
func (x *run) keepBelow(ctx context.Context, export string) error {
	kept, err := keepBelow(ctx, x.handle, x.row, export)
	x.counts.Unchanged += kept[itemStored]
	x.counts.Skipped += kept[itemSkipped]
	x.counts.Failed += kept[itemFailed]
	x.counts.Seen += kept[itemStored] + kept[itemSkipped] + kept[itemFailed]
	return err
}

// store uploads an item unless it is the same as before, and sets what is known of it. An error is
// about the run.
func (x *run) store(ctx context.Context, item *Item, old itemRow, r *itemRow) error {
	var known State
	if old.State != nil {
		if err := json.Unmarshal(old.State, &known); err != nil {
			return err
		}
	}
	metadata, err := x.mapping.of(ctx, x.connector.Name, *item)
	if err == nil {
		item.State.Fingerprint, err = fingerprint(*item, metadata)
	}
	if err == nil && old.HasDocument && old.Status == itemStored && known.Fingerprint == item.State.Fingerprint {
		x.counts.Unchanged++
		return nil
	}
	if err == nil {
		err = x.checkOwner(ctx, item.ID)
	}
	if err == nil {
		err = x.upload(ctx, *item, metadata)
	}
	switch kind := fault.KindOf(err); {
	case err == nil && old.HasDocument:
		x.counts.Updated++
	case err == nil:
		x.counts.Added++
		r.HasDocument = true
	case kind == fault.Invalid:
		x.counts.Failed++
		r.Status, r.Reason = itemFailed, fault.Public(err)
		// A web page is tried again.
		item.State = State{Known: true, Links: item.State.Links, Failed: textlimit.OneLine(r.Reason, maxReasonBytes), FailedETag: item.State.ETag}
	default:
		return err
	}
	return nil
}

// checkOwner returns an error if the uri is that of a document that this connector may not replace: one
// that was uploaded, or that another connector keeps. Errors: Invalid.
func (x *run) checkOwner(ctx context.Context, uri string) error {
	d, _, err := x.service.Documents.Document(ctx, x.row.IndexName, ingest.Ref{URI: uri, Namespace: x.row.Namespace})
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	owner, _ := d.Metadata[ownMetadata].(string)
	switch owner {
	case x.connector.Name:
		return nil
	case "":
		return fault.New(fault.Invalid, "the index has a document of this uri that was uploaded: delete that, or use another namespace")
	}
	_, exists, err := connectors.Find(ctx, x.handle, owner)
	if err == nil && exists {
		err = fault.New(fault.Invalid, "the connector %q keeps a document of this uri: use another namespace", textlimit.Shorten(owner, 100))
	}
	return err
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

// upload uploads an item. It waits while the backlog of the tenant is full.
func (x *run) upload(ctx context.Context, item Item, given map[string]any) error {
	if !item.Modified.IsZero() {
		given = metadata.WithModified(given, item.Modified)
	}
	for attempt := 1; ; attempt++ {
		_, _, err := x.service.Documents.Upload(ctx, ingest.Upload{
			IndexName: x.row.IndexName, Namespace: x.row.Namespace, URI: item.ID, Title: item.Title, ContentType: item.ContentType, Content: item.Content,
			Metadata: given, Chunking: x.connector.Chunking, Extract: x.connector.Extract, Fingerprint: item.State.Fingerprint,
		})
		if fault.KindOf(err) != fault.Exhausted || attempt == uploadAttempts {
			return err
		}
		if err := sleep(ctx, min(job.Backoff(attempt), maxUploadWait)); err != nil {
			return err
		}
	}
}

// deleteGone deletes the documents of items that the source no longer has. If these are more than
// half, it pauses the connector instead.
func (x *run) deleteGone(ctx context.Context) error {
	all, gone, err := goneCount(ctx, x.handle, x.row)
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
	n, err := x.service.deleteDocuments(ctx, x.handle, x.row)
	x.counts.Deleted += n
	if err != nil {
		return err
	}
	return sweep(ctx, x.handle, x.row)
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
		some, err := s.Documents.DeleteSelected(ctx, ingest.Selection{IndexName: r.IndexName, Namespace: r.Namespace, URIs: ids, Filter: own})
		deleted += some.Count
		if err != nil {
			return deleted, err
		}
		if err := forget(ctx, h, r, ids); err != nil {
			return deleted, err
		}
	}
}

// end stores how the run ended.
func (x *run) end(ctx context.Context, err error) error {
	x.counts.Requests, x.counts.Bytes = int(x.fetch.requests.Load()), x.fetch.bytes.Load()
	status, reason := Succeeded, ""
	if err != nil {
		status, reason = Failed, textlimit.OneLine(fault.Public(err), maxReasonBytes)
	}
	return end(ctx, x.handle, x.row, ending{status: status, reason: reason, paused: x.pause, counts: x.counts, source: x.source, signIn: errors.Is(err, errSignIn)})
}
