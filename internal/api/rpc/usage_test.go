package rpc_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// used returns the rows of a client's usage, as text without the time.
func used(t *testing.T, c servicetest.Client, groupBy ...string) (rows []string) {
	t.Helper()
	list, err := c.ListUsage(t.Context(), &ragdv1.ListUsageRequest{GroupBy: groupBy, Interval: "month"})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range list.Rows {
		rows = append(rows, fmt.Sprintf("%s %s %s %s calls=%g documents=%g chunks=%g bytes=%g tokens=%g+%g",
			u.TenantId, u.IndexName, u.Stage, u.Model, u.Calls, u.Documents, u.Chunks, u.Bytes, u.InputTokens, u.OutputTokens))
	}
	return rows
}

// awaitUsage waits until a client has these rows of usage.
func awaitUsage(t *testing.T, c servicetest.Client, want []string, groupBy ...string) {
	t.Helper()
	var got []string
	defer func() {
		if !slices.Equal(got, want) {
			t.Logf("usage = %q", got)
		}
	}()
	wait.For(t, fmt.Sprintf("the usage %q", want), func() bool {
		got = used(t, c, groupBy...)
		return slices.Equal(got, want)
	})
}

// What two tenants use is counted exactly by index and stage, by two instances on one database,
// and each tenant sees its own alone.
func TestUsageIsCountedByTenantIndexAndStage(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t)
	config := service.Config{Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: models.URL + "/v1", APIKey: modelserver.Key}}}
	s := servicetest.New(t, config)
	config.NoWorkers, config.AdminPool = true, s.Pool
	second := servicetest.New(t, config)
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "secret")
	if _, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "paid", EmbeddingModel: "openai/text-embedding-3-small", Dimension: 8}); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"a", "b", "b"} { // the same content again is no work
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text("A harbour.")})
	}
	bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "secret", Uri: "a", Source: servicetest.Text("A quarry!!")})
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "paid", Uri: "a", Source: servicetest.Text("A mill.")})
	admin := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}})
	for _, instance := range []servicetest.Client{s.Client(admin), second.Client(admin)} {
		for range 3 {
			if _, err := instance.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "harbour"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := instance.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "docs", QueryText: "harbour"}); err != nil {
			t.Fatal(err)
		}
		if _, err := instance.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "paid", QueryText: "where is the mill"}); err != nil {
			t.Fatal(err)
		}
	}
	awaitUsage(t, s.Client(admin), []string{
		"acme docs ingest  calls=0 documents=2 chunks=2 bytes=20 tokens=0+0",
		"acme docs query  calls=6 documents=0 chunks=0 bytes=0 tokens=0+0",
		"acme docs walk  calls=2 documents=0 chunks=0 bytes=0 tokens=0+0",
		"acme paid embedding openai/text-embedding-3-small calls=3 documents=0 chunks=0 bytes=0 tokens=12+0", // 2 of the document, 5 of each question,
		"acme paid ingest  calls=0 documents=1 chunks=1 bytes=7 tokens=0+0",
		"acme paid query  calls=2 documents=0 chunks=0 bytes=0 tokens=0+0",
	}, "index", "stage", "model")
	if got := used(t, s.Operator("Ragd-Tenant", "bolt")); !slices.Equal(got, []string{"bolt secret ingest  calls=0 documents=1 chunks=1 bytes=10 tokens=0+0"}) {
		t.Errorf("the operator for bolt: %q", got)
	}
	if got := used(t, s.Operator(), "total"); len(got) != 2 {
		t.Errorf("the operator for all tenants: %q", got)
	}

	for name, key := range map[string]*ragdv1.CreateApiKeyRequest{
		"a key to write":         {TenantId: "acme", Scopes: []string{"write"}},
		"a key with a filter":    {TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})},
		"a key bound to indexes": {TenantId: "acme", Scopes: []string{"admin"}, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}},
	} {
		_, err := s.Client(s.Key(t, key)).ListUsage(t.Context(), &ragdv1.ListUsageRequest{})
		servicetest.WantCode(t, name, err, connect.CodePermissionDenied)
	}
	var paged []string
	req := &ragdv1.ListUsageRequest{PageSize: 1, Interval: "hour"}
	for more := true; more; more = req.PageToken != "" {
		page, err := s.Client(admin).ListUsage(t.Context(), req)
		if err != nil || len(page.Rows) != 1 {
			t.Fatal(page, err)
		}
		paged, req.PageToken = append(paged, page.Rows[0].IndexName+page.Rows[0].Stage), page.NextPageToken
		if _, err := bolt.ListUsage(t.Context(), &ragdv1.ListUsageRequest{PageSize: 1, Interval: "hour", PageToken: req.PageToken}); req.PageToken != "" && err == nil {
			t.Error("a page token of acme is accepted from bolt")
		}
	}
	if len(paged) != 6 {
		t.Errorf("pages of one row: %q", paged)
	}
	for field, bad := range map[string]*ragdv1.ListUsageRequest{
		"interval":  {Interval: "week"},
		"groupBy":   {GroupBy: []string{"tenant"}},
		"stage":     {Stage: "sleep"},
		"startTime": {StartTime: timestamppb.Now(), EndTime: timestamppb.New(time.Unix(0, 0))},
		"endTime":   {EndTime: &timestamppb.Timestamp{Seconds: 1 << 60}},
	} {
		_, err := s.Client(admin).ListUsage(t.Context(), bad)
		servicetest.WantCode(t, field, err, connect.CodeInvalidArgument)
	}
}

