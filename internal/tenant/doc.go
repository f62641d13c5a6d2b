// Package tenant has the names and records of tenants, which all rooms of its wing share.
//
// A tenant is a customer of the service. Its data is a schema tenant_<id>, which belongs to a
// database role of the same name. What separates it from other tenants stands in package data.
//
// The rooms of the wing:
//
//	access             who calls, for which tenant, with which rights, in which request context
//	idempotency        makes calls once that have an idempotency key, and answers their repeats
//	access/credential  API keys, access tokens and issuers: authenticates callers
//	access/oauth       verifies access tokens
//	data               runs every statement on a tenant's data
//	provision          creates, migrates, repairs and deletes tenants
//	quota              how much a tenant may use; below it plans (plan), requests (admission) and what was used (usage)
//	place              in which database a tenant lives (placement, move), and its replicas (replica)
//	archive            exports and imports a tenant
//	sleep              puts a tenant that is unused into an archive, and wakes it
//	job                asynchronous work of a tenant
//
// A request comes in through the middleware of credential, which puts an access.Request into the
// context. A service asks access.Require for it, and takes the handle of its tenant from data.DB.
//
// The wing may import the leaf rooms of all wings, and nothing else of them. Its rooms import each
// other in this order: provision, access/credential, access and data, tenant. Neither access nor data
// imports the other.
package tenant
