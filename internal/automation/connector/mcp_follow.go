package connector

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
)

// Limits of subscriptions.
const (
	maxFollowed          = 500 // of an instance
	maxFollowedPerTenant = 10  // of an instance
	maxSubscriptions     = 500 // resources of one server
	maxFollowRequests    = 2000
	followWindow         = time.Hour // of maxFollowRequests and maxFollowBytes
	maxFollowBytes       = 64 << 20
	// exhaustedPause is how long an instance does not follow a server that sends or needs too much.
	exhaustedPause = 10 * time.Minute
	// minChangeInterval is the shortest time between the starts of two runs because of changes.
	minChangeInterval = 5 * time.Second
)

const (
	// followLease is how long an instance holds a subscription that it does not extend.
	followLease = 45 * time.Second
	renewEvery  = 10 * time.Second
	// followCheck is the interval in which the task of a connector looks whether it is followed.
	followCheck     = 30 * time.Second
	minListenPause  = time.Second
	maxListenPause  = time.Minute
	maxListenErrors = 5 // in a row
)

// followers are the subscriptions that this instance holds. Safe for concurrent use.
type followers struct {
	slots *limit.Limiter[tenant.ID]

	mu     sync.Mutex
	ctx    context.Context // as long as the service runs; nil before
	group  sync.WaitGroup
	active map[followKey]*follower
}

type followKey struct {
	tenant tenant.ID
	name   string
}

func newFollowers() *followers {
	return &followers{slots: limit.New[tenant.ID](maxFollowed, maxFollowedPerTenant), active: map[followKey]*follower{}}
}

// Run holds subscriptions until ctx ends, and returns nil when all are given up.
func (s *Service) Run(ctx context.Context) error {
	f := s.followers
	f.mu.Lock()
	f.ctx = ctx
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.ctx = nil
	f.mu.Unlock()
	f.group.Wait()
	return nil
}

// follows reports whether the connector is to be followed between runs.
func (r row) follows() bool {
	var state State
	return !r.Paused && r.Status != Running && json.Unmarshal(r.SourceState, &state) == nil && state.Follow && !state.Rows.Reread
}

// follow makes this instance hold the subscription of a connector, unless another one does, or this one
// holds too many.
func (s *Service) follow(ctx context.Context, h *data.Handle, r row) {
	f := s.followers
	key := followKey{h.Tenant(), r.ConnectorName}
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.active[key]; old != nil {
		if !old.settings.Equal(r.UpdatedAt) {
			old.end() // the next check begins with the new settings
		}
		return
	}
	if f.ctx == nil || f.ctx.Err() != nil || !f.slots.TryAcquire(key.tenant, 1) {
		return
	}
	claimed, ok, err := claimFollow(ctx, h, r.ConnectorName, s.Instance)
	if err != nil || !ok || !claimed.UpdatedAt.Equal(r.UpdatedAt) {
		f.slots.Release(key.tenant, 1)
		if err != nil {
			s.Logger.WarnContext(ctx, "claim the subscription of a connector", "tenant", key.tenant, "connector", key.name, "err", err)
		}
		return
	}
	following, end := context.WithCancel(f.ctx)
	one := &follower{service: s, handle: h, settings: claimed.UpdatedAt, row: claimed, end: end, changed: make(chan struct{}, 1), flooded: make(chan struct{}), opened: time.Now()}
	f.active[key] = one
	f.group.Go(func() {
		defer func() {
			end()
			f.slots.Release(key.tenant, 1)
			f.mu.Lock()
			delete(f.active, key)
			f.mu.Unlock()
		}()
		one.run(following)
	})
}

// stop ends the following of a connector by this instance. It reports whether that has ended.
func (f *followers) stop(key followKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.active[key]
	if one != nil {
		one.end()
	}
	return one == nil
}

// follower holds the subscription of a connector, or the connection that receives changes of its table.
type follower struct {
	service *Service
	handle  *data.Handle
	// settings is when the connector that is followed was last updated.
	settings time.Time
	row      row // as the last renewal read it; for run alone
	end      context.CancelFunc
	changed  chan struct{} // receives when the server has announced a change

	mu       sync.Mutex
	opened   time.Time // when the window of requests and bytes began
	requests int
	bytes    int64
	flooded  chan struct{} // closed when too many bytes have come
}

