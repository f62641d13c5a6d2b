package mcp

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/event"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	own "github.com/ragdhq/ragd/internal/server"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/toolset"
)

const (
	// notifyDelay is how long changes are collected before clients are notified: a bulk
	// upload is one change of a list, not thousands.
	notifyDelay = 250 * time.Millisecond
	// maxSubscriptions limits the subscriptions of a tenant on an instance.
	maxSubscriptions = 10_000
)

// watchers holds the watchers of the tenants with clients on this instance. Safe for
// concurrent use.
type watchers struct {
	tools *toolset.Set

	mu       sync.Mutex
	byTenant map[tenant.ID]map[string]*watcher // by the name of the server
}

// watcher notifies the clients of one server of a tenant of changes. It holds URIs of resources and
// no content: a notified client reads with its own rights.
type watcher struct {
	name   string // empty for the default server
	server *server.MCPServer
	// definition is what the last request found, which says what the server shows.
	definition atomic.Pointer[own.Server]

	mu         sync.Mutex
	subscribed map[subscription]subscriber
	changed    map[string]bool // URIs, since the last notification
	tools      bool            // whether the tool list has changed, by a tool or by an index that schemas name
	prompts    bool            // whether the list of prompts has changed
	timer      *time.Timer     // nil while nothing has changed
}

// subscription is one client's subscription to one URI. The client is a session id, or
// the stream of a request where there are no sessions.
type subscription struct {
	client any
	uri    string
}

// subscriber is how a client is notified, and of what: the resource of the service that the URI of
// the subscription stands for.
type subscriber struct {
	watched string
	send    deliver
}

// deliver sends a notification to a client. It returns false if the client is gone.
type deliver func(uri string) bool

func newWatchers(tools *toolset.Set) *watchers {
	return &watchers{tools: tools, byTenant: map[tenant.ID]map[string]*watcher{}}
}

// watch adds the watcher of a tenant, until forget.
func (w *watchers) watch(id tenant.ID, to *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTenant[id] == nil {
		w.byTenant[id] = map[string]*watcher{}
	}
	w.byTenant[id][to.name] = to
}

func (w *watchers) forget(id tenant.ID, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.byTenant[id], name); len(w.byTenant[id]) == 0 {
		delete(w.byTenant, id)
	}
}

// receive handles an event: it drops cached names and passes the event to the affected
// watchers. It does not block.
func (w *watchers) receive(e event.Event) {
	w.mu.Lock()
	var affected []*watcher
	if e.Tenant == "" {
		for _, named := range w.byTenant {
			affected = slices.AppendSeq(affected, maps.Values(named))
		}
	} else {
		affected = slices.Collect(maps.Values(w.byTenant[e.Tenant]))
	}
	w.mu.Unlock()
	if e.Kind == event.Index || e.Tenant == "" {
		w.tools.ForgetIndexes(e.Tenant)
	}
	if e.Kind == event.Tool || e.Tenant == "" {
		w.tools.ForgetTools(e.Tenant)
	}
	for _, to := range affected {
		to.record(e)
	}
}

func newWatcher(name string) *watcher {
	return &watcher{name: name, subscribed: map[subscription]subscriber{}, changed: map[string]bool{}}
}

func (w *watcher) record(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Tenant == "" || e.Kind == event.Server && e.Name == cmp.Or(w.name, own.Default): // anything may have changed
		w.tools, w.prompts = true, true
		w.changed[indexesURI] = true
		for _, s := range w.subscribed {
			w.changed[s.watched] = true
		}
	case !w.shows(e):
		return
	case e.Kind == event.Prompt:
		w.prompts = true
	case e.Kind == event.Tool:
		w.tools = true
	case e.Kind == event.Index:
		w.tools = true
		w.changed[indexURI(e.Name)], w.changed[indexesURI] = true, true
	case e.Kind == event.Document: // it changes the counts of its index, too
		w.changed[documentURI(e.Index, e.Name)] = true
		w.changed[indexURI(e.Index)], w.changed[indexesURI] = true, true
	default:
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(notifyDelay, w.notify)
	}
}

// shows reports whether the server shows what an event is about.
func (w *watcher) shows(e event.Event) bool {
	of := w.definition.Load()
	if of == nil {
		return true
	}
	switch e.Kind {
	case event.Tool:
		return of.Bounds().MayUseTool(e.Name)
	case event.Prompt:
		return of.Bounds().MayUsePrompt(e.Name)
	case event.Index:
		return of.Bounds().MayUseIndex(e.Name)
	case event.Document:
		return of.Bounds().MayUseIndex(e.Index)
	}
	return true
}

