package rpc_test

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// page is a document of a small linked corpus.
type page struct {
	uri, title, text string
	metadata         map[string]any
}

// film, director and town form a chain: each names the next, and the question names only
// the film.
var (
	film     = page{"film", "Dark River (2017 film)", "It was directed by Clio Barnard after a novel.", map[string]any{"level": "open"}}
	director = page{"director", "Clio Barnard", "She grew up near Otley and paints.", map[string]any{"level": "secret"}}
	town     = page{"town", "Otley", "A market place on the Wharfe.", map[string]any{"level": "open"}}
	others   = []page{
		{"a", "Cheese", "Cheese ripens in cellars for months.", map[string]any{"level": "open"}},
		{"b", "Ropes", "A rope is spliced by hand.", map[string]any{"level": "open"}},
	}
)

const filmQuestion = "Who made Dark River?"

func upload(t *testing.T, c servicetest.Client, pages ...page) {
	t.Helper()
	for _, p := range pages {
		d := c.Upload(t, &ragdv1.UploadDocumentRequest{
			Uri: p.uri, Title: p.title, Source: servicetest.Text(p.text), Metadata: servicetest.Object(t, p.metadata),
		})
		if d.Status != "ready" {
			t.Fatalf("%s is %s: %s", p.uri, d.Status, d.Error)
		}
	}
}

func graphRag(t *testing.T, c servicetest.Client, req *ragdv1.GraphRagRequest) []*ragdv1.Source {
	t.Helper()
	res, err := c.GraphRag(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Sources
}

func uris(sources []*ragdv1.Source) []string {
	var out []string
	for _, s := range sources {
		out = append(out, s.Uri)
	}
	return out
}

func ask(text string) *ragdv1.GraphRagRequest {
	return &ragdv1.GraphRagRequest{QueryText: text, SearchMode: "keyword", Explain: true}
}

func TestGraphRagFollowsMentions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	for name, pages := range map[string][]page{
		"the named first":  {town, director, film},
		"the naming first": {film, director, town},
		"in between":       {director, film, town},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.Tenant(t, strings.ReplaceAll(name, " ", "-"))
			c.Index(t, "main")
			upload(t, c, append(slices.Clone(others), pages...)...)
			sources := graphRag(t, c, ask(filmQuestion))
			if got := uris(sources); !slices.Equal(got, []string{"film", "director", "town"}) {
				t.Fatalf("got %v", got)
			}
			const want = `named by the question and found at rank 1: Dark River (2017 film), names "Clio Barnard" → Clio Barnard, names "Otley" → Otley`
			if got := sources[2].Path; got != want {
				t.Errorf("path %q, want %q", got, want)
			}
			for i, source := range sources {
				if source.Score <= 0 || i > 0 && source.Score > sources[i-1].Score {
					t.Errorf("scores are not descending: %v", source.Score)
				}
			}
		})
	}
}

func TestDescribeIndexCountsTheGraph(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "main")
	upload(t, c, film, director, town)
	i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	// The film's name excludes its year. The uris are not paths, so they give no names.
	if i.Graph.GetNames() != 4 || i.Graph.GetMentions() != 2 {
		t.Errorf("got %v", i.Graph)
	}
}

func TestGraphRagSeesChangesAtOnce(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "main")
	upload(t, c, film, director, town)
	want := func(what string, uri ...string) {
		t.Helper()
		if got := uris(graphRag(t, c, ask(filmQuestion))); !slices.Equal(got, uri) {
			t.Errorf("%s: got %v, want %v", what, got, uri)
		}
	}
	want("at first", "film", "director", "town")
	changed := director
	changed.text = "She grew up elsewhere."
	upload(t, c, changed)
	want("the director names no town", "film", "director")
	if _, err := c.DeleteDocument(t.Context(), &ragdv1.DeleteDocumentRequest{
		IndexName: "main", Uri: "director",
	}); err != nil {
		t.Fatal(err)
	}
	want("there is no director", "film")
	upload(t, c, director)
	want("the director is back", "film", "director", "town")
}

