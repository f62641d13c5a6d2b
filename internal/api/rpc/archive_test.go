package rpc_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/archive"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

// exportTenant returns the archive of a tenant, and the heads of frames that it knows.
func exportTenant(t *testing.T, c servicetest.Client, req *ragdv1.ExportTenantRequest) (data []byte, known [][]byte) {
	t.Helper()
	stream, err := c.ExportTenant(t.Context(), req)
	noError(t, err)
	for stream.Receive() {
		data = append(data, stream.Msg().GetData()...)
		if head := stream.Msg().GetKnownFrame(); head != nil {
			known = append(known, head)
		}
	}
	noError(t, stream.Err())
	noError(t, stream.Close())
	return data, known
}

// importTenant imports an archive, or the rest of one.
func importTenant(t *testing.T, c servicetest.Client, options *ragdv1.ImportOptions, data []byte) (*ragdv1.ImportTenantResponse, error) {
	t.Helper()
	stream, err := c.ImportTenant(t.Context())
	noError(t, err)
	_ = stream.Send(&ragdv1.ImportTenantRequest{Part: &ragdv1.ImportTenantRequest_Options{Options: options}}) // CloseAndReceive tells
	for piece := range slices.Chunk(data, 100_000) {
		if stream.Send(&ragdv1.ImportTenantRequest{Part: &ragdv1.ImportTenantRequest_Data{Data: piece}}) != nil {
			break
		}
	}
	return stream.CloseAndReceive()
}

// fullTenant makes a tenant with something of everything.
func fullTenant(t *testing.T, s *servicetest.Service, name, word string) (target, string) {
	t.Helper()
	to, secret := world(t, s, name, word)
	store := compatible(t, s, secret, "/v1/vector_stores", "application/json", strings.NewReader(`{"name": "`+word+`"}`))
	file := uploadFile(t, s, secret, word)
	compatible(t, s, secret, "/v1/vector_stores/"+store+"/file_batches", "application/json", strings.NewReader(`{"file_ids": ["`+file+`"]}`))
	followPage(t, s.Client(secret), word)
	wait.For(t, "the topics that the first call has found", func() bool {
		return len(s.Client(secret).Topics(t, to["index_name"]).Topics) > 0
	})
	return to, secret
}

