// Package mcphttp serves MCP over HTTP. It checks each request before it reaches its
// tenant's MCP server, so that no caller reaches another's data. It knows nothing of
// tools.
//
// A request passes, in this order:
//
//	recovery
//	Host and Origin allow-lists, CORS               403
//	/.well-known/oauth-protected-resource[/mcp]     open to everyone
//	authentication                                  401, 403 with WWW-Authenticate
//	rate limit                                      429
//	body limit, UTF-8, JSON                         413, 400
//	session: known, of this caller, not ended       400, 404, 429
//	the tenant's own MCP server
//
// Two eras of the protocol share one path. Revisions up to 2025-11-25 have sessions:
// initialize opens one, and its id comes with every later request. This package creates
// and checks the ids, on POST, GET and DELETE alike, because the library lets any id open
// a stream. With Config.DB the database knows each session by the hash of its id, with its
// caller and what the client has said in it, so that every instance can serve it (restore.go);
// what one instance gets and another needs is sent over the database (peers.go,
// handover.go). Without one, and on SSEPath, an id carries a MAC over the caller. A leaked
// id is useless to others in both cases. Revisions from 2026-07-28 on have no sessions.
// Their requests share the empty session id, under which the library would let one caller
// cancel another's request, so cancellations outside a session are dropped here; a modern
// client cancels by closing the connection.
//
// The library decodes each message several times. The arguments of tool calls, and their
// answers, can pass it by, see Config.Detached.
//
// Every tenant has its own MCP server, created at its first call and dropped after a
// period without calls. Notifications, lists and sessions of the library never cross
// servers.
package mcphttp
