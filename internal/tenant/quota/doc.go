// Package quota has the quotas that the settings of a tenant may set in place of the standard ones.
//
// Package admission, below it, limits the requests of each tenant; package usage counts what tenants use.
// It may import leaf rooms only.
package quota
