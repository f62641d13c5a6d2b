package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/build"
	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/doctor"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
)

// Machine is what doctor looks at on this machine, besides the settings, and installs.
type Machine struct {
	checks []check
	// Install installs what the embedded database needs.
	Install func(context.Context, io.Writer) error
}

// ThisMachine returns the machine that ragd runs on.
func ThisMachine() Machine {
	return Machine{checks: []check{{"PostgreSQL here", checkPostgres}}, Install: embedded.Install}
}

// check is one of doctor's checks. run returns what it found, or an error that says what
// is wrong and how to fix it.
type check struct {
	name string
	run  func(context.Context) (string, error)
}

// checkPostgres returns the PostgreSQL installation that an embedded database would use.
func checkPostgres(context.Context) (string, error) {
	found, err := embedded.Default()
	if err != nil {
		return "", err
	}
	detail := fmt.Sprintf("%s in %s, with pgvector %s", found.Version, found.BinDir, found.Vector)
	if !postgres.SafeVector(found.Vector) {
		detail += ", whose VACUUM may corrupt HNSW indexes: run `ragd doctor --fix`, then REINDEX them"
	}
	return detail, nil
}

// DoctorName is the name of the command doctor, which has exit codes of its own.
const DoctorName = "doctor"

func (p *program) doctorCommand() *cobra.Command {
	var fix bool
	cmd := p.ClientFlags(&cobra.Command{
		Use:   DoctorName,
		Short: "Check the service, its database, the keys and this machine",
		Long: `Check that the service answers and is ready, that the keys are valid, and what
this machine needs to run the service itself. On the machine of the service, or
with RAGD_DATABASE_URL, check the database too: versions with known bugs,
settings, indexes, bloat, long transactions, replication slots, clocks; and the
disk, the files with secrets, the endpoints of models and their certificates.
Each check is ok, warn or FAILED, and says what to do. It changes nothing in the
database and shows no secrets.

The exit code is 0 if all is well, 1 if there are warnings, 2 if a check failed,
and 3 if doctor itself could not run.

With --fix it first installs PostgreSQL and pgvector with the package manager of
this machine (apt, dnf or brew) if they are missing, and builds a newer pgvector
if the installed one has a bug that damages indexes. That needs root or sudo.`,
		Example: `  ragd doctor
  ragd doctor --fix
  ragd doctor --server https://ragd.example.com --json`,
		Args: command.Arguments(),
	})
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		if fix {
			if err := p.machine.Install(ctx, p.Out.Stderr); err != nil {
				return err
			}
		}
		return p.diagnose(ctx, c)
	})
	p.registerDoctor(cmd)
	cmd.Flags().BoolVar(&fix, "fix", false, "install PostgreSQL and pgvector if they are missing")
	return cmd
}

// diagnose runs all checks and prints the findings. A finding that is not OK is a command.ExitError.
func (p *program) diagnose(ctx context.Context, c *client.Client) error {
	checks := append([]check{
		{"version", func(context.Context) (string, error) { return build.Read().String(), nil }},
		{"service", func(ctx context.Context) (string, error) { return healthy(ctx, c, "/healthz") }},
		{"ready", func(ctx context.Context) (string, error) { return healthy(ctx, c, "/readyz") }},
		{"tenant access", p.checkTenant},
		{"operator key", p.checkOperator},
	}, p.machine.checks...)
	findings := p.runChecks(ctx, checks)
	findings = append(findings, p.checkDatabases(ctx)...)
	findings = append(findings, p.checkDatabase(ctx)...)
	findings = append(findings, p.checkMachine(ctx)...)
	findings = append(findings, p.checkDefaultModel(ctx)...)
	findings = append(findings, p.checkEmbeddings(ctx)...)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.printFindings(findings); err != nil {
		return err
	}
	return verdict(findings)
}

// runChecks runs the checks in order.
func (p *program) runChecks(ctx context.Context, checks []check) (findings []doctor.Finding) {
	const limit = 10 * time.Second // per check
	for _, check := range checks {
		found := doctor.Finding{Check: check.name, Status: doctor.OK}
		ctx, cancel := context.WithTimeout(ctx, limit)
		var err error
		found.Detail, err = check.run(ctx)
		cancel()
		if err != nil {
			found.Status, found.Detail = doctor.Fail, p.Describe(err)
		}
		findings = append(findings, found)
	}
	return findings
}

