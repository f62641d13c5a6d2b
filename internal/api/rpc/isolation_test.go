package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Two tenants have the same index name, uris and texts; each call of one uses ids of the
// other.
func TestTenantsNeverSeeEachOther(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	upload := func(c servicetest.Client, body string) *ragdv1.Document {
		c.Index(t, "docs")
		return c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "plan.txt", Source: servicetest.Text(body)})
	}
	ours := upload(acme, "The acme plan is to open a harbour.")
	theirs := upload(bolt, "The bolt plan is to open a quarry.")
	ctx := t.Context()
	jobs, err := bolt.ListJobs(ctx, &ragdv1.ListJobsRequest{})
	if err != nil || len(jobs.Jobs) != 1 {
		t.Fatalf("bolt's jobs = %v, %v", jobs, err)
	}
	theirJob := jobs.Jobs[0].JobId

	t.Run("resources of another tenant are not found", func(t *testing.T) {
		_, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: theirs.DocumentId})
		servicetest.WantCode(t, "GetDocument", err, connect.CodeNotFound)
		_, err = acme.ListChunks(ctx, &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: theirs.DocumentId})
		servicetest.WantCode(t, "ListChunks", err, connect.CodeNotFound)
		_, err = acme.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "docs", DocumentId: theirs.DocumentId})
		servicetest.WantCode(t, "DeleteDocument", err, connect.CodeNotFound)
		_, err = acme.GetJob(ctx, &ragdv1.GetJobRequest{JobId: theirJob})
		servicetest.WantCode(t, "GetJob", err, connect.CodeNotFound)
		_, err = acme.CancelJob(ctx, &ragdv1.CancelJobRequest{JobId: theirJob})
		servicetest.WantCode(t, "CancelJob", err, connect.CodeNotFound)
		_, err = acme.RetryJob(ctx, &ragdv1.RetryJobRequest{JobId: theirJob})
		servicetest.WantCode(t, "RetryJob", err, connect.CodeNotFound)
		watch, err := acme.WatchJob(ctx, &ragdv1.WatchJobRequest{JobId: theirJob})
		if err != nil {
			t.Fatal(err)
		}
		if watch.Receive() {
			t.Errorf("WatchJob: received %v", watch.Msg())
		}
		servicetest.WantCode(t, "WatchJob", watch.Err(), connect.CodeNotFound)
	})
	t.Run("lists and answers contain only the caller's own", func(t *testing.T) {
		documents, err := acme.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs"})
		if err != nil || len(documents.Documents) != 1 || documents.Documents[0].DocumentId != ours.DocumentId {
			t.Errorf("ListDocuments = %v, %v", documents, err)
		}
		jobs, err := acme.ListJobs(ctx, &ragdv1.ListJobsRequest{})
		if err != nil || len(jobs.Jobs) != 1 || jobs.Jobs[0].DocumentId != ours.DocumentId {
			t.Errorf("ListJobs = %v, %v", jobs, err)
		}
		byURI, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "plan.txt"})
		if err != nil || byURI.DocumentId != ours.DocumentId {
			t.Errorf("GetDocument by uri = %v, %v", byURI, err)
		}
		for _, mode := range []string{"vector", "keyword", "hybrid"} {
			answer, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "the bolt plan of a quarry", SearchMode: mode})
			if err != nil || len(answer.Sources) != 1 || answer.Sources[0].DocumentId != ours.DocumentId {
				t.Errorf("VectorQuery %s = %v, %v", mode, answer, err)
			}
		}
		described, err := acme.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: "docs"})
		if err != nil || described.DocumentCount != 1 || described.Count != 1 {
			t.Errorf("DescribeIndex = %v, %v", described, err)
		}
	})
	t.Run("a tenant cannot name another tenant", func(t *testing.T) {
		_, err := s.Client(acme.Secret, "Ragd-Tenant", "bolt").ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
		servicetest.WantCode(t, "ListIndexes", err, connect.CodePermissionDenied)
	})
	t.Run("deleting an index leaves the other tenant's", func(t *testing.T) {
		if _, err := acme.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: "docs"}); err != nil {
			t.Fatal(err)
		}
		if _, err := acme.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: "docs"}); err == nil {
			t.Error("the deleted index is still there")
		}
		answer, err := bolt.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "quarry"})
		if err != nil || len(answer.Sources) != 1 {
			t.Errorf("bolt's answer = %v, %v", answer, err)
		}
	})
}

