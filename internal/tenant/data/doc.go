// Package data runs every statement on the data of tenants.
//
// Three walls stand between tenants.
//
//  1. The middleware of package credential resolves the credential to a principal and puts a request into
//     the context. No handler takes the tenant from a body: it gets its Handle by DB.Handle for the tenant
//     of that request.
//  2. A Handle sets the tenant's database role in the round trip and the transaction of the statement
//     (batch.go, tx.go). The role may use its own schema and its own rows of the shared schema, and nothing
//     else: a statement with a wrong or missing schema name fails. The role ends with the transaction.
//  3. SQL identifiers are built only from validated tenant ids and index numbers, and quoted by pgx. SQL is
//     written with stand-in names, such as tenant.documents (standin.go). Values are sent as parameters.
//
// The way of a statement: Handle.Tx, Batch.Run or Session find the database in which the tenant lives
// (site.go, Placement), wait until the tenant may use another of its connections (connections.go), take the
// role and run. A Reading handle tries a replica before (reading.go). What the driver returns becomes a fault
// (fault.go): also that the tenant was moved, is not migrated yet, or cannot be served (unserved.go).
//
// Select, Values, Get and Value read rows from a Handle, a Tx or a Session:
//
//	n, err := data.Value[int](ctx, db.Handle(id), `SELECT count(*)::int FROM tenant.documents`)
//
// The package may import package tenant for ids, place/replica, migrations for the newest version of a
// schema, and leaf rooms.
package data
