package rpc

import (
	"net/http"
	"strings"

	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// ServerHeader names the MCP server of the tenant that a call goes through, as if it came over
// MCP: within what the server shows, and with its request context.
const ServerHeader = "Ragd-Server"

// callsOfTools are the methods for credentials that are bound to tools or servers: those that
// list and call tools, which check the bounds. WhoAmI tells each caller about itself.
var callsOfTools = map[string]bool{
	ragdv1connect.ToolServiceListToolsProcedure:      true,
	ragdv1connect.ToolServiceGetToolProcedure:        true,
	ragdv1connect.ToolServiceCallToolProcedure:       true,
	ragdv1connect.ToolServiceCallToolStreamProcedure: true,
}

// Errors for methods that a credential may not call. They do not depend on what exists.
var (
	errOnlyTools       = fault.New(fault.Denied, "this credential is bound to tools or MCP servers: it may only list and call tools, with ListTools, GetTool and CallTool or over MCP")
	errNoServerOfPages = fault.New(fault.Denied, "this API key is for pages, which do not go through MCP servers: leave the header %s out", ServerHeader)
	errNoServer        = fault.New(fault.Denied, "this credential is bound to MCP servers: name one in the header %s, or call the tools over MCP", ServerHeader)
)

// bounded returns a handler that calls next for methods that the caller's credential may call
// within its bounds, through the server that the request names. Calls within the process, such as
// those of a tool, do not pass it.
func (h *Handlers) bounded(next http.Handler) http.Handler {
	refuse := Refuse()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, ok := access.FromContext(r.Context())
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		server := strings.Join(r.Header.Values(ServerHeader), ",") // several are no name
		if err := mayCall(caller.Principal, r.URL.Path, server); err != nil {
			refuse(w, r, err)
			return
		}
		if server != "" {
			ctx, _, err := h.Servers.Enter(r.Context(), server)
			if err != nil {
				refuse(w, r, err)
				return
			}
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// mayCall returns an error unless a credential may call a method through a server, "" for none. Errors: Denied.
func mayCall(p access.Principal, path, server string) error {
	switch {
	case p.OfPages() && server != "":
		return errNoServerOfPages
	case !p.OnlyTools() || path == ragdv1connect.TenantServiceWhoAmIProcedure:
		return nil
	case !callsOfTools[path]:
		return errOnlyTools
	case p.Bounds.Servers != nil && server == "":
		return errNoServer
	}
	return nil
}
