package connector

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pglogrepl"

	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const (
	rowsPerChange     = 499 // read after they have changed; a row whose id was changed is one more
	maxStreamPause    = 30 * time.Second
	changeUploadTries = 2 // before the connector says why its changes wait
	// idleConfirm and idleBytes are after which time, and how many bytes of the log, a position is stored that has no
	// changes of the table before it: until then the database keeps its log.
	idleConfirm = 30 * time.Second
	idleBytes   = 16 << 20
)

// replica follows the changes of the table of a connector.
type replica struct {
	*follower

	connector Connector
	source    *Postgres
	walking   walking
	mapping   mapping
	counts    Counts
	stored    pglogrepl.LSN // position up to which changes are stored, as the service has recorded it
	storedAt  time.Time
	confirmed atomic.Uint64 // stored, for the connection
	documents int
	said      string // why changes wait; empty if they do not
}

// replicate keeps documents the same as the rows of a table until a run is due, the connector is changed, or another
// instance follows it.
func (f *follower) replicate(ctx context.Context, c Connector) error {
	ctx, cancel := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		cancel(f.keep(ctx))
	}()
	defer func() {
		cancel(nil)
		<-kept
	}()
	r := &replica{follower: f, connector: c, source: c.Postgres, counts: c.Counts, said: f.row.Error}
	if f.row.Status != Failed {
		r.said = ""
	}
	var err error
	if r.mapping, err = f.service.mapping(ctx, c.Metadata); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		began := time.Now()
		err := r.follow(ctx)
		var gap *gapError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errChanged):
			return err
		case errors.As(err, &gap):
			f.service.Logger.InfoContext(ctx, "a connector reads its table again", "tenant", f.handle.Tenant(), "connector", c.Name, "reason", gap.reason)
			if err := f.reread(ctx); err != nil {
				return err
			}
			return errChanged
		}
		if err := r.say(ctx, "the changes of the table wait: "+fault.Public(err)); err != nil {
			return err
		}
		if time.Since(began) > maxStreamPause {
			attempt = 1
		}
		if err := sleep(ctx, r.service.wait(min(job.Backoff(attempt), maxStreamPause))); err != nil {
			return err
		}
	}
}

// keep extends the lease of the follower. It returns why it is no longer to follow.
func (f *follower) keep(ctx context.Context) error {
	for {
		if err := sleep(ctx, f.service.wait(renewEvery)); err != nil {
			return err
		}
		now, ok, err := extendFollow(ctx, f.handle, f.row.ConnectorName, f.service.Instance)
		switch {
		case err != nil:
			return err
		case !ok || !now.UpdatedAt.Equal(f.settings) || !now.CreatedAt.Equal(f.row.CreatedAt) || now.Run != f.row.Run || now.due(time.Now()):
			return errChanged
		}
		request, err := f.service.request(ctx, f.handle, now)
		if err != nil { // the credential was revoked
			return err
		}
		into, err := f.service.Indexes.Resolve(access.NewContext(ctx, request), f.handle.Tenant(), now.IndexName)
		if err != nil {
			return err
		}
		if into.ID != now.IndexID { // it was made anew, and has none of the documents
			if err := f.reread(ctx); err != nil {
				return err
			}
			return errChanged
		}
	}
}

// reread makes a run due that reads all rows again.
func (f *follower) reread(ctx context.Context) error {
	return f.handle.Tx(ctx, func(tx *data.Tx) error {
		r, ok, err := askReread(ctx, tx, f.row)
		if err != nil || !ok {
			return err
		}
		return f.service.wake(ctx, tx, r)
	})
}

