// Package tenant manages tenants and their API keys, authenticates callers, carries the
// request context, and runs every statement on a tenant's data.
//
// Three mechanisms isolate tenants from each other.
//
//  1. Middleware resolves the credential to a Principal and puts a Request into the
//     context. No handler takes the tenant from a request body.
//  2. Every statement on tenant data runs through a Handle, which sets the tenant's
//     database role in the same round trip and transaction. The role can use only its
//     own schema: a statement with a wrong or missing schema name fails.
//  3. SQL identifiers are built only from validated tenant ids and index numbers, and
//     are quoted by pgx. Values are sent as parameters.
//
// Each tenant has a schema tenant_<id> and a role of the same name, which owns everything
// in the schema.
//
// The wing may import the leaf rooms of all wings, and nothing else of them.
package tenant
