package mcp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	own "github.com/ragdhq/ragd/internal/tool/server"
	"github.com/ragdhq/ragd/internal/tool/toolset"
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

// watcher notifies the clients of one server of a tenant of changes that they may see. It holds
// URIs of resources and no content: a notified client reads with its own rights.
type watcher struct {
	name   string // empty for the default server
	server *server.MCPServer
	// definition is what the last request found, which says what the server shows.
	definition atomic.Pointer[own.Server]

	mu            sync.Mutex
	clients       map[any]*listener // by session id, or by the stream of a request where there are no sessions
	subscriptions int               // of all clients
	changes       map[change]bool   // since the last notification
	everything    bool              // whether anything may have changed
	timer         *time.Timer       // nil while nothing has changed
}

// change is what has changed.
type change struct {
	kind        event.Kind
	name, index string
}

// listener is a client that is notified.
type listener struct {
	bounds     access.Bounds // of the credential
	send       deliver
	subscribed map[string]string // URIs, and the URI of the service that each stands for
}

// deliver sends a notification to a client. It returns false if the client is gone.
type deliver func(method string, params map[string]any) bool

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

// missed notifies the client of a session of all that may have changed.
func (w *watchers) missed(id tenant.ID, name, session string) {
	w.mu.Lock()
	to := w.byTenant[id][name]
	w.mu.Unlock()
	if to == nil {
		return
	}
	for _, n := range to.all(session) {
		n.send(n.method, n.params)
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
	if e.Kind == event.Index || e.Missed() {
		w.tools.ForgetIndexes(e.Tenant)
	}
	if e.Kind == event.Tool || e.Missed() {
		w.tools.ForgetTools(e.Tenant)
	}
	for _, to := range affected {
		to.record(e)
	}
}

func newWatcher(name string) *watcher {
	return &watcher{name: name, clients: map[any]*listener{}, changes: map[change]bool{}}
}

func (w *watcher) record(e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case event.Prompt, event.Tool, event.Index, event.Document:
		c := change{e.Kind, e.Name, e.Index}
		if of := w.definition.Load(); of != nil && !c.visible(of.Bounds()) {
			return
		}
		w.changes[c] = true
	case event.Server:
		if e.Name != cmp.Or(w.name, own.Default) {
			return
		}
		w.everything = true
	default:
		if !e.Missed() {
			return
		}
		w.everything = true
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(notifyDelay, w.notify)
	}
}

// visible reports whether bounds allow what has changed.
func (c change) visible(b access.Bounds) bool {
	switch c.kind {
	case event.Tool:
		return b.MayUseTool(c.name) && (c.index == "" || b.MayUseIndex(c.index))
	case event.Prompt:
		return b.MayUsePrompt(c.name)
	case event.Index:
		return b.MayUseIndex(c.name)
	}
	return b.MayUseIndex(c.index)
}

// news is what has changed for clients with the same bounds.
type news struct {
	tools     bool // the list of tools, by a tool or by an index that schemas name
	prompts   bool
	resources bool
	all       bool            // of the resources
	uris      map[string]bool // of the resources that have changed, unless all have
}

// everything is the news that anything may have changed for clients with these bounds.
func everything(b access.Bounds) news {
	return news{tools: true, prompts: true, resources: b.Tools == nil, all: true}
}

// newsFor returns what has changed for clients with these bounds. Keys of tools read no
// resources.
func (w *watcher) newsFor(b access.Bounds) news {
	if w.everything {
		return everything(b)
	}
	n := news{uris: map[string]bool{}}
	for c := range w.changes {
		if !c.visible(b) {
			continue
		}
		switch c.kind {
		case event.Prompt:
			n.prompts = true
		case event.Tool:
			n.tools = true
		case event.Index:
			n.tools = true
			n.uris[indexURI(c.name)], n.uris[indexesURI] = true, true
		default: // a document changes the counts of its index, too
			n.uris[documentURI(c.index, c.name)] = true
			n.uris[indexURI(c.index)], n.uris[indexesURI] = true, true
		}
	}
	n.resources = len(n.uris) > 0 && b.Tools == nil
	return n
}

// affects reports whether the resource of a URI has changed: what is below a document or an
// index changes with it.
func (n news) affects(uri string) bool {
	if n.all || n.uris[uri] {
		return n.all || n.resources
	}
	p, err := parseResource(uri)
	switch {
	case err != nil || !n.resources:
		return false
	case p.documentID != "":
		return n.uris[documentURI(p.index, p.documentID)]
	}
	return p.index != "" && n.uris[indexURI(p.index)]
}

// notice is a notification that is due to a client.
type notice struct {
	client any
	send   deliver
	method string
	params map[string]any
}

// notify notifies the clients of the changes since the last call.
func (w *watcher) notify() {
	for _, n := range w.due() {
		if !n.send(n.method, n.params) {
			w.drop(n.client)
		}
	}
}

// due returns the notifications of the changes since the last call.
func (w *watcher) due() []notice {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []notice
	byBounds := map[string]news{}
	for id, c := range w.clients {
		bounds := c.bounds.String()
		n, ok := byBounds[bounds]
		if !ok {
			n = w.newsFor(c.bounds)
			byBounds[bounds] = n
		}
		all = append(all, c.notices(id, n)...)
	}
	w.changes, w.everything, w.timer = map[change]bool{}, false, nil
	return all
}

// all returns the notifications of a client if anything may have changed.
func (w *watcher) all(client any) []notice {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clients[client]
	if c == nil {
		return nil
	}
	return c.notices(client, everything(c.bounds))
}

