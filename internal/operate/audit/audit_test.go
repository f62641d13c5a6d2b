package audit_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/audit"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func newService(t *testing.T) *servicetest.Service {
	t.Helper()
	return servicetest.New(t, service.Config{NoWorkers: true})
}

// entries returns what a client sees of the log.
func entries(t *testing.T, c servicetest.Client, req *ragdv1.ListAuditEntriesRequest) []*ragdv1.AuditEntry {
	t.Helper()
	list, err := c.ListAuditEntries(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return list.Entries
}

// lines returns what a client sees of the log as texts, oldest first.
func lines(t *testing.T, c servicetest.Client, req *ragdv1.ListAuditEntriesRequest) (all []string) {
	t.Helper()
	for _, e := range entries(t, c, req) {
		object, err := json.Marshal(e.Object)
		if err != nil {
			t.Fatal(err)
		}
		_, method, _ := strings.Cut(e.Method, "/")
		all = append(all, fmt.Sprintf("%s %s %s %s", e.TenantId, method, object, e.Outcome))
	}
	slices.Reverse(all)
	return all
}

func want(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What operators and admins do is recorded with its object and outcome, over every interface. A
// tenant sees what is about itself alone, and nothing of a deleted tenant of its name.
func TestActionsAreRecorded(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.Tenant(t, "acme")
	s.Tenant(t, "bolt")
	admin := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", DisplayName: "of Ada", Scopes: []string{"admin"}}))
	admin.Index(t, "docs")
	_, err := admin.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 7})
	servicetest.WantCode(t, "an index that exists", err, connect.CodeAlreadyExists)
	_, err = admin.SetSecret(t.Context(), &ragdv1.SetSecretRequest{SecretName: "CRM", Value: "hunter2"})
	servicetest.WantCode(t, "a secret without a master key", err, connect.CodeFailedPrecondition)
	writer := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"}))
	_, err = writer.CreateIssuer(t.Context(), &ragdv1.CreateIssuerRequest{IssuerName: "idp"})
	servicetest.WantCode(t, "a key without the scope", err, connect.CodePermissionDenied)
	_, err = writer.DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "bolt"})
	servicetest.WantCode(t, "a tenant that deletes another", err, connect.CodePermissionDenied)
	if _, err := admin.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"}); err != nil {
		t.Fatal(err)
	}
	post(t, s, admin, "/v1/vector_stores", `{"name": "papers"}`)
	deletes := &ragdv1.CallToolRequest{ToolName: "delete_documents", Arguments: servicetest.Object(t, map[string]any{"indexName": "docs", "uris": []any{"a"}})}
	if _, err := admin.CallTool(t.Context(), deletes); err != nil {
		t.Fatal(err)
	}
	created := s.KeyID(t, admin.Secret)
	all := lines(t, admin, &ragdv1.ListAuditEntriesRequest{})
	stores := slices.IndexFunc(all, func(l string) bool { return strings.Contains(l, "papers-") })
	if stores < 0 {
		t.Fatalf("no entry of a vector store: %q", all)
	}
	all = slices.Delete(all, stores, stores+1)
	want(t, "acme", all[len(all)-8:], []string{
		`acme CreateApiKey {"displayName":"of Ada","fields":"scopes","tenantId":"acme"} ok`,
		`acme CreateIndex {"indexName":"docs"} ok`,
		`acme CreateIndex {"fields":"dimension","indexName":"docs"} exists`,
		`acme SetSecret {"fields":"value","secretName":"CRM"} precondition`,
		`acme CreateApiKey {"tenantId":"acme"} ok`,
		`acme CreateIssuer {"issuerName":"idp"} denied`,
		`acme DeleteTenant {"tenantId":"bolt"} denied`,
		`acme DeleteDocuments {"fields":"uris","indexName":"docs"} ok`,
	})
	key := entries(t, s.Operator(), &ragdv1.ListAuditEntriesRequest{Method: "CreateApiKey"})[1]
	if key.Subject != "operator" || key.Result["apiKeyId"] != created || key.ClientAddress != "127.0.0.1" || key.RequestId == "" || key.Calls != 1 || key.EndTime == nil {
		t.Errorf("the entry of the key: %v", key)
	}
	if seen := entries(t, admin, &ragdv1.ListAuditEntriesRequest{Method: "CreateApiKey"})[0]; seen.ClientAddress != "" {
		t.Errorf("a tenant sees the address of an operator: %v", seen)
	}
	if strings.Contains(fmt.Sprint(entries(t, s.Operator(), &ragdv1.ListAuditEntriesRequest{})), "hunter2") {
		t.Error("the log has a secret")
	}
	boltAdmin := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "bolt", Scopes: []string{"admin"}}))
	for _, line := range lines(t, boltAdmin, &ragdv1.ListAuditEntriesRequest{}) {
		if !strings.HasPrefix(line, "bolt ") || strings.Contains(line, "acme") {
			t.Errorf("bolt sees %s", line)
		}
	}
	_, err = s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "bolt"})).ListAuditEntries(t.Context(), &ragdv1.ListAuditEntriesRequest{})
	servicetest.WantCode(t, "a key without the scope admin", err, connect.CodePermissionDenied)

	if _, err := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"}); err != nil {
		t.Fatal(err)
	}
	s.Tenant(t, "acme")
	again := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}}))
	for _, line := range lines(t, again, &ragdv1.ListAuditEntriesRequest{}) {
		if !strings.HasPrefix(line, "acme CreateApiKey") {
			t.Errorf("the new tenant sees %s", line)
		}
	}
	if got := lines(t, s.Operator(), &ragdv1.ListAuditEntriesRequest{Method: "DeleteTenant", Outcome: "ok"}); len(got) != 1 || !strings.HasPrefix(got[0], "acme DeleteTenant ") {
		t.Errorf("the deletion of the tenant: %q", got)
	}
}

