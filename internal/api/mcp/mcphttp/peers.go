package mcphttp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// A proxy may send each request of a session to another instance. What an instance gets and another
// one needs is sent over the database (store.send), which announces it to the addressee:
//
//	the cancellation of a call             to all instances
//	the answer to a request of a call      to the instance of the call, whose name is in the id
//	                                       of the request
//	resumption of a stream                 to the instance of the stream, whose name is in the ids
//	                                       of its events; it sends the events to who asks
//
// A session that ends, and changes of its state, are announced to all instances.

// pass sends a message to the instance that has the call it is about. It reports whether there is
// nothing else to do with it. Errors: Unavailable; Invalid for a message that is too large.
func (c *call) pass() (passed bool, err error) {
	switch {
	case !c.stored():
	case c.message.answers:
		to, body, ok := untagged(c.message.body)
		switch {
		case !ok:
		case to == c.servers.instance:
			c.message.body = body
		default:
			return true, c.servers.store.send(c.ctx, c.tenant, c.session.hash, to, sent{Kind: deliver, Body: body})
		}
	case c.message.cancels != "" && !c.session.runs(c.servers, c.message.cancels):
		return true, c.servers.store.send(c.ctx, c.tenant, c.session.hash, "", sent{Kind: deliver, Body: c.message.body})
	}
	return false, nil
}

// runs reports whether a call of the session is in flight on this instance.
func (s *session) runs(on *servers, id string) bool {
	on.mu.Lock()
	defer on.mu.Unlock()
	return s.calls[id] > 0
}

// tagSeparator is between the name of the instance and the library's id in the ids of requests to
// clients.
const tagSeparator = "-"

// tagRequest puts the name of the instance into the id of a request to the client, which is the data
// of an event. Other events are returned as they are.
func tagRequest(p []byte, instance string) []byte {
	begin, end := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')
	if instance == "" || begin < 0 || end < begin || !bytes.Contains(p, []byte(`"method":`)) {
		return p
	}
	var request map[string]json.RawMessage
	if json.Unmarshal(p[begin:end+1], &request) != nil || request["method"] == nil || request["id"] == nil {
		return p
	}
	request["id"], _ = json.Marshal(instance + tagSeparator + string(request["id"])) // a text
	raw, err := json.Marshal(request)
	if err != nil {
		return p
	}
	return bytes.Join([][]byte{p[:begin], raw, p[end+1:]}, nil)
}

// untagged returns the instance whose request a message of the client answers, and the message as
// the library of that instance expects it; false for another id.
func untagged(body []byte) (instance string, answer []byte, ok bool) {
	var message map[string]json.RawMessage
	var id string
	if json.Unmarshal(body, &message) != nil || json.Unmarshal(message["id"], &id) != nil {
		return "", nil, false
	}
	instance, number, ok := strings.Cut(id, tagSeparator)
	if _, err := strconv.ParseInt(number, 10, 64); !ok || err != nil || len(instance) != instanceChars {
		return "", nil, false
	}
	message["id"] = json.RawMessage(number)
	answer, err := json.Marshal(message)
	return instance, answer, err == nil
}

// receive handles an event of the database. It does not block.
func (r *servers) receive(e event.Event) {
	switch {
	case e.Missed():
		r.catchUp(e.Tenant)
	case e.Kind == event.Session:
		r.sessionChanged(e.Tenant, e.Name, e.Index)
	case e.Kind == event.Message:
		to, id, _ := strings.Cut(e.Index, " ")
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			r.messageSent(e.Tenant, e.Name, to, n)
		}
	}
}

// local is a session on this instance with its server.
type local struct {
	tenant  tenant.ID
	server  *tenantServer
	session *session
}

// each calls do with each stored session of a tenant that this instance knows, or of all tenants if
// id is empty. The caller holds mu.
func (r *servers) each(id tenant.ID, do func(local)) {
	for of, named := range r.byID {
		if id != "" && of != id {
			continue
		}
		for _, s := range named {
			for _, found := range s.sessions.open {
				if found.inLibrary.Load() {
					do(local{of, s, found})
				}
			}
		}
	}
}

