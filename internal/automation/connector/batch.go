package connector

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Limits of items that wait to be stored, and of those that are stored at once.
const (
	batchItems = 256
	batchBytes = 4 << 20
	queueBytes = 32 << 20
)

// visited is what a walk hands over to the storer: an item, or a position that it has reached.
type visited struct {
	item Item
	at   *position
	size int64 // that it takes of the queue
}

// storer stores the items of a walk in the order of its visits, many at once, while the walk goes on.
// While one batch is stored, the next one fills; an item that comes alone does not wait for others.
type storer struct {
	run   *run
	queue chan visited
	space *semaphore.Weighted // bytes of items that are not stored yet
	ended chan struct{}
	next  *visited // received, but for the next batch

	cancel context.CancelCauseFunc // of the walk
	once   sync.Once
	err    error // why items could not be stored
}

// newStorer returns a storer, and the context of the walk, which ends when the storer fails.
func newStorer(ctx context.Context, x *run) (*storer, context.Context) {
	walked, cancel := context.WithCancelCause(ctx)
	s := &storer{run: x, queue: make(chan visited, batchItems), space: semaphore.NewWeighted(queueBytes), ended: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(s.ended)
		if err := s.storeAll(ctx); err != nil {
			s.fail(err)
		}
	}()
	return s, walked
}

// fail ends the walk for a reason that is not its source's. The first one counts.
func (s *storer) fail(err error) {
	s.once.Do(func() {
		s.err = err
		s.cancel(err)
	})
}

// add hands over what was visited. It waits while too much is not stored yet.
func (s *storer) add(walked context.Context, v visited) error {
	v.size = min(int64(len(v.item.Content)), queueBytes)
	if err := s.space.Acquire(walked, v.size); err != nil {
		return context.Cause(walked)
	}
	select {
	case s.queue <- v:
		return nil
	case <-walked.Done():
		return context.Cause(walked)
	}
}

// close waits until everything is stored that was handed over, and returns why that failed.
func (s *storer) close() error {
	close(s.queue)
	<-s.ended
	s.cancel(nil)
	return s.err
}

// storeAll stores batches until the walk has ended.
func (s *storer) storeAll(ctx context.Context) (err error) {
	defer s.run.service.recovered(ctx, &err)
	for {
		items, at, size := s.batch()
		if len(items) == 0 && at == nil {
			return nil
		}
		if err := s.run.store(ctx, items, at); err != nil {
			return err
		}
		s.space.Release(size)
	}
}

// batch returns the next items with different ids, and the position that the walk has reached after them, nil if it is
// not said. It waits for the first one.
func (s *storer) batch() (items []Item, at *position, size int64) {
	ids, bytes := map[string]bool{}, 0
	for first := true; ; first = false {
		v, ok := s.receive(first)
		if !ok {
			return items, at, size
		}
		if v.at == nil && (ids[v.item.ID] || len(items) == batchItems || len(items) > 0 && bytes+len(v.item.Content) > batchBytes) {
			s.next = &v
			return items, at, size
		}
		size += v.size
		if v.at != nil {
			return items, v.at, size
		}
		ids[v.item.ID], bytes = true, bytes+len(v.item.Content)
		items = append(items, v.item)
	}
}

// receive returns what was visited next. ok is false if there is nothing, for now unless wait is set.
func (s *storer) receive(wait bool) (v visited, ok bool) {
	if s.next != nil {
		v, s.next = *s.next, nil
		return v, true
	}
	if wait {
		v, ok = <-s.queue
		return v, ok
	}
	select {
	case v, ok = <-s.queue:
		return v, ok
	default:
		return visited{}, false
	}
}

// changedItem is an item that is uploaded.
type changedItem struct {
	*Item

	row      *itemRow
	known    bool // it has a document
	metadata map[string]any
}

