// Sources for connectors, on ports of their own: a website, and an MCP server whose users sign in.
import { createServer } from "node:http";

/** listen starts a server whose address is known to its handler, and stops it after a test. */
async function listen(t, handle) {
  const server = createServer((request, response) => void handle(request, response, `http://127.0.0.1:${server.address().port}`));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** website serves pages { path: html or { type, body } }; those that are missing are not found. It returns its address. */
export function website(t, pages) {
  return listen(t, (request, response) => {
    const page = pages[request.url];
    if (page === undefined) return response.writeHead(404).end("not found");
    response.setHeader("Content-Type", page.type ?? "text/html");
    response.end(page.body ?? page);
  });
}

async function body(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}

function json(response, value, status = 200) {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}

/** mcpServer serves resources { uri: text } to those who have a token, which its authorization server gives to who follows the address. */
export function mcpServer(t, resources) {
  return listen(t, async (request, response, self) => {
    const { pathname, searchParams } = new URL(request.url, self);
    const text = await body(request);
    switch (pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return json(response, { resource: `${self}/mcp`, authorization_servers: [self], scopes_supported: ["read"] });
      case "/.well-known/oauth-authorization-server":
        return json(response, {
          issuer: self, authorization_endpoint: `${self}/authorize`, token_endpoint: `${self}/token`, registration_endpoint: `${self}/register`,
          response_types_supported: ["code"], grant_types_supported: ["authorization_code", "refresh_token"], code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"], authorization_response_iss_parameter_supported: true,
        });
      case "/register":
        return json(response, { ...JSON.parse(text), client_id: "console-test" }, 201);
      case "/authorize":
        return response.writeHead(302, { Location: `${searchParams.get("redirect_uri")}?${new URLSearchParams({ code: "code", state: searchParams.get("state"), iss: self })}` }).end();
      case "/token":
        return json(response, { access_token: "token", token_type: "Bearer", expires_in: 3600 });
      case "/mcp":
        break;
      default:
        return response.writeHead(404).end();
    }
    if (request.headers.authorization !== "Bearer token") {
      return response.writeHead(401, { "WWW-Authenticate": `Bearer error="invalid_token", resource_metadata="${self}/.well-known/oauth-protected-resource/mcp"` }).end();
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(text);
    if (id === undefined) return response.writeHead(202).end();
    const answers = {
      initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { resources: {} }, serverInfo: { name: "notes", version: "1" } }),
      ping: () => ({}),
      "resources/list": () => ({ resources: Object.keys(resources).map((uri) => ({ uri, name: uri, mimeType: "text/markdown" })) }),
      "resources/templates/list": () => ({ resourceTemplates: [] }),
      "resources/read": () => ({ contents: [{ uri: params.uri, mimeType: "text/markdown", text: resources[params.uri] }] }),
    };
    const answer = answers[method];
    json(response, answer ? { jsonrpc: "2.0", id, result: answer() } : { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown method" } });
  });
}
