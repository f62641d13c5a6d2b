package rpc_test

import (
	"fmt"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// edgesOf returns the edges at the first chunk of a document as lines, from all pages of a size.
func edgesOf(t *testing.T, c servicetest.Client, uri string, size int32) (edges []string) {
	t.Helper()
	d, err := c.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "main", Uri: uri})
	if err != nil {
		t.Fatal(err)
	}
	for token := ""; ; {
		res, err := c.ListEdges(t.Context(), &ragdv1.ListEdgesRequest{IndexName: "main", DocumentId: d.DocumentId, PageSize: size, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range res.Edges {
			if e.Weight <= 0 || e.Chunk.Document == "" {
				t.Errorf("edge %v", e)
			}
			edges = append(edges, fmt.Sprintf("%s %s %s %s#%d", e.Type, e.Direction, e.Words, e.Chunk.Uri, e.Chunk.Ordinal))
		}
		if token = res.NextPageToken; token == "" {
			return edges
		}
	}
}

func TestEdgesOfAChunk(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "main")
		upload(t, c, film, director, town)
	}
	want := []string{`mention in names "Clio Barnard" film#0`, `mention out names "Otley" town#0`}
	for _, size := range []int32{1, 100} {
		got := edgesOf(t, acme, "director", size)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", size, diff)
		}
	}
	if diff := cmp.Diff([]string{`mention out names "Clio Barnard" director#0`}, edgesOf(t, acme, "film", 0)); diff != "" {
		t.Errorf("of the film (-want +got):\n%s", diff)
	}

	open := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
	if got := edgesOf(t, open, "film", 0); len(got) != 0 {
		t.Errorf("a hidden chunk is shown: %v", got)
	}
	hidden, err := acme.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "main", Uri: "director"})
	if err != nil {
		t.Fatal(err)
	}
	list := func(c servicetest.Client, req *ragdv1.ListEdgesRequest) error {
		_, err := c.ListEdges(t.Context(), req)
		return err
	}
	servicetest.WantCode(t, "a hidden chunk", list(open, &ragdv1.ListEdgesRequest{IndexName: "main", DocumentId: hidden.DocumentId}), connect.CodeNotFound)
	servicetest.WantCode(t, "a chunk of another tenant", list(bolt, &ragdv1.ListEdgesRequest{IndexName: "main", DocumentId: hidden.DocumentId}), connect.CodeNotFound)
	servicetest.WantCode(t, "no such chunk", list(acme, &ragdv1.ListEdgesRequest{IndexName: "main", DocumentId: hidden.DocumentId, Ordinal: 1}), connect.CodeNotFound)
	servicetest.WantCode(t, "no index", list(acme, &ragdv1.ListEdgesRequest{IndexName: "other", DocumentId: hidden.DocumentId}), connect.CodeNotFound)
	servicetest.WantCode(t, "no document", list(acme, &ragdv1.ListEdgesRequest{IndexName: "main", DocumentId: "x"}), connect.CodeInvalidArgument)
	servicetest.WantCode(t, "a negative ordinal", list(acme, &ragdv1.ListEdgesRequest{IndexName: "main", DocumentId: hidden.DocumentId, Ordinal: -1}), connect.CodeInvalidArgument)
	if _, err := acme.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "main", Graph: &ragdv1.GraphSettings{Off: true}}); err != nil {
		t.Fatal(err)
	}
	servicetest.WantCode(t, "an index without a graph", list(acme, &ragdv1.ListEdgesRequest{IndexName: "main", DocumentId: hidden.DocumentId}), connect.CodeFailedPrecondition)
}

func TestEdgesInReadingOrder(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "main")
	size, overlap := int32(60), int32(0)
	d := c.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "main", Uri: "guide", ContentType: "text/markdown", Chunking: &ragdv1.Chunking{Strategy: "markdown", MaxSize: &size, Overlap: &overlap},
		Source: servicetest.Text("# Guide\n\nWhat a guide says first of all, in a line.\n\n## Fees\n\nA fee is due on each day of the year.\n\n## Berths\n\nBerths are given by the length of ships.\n"),
	})
	res, err := c.ListEdges(t.Context(), &ragdv1.ListEdgesRequest{IndexName: "main", DocumentId: d.DocumentId, Ordinal: 1})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range res.Edges {
		found[fmt.Sprintf("%s %s %s %d", e.Type, e.Direction, e.Words, e.Chunk.Ordinal)] = true
	}
	if !found["next both next to 0"] || !found["next both next to 2"] {
		t.Errorf("edges %v", found)
	}
}