// notify notifies the clients of the changes since the last call.
func (w *watcher) notify() {
	w.mu.Lock()
	tools, prompts, resources := w.tools, w.prompts, len(w.changed) > 0
	due := map[subscription]deliver{}
	for s, to := range w.subscribed {
		if w.affects(to.watched) {
			due[s] = to.send
		}
	}
	w.changed, w.tools, w.prompts, w.timer = map[string]bool{}, false, false, nil
	w.mu.Unlock()

	if resources {
		w.server.SendNotificationToAllClients(mcpgo.MethodNotificationResourcesListChanged, nil)
	}
	if tools {
		w.server.SendNotificationToAllClients(mcpgo.MethodNotificationToolsListChanged, nil)
	}
	if prompts {
		w.server.SendNotificationToAllClients(mcpgo.MethodNotificationPromptsListChanged, nil)
	}
	for s, send := range due {
		if !send(s.uri) {
			w.drop(s)
		}
	}
}

// affects reports whether the resource of a URI has changed: what is below a document or an
// index changes with it.
func (w *watcher) affects(uri string) bool {
	p, err := parseResource(uri)
	switch {
	case err != nil:
		return false
	case p.documentID != "":
		return w.changed[uri] || w.changed[documentURI(p.index, p.documentID)]
	case p.index != "":
		return w.changed[uri] || w.changed[indexURI(p.index)]
	}
	return w.changed[uri]
}

func (w *watcher) add(s subscription, to subscriber) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.subscribed) < maxSubscriptions {
		w.subscribed[s] = to
	}
}

func (w *watcher) drop(s subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.subscribed, s)
}

// dropClient drops all subscriptions of a client.
func (w *watcher) dropClient(client any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.subscribed, func(s subscription, _ subscriber) bool { return s.client == client })
}

// hook registers hooks that pass subscriptions to the watcher. A client can subscribe
// only to resources that it may read.
func (s *protocol) hook(w *watcher, hooks *server.Hooks) {
	hooks.AddBeforeAny(func(ctx context.Context, _ any, _ mcpgo.MCPMethod, _ any) { w.definition.Store(own.FromContext(ctx)) })
	hooks.AddBeforeSubscribe(func(ctx context.Context, _ any, req *mcpgo.SubscribeRequest) {
		session := server.ClientSessionFromContext(ctx)
		if session == nil || req.Params.URI == "" {
			return
		}
		watched, err := s.watched(ctx, req.Params.URI)
		if err != nil {
			code := notFoundCode(ctx)
			if kind := problemOf(err).kind; kind != fault.NotFound && kind != fault.Invalid {
				code = mcpgo.INTERNAL_ERROR
			}
			mcphttp.Fail(ctx, mcphttp.Failure{Code: code, Message: publicError(ctx, err).Error(), Data: map[string]any{"uri": req.Params.URI}})
			req.Params.URI = "" // the library refuses it
			return
		}
		id := session.SessionID()
		w.add(subscription{id, req.Params.URI}, subscriber{watched, func(uri string) bool {
			return w.server.SendNotificationToSpecificClient(id, mcpgo.MethodNotificationResourceUpdated, map[string]any{"uri": uri}) == nil
		}})
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
			if watched, err := s.watched(ctx, uri); session != nil && err == nil {
				allowed = append(allowed, uri)
				w.add(subscription{session, uri}, subscriber{watched, func(uri string) bool { return sendUpdate(session, uri) }})
			}
		}
		req.Params.Notifications.ResourceSubscriptions = allowed
		context.AfterFunc(ctx, func() { w.dropClient(session) })
	})
}

// sendUpdate sends an update to the stream of a client without a session.
func sendUpdate(session server.ClientSession, uri string) bool {
	select {
	case session.NotificationChannel() <- mcpgo.JSONRPCNotification{
		JSONRPC: mcpgo.JSONRPC_VERSION,
		Notification: mcpgo.Notification{
			Method: mcpgo.MethodNotificationResourceUpdated,
			Params: mcpgo.NotificationParams{AdditionalFields: map[string]any{"uri": uri}},
		},
	}:
	default: // the client does not read; its stream ends with its connection
	}
	return true
}

// watched returns the URI of the service for a resource that the caller may read: that of the
// document for the document's own URI. Errors: NotFound and Invalid for a URI of no resource.
func (s *protocol) watched(ctx context.Context, uri string) (string, error) {
	if hidesResources(ctx) || strings.HasPrefix(uri, indexesURI) {
		_, err := s.readResource(ctx, uri)
		return uri, err
	}
	d, err := s.documentWithURI(ctx, uri)
	return documentURI(d.GetIndexName(), d.GetDocumentId()), err
}