func post(t *testing.T, s *servicetest.Service, c servicetest.Client, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Secret)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, res.Status)
	}
}

func TestEntriesAreSelectedAndPaged(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.Tenant(t, "acme")
	admin := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}}))
	for _, name := range []string{"a", "b", "c"} {
		admin.Index(t, name)
	}
	var paged []string
	req := &ragdv1.ListAuditEntriesRequest{PageSize: 1, Method: "CreateIndex", Subject: s.KeyID(t, admin.Secret), Kind: "action"}
	for more := true; more; more = req.PageToken != "" {
		page, err := admin.ListAuditEntries(t.Context(), req)
		if err != nil || len(page.Entries) != 1 {
			t.Fatal(page, err)
		}
		paged, req.PageToken = append(paged, page.Entries[0].Object["indexName"]), page.NextPageToken
		if _, err := s.Operator().ListAuditEntries(t.Context(), req); req.PageToken != "" && err == nil {
			t.Error("a page token is accepted from another credential")
		}
	}
	want(t, "pages of one entry", paged, []string{"c", "b", "a"})
	all := entries(t, admin, &ragdv1.ListAuditEntriesRequest{Method: "ragd.v1.IndexService/CreateIndex"})
	if got := entries(t, admin, &ragdv1.ListAuditEntriesRequest{Method: "CreateIndex", StartTime: all[1].CreateTime, EndTime: all[0].CreateTime}); len(got) != 1 || got[0].EntryId != all[1].EntryId {
		t.Errorf("between two times: %v", got)
	}
	for field, bad := range map[string]*ragdv1.ListAuditEntriesRequest{
		"kind":      {Kind: "query"},
		"outcome":   {Outcome: "'; DROP TABLE"},
		"method":    {Method: "%"},
		"subject":   {Subject: strings.Repeat("a", 1001)},
		"startTime": {StartTime: timestamppb.Now(), EndTime: timestamppb.New(time.Unix(0, 0))},
		"endTime":   {EndTime: &timestamppb.Timestamp{Seconds: 1 << 60}},
		"pageSize":  {PageSize: -1},
	} {
		_, err := admin.ListAuditEntries(t.Context(), bad)
		servicetest.WantCode(t, field, err, connect.CodeInvalidArgument)
	}
	for name, key := range map[string]*ragdv1.CreateApiKeyRequest{
		"a key to write":         {TenantId: "acme", Scopes: []string{"write"}},
		"a key with a filter":    {TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})},
		"a key bound to indexes": {TenantId: "acme", Scopes: []string{"admin"}, Indexes: &ragdv1.AllowedNames{Names: []string{"a"}}},
	} {
		_, err := s.Client(s.Key(t, key)).ListAuditEntries(t.Context(), &ragdv1.ListAuditEntriesRequest{})
		servicetest.WantCode(t, name, err, connect.CodePermissionDenied)
	}
}

