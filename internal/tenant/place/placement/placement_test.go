package placement_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/faultproxy"
	"github.com/ragdhq/ragd/internal/service/testing/logtest"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks the code of an error, and a part of its message.
func wantError(t *testing.T, what string, err error, code connect.Code, part string) {
	t.Helper()
	if connect.CodeOf(err) != code || err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: %v, want %v with %q", what, err, code, part)
	}
}

func TestOnlyTheOperatorManagesDatabases(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	s := servicetest.New(t, service.Config{MasterKeys: servicetest.Keys(t), NoWorkers: true})
	for who, c := range map[string]servicetest.Client{"an admin of a tenant": s.TenantIn(t, "main", "acme"), "nobody": s.Client("")} {
		for call, err := range map[string]error{
			"register": second(c.RegisterDatabase(t.Context(), &ragdv1.RegisterDatabaseRequest{DatabaseName: "east", Url: address})),
			"list":     second(c.ListDatabases(t.Context(), &ragdv1.ListDatabasesRequest{})),
			"update":   second(c.UpdateDatabase(t.Context(), &ragdv1.UpdateDatabaseRequest{DatabaseName: "east"})),
			"delete":   second(c.DeleteDatabase(t.Context(), &ragdv1.DeleteDatabaseRequest{DatabaseName: "east"})),
		} {
			if code := connect.CodeOf(err); err == nil || code != connect.CodePermissionDenied && code != connect.CodeUnauthenticated {
				t.Errorf("%s may %s: %v", who, call, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestWhatCannotBeRegistered(t *testing.T) {
	t.Parallel()
	east := pgtest.Pool(t)
	other := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: servicetest.Keys(t)})
	s := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: servicetest.Keys(t)})
	operator, ctx := s.Operator(), t.Context()
	address := east.Config().ConnString()
	s.Register(t, "east", address)
	register := func(name, url, owner string, connections int32) error {
		return second(operator.RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{DatabaseName: name, Url: url, OwnerTenantId: owner, MaxConnections: connections}))
	}
	wantError(t, "no name", register("", address, "", 0), connect.CodeInvalidArgument, "databaseName")
	wantError(t, "a reserved name", register("main", address, "", 0), connect.CodeInvalidArgument, "databaseName")
	wantError(t, "a malformed name", register("East;", address, "", 0), connect.CodeInvalidArgument, "databaseName")
	wantError(t, "a taken name", register("east", address, "", 0), connect.CodeAlreadyExists, "east")
	wantError(t, "a registered database", register("west", address, "", 0), connect.CodeAlreadyExists, "registered already")
	wantError(t, "no URL", register("west", "", "", 0), connect.CodeInvalidArgument, "url")
	wantError(t, "too few connections", register("west", address, "", 1), connect.CodeInvalidArgument, "maxConnections")
	distributed := func(as string) error {
		return second(operator.RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{DatabaseName: "west", Url: pgtest.URL(t), Distribution: as}))
	}
	wantError(t, "an unknown distribution", distributed("shards"), connect.CodeInvalidArgument, "distribution")
	if !postgres.Distributed(east) {
		wantError(t, "a database without Citus", distributed("citus"), connect.CodeFailedPrecondition, "no workers of Citus")
	}
	wantError(t, "a malformed owner", register("west", address, "A B", 0), connect.CodeInvalidArgument, "ownerTenantId")
	wantError(t, "the first database", register("west", s.Pool.Config().ConnString(), "", 0), connect.CodeFailedPrecondition, "main")
	wantError(t, "another service's first database", register("west", other.Pool.Config().ConnString(), "", 0), connect.CodeFailedPrecondition, "belongs to another ragd")
	taken := second(other.Operator().RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{DatabaseName: "mine", Url: address}))
	wantError(t, "another service's registered database", taken, connect.CodeFailedPrecondition, "belongs to another ragd")
	_, err := service.New(ctx, service.Config{Pool: east, AdminPool: east, Listen: "127.0.0.1:0", OperatorKey: servicetest.OperatorKey})
	if err == nil || !strings.Contains(err.Error(), "is registered with a ragd") {
		t.Errorf("a service starts on a registered database: %v", err)
	}

	empty := pgtest.URL(t)
	wantError(t, "another database's URL", second(operator.UpdateDatabase(ctx, &ragdv1.UpdateDatabaseRequest{DatabaseName: "east", Url: &empty})), connect.CodeFailedPrecondition, "another database")
	wantError(t, "no such database", second(operator.UpdateDatabase(ctx, &ragdv1.UpdateDatabaseRequest{DatabaseName: "west"})), connect.CodeNotFound, "west")
	wantError(t, "no such database", second(operator.DeleteDatabase(ctx, &ragdv1.DeleteDatabaseRequest{DatabaseName: "west"})), connect.CodeNotFound, "west")
	wantError(t, "a tenant nowhere", second(operator.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: "acme", Database: "west"})), connect.CodeNotFound, "west")
	s.TenantIn(t, "east", "acme")
	wantError(t, "a database with tenants", second(operator.DeleteDatabase(ctx, &ragdv1.DeleteDatabaseRequest{DatabaseName: "east"})), connect.CodeFailedPrecondition, "has tenants, 1 of them")
	keyless := servicetest.New(t, service.Config{NoWorkers: true, AdminPool: pgtest.Pool(t)})
	err = second(keyless.Operator().RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{DatabaseName: "east", Url: empty}))
	wantError(t, "without master keys", err, connect.CodeFailedPrecondition, "RAGD_MASTER_KEY")
}

