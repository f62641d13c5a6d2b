package graph_test

import (
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// yard are the texts of several indexes. In ships the answer stands in a document that another one names.
var yard = map[string]map[string]string{
	"ships": {
		"orders": "The winch of the tug Saltmarsh is driven by the gearbox GX-77.",
		"GX-77":  "The gearbox GX-77 needs 3.2 litres of oil, which is changed in spring.",
		"paint":  "Hulls are painted in dry weather.",
	},
	"people": {"crew": "Mara is the captain of the tug Saltmarsh.", "cook": "The cook boils beans."},
	"garden": {"beans": "Beans are sown in May.", "roses": "Roses are cut back in March."},
}

// newYard returns the service with a tenant that has the texts, and another that has the same, all open but those of roses and crew.
func newYard(t *testing.T) (s *servicetest.Service, own, other servicetest.Client) {
	t.Helper()
	s = servicetest.New(t, service.Config{})
	own, other = s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{own, other} {
		for name, texts := range yard {
			c.Index(t, name)
			for uri, text := range texts {
				c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: uri, Title: uri, Source: servicetest.Text(text), Metadata: servicetest.Object(t, map[string]any{"open": uri != "roses" && uri != "crew"})})
			}
		}
	}
	return s, own, other
}

const yardQuestion = "how much oil for the winch of the tug Saltmarsh?"

// from returns where sources are, as index/uri.
func from(res *ragdv1.GraphRagResponse) (out []string) {
	for _, source := range res.GetSources() {
		out = append(out, source.GetIndexName()+"/"+source.GetUri())
	}
	return out
}

func TestAWalkThroughSeveralIndexesIsOneOrder(t *testing.T) {
	t.Parallel()
	_, own, _ := newYard(t)
	ask := func(req *ragdv1.GraphRagRequest) *ragdv1.GraphRagResponse {
		t.Helper()
		req.QueryText = yardQuestion
		res, err := own.GraphRag(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	all := ask(&ragdv1.GraphRagRequest{Explain: true, MaxTokens: new(int32(2000))})
	found := from(all)
	if len(found) < 3 || !slices.Contains(found[:2], "ships/orders") || slices.Index(found, "ships/GX-77") < 0 || slices.Index(found, "ships/GX-77") > slices.Index(found, "people/cook") && slices.Contains(found, "people/cook") {
		t.Errorf("found %q", found)
	}
	if !slices.IsSortedFunc(all.Sources, func(a, b *ragdv1.Source) int { return int(1e9 * (b.Score - a.Score)) }) {
		t.Error("the scores are not in order")
	}
	if all.Sources[0].Score <= 0 || all.Sources[0].Score > 1 || all.QueryId == "" || !strings.Contains(all.RelevantContext, "Saltmarsh") || all.Budget == nil {
		t.Errorf("score %v, query id %q, context %q, budget %v", all.Sources[0].Score, all.QueryId, all.RelevantContext, all.Budget)
	}

	// The order within an index of which others name nothing is that of the index alone, and its best score is that of its best seed.
	for name := range yard {
		if name == "garden" { // the cook names beans
			continue
		}
		alone := ask(&ragdv1.GraphRagRequest{IndexName: name})
		search, err := own.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: name, QueryText: yardQuestion})
		if err != nil {
			t.Fatal(err)
		}
		var in, of []string
		best := 0.0
		for _, source := range all.Sources {
			if source.IndexName == name {
				in, best = append(in, source.Uri), max(best, source.Score)
			}
		}
		for _, source := range alone.Sources {
			of = append(of, source.Uri)
		}
		if !slices.Equal(in, of) {
			t.Errorf("of %s: %q, alone %q", name, in, of)
		}
		if want := search.Sources[0].Score; best < want-1e-6 || best > want+1e-6 {
			t.Errorf("the best score of %s is %v, that of its best seed %v", name, best, want)
		}
	}
	for n, edge := range all.Explain.Edges {
		if a, b := all.Explain.Nodes[edge.From], all.Explain.Nodes[edge.To]; a.IndexName == "" || a.IndexName != b.IndexName {
			t.Errorf("edge %d leads from %v to %v", n, a, b)
		}
	}

	weighed := ask(&ragdv1.GraphRagRequest{IndexNames: []string{"ships", "gar*"}, IndexWeights: []*ragdv1.IndexWeight{{IndexName: "garden", Weight: 1000}}, TopK: new(int32(2))})
	if got := from(weighed); len(got) != 2 || slices.ContainsFunc(got, func(at string) bool { return !strings.HasPrefix(at, "garden/") }) {
		t.Errorf("the weighed index first: %q", got)
	}
	reranked := ask(&ragdv1.GraphRagRequest{IndexNames: []string{"*"}, Reranker: &ragdv1.Reranker{Kind: "lexical"}, TopK: new(int32(3))})
	if got := from(reranked); len(got) != 3 || got[0] != "ships/orders" || reranked.Sources[0].Details == nil {
		t.Errorf("reranked: %q", got)
	}
	if bare := ask(&ragdv1.GraphRagRequest{IncludeSources: new(false)}); len(bare.Sources) != 0 || bare.QueryId != "" || bare.RelevantContext == "" {
		t.Errorf("without sources: %v", bare)
	}
}