// Nothing happens that the log cannot record.
func TestAnActionThatCannotBeRecordedIsNotRun(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.Tenant(t, "acme")
	admin := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}}))
	for _, statement := range []string{
		`ALTER TABLE ragd.audit_log RENAME TO lost`,
		`ALTER TABLE ragd.lost RENAME TO audit_log`,
	} {
		if _, err := s.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		_, err := admin.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs"})
		if strings.HasSuffix(statement, "lost") {
			servicetest.WantCode(t, "without the log", err, connect.CodeUnavailable)
		} else if err != nil {
			t.Errorf("with the log: %v", err) // the index was not made before
		}
	}
}

// No statement of the service changes or deletes an entry, but to add an outcome once and to delete
// what is older than 30 days; nor does a statement of the role that owns the table.
func TestEntriesCannotBeChanged(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.Tenant(t, "acme")
	const made = `(kind, tenant_id, subject, operator, issuer, client, method, object, request_id, calls`
	for _, statement := range []string{
		`INSERT INTO ragd.audit_log ` + made + `) VALUES ('action', 'acme', 'open', false, '', '', 'm', '{}', '', 1)`,
		`INSERT INTO ragd.audit_log ` + made + `, recorded_at) VALUES ('action', 'acme', 'old', false, '', '', 'm', '{}', '', 1, now() - interval '31 days')`,
		`INSERT INTO ragd.audit_log ` + made + `, recorded_at) VALUES ('action', 'acme', 'young', false, '', '', 'm', '{}', '', 1, now() - interval '29 days')`,
	} {
		if _, err := s.ServicePool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		`UPDATE ragd.audit_log SET outcome = 'ok' WHERE subject = 'operator'`,
		`UPDATE ragd.audit_log SET outcome = NULL`,
		`UPDATE ragd.audit_log SET outcome = 'ok', subject = 'eve' WHERE subject = 'open'`,
		`UPDATE ragd.audit_log SET recorded_at = recorded_at - interval '1 year'`,
		`DELETE FROM ragd.audit_log WHERE subject = 'young'`,
		`TRUNCATE ragd.audit_log`,
	} {
		for name, pool := range map[string]interface{ Close() }{"service": s.ServicePool, "owner": s.Pool} {
			var err error
			if name == "service" {
				_, err = s.ServicePool.Exec(t.Context(), statement)
			} else {
				_, err = s.Pool.Exec(t.Context(), statement)
			}
			_ = pool
			if err == nil {
				t.Errorf("%s as the %s succeeds", statement, name)
			}
		}
	}
	if _, err := s.ServicePool.Exec(t.Context(), `UPDATE ragd.audit_log SET outcome = 'ok' WHERE subject = 'open'`); err != nil {
		t.Errorf("an outcome: %v", err)
	}
	log := newLog(t, s, audit.MinRetention)
	if err := log.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if old, young := count(t, s, "old"), count(t, s, "young"); old != 0 || young != 1 {
		t.Errorf("after the retention %d old and %d young entries are left", old, young)
	}
	if _, err := audit.New(audit.Config{Retention: audit.MinRetention - 1}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a retention under that of the database: %v", err)
	}
}