// store uploads the items that are new or changed, and records all of them, which have different ids, and the position
// that the walk has reached. An error is about the run; what was stored before it is recorded.
func (x *run) store(ctx context.Context, items []Item, at *position) error {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	known, err := findItems(ctx, x.handle, x.connector.Name, ids)
	if err != nil {
		return err
	}
	rows := make([]itemRow, len(items))
	var changed []changedItem
	for i := range items {
		x.counts.Seen++
		old := known[ids[i]]
		rows[i] = itemRow{ItemID: ids[i], HasDocument: old.HasDocument, Status: itemStored}
		c, err := x.compare(ctx, &items[i], old, &rows[i])
		if err != nil {
			return err
		}
		if c != nil {
			changed = append(changed, *c)
		}
	}
	left, failed := x.uploadAll(ctx, changed)
	if failed != nil {
		at = nil
		items, rows = without(items, rows, left)
		x.counts.Seen -= len(left)
	}
	for i := range rows {
		if rows[i].State, err = json.Marshal(items[i].State); err != nil {
			return err
		}
		rows[i].Reason = textlimit.OneLine(rows[i].Reason, maxReasonBytes)
	}
	x.countTransfer()
	ok, err := record(ctx, x.handle, x.row, rows, x.counts, x.stateAt(at))
	switch {
	case failed != nil:
		return failed
	case err == nil && !ok:
		return errChanged
	}
	return err
}

// without returns the items, with their rows, that have none of the ids.
func without(items []Item, rows []itemRow, ids map[string]bool) (otherItems []Item, otherRows []itemRow) {
	for i := range items {
		if !ids[rows[i].ItemID] {
			otherItems, otherRows = append(otherItems, items[i]), append(otherRows, rows[i])
		}
	}
	return otherItems, otherRows
}

// compare counts an item that is not to be uploaded, and sets what is known of it. It returns one that is, with its
// metadata.
func (x *run) compare(ctx context.Context, item *Item, old itemRow, r *itemRow) (*changedItem, error) {
	switch {
	case item.Failed != "":
		x.counts.Failed++
		r.Status, r.Reason = itemFailed, item.Failed
		return nil, nil
	case item.Skipped != "":
		x.counts.Skipped++
		r.Status, r.Reason = itemSkipped, item.Skipped
		if item.Below {
			return nil, x.keepBelow(ctx, item.ID)
		}
		return nil, nil
	case item.Unchanged && old.HasDocument:
		x.counts.Unchanged++
		return nil, nil
	}
	var known State
	if old.State != nil {
		if err := json.Unmarshal(old.State, &known); err != nil {
			return nil, err
		}
	}
	of, err := x.mapping.of(ctx, x.connector.Name, *item)
	if err == nil {
		item.State.Fingerprint, err = fingerprint(*item, of)
	}
	switch {
	case fault.KindOf(err) == fault.Invalid:
		x.refuse(item, r, err)
		return nil, nil
	case err != nil:
		return nil, err
	case old.HasDocument && old.Status == itemStored && known.Fingerprint == item.State.Fingerprint:
		x.counts.Unchanged++
		return nil, nil
	}
	return &changedItem{Item: item, row: r, known: old.HasDocument, metadata: of}, nil
}

// refuse sets what is known of an item that cannot be stored. A web page is tried again.
func (x *run) refuse(item *Item, r *itemRow, err error) {
	x.counts.Failed++
	r.Status, r.Reason = itemFailed, fault.Public(err)
	item.State = State{Known: true, Links: item.State.Links, Failed: textlimit.OneLine(r.Reason, maxReasonBytes), FailedETag: item.State.ETag}
}

