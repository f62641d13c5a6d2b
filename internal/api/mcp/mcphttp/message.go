package mcphttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"unicode/utf8"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// message is the part of a request that this package checks before the library sees it.
// The library decodes the same bytes again, so this package decodes them exactly as the
// library does: any difference would let a caller pass a check as one thing and be served
// as another.
//
// The arguments of a tool call may be taken out of it, see Config.Detached.
type message struct {
	body     []byte
	detached *detached // nil if nothing was taken out
	verb     string    // HTTP method
	method   mcpgo.MCPMethod
	tool     string // name in tools/call
	hasID    bool
	id       string // as text, as the library compares it
	cancels  string // the id of the call that it cancels; empty for none
	answers  bool   // answers a request of the service
	modern   bool   // 2026-07-28 or later: no sessions
	// session is the id that the caller sent; empty for modern revisions.
	session string
	// opensSSE and overSSE are set on the transport of 2024-11-05, where initialize is
	// sent within a session.
	opensSSE, overSSE bool
}

// read reads a request and takes memory for it. Errors: *refusal; Exhausted.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, memory *admission.Request) (message, error) {
	switch r.Method {
	case http.MethodGet, http.MethodDelete:
		return h.peek(r.Method, r.Header, nil)
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return message{}, &refusal{http.StatusMethodNotAllowed, mcpgo.INVALID_REQUEST, "this endpoint takes GET, POST and DELETE"}
	}
	body, err := memory.Read(r.Context(), r.Body, r.ContentLength)
	if err == nil {
		err = memory.Admit(r.Context(), weight(body))
	}
	switch {
	case err == nil:
		return h.peek(r.Method, r.Header, body)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close") // the rest of the body is not read
		return message{}, &refusal{http.StatusRequestTimeout, mcpgo.INVALID_REQUEST, err.Error()}
	case fault.KindOf(err) != fault.Exhausted:
		return message{}, malformed("the request body cannot be read to its end")
	}
	memory.Drain(r.Body)
	if errors.Is(err, admission.ErrTooLarge) {
		err = &refusal{http.StatusRequestEntityTooLarge, mcpgo.INVALID_REQUEST, fault.Public(err)}
	}
	return message{}, err
}

// weight returns the memory that a message takes, in bytes: the body, the arguments that
// the library copies from it, their values, and the API message made of them.
func weight(body []byte) int64 {
	const copies = 2
	return copies*int64(len(body)) + admission.WeighJSON(body)
}

// peek decodes the parts of a message that this package checks.
func (h *Handler) peek(verb string, header http.Header, body []byte) (message, error) {
	m := message{
		body:   body,
		verb:   verb,
		modern: mcpgo.IsModernProtocol(header.Get(mcpgo.HeaderProtocolVersion)),
	}
	if verb == http.MethodPost {
		if !utf8.Valid(body) {
			return message{}, malformed("the request body is not valid UTF-8")
		}
		if h.cfg.Detached {
			if rest, arguments := detach(body); arguments != nil {
				m.body, m.detached = rest, &detached{arguments: arguments}
			}
		}
		if err := m.decode(); err != nil {
			return message{}, err
		}
	}
	if !m.modern {
		m.session = header.Get(sessionHeader)
	}
	return m, nil
}

func (m *message) decode() error {
	var base struct {
		ID     any             `json:"id"`
		Method mcpgo.MCPMethod `json:"method"`
	}
	if err := json.Unmarshal(m.body, &base); err != nil {
		return malformed("the request body is not a single JSON-RPC message")
	}
	m.method, m.hasID = base.Method, base.ID != nil
	if m.hasID {
		m.id = fmt.Sprint(base.ID)
	}
	m.answers = m.hasID && m.method == ""

	var called struct {
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if m.method == mcpgo.MethodToolsCall && json.Unmarshal(m.body, &called) == nil {
		m.tool = called.Params.Name
	}

	var cancelled struct {
		Params struct {
			RequestID any `json:"requestId"`
		} `json:"params"`
	}
	if m.method == mcpgo.MethodNotificationCancelled && json.Unmarshal(m.body, &cancelled) == nil && cancelled.Params.RequestID != nil {
		m.cancels = fmt.Sprint(cancelled.Params.RequestID)
	}

	// Decoded separately, because malformed metadata does not make a message malformed.
	var params struct {
		Params struct {
			Meta *mcpgo.Meta `json:"_meta"`
		} `json:"params"`
	}
	if !m.modern && json.Unmarshal(m.body, &params) == nil {
		m.modern = mcpgo.IsModernProtocol(params.Params.Meta.ProtocolVersion())
	}
	return nil
}

// opensSession reports whether the message asks for a new session.
func (m message) opensSession() bool {
	return m.opensSSE || m.verb == http.MethodPost && !m.modern && !m.overSSE && m.method == mcpgo.MethodInitialize
}

// endsSession reports whether the message ends the session it names.
func (m message) endsSession() bool { return m.verb == http.MethodDelete && !m.modern }

// isStream reports whether the answer stays open until the caller leaves.
func (m message) isStream() bool {
	if m.verb == http.MethodGet {
		return !m.modern
	}
	return m.verb == http.MethodPost && m.modern && m.method == mcpgo.MethodSubscriptionsListen
}

// cancelsOutsideSession reports whether the message is a cancellation outside of a
// session, which would cancel any request of the tenant with the same id.
func (m message) cancelsOutsideSession() bool {
	return m.verb == http.MethodPost && m.modern && m.method == mcpgo.MethodNotificationCancelled && !m.hasID
}
