package openai

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// statuses are the HTTP status and the type of an error, by its kind. OpenAI's clients decide by the
// status which exception they raise, and whether they try again: after 408, 409, 429 and 5xx.
var statuses = map[fault.Kind]struct {
	status int
	kind   string
}{
	fault.Internal:        {http.StatusInternalServerError, "server_error"},
	fault.Invalid:         {http.StatusBadRequest, "invalid_request_error"},
	fault.Unauthenticated: {http.StatusUnauthorized, "authentication_error"},
	fault.Denied:          {http.StatusForbidden, "permission_error"},
	fault.NotFound:        {http.StatusNotFound, "invalid_request_error"},
	fault.Exists:          {http.StatusBadRequest, "invalid_request_error"},
	fault.Conflict:        {http.StatusConflict, "conflict_error"},
	fault.Precondition:    {http.StatusBadRequest, "invalid_request_error"},
	fault.Exhausted:       {http.StatusTooManyRequests, "rate_limit_error"},
	fault.Unavailable:     {http.StatusServiceUnavailable, "server_error"},
	fault.Canceled:        {499, "invalid_request_error"},
	fault.Deadline:        {http.StatusGatewayTimeout, "server_error"},
}

// wireError is the error object of an answer.
type wireError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// fail answers with an error. The message of an internal error is replaced by one with the id of the
// request, which leads the operator to the full text in the log.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	status, out := wired(w.Header(), r, err)
	send(w, r, status, map[string]wireError{"error": out})
}

// wired records an error, and returns the status and the error object of the answer, whose headers it sets.
func wired(header http.Header, r *http.Request, err error) (status int, out wireError) {
	httpserver.Fail(r.Context(), err)
	kind := fault.KindOf(err)
	out = wireError{Message: fault.Public(err), Type: statuses[kind].kind}
	status, code := statuses[kind].status, kind.String()
	var f *fault.Error
	switch {
	case kind == fault.Internal:
		out.Message += fmt.Sprintf(" (request id %s)", httpserver.RequestID(r.Context()))
	case errors.As(err, &f):
		if len(f.Violations) > 0 {
			out.Param = &f.Violations[0].Field
		}
		if f.RetryAfter > 0 {
			header.Set("Retry-After", strconv.FormatInt(int64((f.RetryAfter+time.Second-1)/time.Second), 10))
		}
	}
	switch {
	case errors.Is(err, admission.ErrTooLarge):
		status, out.Type, code = http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large"
	case kind == fault.Deadline && errors.Is(err, os.ErrDeadlineExceeded): // of the caller's connection
		status, out.Type = http.StatusRequestTimeout, "invalid_request_error"
	case kind == fault.Unauthenticated:
		code = "invalid_api_key"
		header.Set("WWW-Authenticate", `Bearer realm="ragd"`)
	case kind == fault.Exhausted && f.RetryAfter > 0:
		code = "rate_limit_exceeded"
	case kind == fault.Exhausted:
		// A limit that waiting does not help with. Clients would try in vain.
		code = "insufficient_quota"
		header.Set("X-Should-Retry", "false")
	}
	out.Code = &code
	return status, out
}

// late returns the error for a request that has stopped to arrive.
func late(err error) error { return fault.Wrap(fault.Deadline, err, "%s", err) }

// tooLarge returns err as one of a request that is too large.
func tooLarge(err *fault.Error) error {
	err.Cause = admission.ErrTooLarge
	return err
}

// refuse is fail for a request whose body has not been read, and will not be.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Connection", "close")
	fail(w, r, err)
}