// uploadAll uploads items and sets what is known of them. It waits while the backlog of the tenant is full. An error is
// about the run; left are the ids of the items that were not stored then.
func (x *run) uploadAll(ctx context.Context, changed []changedItem) (left map[string]bool, err error) {
	if changed, err = x.ownedItems(ctx, changed); err != nil {
		return idsOf(changed), err
	}
	for attempt := 1; len(changed) > 0; attempt++ {
		var waiting []changedItem
		results, err := x.uploadOnce(ctx, changed)
		if err != nil {
			return idsOf(changed), err
		}
		var failed error
		for i, c := range changed {
			switch kind := fault.KindOf(results[i].Err); {
			case results[i].Err == nil && c.known:
				x.counts.Updated++
			case results[i].Err == nil:
				x.counts.Added++
				c.row.HasDocument = true
			case kind == fault.Invalid:
				x.refuse(c.Item, c.row, results[i].Err)
			default:
				waiting = append(waiting, c)
				if failed == nil || kind != fault.Exhausted {
					failed = results[i].Err
				}
			}
		}
		if failed != nil && (fault.KindOf(failed) != fault.Exhausted || attempt >= x.uploadTries) {
			return idsOf(waiting), failed
		}
		if len(waiting) < len(changed) {
			attempt = 0 // it goes on
		}
		changed = waiting
		if len(changed) > 0 {
			if err := sleep(ctx, x.service.wait(min(job.Backoff(max(attempt, 1)), maxUploadWait))); err != nil {
				return idsOf(changed), err
			}
		}
	}
	return nil, nil
}

func idsOf(items []changedItem) map[string]bool {
	ids := make(map[string]bool, len(items))
	for _, c := range items {
		ids[c.ID] = true
	}
	return ids
}

// uploadOnce uploads items, and returns one result for each.
func (x *run) uploadOnce(ctx context.Context, changed []changedItem) ([]ingest.Result, error) {
	stream, err := x.service.Documents.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	stream.Within(x.row.fence())
	for _, c := range changed {
		of := c.metadata
		if !c.Modified.IsZero() {
			of = metadata.WithModified(of, c.Modified)
		}
		err := stream.Begin(ctx, ingest.Upload{
			IndexName: x.row.IndexName, Namespace: x.row.Namespace, URI: c.ID, Title: c.Title, ContentType: c.ContentType, Content: c.Content,
			Metadata: of, Chunking: x.connector.Chunking, Extract: x.connector.Extract, Fingerprint: c.State.Fingerprint,
		})
		if err != nil {
			return nil, err
		}
	}
	return stream.End(ctx)
}

// ownedItems returns the items whose documents this connector may replace, and refuses the others: those whose uri is
// that of a document that was uploaded, or that another connector keeps.
func (x *run) ownedItems(ctx context.Context, changed []changedItem) (owned []changedItem, err error) {
	if len(changed) == 0 {
		return nil, nil
	}
	uris := make([]string, len(changed))
	for i, c := range changed {
		uris[i] = c.ID
	}
	present, err := x.service.Documents.MetadataOf(ctx, x.row.IndexName, x.row.Namespace, uris)
	if err != nil {
		return changed, err
	}
	others := map[string]bool{} // whether they exist
	for _, c := range changed {
		of, ok := present[c.ID]
		owner, _ := of[ownMetadata].(string)
		switch {
		case !ok || owner == x.connector.Name:
			owned = append(owned, c)
			continue
		case owner == "":
			x.refuse(c.Item, c.row, fault.New(fault.Invalid, "the index has a document of this uri that was uploaded: delete that, or use another namespace"))
			continue
		}
		if _, ok := others[owner]; !ok {
			if _, others[owner], err = connectors.Find(ctx, x.handle, owner); err != nil {
				return changed, err
			}
		}
		if !others[owner] {
			owned = append(owned, c)
			continue
		}
		x.refuse(c.Item, c.row, fault.New(fault.Invalid, "the connector %q keeps a document of this uri: use another namespace", textlimit.Shorten(owner, 100)))
	}
	return owned, nil
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

// stateAt returns the state of the source once the walk has reached a position, nil for none: as after the last walk, so
// that a run that is interrupted goes on from there.
func (x *run) stateAt(at *position) json.RawMessage {
	if at == nil {
		return nil
	}
	state, reached := x.last, *at
	reached.Run, reached.Counts = x.since, x.counts
	state.Position = &reached
	raw, err := json.Marshal(state)
	if err != nil {
		panic(fmt.Sprintf("encode a state: %v", err)) // its types can be encoded
	}
	return raw
}
