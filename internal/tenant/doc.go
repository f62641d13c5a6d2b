// Package tenant knows who is calling and what is theirs: tenants and their API
// keys, the principal behind a credential, the request context, and the handle
// through which every statement on a tenant's data goes.
//
// Three walls stand between two tenants.
//
//  1. Middleware resolves the credential to a Principal and puts a Request into
//     the context. Nothing behind it takes a tenant from a request body.
//  2. Every statement on tenant data runs through a Handle, which sets the
//     tenant's database role in the same round trip and transaction. The role
//     can use only its own schema: a wrong or missing schema name fails.
//  3. Identifiers are made from validated tenant ids and index numbers alone and
//     are quoted by pgx; values travel as parameters.
//
// Each tenant owns the schema tenant_<id> and the role of the same name, which
// owns everything in it.
package tenant