// An admin key manages the keys of its own tenant and nothing else of the tenant service.
func TestAdminsStayInTheirTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	s.Tenant(t, "bolt")
	ctx := t.Context()
	theirs, err := s.Operator().CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{TenantId: "bolt"})
	if err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func() error{
		"CreateTenant": func() error {
			_, err := acme.CreateTenant(ctx, &ragdv1.CreateTenantRequest{TenantId: "mine"})
			return err
		},
		"GetTenant":   func() error { _, err := acme.GetTenant(ctx, &ragdv1.GetTenantRequest{TenantId: "acme"}); return err },
		"ListTenants": func() error { _, err := acme.ListTenants(ctx, &ragdv1.ListTenantsRequest{}); return err },
		"UpdateTenant": func() error {
			_, err := acme.UpdateTenant(ctx, &ragdv1.UpdateTenantRequest{TenantId: "acme"})
			return err
		},
		"DeleteTenant": func() error {
			_, err := acme.DeleteTenant(ctx, &ragdv1.DeleteTenantRequest{TenantId: "bolt"})
			return err
		},
		"RepairTenant": func() error {
			_, err := acme.RepairTenant(ctx, &ragdv1.RepairTenantRequest{TenantId: "acme"})
			return err
		},
		"an operator key": func() error {
			_, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Scopes: []string{"operator"}})
			return err
		},
	} {
		servicetest.WantCode(t, what, call(), connect.CodePermissionDenied)
	}
	_, err = acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{TenantId: "bolt"})
	servicetest.WantCode(t, "a key of another tenant", err, connect.CodeNotFound)
	_, err = acme.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{TenantId: "bolt"})
	servicetest.WantCode(t, "the keys of another tenant", err, connect.CodeNotFound)
	_, err = acme.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: theirs.ApiKey.ApiKeyId})
	servicetest.WantCode(t, "another tenant's key", err, connect.CodeNotFound)
	if _, err := s.Client(theirs.Secret).ListIndexes(ctx, &ragdv1.ListIndexesRequest{}); err != nil {
		t.Errorf("bolt's key stopped working: %v", err)
	}
	own, err := acme.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{})
	if err != nil || len(own.ApiKeys) != 1 {
		t.Errorf("own keys = %v, %v", own, err)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	writer := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}}))
	ctx := t.Context()
	if _, err := reader.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "a"}); err != nil {
		t.Errorf("a reader cannot query: %v", err)
	}
	if _, err := writer.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "a"}); err != nil {
		t.Errorf("a writer cannot query: %v", err)
	}
	_, err := reader.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{Source: servicetest.Text("a")})
	servicetest.WantCode(t, "UploadDocument", err, connect.CodePermissionDenied)
	_, err = reader.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "more"})
	servicetest.WantCode(t, "CreateIndex", err, connect.CodePermissionDenied)
	_, err = reader.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: "docs"})
	servicetest.WantCode(t, "DeleteIndex", err, connect.CodePermissionDenied)
	_, err = reader.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "a"})
	servicetest.WantCode(t, "DeleteDocument", err, connect.CodePermissionDenied)
	_, err = reader.CancelJob(ctx, &ragdv1.CancelJobRequest{JobId: "a"})
	servicetest.WantCode(t, "CancelJob", err, connect.CodePermissionDenied)
	_, err = reader.RetryJob(ctx, &ragdv1.RetryJobRequest{JobId: "a"})
	servicetest.WantCode(t, "RetryJob", err, connect.CodePermissionDenied)
	_, err = writer.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{})
	servicetest.WantCode(t, "CreateApiKey", err, connect.CodePermissionDenied)
}

