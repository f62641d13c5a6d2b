package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/audit"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

const (
	// unaryTimeout ends a call whose caller set no deadline, but not one in ownTime.
	unaryTimeout = 60 * time.Second
	// recheckEvery is the interval between checks of the credential of an open stream.
	recheckEvery = 10 * time.Second
)

// ownTime are the procedures whose calls have a limit of their own: of the agent, of the tool, of what is done with a tenant.
var ownTime = []string{
	ragdv1connect.AgentServiceAskAgentProcedure, ragdv1connect.ToolServiceCallToolProcedure, ragdv1connect.TenantServiceSleepTenantProcedure,
	ragdv1connect.TenantServiceWakeTenantProcedure,
}

// watches are the procedures that only tell what happens elsewhere, and so lose nothing when
// they are ended and called again.
var watches = []string{ragdv1connect.DocumentServiceWatchJobProcedure, ragdv1connect.EventServiceWatchEventsProcedure, ragdv1connect.WorkflowServiceWatchRunProcedure}

// interceptor wraps every call: it sets the deadline, adds tenant and error to the
// request log, and converts faults to wire errors. It gives the slot of a decoded request
// back, and takes it for the answer.
type interceptor struct {
	// draining ends the watches when it ends; nil never does.
	draining context.Context
	// audit records administrative actions.
	audit *audit.Log
	// token is Handlers.WriteToken.
	token func(context.Context, tenant.ID) string
	// repeats answers calls whose idempotency key was used before.
	repeats *idempotency.Keeper
	// warnings are in the header quotaWarningHeader of answers.
	warnings *usage.Warnings
}

// quotaWarningHeader is the name of the header with the quotas that the caller's tenant has nearly used up, separated by commas.
const quotaWarningHeader = "Ragd-Quota-Warning"

// WrapUnary implements connect.Interceptor.
func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if _, ok := ctx.Deadline(); !ok && !slices.Contains(ownTime, req.Spec().Procedure) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, unaryTimeout)
			defer cancel()
		}
		slot := codecSlotOf(ctx)
		slot.leave() // the request is decoded
		var res connect.AnyResponse
		err := observe(ctx, func() (err error) {
			if err := deferredError(req.Any()); err != nil {
				return err
			}
			if res, err = i.callOnce(ctx, req, next); err != nil {
				return err
			}
			if token := i.writeToken(ctx, req.Spec()); token != "" {
				res.Header().Set(access.WriteTokenHeader, token)
			}
			if r, ok := access.FromContext(ctx); ok {
				if warned := i.warnings.Of(ctx, r.Tenant, r.Quotas); len(warned) > 0 {
					res.Header().Set(quotaWarningHeader, strings.Join(warned, ", "))
				}
			}
			return slot.encodes(ctx, res.Any())
		})
		return res, err
	}
}

// call calls next, and records it if it is an administrative action.
func (i interceptor) call(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (res connect.AnyResponse, err error) {
	if !audited(req.Spec()) {
		return next(ctx, req)
	}
	err = record(ctx, i.audit, req.Spec().Procedure, req.Any().(proto.Message), func(ctx context.Context) (proto.Message, error) {
		if res, err = next(ctx, req); err != nil {
			return nil, err
		}
		return res.Any().(proto.Message), nil
	})
	return res, err
}

// WrapStreamingClient implements connect.Interceptor. The server makes no client calls.
func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor. It ends a stream after its credential
// has become invalid, and a watch when the service is shutting down.
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		open := ctx
		if i.draining != nil && slices.Contains(watches, conn.Spec().Procedure) {
			var end context.CancelCauseFunc
			open, end = context.WithCancelCause(ctx)
			defer end(nil)
			defer context.AfterFunc(i.draining, func() { end(httpserver.ErrDraining) })()
		}
		valid, stop := access.WhileValid(open, recheckEvery, access.Recheck)
		defer stop()
		return observe(ctx, func() error {
			if _, err := keyOf(conn.Spec(), conn.RequestHeader()); err != nil {
				return err
			}
			err := next(valid, checkedConn{slotConn{conn, codecSlotOf(ctx)}})
			if err != nil && valid.Err() != nil && ctx.Err() == nil {
				return context.Cause(valid)
			}
			if err != nil {
				return err
			}
			if token := i.writeToken(ctx, conn.Spec()); token != "" {
				conn.ResponseTrailer().Set(access.WriteTokenHeader, token)
			}
			return nil
		})
	}
}

// observe runs call, adds the caller and the error to the request's log line, and returns
// the error in its wire form.
func observe(ctx context.Context, call func() error) error {
	if r, ok := access.FromContext(ctx); ok {
		httpserver.Add(ctx, "tenant", r.Tenant, "subject", r.Principal.Subject)
	}
	err := call()
	if err == nil {
		return nil
	}
	err = drained(ctx, err)
	logged := err
	if wired := new(connect.Error); errors.As(err, &wired) {
		logged = fault.Wrap(fault.Invalid, err, "%s", wired.Message()) // oversized or cut off: the caller's mistake
	}
	httpserver.Fail(ctx, logged)
	return wireError(err, httpserver.RequestID(ctx))
}

// drained returns httpserver.ErrDraining in place of an error that the shutdown of the service
// caused, so that the caller repeats the call.
func drained(ctx context.Context, err error) error {
	if !errors.Is(context.Cause(ctx), httpserver.ErrDraining) {
		return err
	}
	if wired := new(connect.Error); fault.KindOf(err) == fault.Canceled || errors.As(err, &wired) {
		return httpserver.ErrDraining
	}
	return err
}

// recovered converts a panic in a handler to an internal error and logs it, because a
// panic does not pass through observe.
func recovered(ctx context.Context, _ connect.Spec, _ http.Header, p any) error {
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	httpserver.Fail(ctx, err)
	return wireError(err, httpserver.RequestID(ctx))
}