// find returns the session with the hash of an id in hexadecimal, or false. The caller holds mu.
func (r *servers) find(id tenant.ID, name string) (found local, ok bool) {
	h, err := hex.DecodeString(name)
	if err != nil {
		return found, false
	}
	r.each(id, func(l local) {
		if bytes.Equal(l.session.hash[:], h) {
			found, ok = l, true
		}
	})
	return found, ok
}

// sessionChanged notes that a session has another version, or has ended.
func (r *servers) sessionChanged(id tenant.ID, name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.find(id, name)
	n, err := strconv.ParseInt(version, 10, 64)
	if !ok || err != nil {
		return
	}
	if n == 0 {
		go r.finish(l)
		return
	}
	if l.session.seen(n) && l.session.listener != nil {
		go r.reload(l.session.listener)
	}
}

// finish ends a session that was ended on another instance. A database that the tenant has left deletes its
// sessions too, so the one where the tenant lives is asked.
func (r *servers) finish(l local) {
	if _, err := r.store.load(l.session.ctx, l.tenant, l.session.hash, l.session.owner); fault.KindOf(err) != fault.NotFound {
		l.session.doubt() // the next request asks again
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.server.sessions.finish(l.session)
}

// reload loads the state of a session for its stream: no request will come to do so.
func (r *servers) reload(listener *call) {
	if err := listener.restore(); err != nil && listener.ctx.Err() == nil {
		r.cfg.Logger.WarnContext(listener.ctx, "the state of an MCP session cannot be loaded", "tenant", listener.tenant, "err", err)
	}
}

// messageSent handles a message if it is for this instance.
func (r *servers) messageSent(id tenant.ID, name, to string, message int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.resumed[to]; f != nil {
		wake(f.news)
		return
	}
	if to != "" && to != r.instance {
		return
	}
	if l, ok := r.find(id, name); ok {
		go r.fetch(l, message)
	}
}

func wake(waiting chan struct{}) {
	select {
	case waiting <- struct{}{}:
	default:
	}
}

// catchUp loads what may have been missed of a tenant, or of all tenants if id is empty: states of sessions
// and messages.
func (r *servers) catchUp(id tenant.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.resumed {
		if id == "" || f.call.tenant == id {
			wake(f.news)
		}
	}
	r.each(id, func(l local) {
		l.session.doubt()
		if l.session.listener != nil {
			go r.reload(l.session.listener)
		}
		if l.session.requests > 0 {
			go r.fetchAll(l)
		}
	})
}

// fetch loads a message and handles it.
func (r *servers) fetch(l local, message int64) {
	m, found, err := r.store.message(l.session.ctx, l.tenant, l.session.hash, message)
	if err != nil {
		r.unread(l, err)
	}
	if found {
		r.handle(l, m)
	}
}

// fetchAll handles the messages that are kept. Those that were handled before change nothing: their
// calls have been cancelled, and their answers are no longer waited for.
func (r *servers) fetchAll(l local) {
	list, err := r.store.pending(l.session.ctx, l.tenant, l.session.hash)
	if err != nil {
		r.unread(l, err)
	}
	for _, m := range list {
		if m.Kind == deliver {
			r.handle(l, m)
		}
	}
}

func (r *servers) unread(l local, err error) {
	if l.session.ctx.Err() == nil {
		r.cfg.Logger.WarnContext(l.session.ctx, "a message about an MCP session cannot be read", "tenant", l.tenant, "err", err)
	}
}

func (r *servers) handle(l local, m sent) {
	switch m.Kind {
	case deliver:
		l.server.http.Handle(discard{http.Header{}}, &server.HTTPRequest{
			Method: http.MethodPost, Header: http.Header{sessionHeader: {l.session.id}, "Content-Type": {"application/json"}},
			Body: m.Body, Context: l.session.ctx,
		})
	case resume:
		r.handOver(l, m)
	}
}

// touch notes in the database which sessions are in use here.
func (r *servers) touch() {
	if r.store == nil {
		return
	}
	used := map[tenant.ID][][]byte{}
	r.mu.Lock()
	r.each("", func(l local) { used[l.tenant] = append(used[l.tenant], l.session.hash[:]) })
	r.mu.Unlock()
	for id, sessions := range used {
		if err := r.store.touch(r.streams, id, sessions); err != nil && r.streams.Err() == nil {
			r.cfg.Logger.WarnContext(r.streams, "the use of MCP sessions cannot be noted", "tenant", id, "err", err)
		}
	}
}
