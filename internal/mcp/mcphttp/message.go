package mcphttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/fault"
)

// message is the part of a request that this package checks before the library sees it.
// The library decodes the same bytes again, so this package decodes them exactly as the
// library does: any difference would let a caller pass a check as one thing and be served
// as another.
type message struct {
	body   []byte
	verb   string // HTTP method
	method mcpgo.MCPMethod
	tool   string // name in tools/call
	hasID  bool
	modern bool // 2026-07-28 or later: no sessions
	// session is the id that the caller sent; empty for modern revisions.
	session string
	// opensSSE and overSSE are set on the transport of 2024-11-05, where initialize is
	// sent within a session.
	opensSSE, overSSE bool
}

// read reads a request, which takes the slot if it is large. Errors: *refusal; Exhausted.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, large *slot) (message, error) {
	switch r.Method {
	case http.MethodGet, http.MethodDelete:
		return peek(r.Method, r.Header, nil)
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return message{}, &refusal{http.StatusMethodNotAllowed, mcpgo.INVALID_REQUEST, "this endpoint takes GET, POST and DELETE"}
	}
	arriving := &slotReader{Reader: http.MaxBytesReader(w, r.Body, h.cfg.MaxBodyBytes), slot: large, began: time.Now()}
	body, err := io.ReadAll(arriving)
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return message{}, &refusal{
			http.StatusRequestEntityTooLarge, mcpgo.INVALID_REQUEST,
			fmt.Sprintf("the request is over the limit of %d bytes", tooLarge.Limit),
		}
	}
	if fault.KindOf(err) == fault.Exhausted {
		// Read the body to its end: many clients read the answer only after they have
		// sent it.
		arriving.discarding = true
		_, _ = io.Copy(io.Discard, arriving)
		return message{}, err
	}
	if late := new(refusal); errors.As(err, &late) {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		return message{}, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.Header().Set("Connection", "close")
		return message{}, &refusal{http.StatusRequestTimeout, mcpgo.INVALID_REQUEST, err.Error()}
	}
	if err != nil {
		return message{}, malformed("the request body cannot be read to its end")
	}
	return peek(r.Method, r.Header, body)
}

// peek decodes the parts of a message that this package checks.
func peek(verb string, header http.Header, body []byte) (message, error) {
	m := message{
		body:   body,
		verb:   verb,
		modern: mcpgo.IsModernProtocol(header.Get(mcpgo.HeaderProtocolVersion)),
	}
	if verb == http.MethodPost {
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
	if !utf8.Valid(m.body) {
		return malformed("the request body is not valid UTF-8")
	}
	var base struct {
		ID     any             `json:"id"`
		Method mcpgo.MCPMethod `json:"method"`
	}
	if err := json.Unmarshal(m.body, &base); err != nil {
		return malformed("the request body is not a single JSON-RPC message")
	}
	m.method, m.hasID = base.Method, base.ID != nil

	var called struct {
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if m.method == mcpgo.MethodToolsCall && json.Unmarshal(m.body, &called) == nil {
		m.tool = called.Params.Name
	}

	// Decoded separately, because malformed metadata does not make a message malformed.
	var params struct {
		Params struct {
			Meta *mcpgo.Meta `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(m.body, &params) == nil {
		m.modern = m.modern || mcpgo.IsModernProtocol(params.Params.Meta.ProtocolVersion())
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
