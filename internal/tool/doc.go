// Package tool stores and checks the tools that tenants define for their agents: a
// builtin kind of tool with a name, a description and settings.
//
// The wing has all that a tenant shows to agents, and what its tools need:
//
//	toolset              lists and calls the tools that a caller may use, builtin and defined
//	toolschema, schema   JSON Schemas: of tools, and of what tenants send
//	task                 calls that go on after their callers were answered
//	policy               what is denied, redacted and approved of calls of tools
//	server               MCP servers of the tenant: which tools, prompts and indexes they show
//	prompt               prompts with arguments, in versions
//	contextkey           keys of the request context that the tenant declares
//	httptool, mcptool    tools that are HTTP requests, or tools of other MCP servers
//	mcpclient, remote    how both are called: guarded connections, bounds, no circles
//	template, expression values in texts, and conditions over JSON
//
// A call of a tool finds its definition in toolset, checks the arguments against the schema,
// and ends in a handler of internal/api/rpc for builtin kinds, or in a request to the outside.
//
// The wing may import query, index, secure and tenant, and the leaf rooms of all wings.
package tool