func TestGraphRagNeverWalksThroughHiddenChunks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "main")
	bolt.Index(t, "main")
	upload(t, acme, film, director, town)
	upload(t, bolt, film)
	if got := uris(graphRag(t, bolt, ask(filmQuestion))); !slices.Equal(got, []string{"film"}) {
		t.Errorf("the other tenant sees %v", got)
	}
	open, err := structpb.NewValue(map[string]any{"level": "open"})
	if err != nil {
		t.Fatal(err)
	}
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: open.GetStructValue()}))
	// Load the unfiltered graph first, so that it is in memory.
	if got := uris(graphRag(t, acme, ask(filmQuestion))); len(got) != 3 {
		t.Fatalf("everything is %v", got)
	}
	for name, answer := range map[string]func() *ragdv1.GraphRagResponse{
		"the key's mandatory filter": func() *ragdv1.GraphRagResponse {
			return must(t)(limited.GraphRag(t.Context(), ask(filmQuestion)))
		},
		"the request's filter": func() *ragdv1.GraphRagResponse {
			req := ask(filmQuestion)
			req.Filter = open
			return must(t)(acme.GraphRag(t.Context(), req))
		},
	} {
		res := answer()
		if got := uris(res.Sources); !slices.Equal(got, []string{"film"}) {
			t.Errorf("%s: sources %v", name, got)
		}
		for _, node := range res.Explain.Nodes {
			if node.Title != film.title {
				t.Errorf("%s: the walk saw %q", name, node.Title)
			}
		}
	}
	req := ask("Where is Clio Barnard from?")
	if got := must(t)(limited.GraphRag(t.Context(), req)); len(got.Explain.Nodes) > 0 && got.Explain.Nodes[0].Seed >= 4 {
		t.Errorf("naming a hidden page leads to %v", got.Explain.Nodes)
	}
}

// must returns the answer of a call and fails the test on an error.
func must(t *testing.T) func(*ragdv1.GraphRagResponse, error) *ragdv1.GraphRagResponse {
	return func(res *ragdv1.GraphRagResponse, err error) *ragdv1.GraphRagResponse {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
}

func TestGraphRagOverCandidates(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "main")
	upload(t, c, append(slices.Clone(others), film, director, town)...)
	topK, threshold := int32(2), 0.1
	req := &ragdv1.GraphRagRequest{
		QueryText: "Who directed it after a novel?", TopK: &topK, GraphOptions: &ragdv1.GraphOptions{Candidates: 4, Threshold: &threshold},
	}
	first := graphRag(t, c, req)
	if len(first) != 2 || first[0].Uri != "film" || first[0].Score <= 0 {
		t.Errorf("got %v", first)
	}
	if again := graphRag(t, c, req); !slices.Equal(uris(again), uris(first)) || again[0].Score != first[0].Score {
		t.Errorf("another answer: %v, then %v", first, again)
	}
}

func TestGraphRagRefusesBadOptions(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "main")
	number, half := func(n int32) *int32 { return &n }, func(f float64) *float64 { return &f }
	for name, o := range map[string]*ragdv1.GraphOptions{
		"dimension":       {Dimension: 3},
		"threshold":       {Threshold: half(1.5)},
		"randomWalkSteps": {RandomWalkSteps: number(0)},
		"restartProb":     {RestartProb: half(1)},
		"candidates":      {Candidates: -1},
		"edgeTypes":       {EdgeTypes: []string{"guess"}},
	} {
		_, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "a", GraphOptions: o})
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), "graphOptions."+name) {
			t.Errorf("%s: the message is %q", name, err)
		}
	}
	if _, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "nothing is here"}); err != nil {
		t.Errorf("an empty index: %v", err)
	}
}

// finished waits until a job has ended and returns it.
func finished(t *testing.T, c servicetest.Client, jobID string) *ragdv1.Job {
	t.Helper()
	var job *ragdv1.Job
	wait.For(t, "the end of job "+jobID, func() bool {
		var err error
		if job, err = c.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: jobID}); err != nil {
			t.Fatal(err)
		}
		return job.Status != "queued" && job.Status != "running"
	})
	return job
}