// run follows until the connector is changed, another instance follows it, or the server is lost.
func (f *follower) run(ctx context.Context) {
	log := f.service.Logger.With("tenant", f.handle.Tenant(), "connector", f.row.ConnectorName)
	err := f.hold(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errChanged) {
		log.InfoContext(ctx, "the subscription of a connector ended", "err", err)
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := releaseFollow(ending, f.handle, f.row.ConnectorName, f.service.Instance); err != nil {
		log.WarnContext(ending, "release the subscription of a connector", "err", err)
	}
	if fault.KindOf(err) == fault.Exhausted {
		_ = sleep(ctx, exhaustedPause) // meanwhile the schedule counts
	}
}

// received counts bytes from the server.
func (f *follower) received(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window()
	before := f.bytes
	if f.bytes += int64(n); f.bytes > maxFollowBytes && before <= maxFollowBytes {
		close(f.flooded)
	}
}

// window begins another window when the present one has ended.
func (f *follower) window() {
	if f.bytes <= maxFollowBytes && time.Since(f.opened) > followWindow {
		f.opened, f.requests, f.bytes = time.Now(), 0, 0
	}
}

// sent counts a request. Errors: Exhausted.
func (f *follower) sent() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window()
	if f.requests++; f.requests > maxFollowRequests {
		return fault.New(fault.Exhausted, "following the server needs more than %d requests within %v", maxFollowRequests, followWindow)
	}
	return nil
}

// notified hears of a notification.
func (f *follower) notified(n mcp.JSONRPCNotification) {
	switch n.Method {
	case mcp.MethodNotificationResourceUpdated, mcp.MethodNotificationResourcesListChanged, mcp.MethodNotificationToolsListChanged, mcp.MethodNotificationPromptsListChanged:
		select {
		case f.changed <- struct{}{}:
		default: // a run is coming
		}
	}
}

// hold subscribes, and makes a run due for what may have changed before and whenever the server announces
// a change.
func (f *follower) hold(ctx context.Context) error {
	c, err := f.row.connector()
	if err != nil {
		return err
	}
	request, err := f.service.request(ctx, f.handle, f.row)
	if err != nil {
		return err
	}
	if c.replicates() {
		return f.replicate(access.NewContext(ctx, request), c)
	}
	x, err := f.service.subscribe(access.NewContext(ctx, request), c, f)
	if err != nil {
		return err
	}
	defer x.session.Close()
	uris, err := followed(ctx, f.handle, f.row.ConnectorName, maxSubscriptions)
	if err != nil {
		return err
	}
	if err := x.set(ctx, uris); err != nil {
		return err
	}
	if err := f.makeDue(ctx); err != nil { // what changed before the subscription was not announced
		return err
	}
	renew := time.NewTicker(f.service.wait(renewEvery))
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-x.lost:
			return err
		case <-f.flooded:
			return fault.New(fault.Exhausted, "the server has sent more than %d bytes within %v", maxFollowBytes, followWindow)
		case <-f.changed:
			if err := f.makeDue(ctx); err != nil {
				return err
			}
			if err := sleep(ctx, f.service.wait(minListenPause)); err != nil { // a flood costs one statement in this time
				return err
			}
		case <-renew.C:
			if err := f.renew(ctx, x); err != nil {
				return err
			}
		}
	}
}

// renew extends the lease, and subscribes to the resources that the last run found. Errors: errChanged
// if this instance is no longer to follow the connector.
func (f *follower) renew(ctx context.Context, x *subscription) error {
	now, ok, err := extendFollow(ctx, f.handle, f.row.ConnectorName, f.service.Instance)
	if err != nil {
		return err
	}
	if !ok || !now.UpdatedAt.Equal(f.settings) || !now.CreatedAt.Equal(f.row.CreatedAt) {
		return errChanged
	}
	if _, err := f.service.request(ctx, f.handle, now); err != nil { // the credential was revoked
		return err
	}
	if now.Status == Running || now.Run == f.row.Run {
		return nil
	}
	f.row = now
	uris, err := followed(ctx, f.handle, f.row.ConnectorName, maxSubscriptions)
	if err != nil {
		return err
	}
	return x.set(ctx, uris)
}

// makeDue makes a run of the connector due, a while after the last one began.
func (f *follower) makeDue(ctx context.Context) error {
	return f.handle.Tx(ctx, func(tx *data.Tx) error {
		r, ok, err := dueAfter(ctx, tx, f.row.ConnectorName, f.service.wait(minChangeInterval))
		if err != nil || !ok {
			return err
		}
		return f.service.wake(ctx, tx, r)
	})
}

// subscription is a session that is told of changes.
type subscription struct {
	session *mcpclient.Session
	timeout time.Duration
	pause   time.Duration // before a stream that has ended is opened again
	uris    []string
	lost    chan error
	stop    func() // of the stream of the era without sessions; nil for none
}

