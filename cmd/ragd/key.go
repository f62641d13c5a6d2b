package main

import "github.com/spf13/cobra"

func (p *program) keyCommands() *cobra.Command {
	return p.clientFlags(p.group("key", "Manage the API keys of a tenant", `
An API key is what a client of a tenant shows with its calls. The operator
manages the keys of every tenant and names it with --tenant, or means the one of
client.conf; an admin of a tenant manages its own with RAGD_API_KEY and no
--tenant.`,
		p.keyCreate(), p.keyList(), p.keyRevoke(),
	))
}
