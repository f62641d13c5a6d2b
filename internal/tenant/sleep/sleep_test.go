package sleep_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a service whose tenants can sleep.
type fixture struct {
	*servicetest.Service
	folder string
}

// setup starts a service. Its tenants have names of their own, because roles belong to all databases of the server.
func setup(t *testing.T) fixture {
	t.Helper()
	folder := t.TempDir()
	return fixture{servicetest.New(t, service.Config{MasterKeys: servicetest.Keys(t), Sleep: sleep.StoreConfig{Place: folder}}), folder}
}

// filled makes a tenant with some documents, all of whose work has ended.
func (f fixture) filled(t *testing.T, name, word string) servicetest.Client {
	t.Helper()
	c := f.Tenant(t, name)
	c.Index(t, "notes")
	for _, uri := range []string{"a.md", "b.md", "c.md"} {
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "notes", Uri: uri, Source: servicetest.Text("# " + word + "\n\nThe " + word + " of " + uri + " grows by the river.")})
	}
	_, err := c.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: "crm", Value: "the key of " + word})
	must(t, err)
	f.settled(t, name)
	return c
}

// settled waits until a tenant has no work.
func (f fixture) settled(t *testing.T, name string) {
	t.Helper()
	wait.For(t, "the end of the tenant's work", func() bool {
		var tasks int
		must(t, f.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.river_job WHERE args ->> 'tenant' = $1 AND state IN ('available', 'pending', 'retryable', 'running', 'scheduled')`, name).Scan(&tasks))
		return tasks == 0
	})
}

// sleeps returns another service of sleeps over the same database and archives, as that of another instance.
func (f fixture) sleeps(t *testing.T, change func(*sleep.Config)) *sleep.Service {
	t.Helper()
	store, err := sleep.Open(sleep.StoreConfig{Place: f.folder})
	must(t, err)
	config := sleep.Config{
		Tenants: f.Tenants, Archives: f.Handlers.Archives, DB: f.DB, Control: f.ServicePool, Store: store, Keys: servicetest.Keys(t),
		FellAsleep: func(tenant.ID) { f.Credentials.Auth.Forget() },
	}
	if change != nil {
		change(&config)
	}
	s, err := sleep.New(t.Context(), config)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func (f fixture) sleep(t *testing.T, name string) *ragdv1.Tenant {
	t.Helper()
	got, err := f.Operator().SleepTenant(t.Context(), &ragdv1.SleepTenantRequest{TenantId: name})
	must(t, err)
	return got
}

func (f fixture) state(t *testing.T, name string) string {
	t.Helper()
	got, err := f.Operator().GetTenant(t.Context(), &ragdv1.GetTenantRequest{TenantId: name})
	must(t, err)
	return got.State
}

// archives returns the paths of the archives of a tenant.
func (f fixture) archives(t *testing.T, name string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(f.folder, name, "*"))
	must(t, err)
	return found
}

// left returns what a tenant has in the database besides rows of the control schema.
func (f fixture) left(t *testing.T, name string) (left []string) {
	t.Helper()
	must(t, f.Pool.QueryRow(t.Context(), `
		SELECT array(SELECT 'the schema' FROM pg_namespace WHERE nspname = 'tenant_' || $1
			UNION ALL SELECT 'the role' FROM pg_roles WHERE rolname = 'tenant_' || $1
			UNION ALL SELECT 'a secret' FROM ragd_shared.secrets WHERE tenant_id = $1
			UNION ALL SELECT 'stopped writes' FROM ragd_shared.stopped_tenants WHERE tenant_id = $1)`, name).Scan(&left))
	return left
}

// find asks a question until the tenant is awake, and returns the URI of the best source and how often it was refused.
func find(t *testing.T, c servicetest.Client, question string) (uri string, refused int) {
	t.Helper()
	wait.For(t, "the tenant to wake", func() bool {
		res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "notes", QueryText: question})
		if connect.CodeOf(err) == connect.CodeUnavailable {
			refused++
			return false
		}
		must(t, err)
		if len(res.Sources) > 0 {
			uri = res.Sources[0].GetUri()
		}
		return true
	})
	return uri, refused
}

func TestATenantSleepsUntilItsFirstCall(t *testing.T) {
	t.Parallel()
	f := setup(t)
	acme, bolt := f.filled(t, "acme-calls", "willow"), f.filled(t, "bolt-calls", "poplar")
	limited := f.Client(f.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme-calls", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "none"})}))
	before := f.RowSums(t, "acme-calls")
	want, _ := find(t, acme, "willow of b.md")

	got := f.sleep(t, "acme-calls")
	if got.State != "asleep" || got.AsleepTime == nil || got.ArchivedBytes < 1000 {
		t.Errorf("put to sleep: %v", got)
	}
	if again := f.sleep(t, "acme-calls"); again.AsleepTime.AsTime() != got.AsleepTime.AsTime() {
		t.Errorf("it was put to sleep twice: %v", again)
	}
	if left := f.left(t, "acme-calls"); len(left) > 0 {
		t.Errorf("the database still has %v", left)
	}
	for state, want := range map[string][]string{"": {"acme-calls", "bolt-calls"}, "asleep": {"acme-calls"}, "active": {"bolt-calls"}, "waking": nil} {
		page, err := f.Operator().ListTenants(t.Context(), &ragdv1.ListTenantsRequest{State: state})
		must(t, err)
		var names []string
		for _, one := range page.Tenants {
			names = append(names, one.TenantId)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("state %q: %s", state, diff)
		}
	}
	// What the operator and others do wakes nothing.
	if uri, refused := find(t, bolt, "poplar"); uri == "" || refused > 0 {
		t.Errorf("another tenant found %q after %d refusals", uri, refused)
	}
	_, err := f.Client("ragd_"+strings.Repeat("x", 40)).ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "a wrong key", err, connect.CodeUnauthenticated)
	keys, err := f.Operator().ListApiKeys(t.Context(), &ragdv1.ListApiKeysRequest{TenantId: "acme-calls"})
	must(t, err)
	if len(keys.ApiKeys) != 2 {
		t.Errorf("keys: %v", keys.ApiKeys)
	}
	revoked := f.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme-calls"})
	_, err = f.Operator().RevokeApiKey(t.Context(), &ragdv1.RevokeApiKeyRequest{ApiKeyId: revoked})
	must(t, err)
	_, err = f.Client(revoked).ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "a revoked key", err, connect.CodeUnauthenticated)
	_, err = f.Operator().MoveTenant(t.Context(), &ragdv1.MoveTenantRequest{TenantId: "acme-calls", DatabaseName: "main"})
	servicetest.WantCode(t, "moving a tenant that is asleep", err, connect.CodeFailedPrecondition)
	_, err = f.Operator().CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: "acme-calls"})
	servicetest.WantCode(t, "creating a tenant that is asleep", err, connect.CodeAlreadyExists)
	name := "Acme, asleep"
	_, err = f.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme-calls", DisplayName: &name})
	must(t, err)
	if state := f.state(t, "acme-calls"); state != "asleep" {
		t.Fatalf("it is %s", state)
	}

	uri, _ := find(t, acme, "willow of b.md")
	if uri != want {
		t.Errorf("found %q, and %q before", uri, want)
	}
	awake, err := f.Operator().GetTenant(t.Context(), &ragdv1.GetTenantRequest{TenantId: "acme-calls"})
	must(t, err)
	if awake.State != "active" || awake.AsleepTime != nil || awake.ArchivedBytes != 0 || awake.DisplayName != name {
		t.Errorf("awake: %v", awake)
	}
	if found, err := limited.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "notes", QueryText: "willow"}); err != nil || len(found.Sources) > 0 {
		t.Errorf("a key with a mandatory filter found %v, %v", found.GetSources(), err)
	}
	f.settled(t, "acme-calls")
	if diff := cmp.Diff(before, f.RowSums(t, "acme-calls")); diff != "" {
		t.Errorf("rows before and after (-before +after):\n%s", diff)
	}
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "notes", Uri: "d.md", Source: servicetest.Text("A new elder.")})
	f.erased(t, "acme-calls")
}

// erased checks that the keys of archives of an active tenant are gone, and that its deletion removes the archives.
func (f fixture) erased(t *testing.T, name string) {
	t.Helper()
	var keys int
	must(t, f.Pool.QueryRow(t.Context(), `SELECT count(sealed_key) FROM ragd.sleeps WHERE tenant_id = $1`, name).Scan(&keys))
	if kept := f.archives(t, name); keys != 0 || len(kept) != 1 {
		t.Errorf("%d keys of the archives %v", keys, kept)
	}
	f.settled(t, name)
	f.sleep(t, name)
	if kept := f.archives(t, name); len(kept) != 2 {
		t.Errorf("archives: %v", kept)
	}
	_, err := f.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: name})
	must(t, err)
	if kept, left := f.archives(t, name), f.left(t, name); len(kept)+len(left) > 0 {
		t.Errorf("after its deletion there are %v and %v", kept, left)
	}
}

// A call waits for its tenant, and is told how much is done if that takes long.
func TestACallWaitsForItsTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.filled(t, "acme-waits", "willow")
	f.sleep(t, "acme-waits")
	loading, load := make(chan struct{}), make(chan struct{})
	hasty := f.sleeps(t, func(c *sleep.Config) {
		*c = c.WithHold(time.Nanosecond).WithStep(func(name string) {
			if name == "begin" {
				close(loading)
				<-load
			}
		})
	})
	err := hasty.Asleep(t.Context(), "acme-waits", true)
	var told *fault.Error
	if !errors.As(err, &told) || told.Kind != fault.Unavailable || !strings.Contains(told.Message, "0% is done") || told.RetryAfter == 0 {
		t.Errorf("a call that waits for a moment: %v", err)
	}
	<-loading
	close(load)
	wait.For(t, "the tenant to wake", func() bool { return f.state(t, "acme-waits") == "active" })
	f.settled(t, "acme-waits")
	f.sleep(t, "acme-waits")
	patient := f.sleeps(t, func(c *sleep.Config) { *c = c.WithHold(time.Hour) })
	if err := patient.Asleep(t.Context(), "acme-waits", true); err != nil {
		t.Errorf("a call that waits: %v", err)
	}
	if state := f.state(t, "acme-waits"); state != "active" {
		t.Errorf("it is %s", state)
	}
}

// killed is what a step panics with, to end a call as a killed process would.
type killed struct{}

// kill calls do, which is killed at the nth step of a name.
func kill(step *func(string), name string, nth int, do func()) (ended bool) {
	defer func() {
		if recovered := recover(); recovered != nil {
			if _, ok := recovered.(killed); !ok {
				panic(recovered)
			}
			ended = false
		}
	}()
	*step = func(now string) {
		if now == name {
			if nth--; nth == 0 {
				panic(killed{})
			}
		}
	}
	do()
	return true
}

// killingStore is a store of which a call is killed in the middle of an archive.
type killingStore struct {
	sleep.Store
	step *func(string)
}

func (s killingStore) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	stored, err := s.Store.Get(ctx, name)
	return killingReader{stored, s.step}, err
}

type killingReader struct {
	io.ReadCloser
	step *func(string)
}

func (r killingReader) Read(to []byte) (int, error) {
	n, err := r.ReadCloser.Read(to[:min(len(to), 2000)])
	(*r.step)("read")
	return n, err
}

func TestNothingIsLostWhereverItStops(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.filled(t, "acme-stops", "willow")
	before := f.RowSums(t, "acme-stops")
	step := func(string) {}
	s := f.sleeps(t, func(c *sleep.Config) {
		c.Store = killingStore{c.Store, &step}
		*c = c.WithStep(func(name string) { step(name) })
	})
	sleepNow := func() { must(t, s.SleepNow(t.Context(), "acme-stops")) }
	wakeNow := func() { must(t, s.WakeNow(t.Context(), "acme-stops")) }
	check := func(what string) {
		t.Helper()
		f.settled(t, "acme-stops")
		if diff := cmp.Diff(before, f.RowSums(t, "acme-stops")); diff != "" {
			t.Fatalf("%s (-before +after):\n%s", what, diff)
		}
	}
	for _, name := range []string{"stop writes", "write", "read back", "read", "switch"} {
		if kill(&step, name, 1, sleepNow) {
			t.Fatalf("it was not stopped before %q", name)
		}
		step = func(string) {}
		if state := f.state(t, "acme-stops"); state != "active" {
			t.Fatalf("stopped before %q it is %s", name, state)
		}
		must(t, s.Sweep(t.Context()))
		if left := f.archives(t, "acme-stops"); len(left) > 0 {
			t.Errorf("stopped before %q it left %v", name, left)
		}
		check("stopped before " + name)
	}
	for _, name := range []string{"drop", "dropped"} {
		if kill(&step, name, 1, sleepNow) {
			t.Fatalf("it was not stopped before %q", name)
		}
		step = func(string) {}
		if state := f.state(t, "acme-stops"); state != "asleep" {
			t.Fatalf("stopped before %q it is %s", name, state)
		}
		if name == "drop" { // the sweep completes it; else waking does
			must(t, s.Sweep(t.Context()))
			if left := f.left(t, "acme-stops"); len(left) > 0 {
				t.Errorf("the database still has %v", left)
			}
		}
		wakeNow()
		check("woken after it was stopped before " + name)
	}
	sleepNow()
	for nth := 1; ; nth++ {
		if kill(&step, "read", nth, wakeNow) {
			if nth < 5 {
				t.Errorf("it was stopped only %d times", nth)
			}
			break
		}
		step = func(string) {}
		if state := f.state(t, "acme-stops"); state != "asleep" && state != "waking" {
			t.Fatalf("stopped while it was loaded it is %s", state)
		}
		// An ordinary call begins again, on another instance. It may be answered, or be told to wait.
		_, err := f.Operator("Ragd-Tenant", "acme-stops").ListIndexes(context.WithoutCancel(t.Context()), &ragdv1.ListIndexesRequest{})
		if err != nil {
			servicetest.WantCode(t, "a call while it wakes", err, connect.CodeUnavailable)
		}
		wait.For(t, "the end of the waking that the call began", func() bool { return f.state(t, "acme-stops") == "active" })
		check("woken after it was stopped in the middle")
		if nth >= 6 {
			break
		}
		sleepNow()
	}
	if kept := f.archives(t, "acme-stops"); len(kept) == 0 {
		t.Error("no archive was kept")
	}
}

func TestOneOfSeveralInstancesWakesATenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.filled(t, "acme-once", "willow")
	before := f.RowSums(t, "acme-once")
	f.sleep(t, "acme-once")
	woke := make(chan int, 1)
	woke <- 0
	results := make(chan error)
	for range 3 {
		s := f.sleeps(t, func(c *sleep.Config) {
			*c = c.WithStep(func(name string) {
				if name == "awake" {
					woke <- <-woke + 1
				}
			})
		})
		go func() { results <- s.WakeNow(t.Context(), "acme-once") }()
	}
	for range 3 {
		if err := <-results; err != nil && fault.KindOf(err) != fault.Conflict {
			t.Error(err)
		}
	}
	if n := <-woke; n != 1 || f.state(t, "acme-once") != "active" {
		t.Errorf("it was woken %d times, and is %s", n, f.state(t, "acme-once"))
	}
	f.settled(t, "acme-once")
	if diff := cmp.Diff(before, f.RowSums(t, "acme-once")); diff != "" {
		t.Errorf("rows before and after (-before +after):\n%s", diff)
	}
}

func TestNoArchiveWakesAsAnotherTenant(t *testing.T) {
	t.Parallel()
	f := setup(t)
	acme, bolt := f.filled(t, "acme-others", "willow"), f.filled(t, "bolt-others", "poplar")
	f.sleep(t, "acme-others")
	f.sleep(t, "bolt-others")
	path := func(name string) string { return f.archives(t, name)[0] }
	read := func(name string) []byte {
		content, err := os.ReadFile(path(name))
		must(t, err)
		return content
	}
	own, other := read("acme-others"), read("bolt-others")
	if strings.Contains(string(own), "willow") {
		t.Error("an archive can be read")
	}
	altered := append([]byte{}, own...)
	altered[len(altered)/2] ^= 1
	for what, content := range map[string][]byte{"another tenant's": other, "altered": altered, "cut off": own[:len(own)-9], "empty": {}} {
		must(t, os.WriteFile(path("acme-others"), content, 0o600))
		_, err := f.Operator().WakeTenant(t.Context(), &ragdv1.WakeTenantRequest{TenantId: "acme-others"})
		servicetest.WantCode(t, what+" archive", err, connect.CodeFailedPrecondition)
		if state := f.state(t, "acme-others"); state != "asleep" || len(f.left(t, "acme-others")) > 0 {
			t.Errorf("with an archive that is %s it is %s, and the database has %v", what, state, f.left(t, "acme-others"))
		}
		_, err = acme.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		servicetest.WantCode(t, "a call then", err, connect.CodeUnavailable)
		if strings.Contains(err.Error(), ".ragd") {
			t.Errorf("a tenant reads %v", err)
		}
	}
	// Not even with the key of the other's archive in its row.
	must(t, os.WriteFile(path("acme-others"), other, 0o600))
	_, err := f.Pool.Exec(t.Context(), `UPDATE ragd.sleeps AS a SET sealed_key = b.sealed_key FROM ragd.sleeps AS b WHERE a.tenant_id = 'acme-others' AND b.tenant_id = 'bolt-others'`)
	must(t, err)
	_, err = f.Operator().WakeTenant(t.Context(), &ragdv1.WakeTenantRequest{TenantId: "acme-others"})
	servicetest.WantCode(t, "another tenant's archive and key", err, connect.CodeFailedPrecondition)
	must(t, os.Remove(path("acme-others")))
	_, err = f.Operator().WakeTenant(t.Context(), &ragdv1.WakeTenantRequest{TenantId: "acme-others"})
	servicetest.WantCode(t, "a missing archive", err, connect.CodeFailedPrecondition)
	if uri, _ := find(t, bolt, "poplar of a.md"); uri == "" {
		t.Error("the other tenant does not find its own")
	}
	if state := f.state(t, "acme-others"); state != "asleep" {
		t.Errorf("it is %s", state)
	}
}

func TestUnusedTenantsFallAsleep(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for name, settings := range map[string]map[string]any{"usual-unused": nil, "soon-unused": {"sleepAfter": "20m"}, "never-unused": {"sleepAfter": "never"}, "busy-unused": nil} {
		_, err := f.Operator().CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: name, Settings: servicetest.Object(t, settings)})
		must(t, err)
	}
	_, err := f.Operator().CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: "wrong", Settings: servicetest.Object(t, map[string]any{"sleepAfter": "1s"})})
	servicetest.WantCode(t, "a wrong sleepAfter", err, connect.CodeInvalidArgument)
	_, err = f.Pool.Exec(t.Context(), `INSERT INTO ragd.backlog (tenant_id, job_id, index_id, document_id, version, bytes, due_at) VALUES ('busy-unused', gen_random_uuid(), 1, gen_random_uuid(), 1, 1, 'infinity')`)
	must(t, err)
	s := f.sleeps(t, func(c *sleep.Config) { c.After = 24 * time.Hour })
	states := func() map[string]string {
		all := map[string]string{}
		for _, name := range []string{"usual-unused", "soon-unused", "never-unused", "busy-unused"} {
			all[name] = f.state(t, name)
		}
		return all
	}
	now := time.Now()
	must(t, s.SleepUnused(t.Context(), now.Add(19*time.Minute)))
	want := map[string]string{"usual-unused": "active", "soon-unused": "active", "never-unused": "active", "busy-unused": "active"}
	if diff := cmp.Diff(want, states()); diff != "" {
		t.Error(diff)
	}
	must(t, s.SleepUnused(t.Context(), now.Add(23*time.Hour)))
	want["soon-unused"] = "asleep"
	if diff := cmp.Diff(want, states()); diff != "" {
		t.Error(diff)
	}
	must(t, s.SleepUnused(t.Context(), now.Add(25*time.Hour)))
	want["usual-unused"] = "asleep"
	if diff := cmp.Diff(want, states()); diff != "" {
		t.Error(diff)
	}
	_, err = f.Operator().SleepTenant(t.Context(), &ragdv1.SleepTenantRequest{TenantId: "busy-unused"})
	servicetest.WantCode(t, "a tenant with documents that wait", err, connect.CodeFailedPrecondition)
	_, err = f.Operator().SleepTenant(t.Context(), &ragdv1.SleepTenantRequest{TenantId: "nobody"})
	servicetest.WantCode(t, "no tenant", err, connect.CodeNotFound)
}
