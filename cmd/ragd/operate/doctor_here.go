package operate

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/internal/operate/doctor"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// doctorSettings are the settings of the service that doctor reads, besides the addresses of
// the providers.
var doctorSettings = []string{
	"data-dir", "database-url", "database-url-file", "database-admin-url", "database-admin-url-file", "database-read-urls", "database-read-urls-file", "tls-cert", "tls-key", "tls-client-ca", "backup-folder", "backup-interval", "ingest-workers", "min-free-bytes", "master-key", "master-key-file", "endpoints-file",
	"allowed-private-networks", "embedding-model", "models-dir", "libreoffice", "ocr", "ocr-languages",
}

// registerDoctor adds the flags of the service that doctor reads.
func (p *program) registerDoctor(cmd *cobra.Command) {
	s := p.settings
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.RegisterService(all, p.Getenv)
	s.RegisterServe(all)
	names := doctorSettings
	for _, provider := range s.Providers() {
		names = append(names[:len(names):len(names)], provider.Name+"-base-url")
	}
	for _, name := range names {
		cmd.Flags().AddFlag(all.Lookup(name))
	}
}

// serviceAddress returns the address of the database of the service on this machine. It is ""
// if no service has run here; why then tells what that means.
func (p *program) serviceAddress() (address, setting string, none doctor.Finding) {
	s := p.settings
	none.Check = "database"
	if url := cmp.Or(s.Service.DatabaseAdminURL, s.Service.DatabaseURL); url != "" {
		return url, map[bool]string{true: "database-admin-url", false: "database-url"}[s.Service.DatabaseAdminURL != ""], none
	}
	address, exists, err := service.RunningEmbedded(s.Service.DataDir)
	switch {
	case err != nil:
		none.Status, none.Detail, none.Action = doctor.Fail, err.Error(), "run doctor as the user of the service"
	case !exists:
		none.Status, none.Detail = doctor.OK, "not looked at: database-url is not set, and "+s.Service.DataDir+" has no database"
	case address == "":
		none.Status, none.Detail, none.Action = doctor.Warn, "the database in "+s.Service.DataDir+" does not run", "start the service (`ragd serve`), or see its log"
	}
	return address, "data-dir", none
}

// databaseTimeout bounds all checks of the database, each of which has a bound of its own.
const databaseTimeout = 2 * time.Minute

// checkDatabase checks the database of the service on this machine, and the endpoints that
// tenants have in it.
func (p *program) checkDatabase(ctx context.Context) []doctor.Finding {
	address, setting, none := p.serviceAddress()
	if address == "" {
		return []doctor.Finding{none}
	}
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	start := time.Now()
	conn, err := postgres.Connect(ctx, postgres.Config{URL: address, Setting: setting, ApplicationName: "ragd doctor"})
	if err != nil {
		return []doctor.Finding{{Check: "database", Status: doctor.Fail, Detail: p.Describe(err), Action: "correct what the message names"}}
	}
	defer conn.Close(context.WithoutCancel(ctx))
	findings := []doctor.Finding{{Check: "database", Status: doctor.OK, Detail: fmt.Sprintf("answers in %v (%s)", time.Since(start).Round(10*time.Microsecond), setting)}}
	findings = append(findings, p.checkVersions(ctx, conn, address, setting))
	findings = append(findings, doctor.Database(ctx, conn, doctor.Config{Connections: service.Connections(p.settings.Service)})...)
	findings = append(findings, doctor.Replicas(ctx, conn, replica.SplitURLs(p.settings.DatabaseReadURLs))...)
	return append(findings, p.checkTenantEndpoints(ctx, conn)...)
}