// follow receives changes and stores them until the connection is lost.
func (r *replica) follow(ctx context.Context) (err error) {
	defer r.service.recovered(ctx, &err)
	r.walking = r.service.walking(r.handle, r.connector, r.service.fetcher(r.connector.MaxItems), nothingKnown)
	rows, err := r.source.open(ctx, r.walking)
	if err != nil {
		return err
	}
	defer rows.close(ctx)
	s := slotReader{rows, r.source.Replication}
	table, err := s.table(ctx)
	if err != nil {
		return err
	}
	is, err := s.slot(ctx)
	if err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	if !is.exists || is.lost != "" || is.confirmed > r.stored {
		return &gapError{"the replication slot has lost changes"}
	}
	stream, err := openStream(ctx, s, table, &r.confirmed)
	if err != nil {
		return err
	}
	receiving, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			close(stream.events)
			ended <- err
		}()
		defer r.service.recovered(receiving, &err)
		err = stream.receive(receiving)
	}()
	storing := r.storeChanges(ctx, s, stream.events)
	end()
	received := <-ended
	stream.close(ctx)
	if storing != nil {
		return storing
	}
	return s.explain(ctx, received)
}

// load reads where the last run, or the last follower, has stopped.
func (r *replica) load(ctx context.Context) error {
	now, ok, err := connectors.Find(ctx, r.handle, r.connector.Name)
	if err != nil {
		return err
	}
	if !ok || now.Run != r.row.Run {
		return errChanged
	}
	var state State
	if err := json.Unmarshal(now.SourceState, &state); err != nil {
		return err
	}
	if r.stored, err = logPosition(state.Rows.Confirmed); err != nil {
		return err
	}
	r.storedAt = time.Now()
	r.confirmed.Store(uint64(r.stored))
	r.documents, err = documentCount(ctx, r.handle, r.connector.Name)
	return err
}

// changes are rows of the table that were changed, by one or more transactions.
type changes struct {
	ids          []string // different
	transactions map[uint32]bool
	upTo         pglogrepl.LSN // 0 if more of the transaction comes
}

// storeChanges stores changes until no more come, or storing fails.
func (r *replica) storeChanges(ctx context.Context, s slotReader, events <-chan event) error {
	dirty := false // rows were stored after the position that is confirmed
	for {
		batch, gap, more := nextChanges(events)
		if len(batch.ids) > 0 {
			dirty = true
			if err := r.storePatiently(ctx, s, batch); err != nil {
				return err
			}
		} else if more {
			if err := r.say(ctx, ""); err != nil {
				return err
			}
		}
		idle := time.Since(r.storedAt) >= idleConfirm || batch.upTo > r.stored+idleBytes
		if batch.upTo > r.stored && (dirty || idle) {
			if err := r.confirm(ctx, batch.upTo); err != nil {
				return err
			}
			dirty = false
		}
		switch {
		case gap != "":
			return &gapError{gap}
		case !more:
			return nil
		}
	}
}

// nextChanges waits for an event and returns what has come by then, why there is a gap after it, and whether more may
// come.
func nextChanges(events <-chan event) (c changes, gap string, more bool) {
	c.transactions = map[uint32]bool{}
	known := map[string]bool{}
	e, ok := <-events
	for ok {
		switch {
		case e.gap != "":
			return c, e.gap, true
		case e.upTo != 0:
			c.upTo = max(c.upTo, e.upTo)
		default:
			c.upTo = 0
			c.transactions[e.transaction] = true
			if !known[e.id] {
				known[e.id] = true
				c.ids = append(c.ids, e.id)
			}
		}
		if len(c.ids) >= rowsPerChange {
			return c, "", true
		}
		select {
		case e, ok = <-events:
		default:
			return c, "", true
		}
	}
	return c, "", false
}

// storePatiently stores changes. While a quota of the tenant is met, it waits and says so.
func (r *replica) storePatiently(ctx context.Context, s slotReader, c changes) error {
	if err := s.visible(ctx, c.transactions); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := r.store(ctx, s.postgresRows, c.ids)
		if err == nil {
			return r.say(ctx, "")
		}
		if fault.KindOf(err) != fault.Exhausted {
			return err
		}
		if err := r.say(ctx, "the changes of the table wait: "+fault.Public(err)); err != nil {
			return err
		}
		if err := sleep(ctx, r.service.wait(min(job.Backoff(attempt), maxStreamPause))); err != nil {
			return err
		}
	}
}

