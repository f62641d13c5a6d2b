// Package mcphttp is the HTTP edge of the MCP endpoint: what stands between the
// network and a tenant's MCP server, so that no caller reaches what belongs to
// another. It knows nothing of tools.
//
// A request passes, in this order:
//
//	recovery
//	Host allow-list                                 403
//	CORS and the Origin allow-list                  403
//	/.well-known/oauth-protected-resource[/mcp]     open to everyone
//	authentication                                  401, 403 with WWW-Authenticate
//	rate limit                                      429
//	body limit, UTF-8, JSON                         413, 400
//	session: known, of this very caller, not ended  400, 404, 429
//	the tenant's own MCP server
//
// Two eras of the protocol are served on one path. Revisions up to 2025-11-25
// have sessions: initialize opens one, and its id comes with every later
// request. The ids are made and checked here, on POST, GET and DELETE alike,
// because the library lets any id open a stream. Each carries a MAC over tenant
// and subject: an id that leaked is worth nothing to another caller, and every
// instance that has the key can check it. From 2026-07-28 on there are no
// sessions; such requests share the empty session id, under which the library
// would let one caller cancel another's request, so cancellations outside a
// session end here. To cancel, a modern client closes the connection.
//
// Every tenant has an MCP server of its own, made when it first calls and
// dropped when it has been quiet for long enough. Notifications, lists and
// sessions of the library never leave it.
package mcphttp
