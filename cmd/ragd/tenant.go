package main

import (
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) tenantCommands() *cobra.Command {
	return p.clientFlags(p.group("tenant", "Manage tenants, as the operator", `
A tenant is a customer with documents that no other tenant can see. These
commands need the operator's key, which "ragd serve" prints on its first start:
in RAGD_OPERATOR_KEY, in the file of settings, or in client.conf on the machine
of the service.`,
		p.tenantCreate(), p.tenantGet(), p.tenantList(), p.tenantUpdate(), p.tenantDelete(),
	))
}

func showTenant(tenant *ragdv1.Tenant) func(io.Writer) {
	return func(w io.Writer) {
		field(w, "tenant", tenant.GetTenantId())
		field(w, "name", tenant.GetDisplayName())
		field(w, "settings", compactJSON(tenant.GetSettings()))
		field(w, "created", stamp(tenant.GetCreateTime()))
		field(w, "updated", stamp(tenant.GetUpdateTime()))
	}
}
