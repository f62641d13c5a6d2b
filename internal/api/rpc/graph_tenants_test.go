package rpc_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// graphOf returns the graph part of an index description.
func graphOf(t *testing.T, c servicetest.Client) *ragdv1.Graph {
	t.Helper()
	i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	return i.Graph
}

// Two tenants upload the same texts, so that each name, mention and embedding of one
// would fit into the graph of the other.
func TestGraphsOfTenantsWithEqualTextsStayApart(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	own := map[string]map[string]bool{}
	for name, c := range map[string]servicetest.Client{"acme": acme, "bolt": bolt} {
		c.Index(t, "main")
		upload(t, c, append(slices.Clone(others), film, director, town)...)
		list, err := c.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "main"})
		if err != nil {
			t.Fatal(err)
		}
		own[name] = map[string]bool{}
		for _, d := range list.Documents {
			own[name][d.DocumentId] = true
		}
	}
	threshold := 0.0
	requests := map[string]*ragdv1.GraphRagRequest{
		"all edges":  ask(filmQuestion),
		"candidates": {QueryText: filmQuestion, Explain: true, GraphOptions: &ragdv1.GraphOptions{Candidates: 100, Threshold: &threshold}},
	}
	for _, kind := range []string{"mention", "next", "similar"} {
		req := ask(filmQuestion)
		req.GraphOptions = &ragdv1.GraphOptions{EdgeTypes: []string{kind}, Threshold: &threshold}
		requests[kind] = req
	}
	see := func(when string) {
		t.Helper()
		for name, c := range map[string]servicetest.Client{"acme": acme, "bolt": bolt} {
			for what, req := range requests {
				res := must(t)(c.GraphRag(t.Context(), req))
				for _, source := range res.Sources {
					if !own[name][source.DocumentId] {
						t.Errorf("%s, %s: %s gets %s", when, what, name, source.Uri)
					}
				}
				for _, node := range res.Explain.Nodes {
					if !own[name][node.DocumentId] {
						t.Errorf("%s, %s: the walk of %s sees %s", when, what, name, node.Title)
					}
				}
			}
		}
	}
	before := graphOf(t, bolt)
	if diff := cmp.Diff(before, graphOf(t, acme), protocmp.Transform()); diff != "" {
		t.Errorf("equal texts make other graphs:\n%s", diff)
	}
	see("at first")

	if _, err := acme.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{IndexName: "main", Uri: "director"}); err != nil {
		t.Fatal(err)
	}
	again, err := acme.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if job := finished(t, acme, again.JobId); job.Status != "succeeded" {
		t.Fatalf("the rebuild ended as %v", job)
	}
	see("after one tenant deletes and rebuilds")
	if diff := cmp.Diff(before, graphOf(t, bolt), protocmp.Transform()); diff != "" {
		t.Errorf("the other tenant's graph changed:\n%s", diff)
	}
	for c, want := range map[servicetest.Client][]string{acme: {"film"}, bolt: {"film", "director", "town"}} {
		if got := uris(graphRag(t, c, ask(filmQuestion))); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestARunningRebuildIsCancelled(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	upload(t, c, film, director, town)
	found, err := s.Handlers.Indexes.Resolve(t.Context(), "acme", "main")
	if err != nil {
		t.Fatal(err)
	}
	// A lock on an edge stops the rebuild before it deletes its first one.
	tx, err := s.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), fmt.Sprintf(`SELECT FROM tenant_acme.edge_%d FOR UPDATE`, found.ID)); err != nil {
		t.Fatal(err)
	}
	started, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	status := func() string {
		job, err := c.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: started.JobId})
		if err != nil {
			t.Fatal(err)
		}
		return job.Status
	}
	wait.For(t, "the rebuild to run", func() bool { return status() == "running" })
	if job, err := c.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: started.JobId}); err != nil || job.Status != "cancelled" {
		t.Fatalf("got %v, %v", job, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The next rebuild is a new job and completes what the first left unfinished.
	again, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	if err != nil || again.JobId == started.JobId {
		t.Fatalf("the next rebuild is %v, %v", again, err)
	}
	if job := finished(t, c, again.JobId); job.Status != "succeeded" {
		t.Errorf("the next rebuild ended as %v", job)
	}
	if got := status(); got != "cancelled" {
		t.Errorf("the cancelled job is %s", got)
	}
	if got := uris(graphRag(t, c, ask(filmQuestion))); !slices.Equal(got, []string{"film", "director", "town"}) {
		t.Errorf("then the walk leads to %v", got)
	}
}

// Without a Postgres index over embeddings no chunks are linked by similarity; the first
// build of one links them all.
func TestTheFirstBuildLinksSimilarChunks(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	flat := &ragdv1.IndexConfig{Type: "flat"}
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "main", IndexConfig: flat}); err != nil {
		t.Fatal(err)
	}
	upload(t, c, page{"a", "Ropes", "A long rope is spliced by hand at the quay.", nil}, page{"b", "Rope", "A long rope is spliced by hand at the pier.", nil})
	before := graphOf(t, c)
	if before.Similarities != 0 {
		t.Fatalf("a flat index has %v", before)
	}
	if _, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "main", IndexConfig: &ragdv1.IndexConfig{Type: "hnsw"}}); err != nil {
		t.Fatal(err)
	}
	rebuilds := func() (ids []string) {
		jobs, err := c.ListJobs(t.Context(), &ragdv1.ListJobsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs.Jobs {
			if job.Kind == "graph" {
				ids = append(ids, job.JobId)
			}
		}
		return ids
	}
	for range 2 {
		built, err := c.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "main"})
		if err != nil {
			t.Fatal(err)
		}
		if job := finished(t, c, built.JobId); job.Status != "succeeded" {
			t.Fatalf("the build ended as %v", job)
		}
		ids := rebuilds()
		if len(ids) != 1 {
			t.Fatalf("%d jobs on the graph, want one after the first build", len(ids))
		}
		if job := finished(t, c, ids[0]); job.Status != "succeeded" || job.Progress.Done != 2 {
			t.Fatalf("linking ended as %v", job)
		}
	}
	after := graphOf(t, c)
	if after.Similarities != 1 || after.Names != before.Names || after.Mentions != before.Mentions {
		t.Errorf("got %v, before %v", after, before)
	}
}
