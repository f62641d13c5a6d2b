package ingest_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// inNamespace returns an upload into a namespace.
func inNamespace(namespace, uri, body string) *ragdv1.UploadDocumentRequest {
	req := upload(uri, body)
	req.Namespace = namespace
	return req
}

// foundIn returns the texts that keyword search finds for a word in a namespace.
func foundIn(t *testing.T, c servicetest.Client, namespace, word string) (texts []string) {
	t.Helper()
	res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
		IndexName: "docs", QueryText: word, SearchMode: "keyword", Namespace: namespace,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range res.Sources {
		texts = append(texts, source.Document)
	}
	return texts
}

// The same uri in two namespaces names two documents, in every kind of upload.
func TestNamespacesOfDocuments(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")
	acme.Upload(t, upload("a", "The common harbour."))
	acme.Upload(t, inNamespace("default", "b", "The default harbour."))
	results, err := stream(t, acme, begin(inNamespace("rosa", "a", "Rosa's harbour.")), begin(inNamespace("jonas", "a", "Jonas's harbour.")))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Error != nil {
			t.Fatal(r.Error)
		}
		acme.Await(t, "docs", r.Job.JobId, r.DocumentId)
	}
	if results[0].DocumentId == results[1].DocumentId {
		t.Error("two documents have one id")
	}
	for namespace, want := range map[string][]string{
		"": {"The common harbour.", "The default harbour."}, "rosa": {"Rosa's harbour."}, "jonas": {"Jonas's harbour."}, "nobody": nil,
	} {
		got := foundIn(t, acme, namespace, "harbour")
		if diff := cmp.Diff(strings.Join(want, "|"), strings.Join(got, "|")); diff != "" {
			t.Errorf("in %q (-want +got)\n%s", namespace, diff)
		}
	}
	if got := foundIn(t, bolt, "rosa", "harbour"); len(got) != 0 {
		t.Errorf("another tenant finds %q", got)
	}
	d := acme.Upload(t, inNamespace("rosa", "a", "Rosa's quarry."))
	if d.Version != 2 || d.Namespace != "rosa" || d.DocumentId != results[0].DocumentId {
		t.Errorf("the next version = %v", d)
	}
	again, err := acme.UploadDocument(t.Context(), inNamespace("rosa", "a", "Rosa's quarry."))
	if err != nil || again.Document.Version != 2 || again.Job.Status != "succeeded" {
		t.Errorf("the same again = %v, %v", again, err)
	}
	if got := foundIn(t, acme, "rosa", "quarry"); len(got) != 1 {
		t.Errorf("the next version is not found: %q", got)
	}
	_, err = acme.UploadDocument(t.Context(), inNamespace(strings.Repeat("x", 256), "a", "A harbour."))
	servicetest.WantCode(t, "a namespace that is too long", err, connect.CodeInvalidArgument)
}

func TestDocumentsAreNamedWithinTheirNamespace(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for _, req := range []*ragdv1.UploadDocumentRequest{
		upload("a", "The common harbour."), inNamespace("rosa", "a", "Rosa's harbour."), inNamespace("rosa", "b", "Rosa's quarry."),
	} {
		if _, err := acme.UploadDocument(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	listed := func(namespace string) string {
		res, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, d := range res.Documents {
			all = append(all, d.Namespace+"/"+d.Uri)
		}
		return strings.Join(all, " ")
	}
	if got := listed(""); got != "default/a rosa/a rosa/b" {
		t.Errorf("all are %s", got)
	}
	if got := listed("rosa"); got != "rosa/a rosa/b" {
		t.Errorf("Rosa's are %s", got)
	}
	ctx := t.Context()
	if d, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "a", Namespace: "rosa"}); err != nil || d.Namespace != "rosa" {
		t.Errorf("Rosa's a = %v, %v", d, err)
	}
	_, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "b"})
	servicetest.WantCode(t, "Rosa's b in the default namespace", err, connect.CodeNotFound)
	sync, err := acme.SyncSource(ctx, &ragdv1.SyncSourceRequest{
		IndexName: "docs", Namespace: "rosa", WholeIndex: true, Documents: []*ragdv1.SourceDocument{{Uri: "a"}, {Uri: "c"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"c"}, {"a"}, {"b"}}, [][]string{sync.NewUris, sync.ChangedUris, sync.GoneUris}); diff != "" {
		t.Errorf("new, changed, gone (-want +got)\n%s", diff)
	}
	if _, err := acme.DeleteDocument(ctx, &ragdv1.DeleteDocumentRequest{IndexName: "docs", Uri: "a", Namespace: "rosa"}); err != nil {
		t.Fatal(err)
	}
	if got := listed(""); got != "default/a" {
		t.Errorf("left are %s", got)
	}
}