// notices returns the notifications of news to a client. The caller holds the mutex of its watcher.
func (c *listener) notices(client any, n news) (all []notice) {
	for method, changed := range map[string]bool{
		mcpgo.MethodNotificationResourcesListChanged: n.resources,
		mcpgo.MethodNotificationToolsListChanged:     n.tools,
		mcpgo.MethodNotificationPromptsListChanged:   n.prompts,
	} {
		if changed {
			all = append(all, notice{client, c.send, method, nil})
		}
	}
	for uri, watched := range c.subscribed {
		if n.affects(watched) {
			all = append(all, notice{client, c.send, mcpgo.MethodNotificationResourceUpdated, map[string]any{"uri": uri}})
		}
	}
	return all
}

// add notifies a client from now on, until drop. Further calls keep its subscriptions.
func (w *watcher) add(ctx context.Context, client any, send deliver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clients[client]
	if c == nil {
		c = &listener{subscribed: map[string]string{}}
		w.clients[client] = c
	}
	c.bounds, c.send = access.BoundsOf(ctx), send
}

// subscribe notifies a client of changes of the resource watched, under the URI that it has given.
func (w *watcher) subscribe(client any, uri, watched string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clients[client]
	if c == nil {
		return
	}
	if _, again := c.subscribed[uri]; !again {
		if w.subscriptions >= maxSubscriptions {
			return
		}
		w.subscriptions++
	}
	c.subscribed[uri] = watched
}

func (w *watcher) unsubscribe(client any, uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.clients[client]
	if c == nil {
		return
	}
	if _, subscribed := c.subscribed[uri]; subscribed {
		delete(c.subscribed, uri)
		w.subscriptions--
	}
}

// drop forgets a client with its subscriptions.
func (w *watcher) drop(client any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.clients[client]; c != nil {
		w.subscriptions -= len(c.subscribed)
		delete(w.clients, client)
	}
}

// hook registers hooks that pass clients and subscriptions to the watcher. A client can subscribe
// only to resources that it may read.
func (s *protocol) hook(w *watcher, hooks *server.Hooks) {
	hooks.AddBeforeAny(func(ctx context.Context, _ any, _ mcpgo.MCPMethod, _ any) { w.definition.Store(own.FromContext(ctx)) })
	hooks.AddOnRegisterSession(func(ctx context.Context, session server.ClientSession) {
		w.add(ctx, session.SessionID(), w.toSession(ctx, session.SessionID()))
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { w.drop(session.SessionID()) })
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
		w.add(ctx, session.SessionID(), w.toSession(ctx, session.SessionID()))
		w.subscribe(session.SessionID(), req.Params.URI, watched)
		failStored(ctx, mcphttp.Subscribe(ctx, req.Params.URI))
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, req *mcpgo.UnsubscribeRequest, _ *mcpgo.EmptyResult) {
		if session := server.ClientSessionFromContext(ctx); session != nil {
			w.unsubscribe(session.SessionID(), req.Params.URI)
			failStored(ctx, mcphttp.Unsubscribe(ctx, req.Params.URI))
		}
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, req *mcpgo.SubscriptionsListenRequest) {
		session := server.ClientSessionFromContext(ctx)
		if session == nil {
			req.Params.Notifications.ResourceSubscriptions = nil
			return
		}
		w.add(ctx, session, toStream(session, req.Params.Notifications))
		var allowed []string
		for _, uri := range req.Params.Notifications.ResourceSubscriptions {
			if watched, err := s.watched(ctx, uri); err == nil {
				allowed = append(allowed, uri)
				w.subscribe(session, uri, watched)
			}
		}
		req.Params.Notifications.ResourceSubscriptions = allowed
		context.AfterFunc(ctx, func() { w.drop(session) })
	})
}

// failStored answers the request in ctx with the error of storing what it changes in its session.
func failStored(ctx context.Context, err error) {
	if err != nil {
		mcphttp.Fail(ctx, mcphttp.Failure{Code: mcpgo.INTERNAL_ERROR, Message: publicError(ctx, err).Error()})
	}
}

// toSession returns a function that notifies the client of a session, unless another instance does.
func (w *watcher) toSession(ctx context.Context, id string) deliver {
	notifies, announce := mcphttp.Notifies(ctx), mcphttp.Announcer(ctx)
	return func(method string, params map[string]any) bool {
		switch {
		case !notifies():
			return true
		case announce != nil:
			announce(method, params)
			return true
		}
		return !errors.Is(w.server.SendNotificationToSpecificClient(id, method, params), server.ErrSessionNotFound)
	}
}

// toStream returns a function that sends what a client without a session wants to its stream.
func toStream(session server.ClientSession, wanted mcpgo.SubscriptionFilter) deliver {
	refused := map[string]bool{
		mcpgo.MethodNotificationResourcesListChanged: !wanted.ResourcesListChanged,
		mcpgo.MethodNotificationToolsListChanged:     !wanted.ToolsListChanged,
		mcpgo.MethodNotificationPromptsListChanged:   !wanted.PromptsListChanged,
	}
	return func(method string, params map[string]any) bool {
		if refused[method] {
			return true
		}
		select {
		case session.NotificationChannel() <- mcpgo.JSONRPCNotification{
			JSONRPC: mcpgo.JSONRPC_VERSION,
			Notification: mcpgo.Notification{
				Method: method, Params: mcpgo.NotificationParams{AdditionalFields: params},
			},
		}:
		default: // the client does not read; its stream ends with its connection
		}
		return true
	}
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