const password = "pass-word-that-nobody-may-see"

// withPassword returns the URL of a pool for a role of its own with the password.
func withPassword(t *testing.T, proxy *faultproxy.Proxy, pool *pgxpool.Pool, role string) string {
	t.Helper()
	_, err := pool.Exec(t.Context(), `CREATE ROLE `+role+` LOGIN SUPERUSER PASSWORD '`+password+`'`)
	must(t, err)
	t.Cleanup(func() {
		_, _ = pool.Exec(t.Context(), `DROP ROLE `+role)
	})
	u, err := url.Parse(proxy.URL(t, pool))
	must(t, err)
	u.User = url.UserPassword(role, password)
	u.RawQuery = "sslmode=disable"
	return u.String()
}

func TestTheURLOfADatabaseIsNeverShown(t *testing.T) {
	t.Parallel()
	log := &logtest.Buffer{}
	there := pgtest.Pool(t)
	proxy := faultproxy.New(t, there)
	address := withPassword(t, proxy, there, "placement_secret")
	s := servicetest.New(t, service.Config{MasterKeys: servicetest.Keys(t), Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	operator, ctx := s.Operator(), t.Context()
	shown := &bytes.Buffer{}
	show := func(message fmt.Stringer, err error) {
		if err != nil {
			shown.WriteString(err.Error() + "\n")
		} else {
			shown.WriteString(message.String() + "\n")
		}
	}
	show(operator.RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{DatabaseName: "east", Url: strings.Replace(address, "postgres://", "postgres:/", 1)}))
	show(operator.RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{DatabaseName: "east", Url: address + "&sslmode=" + password}))
	show(operator.RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{DatabaseName: "east", Url: address}))
	acme := s.TenantIn(t, "east", "acme")
	show(operator.UpdateDatabase(ctx, &ragdv1.UpdateDatabaseRequest{DatabaseName: "east", Url: &address}))
	show(operator.ListDatabases(ctx, &ragdv1.ListDatabasesRequest{}))
	proxy.Begin(t, faultproxy.Down)
	wait.For(t, "the database is down", func() bool {
		_, err := acme.ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
		return connect.CodeOf(err) == connect.CodeUnavailable
	})
	wait.For(t, "the log tells", func() bool { return strings.Contains(log.String(), "a database does not answer") })
	show(acme.ListIndexes(ctx, &ragdv1.ListIndexesRequest{}))
	show(operator.ListDatabases(ctx, &ragdv1.ListDatabasesRequest{}))
	show(operator.UpdateDatabase(ctx, &ragdv1.UpdateDatabaseRequest{DatabaseName: "east", Url: &address}))
	show(operator.ListAuditEntries(ctx, &ragdv1.ListAuditEntriesRequest{}))
	for what, text := range map[string]string{"answers": shown.String(), "the log": log.String()} {
		if strings.Contains(text, "pass-word") {
			t.Errorf("%s: %s", what, text)
		}
	}
	if text := shown.String(); !strings.Contains(text, `"east"`) || !strings.Contains(text, "is not answering") {
		t.Errorf("nothing was shown: %s", text)
	}
	var sealed []byte
	must(t, s.Pool.QueryRow(ctx, `SELECT url FROM ragd.databases`).Scan(&sealed))
	if bytes.Contains(sealed, []byte(password)) {
		t.Error("the URL is in the database as it is")
	}
	if opened, err := servicetest.Keys(t).Open(sealed, "database", "east"); err != nil || string(opened) != address {
		t.Errorf("it opens as %q, %v", opened, err)
	}
	if _, err := servicetest.Keys(t).Open(sealed, "database", "west"); err == nil {
		t.Error("it opens under another name")
	}
}