// archiveService is a service in which worlds can be made.
func archiveService(t *testing.T) *servicetest.Service {
	t.Helper()
	ai := modelserver.New(t)
	return servicetest.New(t, service.Config{
		AllowedPrivateNetworks: thisMachine, MasterKeys: masterKeys(t, "1"), Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
}

// changedColumns are the columns that an import under another name changes.
var changedColumns = []string{
	"tenant_id", "paused", "paused_reason", "enabled", "disabled_reason", "value", "secret", "previous_secret", "access", "delegation", "updated_at",
	"build_job_id", "graph_job_id", "topics_job_id", "index_job_id",
}

// tenantRows returns the rows of a tenant by table, as JSON without columns, in one order.
func tenantRows(t *testing.T, s *servicetest.Service, name string, without []string) map[string][]string {
	t.Helper()
	s.RowSums(t, name) // waits until nothing changes
	rows, err := s.Pool.Query(t.Context(), `
		SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND (n.nspname = 'tenant_' || $1 OR n.nspname = 'ragd_shared' AND EXISTS (
			SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id'))`, name)
	noError(t, err)
	type relation struct{ Schema, Table string }
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[relation])
	noError(t, err)
	found := map[string][]string{}
	for _, r := range all {
		where, args := "", []any{without}
		if r.Schema == "ragd_shared" {
			where, args = " WHERE tenant_id = $2", append(args, name)
		}
		rows, err := s.Pool.Query(t.Context(), `SELECT (to_jsonb(r) - $1::text[])::text FROM `+pgx.Identifier{r.Schema, r.Table}.Sanitize()+` AS r`+where+` ORDER BY 1`, args...)
		noError(t, err)
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		noError(t, err)
		found[r.Table] = texts
	}
	return found
}

// A tenant with something of everything is exported, and imported under another name. All rows are the same but for what
// an import changes, and all calls that read, and searches, have the same answers.
func TestATenantIsTheSameAfterExportAndImport(t *testing.T) {
	t.Parallel()
	s := archiveService(t)
	const name, copied = "harker", "harker-restored"
	to, secret := fullTenant(t, s, name, "apricot")
	before := tenantRows(t, s, name, changedColumns)
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: name})
	for what, text := range map[string]string{"a secret": "secret-of-apricot", "the key of an endpoint": "key-of-apricot", "an API key": secret} {
		if bytes.Contains(contents(t, data), []byte(text)) {
			t.Errorf("the archive has %s as text", what)
		}
	}
	done, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: copied}, data)
	noError(t, err)
	if done.Tenant.TenantId != copied || done.ArchivedTenantId != name || len(done.LostSecrets) > 0 {
		t.Errorf("imported %v", done)
	}
	for _, left := range done.LeftOut {
		if left.Kind != "api keys" && left.Kind != "usage" || left.Reason == "" {
			t.Errorf("left out %v", left)
		}
	}
	after := tenantRows(t, s, copied, changedColumns)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("rows before and after (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, tenantRows(t, s, name, changedColumns)); diff != "" {
		t.Errorf("the exported tenant has changed (-before +after):\n%s", diff)
	}
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: copied, Scopes: []string{"admin"}})
	compareReads(t, s, to, secret, key, name, copied)

	// Nothing is done twice, and rights are those of the new tenant.
	hooks, err := s.Client(key).ListHooks(t.Context(), &ragdv1.ListHooksRequest{})
	noError(t, err)
	connectors, err := s.Client(key).ListConnectors(t.Context(), &ragdv1.ListConnectorsRequest{})
	noError(t, err)
	for _, h := range hooks.Hooks {
		if h.Enabled {
			t.Errorf("the hook %s is enabled", h.HookName)
		}
	}
	for _, c := range connectors.Connectors {
		if !c.Paused {
			t.Errorf("the connector %s runs", c.ConnectorName)
		}
	}
	for _, column := range []string{"workflow_runs.access", "connectors.access", "evaluations.delegation"} {
		table, column, _ := strings.Cut(column, ".")
		var wrong int
		noError(t, s.Pool.QueryRow(t.Context(), fmt.Sprintf(`SELECT count(*) FROM ragd_shared.%s WHERE tenant_id = $1 AND %s::jsonb ->> 'tenant' <> $1`, table, column), copied).Scan(&wrong))
		if wrong > 0 {
			t.Errorf("%d rows of %s act for another tenant", wrong, table)
		}
	}
	// The secret opens: a tool that sends it would not find it else.
	if _, err := s.Operator().ReencryptSecrets(t.Context(), &ragdv1.ReencryptSecretsRequest{}); err != nil {
		t.Fatal(err)
	}
	// The copy is a tenant like any other.
	c := s.Client(key)
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "new.txt", Source: servicetest.Text("A new harbour.")})
	made, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "later", Dimension: 3})
	noError(t, err)
	if made.IndexName != "later" {
		t.Errorf("made %v", made)
	}
}

// contents returns the content of all frames of an archive.
func contents(t *testing.T, data []byte) (all []byte) {
	t.Helper()
	for _, f := range framesOf(t, data) {
		all = append(all, f.Content...)
	}
	return all
}

// framesOf returns the frames of an archive.
func framesOf(t *testing.T, data []byte) (all []frame.Frame) {
	t.Helper()
	for r := frame.NewReader(bytes.NewReader(data)); ; {
		f, err := r.Next()
		if err != nil && len(all) > 0 && all[len(all)-1].Kind == frame.End {
			return all
		}
		noError(t, err)
		f.Content, f.Raw = slices.Clone(f.Content), slices.Clone(f.Raw)
		all = append(all, f)
	}
}

// otherAnswers are methods that answer differently for a tenant that was imported under another name.
var otherAnswers = []string{
	"ListApiKeys", "WhoAmI", "ListHooks", "GetHook", "ListConnectors", "GetConnector", "GetUsage", "ListUsage", "QueryUsage", "GetAgentThread", "GetQuotas", "ListAuditEntries",
	"GetTenant", "ListTenants", "GetImport", "GetServerRegistryDocument", "WatchEvents",
	"ListThreads", "GetThread", // of the caller's key
}

// stamps match what differs between two calls or two keys.
var stamps = regexp.MustCompile(`"(nextPageToken|updateTime|durationMs|pageToken)":("[^"]*"|[0-9.e-]+),?|"queryId":"[^"]*",?`)