func TestWhatSeveralWalksRefuse(t *testing.T) {
	t.Parallel()
	_, own, _ := newYard(t)
	for name, req := range map[string]*ragdv1.GraphRagRequest{
		"scope":        {Scope: "global"},
		"indexNames":   {IndexName: "ships", IndexNames: []string{"people"}},
		"indexWeights": {IndexWeights: []*ragdv1.IndexWeight{{IndexName: "none", Weight: 1}}},
		"topK":         {TopK: new(int32(0))},
		"queryText":    {QueryText: " ", QueryVector: make([]float32, 3), Reranker: &ragdv1.Reranker{Kind: "lexical"}},
	} {
		if req.QueryText == "" {
			req.QueryText = yardQuestion
		}
		_, err := own.GraphRag(t.Context(), req)
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := own.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: yardQuestion, IndexNames: []string{"nowhere-*"}})
	servicetest.WantCode(t, "a pattern without an index", err, connect.CodeNotFound)

	// An index that cannot answer is a warning, unless there is no other.
	if _, err := own.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "raw", Dimension: 3}); err != nil {
		t.Fatal(err)
	}
	res, err := own.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: yardQuestion, SearchMode: "hybrid"})
	if err != nil || !slices.Contains(from(res), "ships/orders") || !slices.ContainsFunc(res.GetWarnings(), func(w string) bool { return strings.HasPrefix(w, `index "raw" did not answer`) }) {
		t.Errorf("%q, %q, %v", from(res), res.GetWarnings(), err)
	}
	_, err = own.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: yardQuestion, SearchMode: "hybrid", IndexNames: []string{"raw"}})
	servicetest.WantCode(t, "an index that cannot answer alone", err, connect.CodeInvalidArgument)
}