func TestURLsAreReencrypted(t *testing.T) {
	t.Parallel()
	address, config := pgtest.URL(t), service.Config{NoWorkers: true, MasterKeys: servicetest.Keys(t)}
	s := servicetest.New(t, config)
	s.Register(t, "east", address)
	keys, err := seal.Parse(strings.Repeat("6", 64) + "," + strings.Repeat("5", 64))
	must(t, err)
	config.AdminPool, config.MasterKeys = s.Pool, keys
	rotated := servicetest.New(t, config)
	done, err := rotated.Operator().ReencryptSecrets(t.Context(), &ragdv1.ReencryptSecretsRequest{})
	if err != nil || done.GetReencrypted() != 1 || len(done.GetLost()) > 0 {
		t.Fatalf("%v, %v", done, err)
	}
	config.MasterKeys, err = seal.Parse(strings.Repeat("6", 64))
	must(t, err)
	after := servicetest.New(t, config)
	after.TenantIn(t, "east", "acme").Index(t, "notes")
}

// The secrets in a database that does not answer are left for another run, those in others are not.
func TestSecretsAreReencryptedInTheDatabasesThatAnswer(t *testing.T) {
	t.Parallel()
	east, config := pgtest.Pool(t), service.Config{NoWorkers: true, MasterKeys: servicetest.Keys(t)}
	proxy := faultproxy.New(t, east)
	s := servicetest.New(t, config)
	s.Register(t, "east", proxy.URL(t, east))
	s.Register(t, "west", pgtest.URL(t))
	for tenant, database := range map[string]string{"anna": "main", "bert": "east", "cleo": "west"} {
		_, err := s.TenantIn(t, database, tenant).SetSecret(t.Context(), &ragdv1.SetSecretRequest{
			SecretName: "s", Value: "v", Hosts: &ragdv1.SecretHosts{Hosts: []string{"a.com"}},
		})
		must(t, err)
	}
	keys, err := seal.Parse(strings.Repeat("6", 64) + "," + strings.Repeat("5", 64))
	must(t, err)
	config.AdminPool, config.MasterKeys = s.Pool, keys
	rotated := servicetest.New(t, config)
	proxy.Begin(t, faultproxy.Down)
	_, err = rotated.Operator().ReencryptSecrets(t.Context(), &ragdv1.ReencryptSecretsRequest{})
	if connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "answer or fail: east: keep") {
		t.Fatalf("with a database that is down: %v", err)
	}
	proxy.End(t)
	for range wait.Poll(t, "the database to be back") {
		done, err := rotated.Operator().ReencryptSecrets(t.Context(), &ragdv1.ReencryptSecretsRequest{})
		if err == nil {
			if done.GetReencrypted() != 1 || len(done.GetLost()) > 0 {
				t.Errorf("with all databases: %v, want one secret, that of the tenant in east", done)
			}
			return
		}
	}
}