// checkVersions checks that the schemas of the service and of all tenants are up to date, in all
// databases.
func (p *program) checkVersions(ctx context.Context, conn *pgx.Conn, address, setting string) doctor.Finding {
	found := doctor.Finding{Check: "migrations", Status: doctor.Fail, Action: "`ragd migrate`, and then `ragd migrate --status`"}
	var exists bool // or opening the database would make the extension
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'vector')`).Scan(&exists); err != nil {
		found.Detail = p.Describe(postgres.Fault(err))
		return found
	}
	if !exists {
		found.Status, found.Detail = doctor.Warn, "the database has no schema of ragd yet"
		return found
	}
	cfg := p.settings.Service
	var err error
	if cfg.MasterKeys, err = p.masterKeysOf(setting); err != nil {
		found.Detail, found.Action = err.Error(), "correct what the message names"
		return found
	}
	cfg.DatabaseURL, cfg.DatabaseAdminURL, cfg.Logger = address, "", slog.New(slog.DiscardHandler)
	v, err := service.Versions(ctx, cfg)
	switch {
	case err != nil:
		found.Detail = p.Describe(err)
	case unknown(v) != nil:
		d := unknown(v)
		found.Detail, found.Action = fmt.Sprintf("the database %s was not looked at: %s", d.Database, d.Problem), "correct what the message names"
	case len(v.Failed) > 0:
		found.Detail = fmt.Sprintf("%d of %d tenants could not be migrated, first %s", len(v.Failed), v.Tenants, v.Failed[0].Tenant)
	case !v.UpToDate():
		found.Status, found.Detail = doctor.Warn, fmt.Sprintf("not up to date: %d of %d tenants are behind", v.Behind, v.Tenants)
	default:
		return doctor.Finding{Check: found.Check, Status: doctor.OK, Detail: fmt.Sprintf("up to date, with %d tenants", v.Tenants)}
	}
	return found
}

// unknown returns the first registered database whose versions are not known, nil if there is none.
func unknown(v provision.Versions) *provision.DatabaseVersion {
	for i := range v.Databases {
		if v.Databases[i].Problem != "" {
			return &v.Databases[i]
		}
	}
	return nil
}

// masterKeysOf returns the keys of the settings, or else those that the service keeps beside a database
// of its own; nil if there are none.
func (p *program) masterKeysOf(setting string) (*seal.Keys, error) {
	s := p.settings
	keys, err := s.MasterKeys()
	if err == nil && keys == nil && setting == "data-dir" && exists(filepath.Join(s.Service.DataDir, seal.FileName)) {
		return seal.OpenFile(s.Service.DataDir)
	}
	return keys, err
}

const (
	addressTimeout = 5 * time.Second // for each endpoint
	addressesMost  = 8               // endpoints that are checked at once
)

// checkAddresses checks endpoints, several at once.
func checkAddresses(ctx context.Context, endpoints []doctor.Endpoint, dial doctor.Dial) []doctor.Finding {
	findings := make([]doctor.Finding, len(endpoints))
	slots := make(chan struct{}, addressesMost)
	var all sync.WaitGroup
	for i, e := range endpoints {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, addressTimeout)
			defer cancel()
			findings[i] = doctor.Address(ctx, e.Name, e.URL, dial, time.Now(), &tls.Config{MinVersion: tls.VersionTLS12})
		})
	}
	all.Wait()
	return findings
}

// checkTenantEndpoints checks the endpoints of tenants, as the service reaches them: never
// in the operator's own network, unless that is allowed.
func (p *program) checkTenantEndpoints(ctx context.Context, conn *pgx.Conn) []doctor.Finding {
	const check = "endpoints of tenants"
	guard, err := outbound.New(p.settings.Service.AllowedPrivateNetworks)
	if err != nil {
		return []doctor.Finding{{Check: check, Status: doctor.Fail, Detail: err.Error(), Action: "correct " + outbound.Setting}}
	}
	endpoints, err := doctor.TenantEndpoints(ctx, conn)
	if err != nil {
		return []doctor.Finding{{Check: check, Status: doctor.Warn, Detail: p.Describe(postgres.Fault(err)), Action: "set database-admin-url, whose role sees them"}}
	}
	return checkAddresses(ctx, endpoints, guard.DialContext)
}

// checkMachine checks what this machine has for the service of the settings.
func (p *program) checkMachine(ctx context.Context) []doctor.Finding {
	s := p.settings
	var findings []doctor.Finding
	address, setting, _ := p.serviceAddress()
	if address != "" && setting == "data-dir" {
		findings = append(findings, doctor.Disk(s.Service.DataDir, s.Service.MinFreeBytes))
	}
	if s.Service.Backup.Folder != "" && setting == "data-dir" {
		findings = append(findings, doctor.Backups(s.Service.Backup.Folder, s.Service.Backup.Interval, time.Now()))
	}
	if files := s.Service.TLS; !files.IsZero() {
		findings = append(findings, doctor.Certificate(files, time.Now()))
	}
	for _, path := range p.secretFiles() {
		findings = append(findings, doctor.SecretFile(path)...)
	}
	findings = append(findings, p.checkParsers(ctx)...)
	own, err := s.Endpoints()
	if err != nil {
		findings = append(findings, doctor.Finding{Check: "endpoints-file", Status: doctor.Fail, Detail: err.Error(), Action: "correct the file"})
	}
	var addresses []doctor.Endpoint
	if strings.HasPrefix(p.Client.Server, "https:") {
		addresses = append(addresses, doctor.Endpoint{Name: "of the service", URL: p.Client.Server})
	}
	for _, provider := range s.Providers() {
		if url := provider.Endpoint.BaseURL; url != "" {
			addresses = append(addresses, doctor.Endpoint{Name: provider.Name, URL: url})
		}
	}
	for _, e := range own {
		addresses = append(addresses, doctor.Endpoint{Name: e.Name, URL: e.Config.BaseURL})
	}
	return append(findings, checkAddresses(ctx, addresses, (&net.Dialer{}).DialContext)...)
}

// secretFiles returns the paths of the files that may hold secrets.
func (p *program) secretFiles() []string {
	paths := []string{filepath.Join(p.settings.Service.DataDir, "master.key")}
	if client, err := config.ClientPath(p.Getenv); err == nil {
		paths = append(paths, client)
		if p.settings.Config == "" {
			paths = append(paths, filepath.Join(filepath.Dir(client), "ragd.conf"))
		}
	}
	for _, path := range []string{p.settings.Config, p.settings.MasterKeyFile, p.settings.EndpointsFile} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// checkParsers checks the programs that the settings name for files that need one.
func (p *program) checkParsers(ctx context.Context) (findings []doctor.Finding) {
	for _, parser := range []struct {
		setting, value string
		resolve        func(context.Context) error
	}{
		{"libreoffice", p.settings.LibreOffice.Program, p.settings.LibreOffice.Resolve},
		{"ocr", p.settings.OCR.Engine, p.settings.OCR.Resolve},
	} {
		if parser.value == "" {
			continue
		}
		found := doctor.Finding{Check: parser.setting, Status: doctor.OK, Detail: parser.value + " is there"}
		if err := parser.resolve(ctx); err != nil {
			found.Status, found.Detail, found.Action = doctor.Fail, err.Error(), "install the program, or unset "+parser.setting
		}
		findings = append(findings, found)
	}
	return findings
}

// Exit codes of doctor besides 0.
const (
	ExitWarned       = 1
	ExitUnhealthy    = 2
	ExitNotDiagnosed = 3 // doctor itself could not run
)

// verdict returns nil if all findings are OK, else an error with the exit code.
func verdict(findings []doctor.Finding) error {
	count := map[doctor.Status]int{}
	for _, f := range findings {
		count[f.Status]++
	}
	switch doctor.Worst(findings) {
	case doctor.Fail:
		return command.ExitError{Code: ExitUnhealthy, Err: fmt.Errorf("%d of %d checks failed", count[doctor.Fail], len(findings))}
	case doctor.Warn:
		return command.ExitError{Code: ExitWarned, Err: fmt.Errorf("%d of %d checks have a warning", count[doctor.Warn], len(findings))}
	}
	return nil
}