// A tenant that has used up its tokens of the month is refused: its searches with an error that
// names the quota, and its documents with a failed job that can be retried once the operator has
// raised the quota, on another instance too.
func TestTokensOfAMonthAreLimited(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t)
	config := service.Config{Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: models.URL + "/v1", APIKey: modelserver.Key}}}
	s := servicetest.New(t, config)
	config.NoWorkers, config.AdminPool = true, s.Pool
	second := servicetest.New(t, config)
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	limit := func(tokens any) error {
		_, err := s.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, map[string]any{"maxTokensPerMonth": tokens})})
		return err
	}
	servicetest.WantCode(t, "a quota of 0", limit(0), connect.CodeInvalidArgument)
	if err := limit(10); err != nil {
		t.Fatal(err)
	}
	for _, c := range []servicetest.Client{acme, bolt} {
		if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", EmbeddingModel: "openai/text-embedding-3-small", Dimension: 8}); err != nil {
			t.Fatal(err)
		}
	}
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("The harbour of the town has ten cranes.")}) // 10 tokens
	query := func(c servicetest.Client, text string) error {
		_, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: text})
		return err
	}
	err := query(acme, "how many cranes")
	servicetest.WantCode(t, "a search over the quota", err, connect.CodeResourceExhausted)
	var wired *connect.Error
	if !errors.As(err, &wired) || wired.Meta().Get("Retry-After") == "" || !strings.Contains(err.Error(), "used 10 tokens") || !strings.Contains(err.Error(), "maxTokensPerMonth") {
		t.Errorf("the error does not say the quota, the use and when to try again: %v", err)
	}
	if err := query(bolt, "how many cranes"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	up, err := acme.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "b", Source: servicetest.Text("A mill.")})
	if err != nil {
		t.Fatal(err)
	}
	refused := await(t, acme, up.Job.JobId, "failed")
	if !strings.Contains(refused.Error, "maxTokensPerMonth") || refused.Attempts != 1 {
		t.Errorf("the job over the quota: %v", refused)
	}
	other := second.Client(acme.Secret)
	wait.For(t, "the other instance to know what was used", func() bool {
		return connect.CodeOf(query(other, "asked at "+time.Now().String())) == connect.CodeResourceExhausted
	})
	if err := limit(1000); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the higher quota to have an effect", func() bool { return query(other, "asked again") == nil && query(acme, "asked here") == nil })
	retried, err := acme.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: refused.JobId})
	if err != nil {
		t.Fatal(err)
	}
	await(t, acme, retried.JobId, "succeeded")
}

// await waits until a job has a state, which ends it, and returns it.
func await(t *testing.T, c servicetest.Client, jobID, status string) *ragdv1.Job {
	t.Helper()
	watch, err := c.WatchJob(t.Context(), &ragdv1.WatchJobRequest{JobId: jobID})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	var last *ragdv1.Job
	for watch.Receive() {
		last = watch.Msg()
	}
	if watch.Err() != nil || last.GetStatus() != status {
		t.Fatalf("the job is %v, %v, and should be %s", last, watch.Err(), status)
	}
	return last
}