// A passage of one index names a document of another, which the question does not.
func TestNamesLeadFromIndexToIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	for name, texts := range map[string]map[string]string{
		"tugs":  {"orders": "The winch of the tug Saltmarsh is driven by the gearbox GX-77.", "paint": "Hulls are painted in dry weather."},
		"parts": {"GX-77": "It takes 3.2 litres, changed in spring.", "GX-78": "It takes 4.1 litres, changed in autumn.", "bolts": "Bolts are kept in the shed.", "anchors": "Anchors and the tug are painted."},
	} {
		c.Index(t, name)
		for uri, text := range texts {
			c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: uri, Title: uri, Source: servicetest.Text(text), Metadata: servicetest.Object(t, map[string]any{"kind": uri})})
		}
	}
	ask := func(c servicetest.Client, req *ragdv1.GraphRagRequest) *ragdv1.GraphRagResponse {
		t.Helper()
		req.QueryText, req.Explain = "what drives the tug Saltmarsh?", true
		res, err := c.GraphRag(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	whole := ask(c, &ragdv1.GraphRagRequest{})
	first := slices.IndexFunc(whole.GetSources(), func(s *ragdv1.Source) bool { return s.GetIndexName() == "parts" })
	if got := from(whole); len(got) == 0 || got[0] != "tugs/orders" || first < 0 || got[first] != "parts/GX-77" {
		t.Fatalf("found %q", got)
	}
	if path := whole.Sources[first].GetPath(); !strings.Contains(path, `named "GX-77" by orders of index tugs`) {
		t.Errorf("the path is %q", path)
	}
	if len(whole.GetWarnings()) > 0 || whole.Sources[first].Score < whole.Sources[0].Score/2-1e-6 {
		t.Errorf("%q, scores %v and %v", whole.GetWarnings(), whole.Sources[0].Score, whole.Sources[first].Score)
	}
	lone := func(res *ragdv1.GraphRagResponse) bool { return !strings.Contains(res.String(), "by orders") }
	if res := ask(c, &ragdv1.GraphRagRequest{IndexNames: []string{"parts"}}); !lone(res) {
		t.Errorf("without the index that names it: %q", from(res))
	}
	if res := ask(c, &ragdv1.GraphRagRequest{GraphOptions: &ragdv1.GraphOptions{EdgeTypes: []string{"next", "similar"}}}); !lone(res) {
		t.Errorf("without mentions: %q", from(res))
	}
	bound := func(hidden string) servicetest.Client {
		return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"kind": map[string]any{"$ne": hidden}})}))
	}
	if res := ask(bound("orders"), &ragdv1.GraphRagRequest{}); !lone(res) || strings.Contains(res.String(), "Saltmarsh is") {
		t.Errorf("a hidden passage names it: %q", from(res))
	}
	if res := ask(bound("GX-77"), &ragdv1.GraphRagRequest{}); strings.Contains(strings.Join(from(res), " "), "GX-77") || strings.Contains(res.String(), "litres, changed in spring") {
		t.Errorf("what is named is hidden: %q", from(res))
	}
}

// Nobody sees an index or a document of others through several walks.
func TestSeveralWalksKeepWalls(t *testing.T) {
	t.Parallel()
	s, own, other := newYard(t)
	ids := map[string]bool{}
	for name := range yard {
		page, err := own.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: name})
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range page.GetDocuments() {
			ids[document.GetDocumentId()] = true
		}
	}
	ask := func(c servicetest.Client, names ...string) (*ragdv1.GraphRagResponse, error) {
		return c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: yardQuestion + " roses crew beans", IndexNames: names, TopK: new(int32(50)), Explain: true})
	}
	owned := func(res *ragdv1.GraphRagResponse) (n int) {
		for _, source := range res.GetSources() {
			if ids[source.GetDocumentId()] {
				n++
			}
		}
		for _, node := range res.GetExplain().GetNodes() {
			if ids[node.GetDocumentId()] {
				n++
			}
		}
		return n
	}
	mine, err := ask(own)
	if err != nil || owned(mine) != len(mine.Sources)+len(mine.Explain.Nodes) || len(mine.Sources) == 0 {
		t.Errorf("the tenant sees %v, %v", mine, err)
	}
	theirs, err := ask(other)
	if err != nil || owned(theirs) != 0 || len(theirs.Sources) == 0 {
		t.Errorf("another tenant sees %v, %v", theirs, err)
	}

	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"ships", "garden"}}}))
	for _, names := range [][]string{nil, {"*"}, {"ships", "pe*", "ga*"}} {
		res, err := ask(bound, names...)
		if err != nil || strings.Contains(strings.Join(from(res), " "), "people/") || strings.Contains(res.String(), "people") {
			t.Errorf("bound to indexes, %q: %q, %v", names, from(res), err)
		}
	}
	_, err = ask(bound, "pe*")
	servicetest.WantCode(t, "a pattern beyond the bounds", err, connect.CodeNotFound)
	_, err = ask(bound, "ships", "people")
	servicetest.WantCode(t, "an index beyond the bounds", err, connect.CodeNotFound)

	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true})}))
	res, err := ask(filtered)
	if found := from(res); err != nil || len(found) == 0 || slices.Contains(found, "garden/roses") || slices.Contains(found, "people/crew") {
		t.Errorf("with a mandatory filter: %q, %v", found, err)
	}
	for _, node := range res.GetExplain().GetNodes() {
		if node.Uri == "roses" || node.Uri == "crew" {
			t.Errorf("with a mandatory filter the walk reached %v", node)
		}
	}
}