// subscribe opens a session that is told of changes.
func (s *Service) subscribe(ctx context.Context, c Connector, f *follower) (*subscription, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	server, connection, mask, err := s.mcpServer(ctx, caller, c.Name, c.MCP, false)
	if err != nil {
		return nil, err
	}
	server.Sent, server.Received, server.Notified, server.Lasting = f.sent, f.received, f.notified, true
	open := func() (*mcpclient.Session, error) {
		limited, cancel := context.WithTimeout(ctx, connection.Timeout)
		defer cancel()
		session, err := mcpclient.Connect(limited, s.Remote, server)
		if err != nil {
			return nil, mcpclient.Explain(connection.URL.Host, err, mask)
		}
		return session, nil
	}
	session, err := open()
	if err != nil {
		return nil, err
	}
	if !session.Modern() && !session.Streams() {
		session.Close()
		server.Listen = true
		if session, err = open(); err != nil {
			return nil, err
		}
	}
	x := &subscription{session: session, timeout: connection.Timeout, pause: s.wait(minListenPause), lost: make(chan error, 1)}
	session.OnConnectionLost(x.fail)
	return x, nil
}

func (x *subscription) fail(err error) {
	select {
	case x.lost <- err:
	default:
	}
}

// set subscribes to the resources with these uris, and to changes of the lists.
func (x *subscription) set(ctx context.Context, uris []string) error {
	slices.Sort(uris)
	can := x.session.GetServerCapabilities()
	if x.session.Modern() {
		if x.stop != nil && slices.Equal(uris, x.uris) {
			return nil
		}
		if x.stop != nil {
			x.stop()
		}
		x.uris = uris
		filter := mcp.SubscriptionFilter{}
		if can.Resources != nil {
			filter.ResourcesListChanged = can.Resources.ListChanged
			if can.Resources.Subscribe {
				filter.ResourceSubscriptions = uris
			}
		}
		filter.ToolsListChanged = can.Tools != nil && can.Tools.ListChanged
		filter.PromptsListChanged = can.Prompts != nil && can.Prompts.ListChanged
		x.listen(ctx, filter)
		return nil
	}
	if can.Resources == nil || !can.Resources.Subscribe {
		return nil
	}
	for _, uri := range uris {
		if slices.Contains(x.uris, uri) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, x.timeout)
		var request mcp.SubscribeRequest
		request.Params.URI = uri
		err := x.session.Subscribe(limited, request) //nolint:staticcheck // what servers of the older era know
		cancel()
		if mcpclient.IsBroken(err) || ctx.Err() != nil {
			return err
		} // a resource to which the server lets nobody subscribe is read by the schedule
	}
	x.uris = uris // what is gone from the list sends nothing
	return nil
}

// listen keeps a stream of the era without sessions open, until it is stopped or fails too often.
func (x *subscription) listen(ctx context.Context, filter mcp.SubscriptionFilter) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	x.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		pause, failures := x.pause, 0
		for {
			began := time.Now()
			err := x.session.Listen(ctx, filter)
			if time.Since(began) > maxListenPause {
				pause, failures = x.pause, 0
			}
			if failures++; ctx.Err() != nil || failures == maxListenErrors {
				x.fail(err)
				return
			}
			if sleep(ctx, pause) != nil {
				return
			}
			pause = min(2*pause, maxListenPause)
		}
	}()
}

// claimFollow makes an instance follow a connector for a while. ok is false if another one does, or if
// the connector is gone or paused.
func claimFollow(ctx context.Context, q data.Queryer, name, instance string) (r row, ok bool, err error) {
	r, err = data.Get[row](ctx, q, `
		UPDATE ragd_shared.connectors SET follower = $2, followed_until = now() + $3
		WHERE connector_name = $1 AND NOT paused AND (follower = $2 OR followed_until IS NULL OR followed_until < now()) RETURNING `+columns, name, instance, followLease)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, false, nil
	}
	r.holder = instance
	return r, err == nil, err
}

// extendFollow extends the claim of an instance. ok is false if it has none.
func extendFollow(ctx context.Context, q data.Queryer, name, instance string) (r row, ok bool, err error) {
	r, err = data.Get[row](ctx, q, `
		UPDATE ragd_shared.connectors SET followed_until = now() + $3 WHERE connector_name = $1 AND NOT paused AND follower = $2 RETURNING `+columns, name, instance, followLease)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, false, nil
	}
	return r, err == nil, err
}

// releaseFollow ends the claim of an instance.
func releaseFollow(ctx context.Context, q data.Queryer, name, instance string) error {
	_, err := data.Values[string](ctx, q, `
		UPDATE ragd_shared.connectors SET follower = '', followed_until = NULL WHERE connector_name = $1 AND follower = $2 RETURNING connector_name`, name, instance)
	return err
}

// followed returns the ids of up to limit items that have documents.
func followed(ctx context.Context, q data.Queryer, name string, limit int) ([]string, error) {
	return data.Values[string](ctx, q, `SELECT item_id FROM ragd_shared.connector_items WHERE connector_name = $1 AND has_document ORDER BY item_id LIMIT $2`, name, limit)
}