// compareReads compares the answers of all methods that read, and of searches, of two tenants with the same ids.
func compareReads(t *testing.T, s *servicetest.Service, to target, secret, copiedSecret, name, copied string) {
	t.Helper()
	compared := 0
	for _, m := range methods(t) {
		method := string(m.Name())
		search := method == "VectorQuery" || method == "GraphRag"
		if !reads.MatchString(method) && !strings.HasPrefix(method, "Describe") && !search || slices.Contains(otherAnswers, method) {
			continue
		}
		path, streams := "/"+string(m.Parent().FullName())+"/"+method, m.IsStreamingClient() || m.IsStreamingServer()
		message := to.fields(m.Input(), 1)
		if message["documentId"] != nil || message["documentIds"] != nil {
			delete(message, "uri")
			delete(message, "uris")
		}
		delete(message, "tenantId")
		if method == "ListMemories" { // the keys are not the same ones, and each has its own
			delete(message, "subject")
			message["allSubjects"] = true
		}
		variants := []map[string]any{message}
		if search {
			variants = nil
			for _, mode := range []string{"vector", "keyword", "hybrid"} {
				v := map[string]any{"indexName": "docs", "queryText": "Which harbour has trees?", "includeVectors": true}
				if method == "VectorQuery" {
					v["searchMode"] = mode
				}
				variants = append(variants, v)
			}
		}
		for _, message := range variants {
			status, answer := call(t, s, secret, path, streams, message)
			copiedStatus, copiedAnswer := call(t, s, copiedSecret, path, streams, message)
			answer, copiedAnswer = stamps.ReplaceAllString(answer, ""), strings.ReplaceAll(stamps.ReplaceAllString(copiedAnswer, ""), copied, name)
			if status != copiedStatus || answer != copiedAnswer {
				t.Errorf("%s answers %d\n%s\nand the imported tenant %d\n%s", method, status, answer, copiedStatus, copiedAnswer)
			}
			if status == http.StatusOK {
				compared++
			}
		}
	}
	if compared < 30 {
		t.Errorf("only %d answers were compared", compared)
	}
}

