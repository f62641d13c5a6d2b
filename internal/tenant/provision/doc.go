// Package provision creates, changes, migrates, repairs and deletes tenants.
//
// A Service works on the databases in which tenants live: the first one, which has the control schema and the
// records of all tenants, and those that package placement registers. A tenant is created with its role and
// its schema in one transaction (create.go); MigrateControl and Service.Migrate bring schemas to the newest
// version (migrate.go, versions.go); Service.Repair gives a restored tenant its role again; Service.Delete
// drops the schema table by table and then looks for what is left (delete.go, deletion.go). Import is the
// progress of a tenant that package archive loads. The rights of the service's two database roles are in
// roles.go, what differs in a Citus cluster in distribute.go.
//
// An advisory lock keeps calls on any instance from changing the same tenant at the same time.
//
// The package may import access, data, quota, tenant and migrations. It knows no credentials: Config.Changed
// is called when cached ones have to be forgotten.
package provision