// store makes the documents of rows what these are now.
func (r *replica) store(ctx context.Context, rows *postgresRows, ids []string) (err error) {
	request, err := r.service.request(ctx, r.handle, r.row) // with the rights and quotas of now
	if err != nil {
		return err
	}
	ctx = access.NewContext(ctx, request)
	fetch := r.service.fetcher(r.connector.MaxItems)
	rows.fetch, r.walking.fetch = fetch, fetch // its limits are those of a batch
	listed, err := rows.lookup(ctx, ids)
	if err != nil {
		return err
	}
	x := &run{service: r.service, handle: r.handle, row: r.row, connector: r.connector, fetch: fetch, mapping: r.mapping, counts: r.counts, before: r.counts, uploadTries: changeUploadTries}
	storer, walked := newStorer(ctx, x)
	gone := make(map[string]bool, len(ids))
	skipped := false
	reading := r.source.reading(r.walking, rows, func(item Item) error {
		delete(gone, item.ID)
		skipped = skipped || item.Skipped != ""
		return storer.add(walked, visited{item: named(item)})
	})
	reading.reread = true
	for _, id := range ids {
		gone[reading.uri(id)] = true
	}
	if err = r.checkCount(ctx, reading, listed); err == nil {
		err = reading.rows(walked, listed)
	}
	stored := storer.close()
	r.documents += x.counts.Added - r.counts.Added
	r.counts = x.counts
	switch {
	case stored != nil:
		return stored
	case err != nil:
		return err
	}
	if skipped {
		if err := x.deleteSkipped(ctx); err != nil {
			return err
		}
	}
	deleted, err := x.deleteItems(ctx, gone)
	x.counts.Deleted += deleted
	r.documents -= x.counts.Deleted - r.counts.Deleted
	r.counts = x.counts
	return err
}

// checkCount checks that new rows keep within maxItems. Errors: Exhausted.
func (r *replica) checkCount(ctx context.Context, reading *reading, listed []listedRow) error {
	if r.documents+len(listed) <= r.connector.MaxItems {
		return nil
	}
	ids := make([]string, len(listed))
	for i, row := range listed {
		ids[i] = reading.uri(row.ID)
	}
	known, err := findItems(ctx, r.handle, r.connector.Name, ids)
	if err != nil {
		return err
	}
	if r.documents+len(listed)-len(known) > r.connector.MaxItems {
		return tooManyRows(r.connector.MaxItems)
	}
	return nil
}

