package rpc_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Two namespaces hold the same pages: a walk stays in its namespace, and documents of
// other namespaces do not change its scores.
func TestAWalkStaysInItsNamespace(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "main")
	in := func(namespace string, pages ...page) {
		t.Helper()
		for _, p := range pages {
			d := c.Upload(t, &ragdv1.UploadDocumentRequest{Uri: p.uri, Title: p.title, Source: servicetest.Text(p.text), Namespace: namespace})
			if d.Status != "ready" {
				t.Fatalf("%s is %s: %s", p.uri, d.Status, d.Error)
			}
		}
	}
	answer := func(namespace string) *ragdv1.GraphRagResponse {
		t.Helper()
		req := ask(filmQuestion)
		req.Namespace = namespace
		threshold := 0.0
		req.GraphOptions = &ragdv1.GraphOptions{Threshold: &threshold}
		res := must(t)(c.GraphRag(t.Context(), req))
		res.Explain.Stages = nil
		for _, s := range res.Sources {
			s.KeywordScore = nil // the rarity of terms is that of the whole index
		}
		return res
	}
	in("", film)
	in("rosa", film, director)
	rosa, everybody := answer("rosa"), answer("default")
	for namespace, want := range map[string][]string{"": {"film"}, "default": {"film"}, "rosa": {"film", "director"}, "nobody": nil} {
		if got := uris(answer(namespace).Sources); !slices.Equal(got, want) {
			t.Errorf("in %q the walk leads to %v, want %v", namespace, got, want)
		}
	}
	in("jonas", town, director, film)
	in("", others...)
	again, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if job := finished(t, c, again.JobId); job.Status != "succeeded" {
		t.Fatalf("the rebuild ended as %v", job)
	}
	if diff := cmp.Diff(rosa, answer("rosa"), protocmp.Transform()); diff != "" {
		t.Errorf("documents of others changed the answer (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(everybody.Explain.Edges, answer("").Explain.Edges, protocmp.Transform()); diff != "" {
		t.Errorf("documents of users changed the answer for everybody (-before +after):\n%s", diff)
	}
	if got := uris(answer("jonas").Sources); !slices.Equal(got, []string{"film", "director", "town"}) {
		t.Errorf("what came last leads to %v", got)
	}
	for _, source := range answer("jonas").Sources {
		d, err := c.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "main", DocumentId: source.DocumentId})
		if err != nil || d.Namespace != "jonas" {
			t.Errorf("%s is of %q, error %v", source.Uri, d.GetNamespace(), err)
		}
	}
	long := ask(filmQuestion)
	long.Namespace = string(make([]byte, 300))
	_, err = c.GraphRag(t.Context(), long)
	servicetest.WantCode(t, "a namespace that cannot be", err, connect.CodeInvalidArgument)
}