// A tenant is deleted and imported under its name: its keys work again, its usage is there, and its hooks and connectors
// are as they were.
func TestATenantIsRestoredInPlace(t *testing.T) {
	t.Parallel()
	s := archiveService(t)
	const name = "murray"
	_, secret := fullTenant(t, s, name, "apricot")
	keys := func() []*ragdv1.ApiKey {
		listed, err := s.Operator().ListApiKeys(t.Context(), &ragdv1.ListApiKeysRequest{TenantId: name})
		noError(t, err)
		for _, k := range listed.ApiKeys {
			k.LastUseTime, k.FirstUseTime = nil, nil
		}
		return listed.ApiKeys
	}
	noError(t, func() error {
		_, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: name, DisplayName: new("Mina"), Settings: servicetest.Object(t, map[string]any{"plan": "large", "maxIndexes": 7})})
		return err
	}())
	without := []string{"value", "secret", "previous_secret", "updated_at", "access", "delegation", "next_run_at"}
	before, had := tenantRows(t, s, name, without), keys()
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: name})
	_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{}, data)
	servicetest.WantCode(t, "an import of a tenant that exists", err, connect.CodeAlreadyExists)
	_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: name})
	noError(t, err)
	done, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{}, data)
	noError(t, err)
	if len(done.LeftOut) > 0 || done.Tenant.DisplayName != "Mina" || done.Tenant.Settings.AsMap()["plan"] != "large" {
		t.Errorf("imported %v", done)
	}
	if diff := cmp.Diff(before, tenantRows(t, s, name, without)); diff != "" {
		t.Errorf("rows before and after (-before +after):\n%s", diff)
	}
	if now := keys(); fmt.Sprint(now) != fmt.Sprint(had) {
		t.Errorf("the keys are %v, were %v", now, had)
	}
	found, err := s.Client(secret).VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour"})
	if err != nil || len(found.Sources) == 0 {
		t.Errorf("the old key finds %v, %v", found, err)
	}
	var calls int
	noError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.usage WHERE tenant_id = $1`, name).Scan(&calls))
	if calls == 0 {
		t.Error("the usage is gone")
	}

	// Keys can be left out, and their ids are never given to two tenants.
	withoutKeys, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: name, WithoutKeys: true})
	if bytes.Contains(contents(t, withoutKeys), []byte("api_keys")) {
		t.Error("an archive without keys has some")
	}
}

// Calls need the scope operator.
func TestOnlyOperatorsExportAndImport(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	s.Tenant(t, "bolt")
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	for _, of := range []string{"acme", "bolt", "nobody"} {
		stream, err := acme.ExportTenant(t.Context(), &ragdv1.ExportTenantRequest{TenantId: of})
		noError(t, err)
		if stream.Receive() {
			t.Errorf("an admin exports %s", of)
		}
		servicetest.WantCode(t, "ExportTenant", stream.Err(), connect.CodePermissionDenied)
		_, err = importTenant(t, acme, &ragdv1.ImportOptions{TenantId: of}, data)
		servicetest.WantCode(t, "ImportTenant", err, connect.CodePermissionDenied)
		_, err = importTenant(t, acme, &ragdv1.ImportOptions{TenantId: of, Resume: true}, data)
		servicetest.WantCode(t, "ImportTenant", err, connect.CodePermissionDenied)
		_, err = acme.GetImport(t.Context(), &ragdv1.GetImportRequest{TenantId: of})
		servicetest.WantCode(t, "GetImport", err, connect.CodePermissionDenied)
	}
	_, err := s.Operator().GetImport(t.Context(), &ragdv1.GetImportRequest{TenantId: "acme"})
	servicetest.WantCode(t, "an import that has ended", err, connect.CodeNotFound)
}

func TestExportsAndImportsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "copy"}, data)
	noError(t, err)
	_, err = importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "copy"}, data)
	servicetest.WantCode(t, "a second import", err, connect.CodeAlreadyExists)
	listed, err := s.Operator().ListAuditEntries(t.Context(), &ragdv1.ListAuditEntriesRequest{})
	noError(t, err)
	var got []string
	for _, e := range listed.Entries {
		if strings.Contains(e.Method, "ArchiveService") {
			got = append(got, fmt.Sprint(e.Method, " of ", e.TenantId, ": ", e.Outcome, " ", e.Object["tenantId"], e.Result["archivedTenantId"]))
		}
	}
	want := []string{
		"ragd.v1.ArchiveService/ImportTenant of copy: exists copy", "ragd.v1.ArchiveService/ImportTenant of copy: ok copyacme",
		"ragd.v1.ArchiveService/ExportTenant of acme: ok acme",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the log has (-want +got):\n%s", diff)
	}
}

// An import that is cut off after any frame goes on there; until its end nobody sees the tenant, and the result is the same.
func TestAnImportGoesOnAfterEveryFrame(t *testing.T) {
	t.Parallel()
	s := archiveService(t)
	const name, copied = "seward", "seward-restored"
	fullTenant(t, s, name, "apricot")
	before := tenantRows(t, s, name, changedColumns)
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: name})
	frames := framesOf(t, data)
	operator := s.Operator()
	options := &ragdv1.ImportOptions{TenantId: copied}
	next := 0
	for sent := 1; next < len(frames)-1; sent++ {
		var part []byte
		if next == 0 {
			part = frame.Preamble()
		}
		end := min(next+1+sent%3, len(frames)-1)
		for _, f := range frames[next:end] {
			part = append(part, f.Raw...)
		}
		part = append(part, frames[end].Raw[:len(frames[end].Raw)/2]...) // half a frame
		_, err := importTenant(t, operator, options, part)
		servicetest.WantCode(t, "a part of an archive", err, connect.CodeInvalidArgument)
		at, err := operator.GetImport(t.Context(), &ragdv1.GetImportRequest{TenantId: copied})
		noError(t, err)
		if int(at.Frames) != end || at.ArchivedTenantId != name {
			t.Fatalf("%v frames are stored of %d", at, end)
		}
		_, err = operator.GetTenant(t.Context(), &ragdv1.GetTenantRequest{TenantId: copied})
		servicetest.WantCode(t, "a tenant that is being imported", err, connect.CodeNotFound)
		_, err = operator.CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{TenantId: copied})
		servicetest.WantCode(t, "a key of it", err, connect.CodeNotFound)
		_, err = operator.CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: copied})
		servicetest.WantCode(t, "a tenant of its name", err, connect.CodeAlreadyExists)
		next, options.Resume = end, true
	}
	// What is not the continuation is refused.
	_, err := importTenant(t, operator, options, frames[next-1].Raw)
	servicetest.WantCode(t, "a frame that is stored", err, connect.CodeInvalidArgument)
	_, err = importTenant(t, operator, &ragdv1.ImportOptions{TenantId: copied}, data)
	servicetest.WantCode(t, "another import", err, connect.CodeAlreadyExists)
	done, err := importTenant(t, operator, options, frames[next].Raw)
	noError(t, err)
	if done.ArchivedTenantId != name {
		t.Errorf("imported %v", done)
	}
	if diff := cmp.Diff(before, tenantRows(t, s, copied, changedColumns)); diff != "" {
		t.Errorf("rows before and after (-before +after):\n%s", diff)
	}

	// An import that is given up leaves nothing.
	given := &ragdv1.ImportOptions{TenantId: "seward-given-up"}
	_, err = importTenant(t, operator, given, data[:len(data)/2])
	servicetest.WantCode(t, "half an archive", err, connect.CodeInvalidArgument)
	_, err = operator.DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: given.TenantId})
	noError(t, err)
	_, err = operator.GetImport(t.Context(), &ragdv1.GetImportRequest{TenantId: given.TenantId})
	servicetest.WantCode(t, "an import that was given up", err, connect.CodeNotFound)
	_, err = importTenant(t, operator, given, data)
	noError(t, err)
}

// An import goes to the database that it names, and goes on there alone.
func TestAnImportIsPlaced(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{MasterKeys: servicetest.Keys(t)})
	s.Register(t, "east", pgtest.URL(t))
	operator := s.Operator()
	c := s.TenantIn(t, "main", "acme")
	c.Index(t, "docs")
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "harbour", Source: servicetest.Text("The harbour has trees.")})
	data, _ := exportTenant(t, operator, &ragdv1.ExportTenantRequest{TenantId: "acme"})

	options := &ragdv1.ImportOptions{TenantId: "acme-restored", Database: "west"}
	_, err := importTenant(t, operator, options, data)
	servicetest.WantCode(t, "a database that is not registered", err, connect.CodeNotFound)
	options.Database = "east"
	_, err = importTenant(t, operator, options, data[:len(data)/2])
	servicetest.WantCode(t, "half an archive", err, connect.CodeInvalidArgument)
	frames := framesOf(t, data)
	at, err := operator.GetImport(t.Context(), &ragdv1.GetImportRequest{TenantId: options.TenantId})
	noError(t, err)
	var rest []byte
	for _, f := range frames[int(at.Frames):] {
		rest = append(rest, f.Raw...)
	}
	options.Resume, options.Database = true, "main"
	_, err = importTenant(t, operator, options, rest)
	servicetest.WantCode(t, "another database", err, connect.CodeFailedPrecondition)
	if err == nil || !strings.Contains(err.Error(), `"east"`) {
		t.Errorf("the error does not say where the import is: %v", err)
	}
	options.Database = "east"
	done, err := importTenant(t, operator, options, rest)
	noError(t, err)
	if done.Tenant.Database != "east" {
		t.Errorf("imported %v", done.Tenant)
	}
	restored := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: options.TenantId}))
	found, err := restored.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "trees"})
	noError(t, err)
	if len(found.Sources) != 1 {
		t.Errorf("found %v", found)
	}
	options = &ragdv1.ImportOptions{TenantId: "acme-main", Database: "main"}
	done, err = importTenant(t, operator, options, data)
	noError(t, err)
	if done.Tenant.Database != "main" {
		t.Errorf("imported %v", done.Tenant)
	}
}

// A second export says which frames the caller has, and gets the heads of these.
func TestAnExportLeavesOutKnownFrames(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour has trees.")})
	s.RowSums(t, "acme")
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	var sums []byte
	rows := 0
	for _, f := range framesOf(t, data) {
		if sums = append(sums, f.Sum[:]...); f.Kind == frame.Rows {
			rows++
		}
	}
	again, known := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme", KnownFrames: sums})
	if len(known) < rows-2 || len(again) >= len(data) { // a key's time of use may have changed
		t.Errorf("%d of %d frames are known, %d of %d bytes sent", len(known), rows, len(again), len(data))
	}
	stream, err := s.Operator().ExportTenant(t.Context(), &ragdv1.ExportTenantRequest{TenantId: "acme", KnownFrames: sums[1:]})
	noError(t, err)
	stream.Receive()
	servicetest.WantCode(t, "half a checksum", stream.Err(), connect.CodeInvalidArgument)
}

// rebuild returns an archive with frames that edit changed or left out, with right checksums: what somebody could
// forge.
func rebuild(t *testing.T, data []byte, edit func(f frame.Frame) [][]byte) []byte {
	t.Helper()
	out, codec, at := frame.Preamble(), frame.NewCodec(), frame.Position{}
	for _, f := range framesOf(t, data) {
		for _, content := range edit(f) {
			head, next := at.Next(f.Kind, len(content), sha256.Sum256(content))
			out, at = codec.Append(out, head, content), next
		}
	}
	return out
}

// What somebody forges is refused, or has no effect outside of the imported tenant.
func TestForgedArchivesAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour has trees.")})
	s.Tenant(t, "bolt").Index(t, "docs")
	before := s.RowSums(t, "bolt")
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	replace := func(kind frame.Kind, pairs ...string) func(frame.Frame) [][]byte {
		return func(f frame.Frame) [][]byte {
			if f.Kind != kind {
				return [][]byte{f.Content}
			}
			text := string(f.Content)
			for i := 0; i < len(pairs); i += 2 {
				text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
			}
			return [][]byte{[]byte(text)}
		}
	}
	var header archive.Header
	noError(t, json.Unmarshal(framesOf(t, data)[0].Content, &header))
	for what, test := range map[string]struct {
		edit func(frame.Frame) [][]byte
		says string
	}{
		"a table that is not archived": {replace(frame.Section, `"tenant/jobs"`, `"tenant/schema_migrations"`), "does not know"},
		"a table of another schema":    {replace(frame.Section, `"tenant/jobs"`, `"control/audit_log"`), "does not know"},
		"SQL in the name of a table":   {replace(frame.Section, `"tenant/jobs"`, `"tenant/jobs; DROP TABLE x"`), "does not know"},
		"the column tenant_id":         {replace(frame.Section, `"name":"tool_name"`, `"name":"tenant_id"`), `the column "tenant_id"`},
		"SQL in the name of a column":  {replace(frame.Section, `"name":"kind","type":"text"`, `"name":"kind) SELECT 1; --","type":"text"`), "does not know"},
		"another type of a column":     {replace(frame.Section, `"name":"uri","type":"text"`, `"name":"uri","type":"uuid"`), "has the type"},
		"a column twice":               {replace(frame.Section, `"name":"title","type":"text"`, `"name":"uri","type":"text"`), "twice"},
		"SQL in a language":            {replace(frame.Rows, "\x00\x00\x00\x04auto", "\x00\x00\x00\x04a');"), "textLanguage"},
		"an unknown type of vectors":   {replace(frame.Rows, "\x00\x00\x00\x06vector\x00", "\x00\x00\x00\x06regcls\x00"), "type"},
		"an operator's key":            {replace(frame.Rows, "\x00\x00\x00\x05admin", "\x00\x00\x00\x08operator"), ""},
		"a newer version":              {replace(frame.Header, fmt.Sprintf(`"tenant":%d`, header.Schemas.Tenant), `"tenant":9999`, header.Ragd, "9.9.9"), "newer"},
		"no name":                      {replace(frame.Header, `"tenantId":"acme"`, `"tenantId":"../x"`), "of which tenant"},
		"other numbers of rows":        {replace(frame.End, `"tenant/documents":1`, `"tenant/documents":2`), "other rows"},
		"rows before a section":        {func(f frame.Frame) [][]byte { return dropFirstSection(f) }, "before it says"},
		"rows that are no rows":        {replace(frame.Rows, "\x00\x03", "\xff\xff\xff"), ""},
		"a section twice": {func(f frame.Frame) [][]byte {
			if f.Kind == frame.Section && bytes.Contains(f.Content, []byte("tenant/jobs")) {
				return [][]byte{f.Content, f.Content}
			}
			return [][]byte{f.Content}
		}, "twice"},
		"sections in another order": {replace(frame.Section, `"tenant/documents"`, `"tenant/jobs"`, `"tenant/jobs"`, `"tenant/documents"`), ""},
	} {
		_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "forged"}, rebuild(t, data, test.edit))
		if err == nil || connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", what, err)
		}
		_, err = s.Operator().GetTenant(t.Context(), &ragdv1.GetTenantRequest{TenantId: "forged"})
		servicetest.WantCode(t, what+": the tenant", err, connect.CodeNotFound)
		_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "forged"})
		if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
			t.Fatal(err)
		}
	}
	if after := s.RowSums(t, "bolt"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("another tenant has changed")
	}
}

// dropFirstSection leaves out the first section.
func dropFirstSection(f frame.Frame) [][]byte {
	if f.Kind == frame.Section && bytes.Contains(f.Content, []byte("control/tenants")) {
		return nil
	}
	return [][]byte{f.Content}
}

// Damage is found where it is, whatever it is.
func TestDamagedArchivesAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme").Index(t, "docs")
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	changed := slices.Clone(data)
	changed[len(changed)/2] ^= 1
	for what, test := range map[string]struct {
		data []byte
		says string
	}{
		"a changed byte": {changed, "damaged at frame"},
		"a cut":          {data[:len(data)-1], "ends before"},
		"more":           {append(slices.Clone(data), 'x'), "follows the last frame"},
		"no archive":     {[]byte("PK\x03\x04 this is something else"), "no archive"},
		"nothing":        {nil, "no archive"},
		"a newer format": {append([]byte("ragd archive 2\n"), data[15:]...), "newer ragd"},
	} {
		_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "damaged"}, test.data)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", what, err)
		}
		_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "damaged"})
		if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
			t.Fatal(err)
		}
	}
}

// Documents that wait for ingest at the export are ingested after the import; a job that ran has ended.
func TestWaitingDocumentsAreIngestedAfterAnImport(t *testing.T) {
	t.Parallel()
	idle := servicetest.New(t, service.Config{NoWorkers: true})
	c := idle.Tenant(t, "acme")
	c.Index(t, "docs")
	for i := range 5 {
		_, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint(i), Source: servicetest.Text("The harbour has trees.")})
		noError(t, err)
	}
	data, _ := exportTenant(t, idle.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})

	s := servicetest.New(t, service.Config{}) // another service
	_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{}, data)
	noError(t, err)
	imported := s.Client(c.Secret)
	wait.For(t, "all five documents to be ready, and their jobs to end", func() bool {
		described, err := imported.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
		noError(t, err)
		jobs, err := imported.ListJobs(t.Context(), &ragdv1.ListJobsRequest{Status: "succeeded"})
		noError(t, err)
		return described.DocumentCount == 5 && described.PendingDocumentCount == 0 && len(jobs.Jobs) == 5
	})
}

// While a tenant is imported and exported again and again, another tenant's questions and uploads go on, with
// right answers.
func TestOtherTenantsGoOnDuringAnImport(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
	}
	for i := range 20 {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint(i), Source: servicetest.Text(fmt.Sprintf("The acme harbour %d has trees.", i))})
	}
	bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "first", Source: servicetest.Text("The bolt quarry has stones.")})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint(n), Source: servicetest.Text(fmt.Sprintf("The bolt quarry %d has stones.", n))})
			found, err := bolt.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour with trees", SearchMode: "hybrid"})
			if err != nil || len(found.Sources) == 0 {
				t.Errorf("bolt finds %v, %v", found, err)
			}
			for _, source := range found.GetSources() {
				if !strings.Contains(source.Document, "bolt") {
					t.Errorf("bolt finds %s", source.Document)
				}
			}
		}
		done <- n
	}()
	for i := range 3 {
		data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
		_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: fmt.Sprint("acme-", i)}, data)
		noError(t, err)
	}
	cancel()
	if n := <-done; n == 0 {
		t.Error("bolt did nothing meanwhile")
	}
	for i := range 3 {
		c := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: fmt.Sprint("acme-", i)}))
		described, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
		if err != nil || described.DocumentCount != 20 {
			t.Errorf("the copy has %v, %v", described, err)
		}
	}
}

// What is sealed with a master key that the service does not have is listed, and the rest is imported.
func TestSecretsOfAnotherMasterKeyAreListed(t *testing.T) {
	t.Parallel()
	first := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "1")})
	c := first.Tenant(t, "acme")
	_, err := c.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: "crm", Value: "s3cret-of-acme"})
	noError(t, err)
	data, _ := exportTenant(t, first.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	other := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "2")})
	done, err := importTenant(t, other.Operator(), &ragdv1.ImportOptions{}, data)
	noError(t, err)
	if !slices.Equal(done.LostSecrets, []string{"secrets/crm"}) {
		t.Errorf("lost %v", done.LostSecrets)
	}
	both := servicetest.New(t, service.Config{NoWorkers: true, MasterKeys: masterKeys(t, "2", "1")})
	done, err = importTenant(t, both.Operator(), &ragdv1.ImportOptions{TenantId: "moved"}, data)
	noError(t, err)
	if len(done.LostSecrets) > 0 {
		t.Errorf("lost %v", done.LostSecrets)
	}
	reencrypted, err := both.Operator().ReencryptSecrets(t.Context(), &ragdv1.ReencryptSecretsRequest{})
	if err != nil || reencrypted.Reencrypted > 0 || len(reencrypted.Lost) > 0 {
		t.Errorf("the secrets are not sealed for the tenant with the first key: %v, %v", reencrypted, err)
	}
}

// An index with common terms and a Postgres index over its embeddings has both after an import, and the same results before
// and after that is built.
func TestALargeIndexIsBuiltAfterAnImport(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "vectors", Dimension: 8, MetadataIndexes: []string{"n"}})
	noError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	// All at once: with several writes a slow machine takes a pause for the end of the load, and counts what there is.
	entries := make([]*ragdv1.Entry, 2500)
	for n := range entries {
		values := make([]float32, 8)
		for d := range values {
			values[d] = random.Float32()
		}
		entries[n] = &ragdv1.Entry{Id: fmt.Sprint("v", n), Values: values, Document: fmt.Sprintf("Harbour %d has trees and %d stones.", n, n%7), Metadata: servicetest.Object(t, map[string]any{"n": n % 10})}
	}
	_, err = c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "vectors", Entries: entries})
	noError(t, err)
	// Statistics of terms and of scores rest: they are of all 2,500 chunks.
	built := func(tenant string) {
		t.Helper()
		wait.For(t, "the index of "+tenant+" to be built", func() (done bool) {
			noError(t, s.Pool.QueryRow(t.Context(), `SELECT built AND build_job_id IS NULL AND search_width > 0 AND counted_chunks > 2400 AND coalesce((scale->>'chunks')::bigint, 0) > 2400 FROM `+pgx.Identifier{"tenant_" + tenant, "indexes"}.Sanitize()).Scan(&done))
			return done
		})
	}
	built("acme")
	search := func(c servicetest.Client, mode string) string {
		t.Helper()
		ask := &ragdv1.VectorQueryRequest{IndexName: "vectors", SearchMode: mode, QueryText: "stones of harbour 1234", QueryVector: []float32{5, 4, 3, 2, 1, 7, 8, 9}, TopK: new(int32(5))}
		found, err := c.VectorQuery(t.Context(), ask)
		noError(t, err)
		var all []string
		for _, source := range found.Sources {
			all = append(all, fmt.Sprint(source.Id, " ", source.Score))
		}
		return strings.Join(all, "\n")
	}
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	_, err = importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "copy"}, data)
	noError(t, err)
	copied := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "copy"}))
	for _, when := range []string{"at once", "after the build"} {
		for _, mode := range []string{"keyword", "vector", "hybrid"} {
			if diff := cmp.Diff(search(c, mode), search(copied, mode)); diff != "" {
				t.Errorf("%s %s (-original +imported):\n%s", mode, when, diff)
			}
		}
		built("copy")
	}
	names := func(tenant string) []string {
		rows, err := s.Pool.Query(t.Context(), `
			SELECT regexp_replace(indexdef, 'tenant_[a-z]+|"tenant_[a-z]+"', '') FROM pg_indexes WHERE schemaname = 'tenant_' || $1
			UNION ALL SELECT c.relname || ' ' || t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
				WHERE n.nspname = 'tenant_' || $1 AND NOT t.tgisinternal ORDER BY 1`, tenant)
		noError(t, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		noError(t, err)
		return found
	}
	if diff := cmp.Diff(names("acme"), names("copy")); diff != "" {
		t.Errorf("Postgres indexes and triggers (-first +imported):\n%s", diff)
	}
}

// While a tenant writes, exports are of one moment: each document has its chunks, and the counts are right. What empties an index
// during an export makes it fail, and never an archive that lacks chunks.
func TestAnExportIsOfOneMoment(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint(n % 7), Source: servicetest.Text(fmt.Sprintf("The harbour %d has trees.", n))})
			if n%5 == 4 {
				_, err := c.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "docs"})
				if err != nil {
					t.Error(err)
				}
			}
		}
	}()
	made := 0
	for attempt := 0; made < 3; attempt++ {
		if attempt == 200 {
			t.Fatalf("only %d exports of %d have succeeded", made, attempt)
		}
		stream, err := s.Operator().ExportTenant(t.Context(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
		noError(t, err)
		var data []byte
		for stream.Receive() {
			data = append(data, stream.Msg().GetData()...)
		}
		if err := stream.Err(); err != nil {
			servicetest.WantCode(t, "an export during a truncation", err, connect.CodeAborted)
			continue
		}
		name := fmt.Sprint("moment-", made)
		_, err = importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: name}, data)
		noError(t, err)
		made++
		schema := pgx.Identifier{"tenant_" + name}.Sanitize()
		var wrong int
		noError(t, s.Pool.QueryRow(t.Context(), `
			SELECT count(*) FROM (SELECT d.document_id FROM `+schema+`.documents AS d LEFT JOIN `+schema+`.chunk_1 AS c USING (document_id)
				WHERE d.status = 'ready' GROUP BY d.document_id, d.chunk_count HAVING count(c.document_id) <> d.chunk_count) AS w`).Scan(&wrong))
		if wrong > 0 {
			t.Errorf("%d documents of the archive lack chunks", wrong)
		}
	}
	cancel()
	<-done
}
