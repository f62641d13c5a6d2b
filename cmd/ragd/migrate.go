package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/tenant"
)

func (p *program) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database of the service and of every tenant up to date",
		Long: `Bring the schemas of the service and of every tenant up to date, several tenants
at a time. A tenant that fails does not stop the others and is named at the end;
running the command again goes on with what is left. Tenants that cannot be
served, as after a backup was restored, are repaired first (see "ragd tenant
repair").

"ragd serve" does this by itself for a database of its own. For an external one
(RAGD_DATABASE_URL) run it with each new version, while the old one still serves.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.migrate(cmd) },
	}
	p.settings.registerService(cmd.Flags(), p.getenv)
	return cmd
}

func (p *program) migrate(cmd *cobra.Command) error {
	log, err := p.logger()
	if err != nil {
		return err
	}
	cfg, err := p.settings.serviceConfig(log)
	if err != nil {
		return err
	}
	tenants := 0
	failed, err := service.Migrate(cmd.Context(), cfg, p.showRepaired, func(m tenant.Migrated) {
		tenants++
		switch {
		case m.Err != nil:
			output.Note(p.out.Stdout, "tenant %s: FAILED: %v", m.Tenant, m.Err)
		case m.Applied > 0:
			output.Note(p.out.Stdout, "tenant %s: %d migrations applied", m.Tenant, m.Applied)
		}
	})
	if err != nil {
		return err
	}
	output.Note(p.out.Stdout, "%d of %d tenants are up to date", tenants-failed, tenants)
	if failed > 0 {
		return fmt.Errorf("%d tenants could not be migrated; run the command again", failed)
	}
	return nil
}