// A credential's mandatory filter applies to every read, whatever the request says.
func TestMandatoryFilter(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	documents := map[string]*ragdv1.Document{}
	for _, team := range []string{"red", "blue"} {
		documents[team] = acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: team, Source: servicetest.Text("The secret of the " + team + " team."), Metadata: servicetest.Object(t, map[string]any{"team": team}),
		})
	}
	key := &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}
	ctx := t.Context()

	check := func(t *testing.T, red servicetest.Client) {
		for _, mode := range []string{"vector", "keyword", "hybrid"} {
			for name, filter := range map[string]any{"no filter": nil, "another filter": map[string]any{"team": "blue"}, "an $or": map[string]any{"$or": []any{map[string]any{"team": "blue"}, map[string]any{"team": "red"}}}} {
				value, err := structpb.NewValue(filter)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := red.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "the secret of the blue team", SearchMode: mode, Filter: value})
				if err != nil {
					t.Fatal(err)
				}
				for _, source := range answer.Sources {
					if source.Uri != "red" {
						t.Errorf("%s with %s shows %s", mode, name, source.Uri)
					}
				}
			}
		}
		list, err := red.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: "docs"})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list.Documents {
			if d.Uri != "red" {
				t.Errorf("ListDocuments shows %s", d.Uri)
			}
		}
		described, err := red.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: "docs"})
		if err != nil || described.Count != 1 || described.DocumentCount != 1 {
			t.Errorf("DescribeIndex counts hidden documents: %v, %v", described, err)
		}
		indexes, err := red.ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
		if err != nil || len(indexes.Indexes) != 1 || indexes.Indexes[0].Count != 1 || indexes.Indexes[0].DocumentCount != 1 {
			t.Errorf("ListIndexes counts hidden documents: %v, %v", indexes, err)
		}
		hidden := documents["blue"].DocumentId
		_, err = red.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: hidden})
		servicetest.WantCode(t, "GetDocument", err, connect.CodeNotFound)
		_, err = red.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "blue"})
		servicetest.WantCode(t, "GetDocument by uri", err, connect.CodeNotFound)
		_, err = red.ListChunks(ctx, &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: hidden})
		servicetest.WantCode(t, "ListChunks", err, connect.CodeNotFound)
		_, err = red.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "docs", DocumentId: hidden})
		servicetest.WantCode(t, "DeleteDocument", err, connect.CodeNotFound)
	}
	red := s.Client(s.Key(t, key))
	check(t, red)
	t.Run("keys created by the key inherit it", func(t *testing.T) {
		made, err := red.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, s.Client(made.Secret))
	})
	t.Run("the request context cannot remove it", func(t *testing.T) {
		check(t, s.Client(red.Secret, "Ragd-Context", `{"filter": {"team": "blue"}}`))
	})
}

