package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// codes maps each kind of fault to its Connect code.
var codes = map[fault.Kind]connect.Code{
	fault.Internal:        connect.CodeInternal,
	fault.Invalid:         connect.CodeInvalidArgument,
	fault.Unauthenticated: connect.CodeUnauthenticated,
	fault.Denied:          connect.CodePermissionDenied,
	fault.NotFound:        connect.CodeNotFound,
	fault.Exists:          connect.CodeAlreadyExists,
	fault.Conflict:        connect.CodeAborted,
	fault.Precondition:    connect.CodeFailedPrecondition,
	fault.Exhausted:       connect.CodeResourceExhausted,
	fault.Unavailable:     connect.CodeUnavailable,
	fault.Canceled:        connect.CodeCanceled,
	fault.Deadline:        connect.CodeDeadlineExceeded,
}

// challenge begins each WWW-Authenticate header (RFC 6750).
const challenge = `Bearer realm="ragd"`

// wireError returns the public part of an error: code, message, field violations and
// retry delay. The message of an internal error is replaced by one with requestID, which
// leads the operator to the full text in the log.
func wireError(err error, requestID string) *connect.Error {
	if wired := new(connect.Error); errors.As(err, &wired) {
		return wired // the library's own error: a malformed or oversized message
	}
	kind := fault.KindOf(err)
	message := fault.Public(err)
	if kind == fault.Internal {
		message += fmt.Sprintf(" (request id %s)", requestID)
	}
	wired := connect.NewError(codes[kind], errors.New(message))
	var f *fault.Error
	if kind != fault.Internal && errors.As(err, &f) {
		addDetails(wired, f)
	}
	var lacking *access.ScopeError
	if errors.As(err, &lacking) {
		wired.Meta().Set("WWW-Authenticate", challenge+", "+lacking.Challenge())
		addDetail(wired, &errdetails.ErrorInfo{
			Reason: "INSUFFICIENT_SCOPE", Domain: "ragd", Metadata: map[string]string{"scope": string(lacking.Need)},
		})
	}
	return wired
}

// addDetail adds a detail whose type proto/google defines, for clients of all languages.
func addDetail(wired *connect.Error, message proto.Message) {
	if detail, err := connect.NewErrorDetail(message); err == nil {
		wired.AddDetail(detail)
	}
}

func addDetails(wired *connect.Error, f *fault.Error) {
	if len(f.Violations) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range f.Violations {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Reason})
		}
		addDetail(wired, bad)
	}
	if f.Quota != "" {
		addDetail(wired, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{
			{Subject: "tenant", QuotaId: f.Quota, Description: f.Quota + ": " + f.Message},
		}})
	}
	if f.RetryAfter > 0 {
		addDetail(wired, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.RetryAfter)})
		seconds := (f.RetryAfter + time.Second - 1) / time.Second
		wired.Meta().Set("Retry-After", fmt.Sprint(int64(seconds)))
	}
}

// Refuse returns the function that answers requests rejected by authentication, in the
// protocol of the caller, in JSON if that is not known.
func Refuse() func(http.ResponseWriter, *http.Request, error) {
	writer := connect.NewErrorWriter()
	return func(w http.ResponseWriter, r *http.Request, err error) {
		httpserver.Fail(r.Context(), err)
		kind := fault.KindOf(err)
		wired := wireError(err, httpserver.RequestID(r.Context()))
		// Do not read the rest of the body.
		w.Header().Set("Connection", "close")
		if kind == fault.Unauthenticated {
			refused := challenge
			if r.Header.Get("Authorization") != "" {
				refused += `, error="invalid_token"`
			}
			w.Header().Set("WWW-Authenticate", refused)
		}
		_ = writer.Write(w, r, wired) // fails only if the caller has disconnected
	}
}
