package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// There are more documents than one transaction deletes, and all wait to be processed.
func TestDeleteDocumentsThatAFilterSelects(t *testing.T) {
	t.Parallel()
	const red = 510
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")
	var messages []*ragdv1.UploadDocumentsRequest
	for i := range red + 1 {
		req := upload(fmt.Sprint(i), "A plan.")
		req.Metadata = servicetest.Object(t, map[string]any{"team": "red", "number": i})
		if i == red {
			req.Metadata = servicetest.Object(t, map[string]any{"team": "blue"})
		}
		messages = append(messages, begin(req))
	}
	results, err := stream(t, acme, messages...)
	if err != nil {
		t.Fatal(err)
	}
	deleted := func(c servicetest.Client, index string, filter map[string]any) (int32, error) {
		res, err := c.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: index, Filter: servicetest.Object(t, filter)})
		return res.GetDeletedCount(), err
	}
	team := map[string]any{"team": "red"}
	_, err = deleted(acme, "docs", map[string]any{})
	servicetest.WantCode(t, "an empty filter", err, connect.CodeInvalidArgument)
	_, err = deleted(acme, "nope", team)
	servicetest.WantCode(t, "an unknown index", err, connect.CodeNotFound)
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	_, err = deleted(reader, "docs", team)
	servicetest.WantCode(t, "a reader", err, connect.CodePermissionDenied)
	if n, err := deleted(bolt, "docs", team); n != 0 || err != nil {
		t.Errorf("another tenant deletes %d, %v", n, err)
	}
	bounded := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: servicetest.Object(t, map[string]any{"number": 7}),
	}))
	if n, err := deleted(bounded, "docs", team); n != 1 || err != nil {
		t.Errorf("a credential that sees one document deletes %d, %v", n, err)
	}
	if n, err := deleted(acme, "docs", team); n != red-1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 1 || list.Documents[0].Uri != fmt.Sprint(red) {
		t.Errorf("left are %v, %v", list.GetDocuments(), err)
	}
	job, err := acme.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: results[0].Job.JobId})
	if err != nil || job.Status != "cancelled" {
		t.Errorf("the job of a deleted document = %v, %v", job, err)
	}
}

// A dry run names the same documents that the deletion then deletes.
func TestDeleteDocumentsThatAreNamed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")
	ids := map[string]string{}
	for _, name := range []string{"default/a", "default/b", "rosa/a", "rosa/b", "rosa/c", "jonas/a"} {
		namespace, uri, _ := strings.Cut(name, "/")
		res, err := acme.UploadDocument(t.Context(), inNamespace(namespace, uri, "A plan of "+namespace))
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = res.Document.DocumentId
	}
	for _, tc := range []struct {
		name string
		req  *ragdv1.DeleteDocumentsRequest
		want string
	}{
		{"ids, of which some are none", &ragdv1.DeleteDocumentsRequest{DocumentIds: []string{ids["rosa/a"], "nonsense", "urn:uuid:" + ids["rosa/b"]}}, "rosa/a"},
		{"uris of the default namespace", &ragdv1.DeleteDocumentsRequest{Uris: []string{"a", "c"}}, "default/a"},
		{"uris of another namespace", &ragdv1.DeleteDocumentsRequest{Uris: []string{"b", "d"}, Namespace: "rosa"}, "rosa/b"},
		{"ids that are in another namespace", &ragdv1.DeleteDocumentsRequest{DocumentIds: []string{ids["rosa/c"]}, Namespace: "jonas"}, ""},
		{"a whole namespace", &ragdv1.DeleteDocumentsRequest{Namespace: "rosa"}, "rosa/c"},
		{"an empty namespace", &ragdv1.DeleteDocumentsRequest{Namespace: "rosa"}, ""},
	} {
		tc.req.IndexName = "docs"
		for _, tc.req.DryRun = range []bool{true, false} {
			other, err := bolt.DeleteDocuments(t.Context(), tc.req)
			if err != nil || other.DeletedCount != 0 {
				t.Errorf("%s: another tenant deletes %v, %v", tc.name, other, err)
			}
			res, err := acme.DeleteDocuments(t.Context(), tc.req)
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			var got []string
			for _, d := range res.Documents {
				if d.DocumentId != ids[d.Namespace+"/"+d.Uri] {
					t.Errorf("%s: %v has another's id", tc.name, d)
				}
				got = append(got, d.Namespace+"/"+d.Uri)
			}
			if strings.Join(got, " ") != tc.want || int(res.DeletedCount) != len(got) {
				t.Errorf("%s, dry run %v: deleted %d, %q; want %q", tc.name, tc.req.DryRun, res.DeletedCount, got, tc.want)
			}
		}
	}
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 2 {
		t.Errorf("left are %v, %v", list.GetDocuments(), err)
	}
	for name, req := range map[string]*ragdv1.DeleteDocumentsRequest{
		"nothing":               {},
		"ids and uris":          {DocumentIds: []string{ids["default/b"]}, Uris: []string{"b"}},
		"uris and a filter":     {Uris: []string{"b"}, Filter: servicetest.Object(t, map[string]any{"team": "red"})},
		"an empty filter":       {Uris: []string{"b"}, Filter: servicetest.Object(t, nil)},
		"too many uris":         {Uris: make([]string, 10_001)},
		"too many ids":          {DocumentIds: make([]string, 10_001)},
		"a uri that is no text": {Uris: []string{"a\x00"}},
		"a long namespace":      {Namespace: strings.Repeat("x", 256)},
	} {
		req.IndexName = "docs"
		_, err := acme.DeleteDocuments(t.Context(), req)
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	_, err = reader.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: "docs", Uris: []string{"b"}, DryRun: true})
	servicetest.WantCode(t, "a reader's dry run", err, connect.CodePermissionDenied)
	for what, get := range map[string]func() error{
		"a document by an id in another form": func() error {
			_, err := acme.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: "urn:uuid:" + ids["default/b"]})
			return err
		},
		"a document by a uri with a null character": func() error {
			_, err := acme.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "b\x00"})
			return err
		},
		"a job by an id in another form": func() error {
			_, err := acme.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: "urn:uuid:" + ids["default/b"]})
			return err
		},
	} {
		servicetest.WantCode(t, what, get(), connect.CodeNotFound)
	}
}
