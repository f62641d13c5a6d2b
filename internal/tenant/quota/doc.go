// Package quota says what tenants may use: the quotas that the settings of a tenant and its plan set in place of the
// standard ones, and the features and models that a plan leaves out.
//
// Package admission, below it, limits the requests of each tenant; package usage counts what tenants use, and warns
// them; package plan manages plans. It may import leaf rooms only.
package quota
