package rpc

import (
	"net/http"

	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// callsOfTools are the methods for credentials that are bound to tools or servers: those that
// list and call tools, which check the bounds, and what tells the caller about itself.
var callsOfTools = map[string]bool{
	ragdv1connect.ToolServiceListToolsProcedure: true,
	ragdv1connect.ToolServiceGetToolProcedure:   true,
	ragdv1connect.TenantServiceWhoAmIProcedure:  true,
}

// errOnlyTools is the error for other methods. It does not depend on what exists.
var errOnlyTools = fault.New(fault.Denied, "this credential is bound to tools or MCP servers: it may only list and call tools, with ListTools, GetTool and CallTool or over MCP")

// bounded returns a handler that calls next for methods that the caller's credential may call
// within its bounds. Calls within the process, such as those of a tool, do not pass it.
func bounded(next http.Handler) http.Handler {
	refuse := Refuse()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := tenant.FromContext(r.Context())
		if ok && caller.Principal.Bounds.OnlyTools() && !callsOfTools[r.URL.Path] {
			refuse(w, r, errOnlyTools)
			return
		}
		next.ServeHTTP(w, r)
	})
}
