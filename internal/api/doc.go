// Package api is the wing of the doors through which callers come: RPC, MCP, the part of
// OpenAI's HTTP API that is about retrieval, and the web page. Its rooms:
//
//	rpc          Connect, gRPC and gRPC-Web: one handler for each method
//	mcp          tools, prompts and resources for agents: sessions in mcp/mcphttp, standard input in mcp/stdio
//	openai       answers, embeddings, files and vector stores for programs that use OpenAI's libraries
//	openapi      the API as an OpenAPI document, and a page that tries its calls
//	console      the web page and the sign-in of browsers
//	answerbox    the script that puts a box for questions into other people's pages
//	httpserver   what is in front of all doors: request ids, time limits, the request log
//	jsonmessage  messages of the API from and to JSON, with errors that name the field
//
// A request passes httpserver, then the middleware of internal/tenant, which puts its
// tenant into the context, then the quota of its tenant, then one handler. A handler
// decodes a message, calls one method of a service, and encodes the result. Doors have no
// rules of their own: what one can do, the other can, through the same call. An MCP tool
// calls the handler of the RPC of the same name, by way of internal/tool/toolset.
//
// The wing may import every other one but internal/service, which connects it.
package api
