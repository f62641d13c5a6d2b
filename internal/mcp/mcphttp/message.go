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

// message is what the front has to know of a request before the library sees
// it. The library reads the same bytes again, so every rule here decodes them
// exactly as the library does: where the two disagreed, a caller could be one
// thing to the front and another to the server.
type message struct {
	body   []byte
	verb   string // HTTP method
	method mcpgo.MCPMethod
	tool   string // that is called
	hasID  bool
	modern bool // 2026-07-28 or later: no sessions
	// session is the id that the caller presents; empty in the modern era.
	session string
	// opensSSE and overSSE are set on the transport of 2024-11-05, whose initialize
	// comes within a session.
	opensSSE, overSSE bool
}

// read takes a request in, for which place is held. Errors: *refusal; Exhausted.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, place *hold) (message, error) {
	switch r.Method {
	case http.MethodGet, http.MethodDelete:
		return peek(r.Method, r.Header, nil)
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		return message{}, &refusal{http.StatusMethodNotAllowed, mcpgo.INVALID_REQUEST, "this endpoint takes GET, POST and DELETE"}
	}
	arriving := &heldReader{Reader: http.MaxBytesReader(w, r.Body, h.cfg.MaxBodyBytes), hold: place, began: time.Now()}
	body, err := io.ReadAll(arriving)
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return message{}, &refusal{
			http.StatusRequestEntityTooLarge, mcpgo.INVALID_REQUEST,
			fmt.Sprintf("the request is over the limit of %d bytes", tooLarge.Limit),
		}
	}
	if fault.KindOf(err) == fault.Exhausted {
		// Many clients read an answer only once they have sent all.
		arriving.waste = true
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

// peek reads a message as far as the front needs it.
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

	// On its own, because malformed metadata does not make a malformed message.
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

// cancelsOutsideSession reports whether the message would cancel whichever
// request of the tenant has the id it names, whoever made it.
func (m message) cancelsOutsideSession() bool {
	return m.verb == http.MethodPost && m.modern && m.method == mcpgo.MethodNotificationCancelled && !m.hasID
}