func TestAnIndexStoresTheConfiguredEdgeTypes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "main", Graph: &ragdv1.GraphSettings{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	upload(t, c, film, director, town)
	described := func() *ragdv1.Graph {
		t.Helper()
		i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "main"})
		if err != nil {
			t.Fatal(err)
		}
		return i.Graph
	}
	change := func(settings *ragdv1.GraphSettings) {
		t.Helper()
		if _, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "main", Graph: settings}); err != nil {
			t.Fatal(err)
		}
		again, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
		if err != nil {
			t.Fatal(err)
		}
		if job := finished(t, c, again.JobId); job.Status != "succeeded" || job.Kind != "graph" || job.Progress.Done != 3 || job.Progress.Unit != "documents" {
			t.Fatalf("the rebuild ended as %v", job)
		}
	}
	if g := described(); !g.Settings.Off || g.Names+g.Mentions+g.Nodes != 0 {
		t.Errorf("off: %v", g)
	}
	_, err = c.GraphRag(t.Context(), ask(filmQuestion))
	servicetest.WantCode(t, "a walk without a graph", err, connect.CodeFailedPrecondition)

	change(&ragdv1.GraphSettings{EdgeTypes: []string{"mention"}})
	if g := described(); g.Names == 0 || g.Mentions == 0 || g.Similarities != 0 || g.Nodes != 3 || g.Components != 1 || g.ComponentsTime == nil {
		t.Errorf("mentions alone: %v", g)
	}
	s.Handlers.Indexes.Forget("acme", "main")
	if got := uris(graphRag(t, c, ask(filmQuestion))); !slices.Equal(got, []string{"film", "director", "town"}) {
		t.Errorf("mentions alone lead to %v", got)
	}
	req := ask(filmQuestion)
	req.GraphOptions = &ragdv1.GraphOptions{EdgeTypes: []string{"similar"}}
	_, err = c.GraphRag(t.Context(), req)
	servicetest.WantCode(t, "a type that is not kept", err, connect.CodeInvalidArgument)

	change(&ragdv1.GraphSettings{Off: true})
	if g := described(); g.Names+g.Mentions+g.Components != 0 {
		t.Errorf("off again: %v", g)
	}
	for name, settings := range map[string]*ragdv1.GraphSettings{
		"edgeTypes": {EdgeTypes: []string{"guess"}},
		"threshold": {Threshold: new(2.0)},
		"off":       {Off: true, EdgeTypes: []string{"next"}},
	} {
		_, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "main", Graph: settings})
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), "graph."+name) {
			t.Errorf("%s: the message is %q", name, err)
		}
	}
}

func TestRebuildGraphNeedsAnUnfilteredKeyOfTheTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	acme.Index(t, "main")
	upload(t, acme, film, director, town)
	_, err := globex.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	servicetest.WantCode(t, "another tenant", err, connect.CodeNotFound)
	open, err := structpb.NewStruct(map[string]any{"level": "open"})
	if err != nil {
		t.Fatal(err)
	}
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: open}))
	_, err = limited.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	servicetest.WantCode(t, "a filtered key", err, connect.CodePermissionDenied)
	i, err := limited.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "main"})
	if err != nil || i.Graph.Names+i.Graph.Mentions+i.Graph.Components != 0 {
		t.Errorf("a filtered key is told %v, error %v", i.GetGraph(), err)
	}
}

func TestAPendingRebuildIsCancelled(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	started, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "main"}); err != nil || same.JobId != started.JobId {
		t.Errorf("a second rebuild: %v, %v", same, err)
	}
	job, err := c.CancelJob(t.Context(), &ragdv1.CancelJobRequest{JobId: started.JobId})
	if err != nil || job.Status != "cancelled" {
		t.Fatalf("got %v, %v", job, err)
	}
	again, err := c.RetryJob(t.Context(), &ragdv1.RetryJobRequest{JobId: started.JobId})
	if err != nil || again.JobId == started.JobId || again.Status != "queued" {
		t.Errorf("tried again: %v, %v", again, err)
	}
}