// What an instance has in memory of where a tenant lives may be old: the database that the tenant has left
// does not answer for it.
func TestAnInstanceThatHasNotHeardOfItFindsATenantThatLivesElsewhere(t *testing.T) {
	t.Parallel()
	east, west := pgtest.URL(t), pgtest.URL(t)
	config := service.Config{MasterKeys: servicetest.Keys(t)}
	s := servicetest.New(t, config)
	config.AdminPool = s.Pool
	other := servicetest.New(t, config)
	for i, place := range []string{"main", "east", "west", "main", "west", "east"} {
		switch i { // the other instance hears of databases when a tenant lives there
		case 1:
			s.Register(t, "east", east)
		case 2:
			s.Register(t, "west", west)
		}
		acme := s.TenantIn(t, place, "acme")
		there := other.Client(acme.Secret)
		list, err := there.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		if err != nil || len(list.GetIndexes()) > 0 {
			t.Fatalf("in %s: %v, %v", place, list, err)
		}
		there.Index(t, "in-"+place)
		d := there.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "in-" + place, Source: servicetest.Text("A note in " + place + ".")})
		if d.GetStatus() != "ready" {
			t.Fatalf("in %s: %v", place, d)
		}
		if list, err = acme.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{}); err != nil || len(list.GetIndexes()) != 1 || list.GetIndexes()[0].GetIndexName() != "in-"+place {
			t.Fatalf("in %s: %v, %v", place, list, err)
		}
		_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"})
		must(t, err)
	}
}

// A tenant lives in the database that it has brought, alone, and connections go nowhere where a tenant's may
// not.
func TestATenantsOwnDatabase(t *testing.T) {
	t.Parallel()
	there := pgtest.Pool(t)
	proxy := faultproxy.New(t, there)
	address := withPassword(t, proxy, there, "placement_own")
	config := service.Config{MasterKeys: servicetest.Keys(t)}
	s := servicetest.New(t, config)
	ctx := t.Context()
	own := &ragdv1.RegisterDatabaseRequest{DatabaseName: "own", Url: address, OwnerTenantId: "acme"}
	_, err := s.Operator().RegisterDatabase(ctx, own)
	if err == nil || connect.CodeOf(err) == connect.CodeInternal {
		t.Fatalf("an address inside the network: %v", err)
	}
	config.AdminPool, config.AllowedPrivateNetworks = s.Pool, []string{"127.0.0.0/8"}
	s = servicetest.New(t, config)
	operator := s.Operator()
	for _, parameter := range []string{"&host=/tmp", "&sslrootcert=/etc/passwd", "&options=-c"} {
		other := &ragdv1.RegisterDatabaseRequest{DatabaseName: "own", Url: address + parameter, OwnerTenantId: "acme"}
		wantError(t, parameter, second(operator.RegisterDatabase(ctx, other)), connect.CodeInvalidArgument, "url")
	}
	_, err = operator.RegisterDatabase(ctx, own)
	must(t, err)
	wantError(t, "another tenant", second(operator.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: "bolt", Database: "own"})), connect.CodeFailedPrecondition, "acme")
	wantError(t, "elsewhere", second(operator.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: "acme", Database: "main"})), connect.CodeFailedPrecondition, "own")
	bolt, acme := s.TenantIn(t, "", "bolt"), s.TenantIn(t, "", "acme")
	for name, want := range map[string]string{"bolt": "main", "acme": "own"} {
		if found, err := operator.GetTenant(ctx, &ragdv1.GetTenantRequest{TenantId: name}); err != nil || found.GetDatabase() != want {
			t.Errorf("%s lives in %v, %v", name, found, err)
		}
	}
	bolt.Index(t, "notes")
	d := bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "notes", Source: servicetest.Text("A note.")})
	acme.Index(t, "notes")

	// The tenant has its server pretend that there is work for others.
	plant(t, there, d.GetDocumentId())
	wait.For(t, "what was planted is refused", func() bool {
		var documents, tasks, used int
		must(t, there.QueryRow(ctx, `
			SELECT (SELECT count(*) FROM ragd.backlog), (SELECT count(*) FROM ragd.river_job WHERE args->>'tenant' = 'bolt' AND state <> 'cancelled'),
				(SELECT count(*) FROM ragd.usage)`).Scan(&documents, &tasks, &used))
		return documents+tasks+used == 0
	})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "notes", Source: servicetest.Text("A note of acme.")})
	wait.For(t, "acme's usage is collected", func() bool {
		list, err := acme.ListUsage(ctx, &ragdv1.ListUsageRequest{})
		must(t, err)
		for _, row := range list.GetRows() {
			if row.GetStage() == "ingest" && row.GetDocuments() == 1 {
				return true
			}
		}
		return false
	})
	var planted int64
	must(t, s.Pool.QueryRow(ctx, `SELECT coalesce(sum(calls), 0)::bigint FROM ragd.usage WHERE tenant_id = 'bolt' AND model = 'planted'`).Scan(&planted))
	if planted != 0 {
		t.Errorf("bolt is charged for %d calls that acme's server has made up", planted)
	}
	if again, err := bolt.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "notes", DocumentId: d.GetDocumentId()}); err != nil || again.GetStatus() != "ready" {
		t.Errorf("bolt's document is %v, %v", again, err)
	}
}