func (p *program) printFindings(findings []doctor.Finding) error {
	for i, f := range findings {
		findings[i].Detail, findings[i].Action = output.OneLine(f.Detail), output.OneLine(f.Action)
	}
	if p.Out.JSON {
		return p.Out.Value(map[string]any{"checks": findings})
	}
	w := output.NewTable(p.Out.Stdout)
	for _, f := range findings {
		text := f.Detail
		if f.Action != "" {
			text += ": " + f.Action
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", map[doctor.Status]string{doctor.OK: "ok", doctor.Warn: "warn", doctor.Fail: "FAILED"}[f.Status], f.Check, text)
	}
	return w.Flush()
}

// checkDatabases looks at each of the databases in which tenants live, if there are several. It needs the
// operator key.
func (p *program) checkDatabases(ctx context.Context) (findings []doctor.Finding) {
	c, err := p.Connect(client.OperatorKey)
	if err != nil || c.Access.Key == "" {
		return nil
	}
	list, err := c.Databases.ListDatabases(ctx, &ragdv1.ListDatabasesRequest{})
	if err != nil || len(list.GetDatabases()) < 2 {
		return nil // the operator key was checked before
	}
	for _, d := range list.GetDatabases() {
		found := doctor.Finding{
			Check: "database " + d.GetDatabaseName(), Status: doctor.OK,
			Detail: fmt.Sprintf("%d tenants live at %s, %d bytes", d.GetTenants(), d.GetAddress(), int64(d.GetBytes())),
		}
		switch {
		case !d.GetAnswers():
			found.Status, found.Detail = doctor.Fail, fmt.Sprintf("calls of its %d tenants fail: %s", d.GetTenants(), d.GetProblem())
			found.Action = "start PostgreSQL at " + d.GetAddress() + ", or give its new URL to `ragd databases update`"
		case d.GetSchemaVersion() < d.GetNewestSchemaVersion():
			found.Status, found.Action = doctor.Warn, "run `ragd migrate`"
		}
		findings = append(findings, found)
	}
	return findings
}

// healthy fetches a health page. An answer other than 200 is an error.
func healthy(ctx context.Context, c *client.Client, path string) (string, error) {
	start := time.Now()
	res, err := c.Get(ctx, path)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return "", fmt.Errorf("read %s%s: %w", c.Server, path, err)
	}
	text := strings.TrimSpace(string(body))
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s%s answers %s: %s", c.Server, path, res.Status, text)
	}
	return fmt.Sprintf("%s%s answers in %v: %s", c.Server, path, time.Since(start).Round(10*time.Microsecond), text), nil
}

// checkTenant checks that the key gives access to a tenant's data.
func (p *program) checkTenant(ctx context.Context) (string, error) {
	c := p.Client
	if c.Access.Key == "" {
		return "", errors.New(c.NoKey())
	}
	if c.Access.Operator && c.Access.Header == "" {
		return "the operator's key belongs to no tenant; --tenant names one to check", nil
	}
	me, err := c.Tenants.WhoAmI(ctx, &ragdv1.WhoAmIRequest{})
	if err != nil {
		return "", err
	}
	if me.GetTenantId() == "" {
		return "", fmt.Errorf("the key from %s belongs to no tenant: --tenant names one", c.Access.Source)
	}
	if slices.Contains(me.GetScopes(), "read") && me.GetTools() == nil && me.GetServers() == nil {
		if _, err := c.Indexes.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: 1}); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("the key from %s is valid for tenant %s, with %s", c.Access.Source, me.GetTenantId(), scopesText(me)), nil
}

// scopesText returns the scopes of a credential as text, such as "the scopes read, write".
func scopesText(me *ragdv1.WhoAmIResponse) string {
	if len(me.GetScopes()) == 0 {
		return "no scope"
	}
	return "the scopes " + strings.Join(me.GetScopes(), ", ")
}

// checkOperator checks that the operator key, if there is one, is valid.
func (p *program) checkOperator(ctx context.Context) (string, error) {
	c, err := p.Connect(client.OperatorKey)
	switch {
	case err != nil:
		return "", err
	case c.Access.Key == "":
		return "none is set; only the commands tenant and key need one", nil
	}
	me, err := c.Tenants.WhoAmI(ctx, &ragdv1.WhoAmIRequest{})
	switch {
	case err != nil:
		return "", err
	case !slices.Contains(me.GetScopes(), "operator"):
		return "", fmt.Errorf("the key from %s is not an operator's", c.Access.Source)
	}
	return "the key from " + c.Access.Source + " is valid", nil
}