func newLog(t *testing.T, s *servicetest.Service, retention time.Duration) *audit.Log {
	t.Helper()
	log, err := audit.New(audit.Config{Control: s.ServicePool, Logger: slog.New(slog.DiscardHandler), Retention: retention})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func count(t *testing.T, s *servicetest.Service, subject string) (n int) {
	t.Helper()
	if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd.audit_log WHERE subject = $1`, subject).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Denied calls are summed up, however many callers and methods there are, and none is lost while
// the database takes nothing.
func TestDeniedCallsAreSummedUp(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.Tenant(t, "acme")
	acme := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme"}))
	for range 3 {
		_, err := s.Client("ragd_wrong").ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{})
		servicetest.WantCode(t, "a wrong key", err, connect.CodeUnauthenticated)
		_, err = acme.ListUsage(t.Context(), &ragdv1.ListUsageRequest{})
		servicetest.WantCode(t, "a key without the scope", err, connect.CodePermissionDenied)
	}
	if err := s.Handlers.Audit.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries(t, s.Operator(), &ragdv1.ListAuditEntriesRequest{Kind: "denied"}) {
		got = append(got, fmt.Sprintf("%s %s %s %s %d %s", e.TenantId, e.Subject, e.ClientAddress, e.Method, e.Calls, e.Outcome))
	}
	slices.Sort(got)
	want(t, "denied calls", got, []string{
		"  127.0.0.1 ragd.v1.IndexService/ListIndexes 3 unauthenticated",
		"acme " + s.KeyID(t, acme.Secret) + " 127.0.0.1 ragd.v1.UsageService/ListUsage 3 denied",
	})

	log := newLog(t, s, 0)
	const callers, each = 300, 7
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for range each {
				log.Add(audit.Denied{Tenant: "acme", Subject: fmt.Sprint("flood ", i), Client: "192.0.2.1\n", Method: "m", Outcome: "denied"})
			}
		})
	}
	group.Wait()
	if _, err := s.Pool.Exec(t.Context(), `ALTER TABLE ragd.audit_log RENAME TO lost`); err != nil {
		t.Fatal(err)
	}
	if err := log.Flush(t.Context()); err == nil {
		t.Error("a flush without the table succeeds")
	}
	if _, err := s.Pool.Exec(t.Context(), `ALTER TABLE ragd.lost RENAME TO audit_log`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var rows, calls int
	if err := s.Pool.QueryRow(t.Context(), `SELECT count(*), sum(calls) FROM ragd.audit_log WHERE kind = 'denied' AND (subject LIKE 'flood %' OR client = '' AND tenant_id = '')`).Scan(&rows, &calls); err != nil {
		t.Fatal(err)
	}
	if rows > 51 || calls != callers*each {
		t.Errorf("%d calls in %d entries, want %d in at most 51", calls, rows, callers*each)
	}
}

// Texts of callers cannot forge lines, nor keep an action from being recorded.
func TestHostileNamesAreRecorded(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.Tenant(t, "acme")
	admin := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}}))
	for _, name := range []string{"a\x00b", "line\nacme DeleteTenant", "\x1b[2J", strings.Repeat("é", 10_000)} {
		if _, err := admin.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: name}); err == nil {
			t.Errorf("%q was deleted", name)
		}
		object := entries(t, admin, &ragdv1.ListAuditEntriesRequest{PageSize: 1})[0].Object["indexName"]
		if object == "" || len(object) > 300 || strings.ContainsAny(object, "\x00\n\x1b") {
			t.Errorf("%q is recorded as %q", name, object)
		}
	}
}

// A key says when it was first and last used.
func TestUsesOfKeysAreNoted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	acme := s.Tenant(t, "acme")
	used := func() *ragdv1.ApiKey {
		list, err := s.Operator().ListApiKeys(t.Context(), &ragdv1.ListApiKeysRequest{TenantId: "acme"})
		if err != nil || len(list.ApiKeys) != 1 {
			t.Fatal(list, err)
		}
		return list.ApiKeys[0]
	}
	if key := used(); key.FirstUseTime != nil || key.LastUseTime != nil {
		t.Errorf("a key that was not used: %v", key)
	}
	var times [2]*ragdv1.ApiKey
	for i := range times {
		if _, err := acme.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{}); err != nil {
			t.Fatal(err)
		}
		for range wait.Poll(t, "the use of the key, which is counted after the answer") {
			if err := s.Credentials.KeyUses.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			times[i] = used()
			if times[i].LastUseTime != nil && (i == 0 || times[i].LastUseTime.AsTime().After(times[0].LastUseTime.AsTime())) {
				break
			}
		}
	}
	first, second := times[0], times[1]
	if !first.FirstUseTime.AsTime().Equal(second.FirstUseTime.AsTime()) || !second.LastUseTime.AsTime().After(first.LastUseTime.AsTime()) {
		t.Errorf("after the first use %v, after the second %v", first, second)
	}
}
