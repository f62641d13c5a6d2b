// The log-in of the TypeScript SDK: it finds the authorization server in the answer to a request
// without a credential, registers, and gets a token for the address that it wants to use.
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { check } from "./common.mjs"

const base = process.env.RAGD_MCP_URL, callback = "http://127.0.0.1:9/callback"

// Login keeps what a client must remember, and is the browser of its user.
class Login {
  redirectUrl = callback
  clientMetadata = {
    client_name: "login", redirect_uris: [callback], token_endpoint_auth_method: "none",
    grant_types: ["authorization_code"], response_types: ["code"],
  }
  clientInformation() { return this.client }
  saveClientInformation(client) { this.client = client }
  tokens() { return this.token }
  saveTokens(token) { this.token = token }
  codeVerifier() { return this.verifier }
  saveCodeVerifier(verifier) { this.verifier = verifier }

  async redirectToAuthorization(address) {
    this.asked = address.searchParams
    const cookies = {}
    for (let at = address.href, steps = 0; steps < 10; steps++) {
      const answer = await fetch(at, { redirect: "manual", headers: { Cookie: Object.values(cookies).join("; ") } })
      for (const cookie of answer.headers.getSetCookie()) cookies[cookie.split("=")[0]] = cookie.split(";")[0]
      check("a step of the log-in", answer.status >= 300 && answer.status < 400, [at, answer.status])
      at = new URL(answer.headers.get("Location"), at).href
      if (at.startsWith(callback)) {
        this.code = new URL(at).searchParams.get("code")
        check("a code", this.code, at)
        return
      }
    }
  }
}

function transport(address, options) {
  return new StreamableHTTPClientTransport(new URL(address), options)
}

for (const path of ["", "/handbook"]) {
  for (const address of [base + path, base.replace("/mcp", "/t/acme/mcp") + path]) {
    const login = new Login(), first = transport(address, { authProvider: login })
    const refused = await new Client({ name: "login", version: "1" }).connect(first).catch((err) => err)
    check("a call without a credential", refused instanceof UnauthorizedError, refused?.message)
    check("the resource", login.asked.get("resource") === address, [login.asked.get("resource"), address])
    check("the scope", login.asked.get("scope").split(" ").includes(process.env.RAGD_SCOPE_PREFIX + "read"), login.asked.get("scope"))
    await first.finishAuth(login.code)

    const client = new Client({ name: "login", version: "1" })
    await client.connect(transport(address, { authProvider: login }))
    const { tools } = await client.listTools()
    check("tools", tools.length > 0, tools)
    await client.close()
    if (path === "") continue
    // The token is for one server alone.
    const elsewhere = new Client({ name: "login", version: "1" })
    const requestInit = { headers: { Authorization: `Bearer ${login.token.access_token}` } }
    const answer = await elsewhere.connect(transport(base, { requestInit })).then(() => "connected", (err) => String(err))
    check("a token for another server", answer !== "connected", answer)
  }
}
