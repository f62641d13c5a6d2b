// Package access says who calls, for which tenant, and what they may do.
//
// A Principal is the caller: its scopes, the mandatory filter of what it reads, and Bounds, the names of
// what it may use. A Request has a principal, the tenant that it acts for, and the request context: values
// from the header Ragd-Context, from other headers, claims and attributes, whose keys the tenant declared.
// It is filled once, by the middleware of package credential, and travels in the context:
//
//	r, err := access.Require(ctx, access.Read)
//	h := db.Handle(r.Tenant)
//
// A Delegation keeps a request for work that outlives it.
//
// The package knows no database. It may import package tenant for ids, package quota for what the tenant
// may use, and leaf rooms.
package access
