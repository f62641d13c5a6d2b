// An authorization server by oidc-provider, whose only user alice agrees to everything: clients
// register themselves, prove possession of their codes (PKCE) and name the resource that a token
// is for. It prints its address.
import { createServer } from "node:http"
import { exportJWK, generateKeyPair } from "jose"
import Provider from "oidc-provider"

const scopes = ["read", "write"].map((scope) => process.env.RAGD_SCOPE_PREFIX + scope)
const { privateKey } = await generateKeyPair("ES256", { extractable: true })
const key = { ...(await exportJWK(privateKey)), alg: "ES256", use: "sig", kid: "1" }

const server = createServer()
await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
const address = `http://127.0.0.1:${server.address().port}`

const provider = new Provider(address, {
  clientAuthMethods: ["none"],
  clientDefaults: { id_token_signed_response_alg: "ES256" },
  cookies: { keys: ["for a test"] },
  extraTokenClaims: () => ({ tenant: "acme" }),
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({
        scope: scopes.join(" "), audience: resource, accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } },
      }),
      useGrantedResource: () => true,
    },
  },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  jwks: { keys: [key] },
  pkce: { required: () => true },
  scopes,
})

async function agree(request, response) {
  const { params } = await provider.interactionDetails(request, response)
  const grant = new provider.Grant({ accountId: "alice", clientId: params.client_id })
  grant.addOIDCScope(params.scope)
  grant.addResourceScope(params.resource, params.scope)
  const consent = { grantId: await grant.save() }
  await provider.interactionFinished(request, response, { login: { accountId: "alice" }, consent })
}

const callback = provider.callback()
server.on("request", (request, response) => {
  if (request.url.startsWith("/interaction/")) return agree(request, response)
  return callback(request, response)
})
console.log(address)
