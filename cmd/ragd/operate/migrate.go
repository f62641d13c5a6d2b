package operate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// migrateParallel is the default number of tenants that are migrated at once.
const migrateParallel = 4

func (p *program) migrateCommand() *cobra.Command {
	var status bool
	var parallel int
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database of the service and of every tenant up to date",
		Long: `Bring the schemas of the service and of every tenant up to date, several tenants
at a time. A tenant that fails, or a registered database that cannot be reached,
does not stop the others and is named; running the command again goes on with what
is left, also after it was killed. Tenants that cannot be served, as after a backup
was restored, are repaired first (see "ragd tenant repair").

"ragd serve" does this by itself for a database of its own, while it already answers
requests. For an external one (RAGD_DATABASE_URL) run it with each new version,
while the old one still serves, and with the master key of the service if databases
are registered ("ragd databases").

With --status it changes nothing: it prints the version of the service's schema, how
many tenants are at which version, and the tenants whose migration failed. The exit
code is 0 if everything is up to date, else 1.`,
		Example: `  ragd migrate
  ragd migrate --status --json`,
		Args: command.Arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if parallel < 1 {
				return misuse.Errorf("parallel must be at least 1, not %d", parallel)
			}
			log, err := p.logger()
			if err != nil {
				return err
			}
			cfg, err := p.settings.ServiceConfig(log)
			if err != nil {
				return err
			}
			if status {
				return p.migrationStatus(cmd, cfg)
			}
			return p.migrate(cmd, cfg, parallel)
		},
	}
	p.settings.RegisterService(cmd.Flags(), p.Getenv)
	p.settings.RegisterPlacement(cmd.Flags())
	cmd.Flags().BoolVar(&status, "status", false, "print the versions and change nothing")
	cmd.Flags().BoolVar(&p.Out.JSON, "json", false, "with --status, print JSON")
	cmd.Flags().IntVar(&parallel, "parallel", migrateParallel, "tenants to migrate at once")
	return cmd
}

// migrate migrates everything, and prints failures and, from time to time, the progress.
func (p *program) migrate(cmd *cobra.Command, cfg service.Config, parallel int) error {
	const pause = 2 * time.Second
	done, behind, tenants, shown := 0, 0, 0, time.Now()
	left, err := service.Migrate(cmd.Context(), cfg, service.Migration{
		Parallel: parallel,
		Repaired: p.showRepaired,
		Begin: func(n, all int) {
			behind, tenants = n, all
			output.Note(p.Out.Stderr, "%d of %d tenants to migrate", behind, tenants)
		},
		Migrated: func(m provision.Migrated) {
			done++
			if m.Err != nil {
				output.Note(p.Out.Stdout, "tenant %s: FAILED: %s", m.Tenant, output.OneLine(m.Err.Error()))
			}
			if time.Since(shown) >= pause {
				shown = time.Now()
				output.Note(p.Out.Stderr, "%d of %d tenants done", done, behind)
			}
		},
	})
	if err != nil {
		return err
	}
	p.showLeftOut(left)
	output.Note(p.Out.Stdout, "%d of %d tenants are up to date", max(0, tenants-left.Failed-left.Unknown), tenants)
	return incomplete(left, "migrated")
}

// showLeftOut prints the registered databases that a command could not reach.
func (p *program) showLeftOut(left service.Outcome) {
	for _, d := range left.LeftOut {
		output.Note(p.Out.Stdout, "database %s: FAILED: %s", d.Database, output.OneLine(d.Err.Error()))
	}
}

// incomplete returns the error of a command that could not do all it should; nil if it could.
func incomplete(left service.Outcome, done string) error {
	var problems []string
	if left.Failed > 0 {
		problems = append(problems, fmt.Sprintf("%d tenants could not be %s", left.Failed, done))
	}
	if n := len(left.LeftOut); n > 0 {
		problems = append(problems, fmt.Sprintf("%d databases, with %d tenants, could not be reached", n, left.Unknown))
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, ", and ") + "; run the command again")
}

// errBehind is the error of a status that is not up to date.
var errBehind = errors.New("the database is not up to date: run `ragd migrate`")

// migrationStatus prints the versions of all schemas. It returns errBehind unless they are
// up to date.
func (p *program) migrationStatus(cmd *cobra.Command, cfg service.Config) error {
	v, err := service.Versions(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	if p.Out.JSON {
		err = p.Out.Value(struct {
			UpToDate bool `json:"upToDate"`
			provision.Versions
		}{v.UpToDate(), v})
	} else {
		p.showVersions(v)
	}
	if err == nil && !v.UpToDate() {
		err = errBehind
	}
	return err
}

func (p *program) showVersions(v provision.Versions) {
	for _, s := range v.Service {
		output.Note(p.Out.Stdout, "schema %s: version %d of %d", s.Schema, s.Version, s.Newest)
	}
	for _, d := range v.Databases {
		if d.Problem != "" {
			output.Note(p.Out.Stdout, "database %s: FAILED: %s", d.Database, output.OneLine(d.Problem))
		}
		for _, s := range d.Service {
			output.Note(p.Out.Stdout, "database %s, schema %s: version %d of %d", d.Database, s.Schema, s.Version, s.Newest)
		}
	}
	if control := v.Service[0]; control.Version < control.Newest {
		return // nothing is known of the tenants
	}
	output.Note(p.Out.Stdout, "tenants: %d of %d at version %d or newer", v.Tenants-v.Behind, v.Tenants, v.Newest)
	for _, c := range v.ByVersion {
		output.Note(p.Out.Stdout, "  version %d: %d", c.Version, c.Tenants)
	}
	for _, f := range v.Failed {
		problem := output.OneLine(f.Error)
		if f.Dirty {
			problem = "marked dirty by another tool; " + problem
		}
		output.Note(p.Out.Stdout, "tenant %s: at version %d, FAILED: %s", f.Tenant, f.Version, problem)
	}
}
