package mcphttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// refusal is an error with an HTTP status that no kind of fault has.
type refusal struct {
	status  int
	code    int // JSON-RPC error code
	message string
}

func (e *refusal) Error() string { return e.message }

// malformed returns the refusal of a request that cannot be parsed.
func malformed(message string) *refusal {
	return &refusal{http.StatusBadRequest, mcpgo.PARSE_ERROR, message}
}

// refuse answers a request that authentication rejected, without reading its body, and
// tells the client where to get a credential (RFC 6750, RFC 9728).
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch fault.KindOf(err) {
	case fault.Unauthenticated:
		challenge := h.challenge(r, access.Write)
		if r.Header.Get("Authorization") != "" {
			challenge += ` error="invalid_token"`
		}
		w.Header().Set("WWW-Authenticate", strings.TrimRight(challenge, ", "))
	case fault.Denied:
		w.Header().Set("WWW-Authenticate", h.challenge(r, "")+` error="insufficient_scope"`)
	}
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	h.reject(w, r, err)
}

// challengeScope adds a challenge that names the missing scope.
func (h *Handler) challengeScope(w http.ResponseWriter, r *http.Request, lacking *access.ScopeError) {
	w.Header().Set("WWW-Authenticate", h.challenge(r, "")+" "+lacking.Challenge())
}

// challenge returns the start of a challenge, to which more parameters can be added. Where access
// tokens are accepted it names the metadata, and the scopes up to need if all issuers have the
// same names for them.
func (h *Handler) challenge(r *http.Request, need access.Scope) string {
	issuers, err := h.issuers(r)
	if err != nil || len(issuers) == 0 {
		return `Bearer realm="ragd",`
	}
	challenge := fmt.Sprintf(`Bearer resource_metadata="%s",`, h.metadataURL(r))
	if prefix, ok := commonPrefix(issuers); ok && need != "" {
		challenge += fmt.Sprintf(` scope="%s",`, access.ScopesUpTo(need, prefix))
	}
	return challenge
}

// reject answers a rejected request with a JSON-RPC error without an id.
func (h *Handler) reject(w http.ResponseWriter, r *http.Request, err error) {
	answer := new(refusal)
	if errors.As(err, &answer) {
		httpserver.Fail(r.Context(), fault.Wrap(fault.Invalid, err, "%s", answer.message))
	} else {
		httpserver.Fail(r.Context(), err)
		answer = refusalOf(err)
	}
	if answer.status == http.StatusInternalServerError {
		answer.message += fmt.Sprintf(" (request id %s)", httpserver.RequestID(r.Context()))
	}

	var lacking *access.ScopeError
	if errors.As(err, &lacking) {
		h.challengeScope(w, r, lacking)
	}
	var f *fault.Error
	if errors.As(err, &f) && f.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int64((f.RetryAfter+time.Second-1)/time.Second)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(answer.status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // fails only if the client has disconnected
		"jsonrpc": mcpgo.JSONRPC_VERSION,
		"error":   map[string]any{"code": answer.code, "message": answer.message},
	})
}

// refusalOf converts a fault to its HTTP status and JSON-RPC code.
func refusalOf(err error) *refusal {
	answer := &refusal{http.StatusBadRequest, mcpgo.INVALID_REQUEST, fault.Public(err)}
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Precondition:
	case fault.Unauthenticated:
		answer.status = http.StatusUnauthorized
	case fault.Denied:
		answer.status = http.StatusForbidden
	case fault.NotFound:
		answer.status = http.StatusNotFound
	case fault.Exists, fault.Conflict:
		answer.status = http.StatusConflict
	case fault.Exhausted:
		answer.status = http.StatusTooManyRequests
	case fault.Unavailable, fault.Deadline, fault.Canceled:
		answer.status, answer.code = http.StatusServiceUnavailable, mcpgo.INTERNAL_ERROR
	default:
		answer.status, answer.code = http.StatusInternalServerError, mcpgo.INTERNAL_ERROR
	}
	return answer
}