// A credential with a mandatory filter writes only documents that it can read, and learns
// nothing of others.
func TestMandatoryFilterBoundsWrites(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	ctx := t.Context()
	upload := func(c servicetest.Client, uri, team string) (*ragdv1.UploadDocumentResponse, error) {
		return c.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: uri, Source: servicetest.Text("A plan of " + team), Metadata: servicetest.Object(t, map[string]any{"team": team}),
		})
	}
	hidden, err := upload(acme, "hidden", "blue")
	if err != nil {
		t.Fatal(err)
	}
	red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"}),
	}))
	own, err := upload(red, "own", "red")
	if err != nil {
		t.Fatalf("its own document: %v", err)
	}
	_, err = upload(red, "new", "blue")
	servicetest.WantCode(t, "a document outside of the filter", err, connect.CodePermissionDenied)
	_, err = upload(red, "hidden", "red")
	servicetest.WantCode(t, "a hidden document's uri", err, connect.CodePermissionDenied)
	if strings.Contains(err.Error(), hidden.Document.DocumentId) {
		t.Errorf("the refusal tells of the hidden document: %v", err)
	}
	if d, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "hidden"}); err != nil || d.Version != 1 {
		t.Errorf("the hidden document = %v, %v", d, err)
	}
	_, err = red.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "more"})
	servicetest.WantCode(t, "CreateIndex", err, connect.CodePermissionDenied)
	_, err = red.DeleteIndex(ctx, &ragdv1.DeleteIndexRequest{IndexName: "docs"})
	servicetest.WantCode(t, "DeleteIndex", err, connect.CodePermissionDenied)

	jobs, err := red.ListJobs(ctx, &ragdv1.ListJobsRequest{})
	if err != nil || len(jobs.Jobs) != 1 || jobs.Jobs[0].JobId != own.Job.JobId {
		t.Errorf("ListJobs = %v, %v", jobs, err)
	}
	_, err = red.GetJob(ctx, &ragdv1.GetJobRequest{JobId: hidden.Job.JobId})
	servicetest.WantCode(t, "GetJob", err, connect.CodeNotFound)
	_, err = red.CancelJob(ctx, &ragdv1.CancelJobRequest{JobId: hidden.Job.JobId})
	servicetest.WantCode(t, "CancelJob", err, connect.CodeNotFound)
	_, err = red.RetryJob(ctx, &ragdv1.RetryJobRequest{JobId: hidden.Job.JobId})
	servicetest.WantCode(t, "RetryJob", err, connect.CodeNotFound)
}

// The request context overrides the body, except that its filter is and-ed with the
// body's.
func TestRequestContextPrecedence(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	for _, name := range []string{"one", "two"} {
		acme.Index(t, name)
		for _, kind := range []string{"a", "b"} {
			acme.Upload(t, &ragdv1.UploadDocumentRequest{
				IndexName: name, Uri: name + kind, Source: servicetest.Text("A tale of two rivers, part " + kind), Metadata: servicetest.Object(t, map[string]any{"kind": kind, "all": true}),
			})
		}
	}
	query := func(header string, req *ragdv1.VectorQueryRequest) *ragdv1.VectorQueryResponse {
		t.Helper()
		req.QueryText = "rivers"
		res, err := s.Client(acme.Secret, "Ragd-Context", header).VectorQuery(t.Context(), req)
		if err != nil {
			t.Fatal(header, err)
		}
		return res
	}
	five := int32(5)
	if got := query(`{"indexName": "two"}`, &ragdv1.VectorQueryRequest{IndexName: "one"}); got.Sources[0].Uri[:3] != "two" {
		t.Errorf("indexName: %v", got)
	}
	if got := query(`{"topK": 1}`, &ragdv1.VectorQueryRequest{IndexName: "one", TopK: &five}); len(got.Sources) != 1 {
		t.Errorf("topK: %v", got)
	}
	if got := query(`{"includeSources": false}`, &ragdv1.VectorQueryRequest{IndexName: "one"}); len(got.Sources) != 0 || got.RelevantContext == "" {
		t.Errorf("includeSources: %v", got)
	}
	if got := query(`{"includeVectors": true}`, &ragdv1.VectorQueryRequest{IndexName: "one"}); len(got.Sources[0].Vector) == 0 {
		t.Errorf("includeVectors: %v", got)
	}
	both := &ragdv1.VectorQueryRequest{IndexName: "one", Filter: structpb.NewStructValue(servicetest.Object(t, map[string]any{"kind": "b"}))}
	if got := query(`{"filter": {"all": true}}`, both); len(got.Sources) != 1 || got.Sources[0].Uri != "oneb" {
		t.Errorf("filter: %v", got)
	}
	_, err := s.Client(acme.Secret, "Ragd-Context", `{"topk": 1}`).VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "a"})
	servicetest.WantCode(t, "a misspelt override", err, connect.CodeInvalidArgument)
}