// missed keeps the tenants of which a service was told that events were missed, "" for all.
type missed struct {
	mu      sync.Mutex
	tenants []tenant.ID
}

func (m *missed) receive(e event.Event) {
	if e.Missed() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.tenants = append(m.tenants, e.Tenant)
	}
}

// of returns how often events were missed of a tenant and of others.
func (m *missed) of(id tenant.ID) (own, others int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, missed := range m.tenants {
		if missed == id {
			own++
		} else {
			others++
		}
	}
	return own, others
}

// Whoever has the server of a database can break connections to it, which makes only its own tenants read
// again what may have changed.
func TestEventsThatADatabaseMissesConcernItsTenantsAlone(t *testing.T) {
	t.Parallel()
	own, east := pgtest.Pool(t), pgtest.Pool(t)
	config := service.Config{MasterKeys: servicetest.Keys(t), NoWorkers: true, AllowedPrivateNetworks: []string{"127.0.0.0/8"}}
	for name, in := range map[string]*pgxpool.Pool{"acme": own, "bert": east} {
		s := servicetest.New(t, config)
		s.TenantIn(t, "main", "bolt")
		var heard missed
		s.Events.Subscribe(heard.receive)
		request := &ragdv1.RegisterDatabaseRequest{DatabaseName: "other", Url: withPassword(t, faultproxy.New(t, in), in, "placement_missed_"+name)}
		if name == "acme" {
			request.OwnerTenantId = name
		}
		must(t, second(s.Operator().RegisterDatabase(t.Context(), request)))
		wait.For(t, "events are received", func() bool {
			var listens bool
			must(t, in.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN ragd_event')`).Scan(&listens))
			return listens
		})
		s.TenantIn(t, "other", name)
		before, _ := heard.of(tenant.ID(name))
		wait.For(t, "the connection is broken, and another is made", func() bool {
			_, err := in.Exec(t.Context(), `
				SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN ragd_event'`)
			must(t, err)
			told, _ := heard.of(tenant.ID(name))
			return told >= before+2
		})
		if _, others := heard.of(tenant.ID(name)); others != 0 {
			t.Errorf("a database of %s makes others miss events: %q", name, heard.tenants)
		}
	}
}

// plant writes work of the tenant bolt, which lives elsewhere, into a database.
func plant(t *testing.T, in *pgxpool.Pool, documentID string) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO ragd.backlog (tenant_id, document_id, index_id, version, job_id, bytes) VALUES ('bolt', '` + documentID + `', 1, 1, gen_random_uuid(), 10)`,
		`INSERT INTO ragd.river_job (kind, args, queue, max_attempts, state, priority) VALUES ('maintain', '{"tenant": "bolt", "indexId": 1}', 'maintenance', 3, 'available', 1)`,
		`INSERT INTO ragd.tenants (tenant_id, status) VALUES ('bolt', 'creating') ON CONFLICT DO NOTHING`,
		`INSERT INTO ragd.usage (tenant_id, hour, index_name, stage, model, calls) VALUES ('bolt', now(), '', 'chat', 'planted', 1000)`,
	} {
		if _, err := in.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// exportTenant returns an archive of a tenant.
func exportTenant(t *testing.T, operator servicetest.Client, name string) (archive []byte) {
	t.Helper()
	stream, err := operator.ExportTenant(t.Context(), &ragdv1.ExportTenantRequest{TenantId: name})
	must(t, err)
	for stream.Receive() {
		archive = append(archive, stream.Msg().GetData()...)
	}
	must(t, errors.Join(stream.Err(), stream.Close()))
	return archive
}

func importTenant(t *testing.T, operator servicetest.Client, options *ragdv1.ImportOptions, archive []byte) *ragdv1.ImportTenantResponse {
	t.Helper()
	stream, err := operator.ImportTenant(t.Context())
	must(t, err)
	must(t, stream.Send(&ragdv1.ImportTenantRequest{Part: &ragdv1.ImportTenantRequest_Options{Options: options}}))
	must(t, stream.Send(&ragdv1.ImportTenantRequest{Part: &ragdv1.ImportTenantRequest_Data{Data: archive}}))
	done, err := stream.CloseAndReceive()
	must(t, err)
	return done
}

// A tenant in another database is exported and imported, there too, with its keys, which the first database has.
func TestATenantInAnotherDatabaseIsExportedAndImported(t *testing.T) {
	t.Parallel()
	there := pgtest.Pool(t)
	proxy := faultproxy.New(t, there)
	address := withPassword(t, proxy, there, "placement_import")
	s := servicetest.New(t, service.Config{MasterKeys: servicetest.Keys(t), AllowedPrivateNetworks: []string{"127.0.0.0/8"}})
	operator, ctx := s.Operator(), t.Context()
	_, err := operator.RegisterDatabase(ctx, &ragdv1.RegisterDatabaseRequest{DatabaseName: "own", Url: address, OwnerTenantId: "acme"})
	must(t, err)
	acme := s.TenantIn(t, "own", "acme")
	acme.Index(t, "notes")
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "notes", Source: servicetest.Text("A note.")})
	data := exportTenant(t, operator, "acme")
	_, err = operator.DeleteTenant(ctx, &ragdv1.DeleteTenantRequest{TenantId: "acme"})
	must(t, err)
	if _, err := acme.ListIndexes(ctx, &ragdv1.ListIndexesRequest{}); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("the key of a deleted tenant: %v", err)
	}
	done := importTenant(t, operator, &ragdv1.ImportOptions{}, data)
	if len(done.GetLeftOut()) > 0 || done.GetTenant().GetDatabase() != "own" {
		t.Errorf("imported %v", done)
	}
	again, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "notes", DocumentId: d.GetDocumentId()})
	if err != nil || again.GetStatus() != "ready" {
		t.Errorf("%v, %v", again, err)
	}
	var keys int
	must(t, there.QueryRow(ctx, `SELECT count(*) FROM ragd.api_keys`).Scan(&keys))
	if keys != 0 {
		t.Errorf("%d keys are left in the tenant's database", keys)
	}
}
