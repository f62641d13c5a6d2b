package mcp

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/event"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// settle is how long changes are collected before clients are told: a bulk
	// upload is one change of a list, not thousands.
	settle = 250 * time.Millisecond
	// maxSubscriptions bounds what is watched for one tenant on an instance.
	maxSubscriptions = 10_000
)

// watchers are the tenants whose clients this instance tells of changes. Safe for
// concurrent use.
type watchers struct {
	indexes *indexNames
	own     *ownTools

	mu       sync.Mutex
	byTenant map[tenant.ID]*watcher
}

// watcher tells the clients of one tenant. It holds what their resources are
// called, and no content: whoever is told reads with its own rights.
type watcher struct {
	server *server.MCPServer

	mu         sync.Mutex
	subscribed map[subscription]deliver
	changed    map[string]bool // URIs, since the clients were told
	tools      bool            // whether one, or an index that they name, was made, changed or deleted
	timer      *time.Timer     // nil while nothing has changed
}

// subscription is one URI that one client watches. A client is a session's id, or
// the stream of a request where there are no sessions.
type subscription struct {
	client any
	uri    string
}

// deliver sends a notification to a client. It reports false when the client is
// gone.
type deliver func(uri string) bool

func newWatchers(indexes *indexNames, own *ownTools) *watchers {
	return &watchers{indexes: indexes, own: own, byTenant: map[tenant.ID]*watcher{}}
}

// watch begins to tell the clients of a tenant's server, until forget.
func (w *watchers) watch(id tenant.ID, to *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byTenant[id] = to
}

func (w *watchers) forget(id tenant.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byTenant, id)
}

// hear takes an event in. It does not block.
func (w *watchers) hear(e event.Event) {
	w.mu.Lock()
	concerned := map[tenant.ID]*watcher{}
	if e.Tenant == "" {
		concerned = maps.Clone(w.byTenant)
	} else if found := w.byTenant[e.Tenant]; found != nil {
		concerned[e.Tenant] = found
	}
	w.mu.Unlock()
	if e.Document == "" && e.Tool == "" {
		w.indexes.forget(e.Tenant)
	}
	if e.Tool != "" || e.Tenant == "" {
		w.own.forget(e.Tenant)
	}
	for _, to := range concerned {
		to.note(e)
	}
}

func newWatcher() *watcher {
	return &watcher{subscribed: map[subscription]deliver{}, changed: map[string]bool{}}
}

func (w *watcher) note(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Tool != "":
		w.tools = true
	case e.Tenant == "": // anything
		w.tools = true
		w.changed[indexesURI] = true
		for s := range w.subscribed {
			w.changed[s.uri] = true
		}
	case e.Document == "":
		w.tools = true
		w.changed[indexURI(e.Index)], w.changed[indexesURI] = true, true
	default: // the counts of its index change with a document
		w.changed[documentURI(e.Index, e.Document)] = true
		w.changed[indexURI(e.Index)], w.changed[indexesURI] = true, true
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(settle, w.tell)
	}
}

// tell tells the clients what has changed.
func (w *watcher) tell() {
	w.mu.Lock()
	tools, resources := w.tools, len(w.changed) > 0
	due := map[subscription]deliver{}
	for s, send := range w.subscribed {
		if w.touches(s.uri) {
			due[s] = send
		}
	}
	w.changed, w.tools, w.timer = map[string]bool{}, false, nil
	w.mu.Unlock()

	if resources {
		w.server.SendNotificationToAllClients(mcpgo.MethodNotificationResourcesListChanged, nil)
	}
	if tools {
		w.server.SendNotificationToAllClients(mcpgo.MethodNotificationToolsListChanged, nil)
	}
	for s, send := range due {
		if !send(s.uri) {
			w.drop(s)
		}
	}
}

// touches reports whether what a URI names has changed: it itself, or for chunks
// the document that they are of.
func (w *watcher) touches(uri string) bool {
	if document, _, ok := strings.Cut(uri, "/chunks/"); ok {
		uri = document
	}
	return w.changed[uri]
}

func (w *watcher) add(s subscription, send deliver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.subscribed) < maxSubscriptions {
		w.subscribed[s] = send
	}
}

func (w *watcher) drop(s subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.subscribed, s)
}

// dropClient ends all that a client watches.
func (w *watcher) dropClient(client any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.subscribed, func(s subscription, _ deliver) bool { return s.client == client })
}

// hook has the watcher learn what clients subscribe to. A client watches only
// what it may read.
func (s *toolset) hook(w *watcher, hooks *server.Hooks) {
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, req *mcpgo.SubscribeRequest, _ *mcpgo.EmptyResult) {
		session := server.ClientSessionFromContext(ctx)
		if session == nil || !s.readable(ctx, req.Params.URI) {
			return
		}
		id := session.SessionID()
		w.add(subscription{id, req.Params.URI}, func(uri string) bool {
			return w.server.SendNotificationToSpecificClient(id, mcpgo.MethodNotificationResourceUpdated, map[string]any{"uri": uri}) == nil
		})
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, req *mcpgo.UnsubscribeRequest, _ *mcpgo.EmptyResult) {
		if session := server.ClientSessionFromContext(ctx); session != nil {
			w.drop(subscription{session.SessionID(), req.Params.URI})
		}
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { w.dropClient(session.SessionID()) })
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, req *mcpgo.SubscriptionsListenRequest) {
		session := server.ClientSessionFromContext(ctx)
		var allowed []string
		for _, uri := range req.Params.Notifications.ResourceSubscriptions {
			if session != nil && s.readable(ctx, uri) {
				allowed = append(allowed, uri)
				w.add(subscription{session, uri}, func(uri string) bool { return push(session, uri) })
			}
		}
		req.Params.Notifications.ResourceSubscriptions = allowed
		context.AfterFunc(ctx, func() { w.dropClient(session) })
	})
}

// push sends an update down the stream that is a client without a session.
func push(session server.ClientSession, uri string) bool {
	select {
	case session.NotificationChannel() <- mcpgo.JSONRPCNotification{
		JSONRPC: mcpgo.JSONRPC_VERSION,
		Notification: mcpgo.Notification{
			Method: mcpgo.MethodNotificationResourceUpdated,
			Params: mcpgo.NotificationParams{AdditionalFields: map[string]any{"uri": uri}},
		},
	}:
	default: // it does not read; the stream ends when its connection does
	}
	return true
}

// readable reports whether the caller may read a resource.
func (s *toolset) readable(ctx context.Context, uri string) bool {
	var req mcpgo.ReadResourceRequest
	req.Params.URI = uri
	_, err := s.readResource(ctx, req)
	return err == nil
}