// deleteItems deletes the connector's own documents of items, and forgets these.
func (x *run) deleteItems(ctx context.Context, uris map[string]bool) (deleted int, err error) {
	own, err := filter.Parse(map[string]any{ownMetadata: x.row.ConnectorName})
	if err != nil {
		return 0, err
	}
	all := make([]string, 0, len(uris))
	for uri := range uris {
		all = append(all, uri)
	}
	slices.Sort(all)
	for some := range slices.Chunk(all, deleteBatch) {
		gone, err := x.service.Documents.DeleteSelected(ctx, ingest.Selection{IndexName: x.row.IndexName, Namespace: x.row.Namespace, URIs: some, Filter: own, Fence: x.row.fence()})
		deleted += gone.Count
		if err != nil {
			return deleted, err
		}
		if err := forgetItems(ctx, x.handle, x.row, some); err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// confirm records that all changes up to a position are stored, and lets the database forget them.
func (r *replica) confirm(ctx context.Context, at pglogrepl.LSN) error {
	ok, err := storeConfirmed(ctx, r.handle, r.row, r.service.Instance, at.String(), r.counts)
	if err != nil {
		return err
	}
	if !ok {
		return errChanged
	}
	r.stored, r.storedAt = at, time.Now()
	r.confirmed.Store(uint64(at))
	return nil
}

// say shows why the changes of the table wait, empty if they do not.
func (r *replica) say(ctx context.Context, reason string) error {
	reason = textlimit.OneLine(reason, maxReasonBytes)
	if reason == r.said {
		return nil
	}
	if err := storeReason(ctx, r.handle, r.row, r.service.Instance, reason); err != nil {
		return err
	}
	r.said = reason
	return nil
}

// askReread makes a run of a connector due that reads everything again. ok is false if it is gone, paused or has run.
func askReread(ctx context.Context, q data.Queryer, of row) (r row, ok bool, err error) {
	return found(data.Select[row](ctx, q, `
		UPDATE ragd_shared.connectors SET next_run_at = now(),
			source_state = jsonb_set(source_state::jsonb, '{rows}', coalesce(source_state::jsonb->'rows', '{}') || '{"reread": true}')::json
		WHERE connector_name = $1 AND run = $2 AND created_at = $3 AND NOT paused RETURNING `+columns, of.ConnectorName, of.Run, of.CreatedAt))
}

// found returns the row of a statement that changes one, if there is one.
func found(rows []row, err error) (row, bool, error) {
	if err != nil || len(rows) == 0 {
		return row{}, false, err
	}
	return rows[0], true, nil
}

// storeConfirmed records the position up to which an instance has stored changes, and the counts. ok is false if it is no
// longer to follow the connector.
func storeConfirmed(ctx context.Context, q data.Queryer, r row, instance, at string, counts Counts) (ok bool, err error) {
	raw, err := json.Marshal(counts)
	if err != nil {
		return false, err
	}
	following, err := data.Values[int64](ctx, q, `
		UPDATE ragd_shared.connectors SET counts = $6::json, source_state = jsonb_set(source_state::jsonb, '{rows,confirmed}', to_jsonb($5::text))::json
		WHERE connector_name = $1 AND run = $2 AND updated_at = $3 AND follower = $4 AND NOT paused RETURNING run`, r.ConnectorName, r.Run, r.UpdatedAt, instance, at, raw)
	return len(following) == 1, err
}

// storeReason shows why changes wait, in place of how the last run ended; an empty reason shows that again.
func storeReason(ctx context.Context, q data.Queryer, r row, instance, reason string) error {
	_, err := data.Values[string](ctx, q, `
		UPDATE ragd_shared.connectors SET status = CASE WHEN $5 <> '' THEN 'failed' ELSE coalesce(runs->0->>'status', status) END,
			error = CASE WHEN $5 <> '' THEN $5 ELSE coalesce(runs->0->>'error', '') END
		WHERE connector_name = $1 AND run = $2 AND updated_at = $3 AND follower = $4 AND status <> 'running' RETURNING connector_name`,
		r.ConnectorName, r.Run, r.UpdatedAt, instance, reason)
	return err
}

// documentCount returns how many items of a connector have documents.
func documentCount(ctx context.Context, q data.Queryer, name string) (int, error) {
	counted, err := data.Get[struct{ Documents int }](ctx, q, `SELECT count(*) AS documents FROM ragd_shared.connector_items WHERE connector_name = $1 AND has_document`, name)
	return counted.Documents, err
}

// fence lets a transaction store what was read under a claim while the claim holds, and keeps others from claiming the
// connector until the transaction ends: what they read is newer. nil if the connector needs no claim.
func (r row) fence() ingest.Fence {
	if r.holder == "" {
		return nil
	}
	return func(ctx context.Context, tx *data.Tx) error {
		held, err := data.Values[int64](ctx, tx, `SELECT run FROM ragd_shared.connectors WHERE connector_name = $1 AND created_at = $2 AND follower = $3 FOR SHARE`, r.ConnectorName, r.CreatedAt, r.holder)
		if err == nil && len(held) == 0 {
			err = fault.Wrap(fault.Conflict, errChanged, "another instance follows the connector")
		}
		return err
	}
}

// forgetItems deletes items, unless a run has seen them meanwhile.
func forgetItems(ctx context.Context, q data.Queryer, r row, ids []string) error {
	_, err := data.Values[string](ctx, q, `
		DELETE FROM ragd_shared.connector_items WHERE connector_name = $1 AND item_id = ANY($2) AND seen_run <= $3
			AND EXISTS (SELECT FROM ragd_shared.connectors AS c WHERE c.connector_name = $1 AND $4 IN ('', c.follower)) RETURNING item_id`, r.ConnectorName, ids, r.Run, r.holder)
	return err
}
