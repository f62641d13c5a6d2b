// Package credential authenticates callers, and manages the API keys and issuers of tenants.
//
// An Authenticator turns what a request brings, an API key or an access token, into an access.Request. Its
// Middleware stands before every door of the service: no handler takes the tenant from a body. Tokens, which
// package oauth implements, verify access tokens; a tenant may declare issuers of its own. Act turns a stored
// access.Delegation into a request again, as long as its credential is valid.
//
// Secrets are stored as hashes. What was looked up is cached for keyCacheTTL.
//
// The package may import access, data (for the delegations of imported tenants), quota and tenant.
package credential
