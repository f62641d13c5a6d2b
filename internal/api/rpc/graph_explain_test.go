package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestTheNodesOfAWalkTellHowTheyWereReached(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "main")
	upload(t, c, film, director, town)
	res := must(t)(c.GraphRag(t.Context(), ask(filmQuestion)))
	nodes, edges := res.Explain.Nodes, res.Explain.Edges
	if len(nodes) != 3 {
		t.Fatalf("nodes %v", nodes)
	}
	for i, uri := range []string{"film", "director", "town"} {
		node := nodes[i]
		if node.Uri != uri || node.Path != res.Sources[i].Path || node.Path == "" {
			t.Errorf("node %d is %v, its source has the path %q", i, node, res.Sources[i].Path)
		}
		if node.StartByte != res.Sources[i].StartByte || node.EndByte != res.Sources[i].EndByte || node.EndByte == 0 {
			t.Errorf("%s has the bytes %d to %d", uri, node.StartByte, node.EndByte)
		}
		if i == 0 {
			if node.ReachedBy != nil {
				t.Errorf("a walk starts at %s, which is reached by %v", uri, *node.ReachedBy)
			}
			continue
		}
		if node.ReachedBy == nil {
			t.Fatalf("%s is reached by nothing", uri)
		}
		edge := edges[*node.ReachedBy]
		if int(edge.From) != i-1 || int(edge.To) != i || edge.Type != "mention" || !strings.HasPrefix(edge.Words, "names ") {
			t.Errorf("%s is reached by %v", uri, edge)
		}
	}
}

func TestAnExplanationHasAsManyNodesAsAskedFor(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "main")
	upload(t, c, film, director, town)
	all := must(t)(c.GraphRag(t.Context(), ask(filmQuestion))).Explain.Nodes
	for n := int32(1); n <= 4; n++ {
		req := ask(filmQuestion)
		req.ExplainNodes = &n
		res := must(t)(c.GraphRag(t.Context(), req))
		nodes := res.Explain.Nodes
		if len(nodes) != min(int(n), len(all)) || nodes[len(nodes)-1].Uri != all[len(nodes)-1].Uri {
			t.Errorf("with %d: %v", n, nodes)
		}
		for _, edge := range res.Explain.Edges {
			if int(edge.From) >= len(nodes) || int(edge.To) >= len(nodes) {
				t.Errorf("with %d: edge %v of %d nodes", n, edge, len(nodes))
			}
		}
	}
	for _, n := range []int32{-1, 0, 2001} {
		req := ask(filmQuestion)
		req.ExplainNodes = &n
		_, err := c.GraphRag(t.Context(), req)
		servicetest.WantCode(t, "too few or many", err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), "explainNodes") {
			t.Errorf("with %d: %v", n, err)
		}
	}
}

func TestTheNodesOfAWalkHaveTopics(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c, other := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{c, other} {
		c.Index(t, "main")
		uploadTopics(t, c)
	}
	question := &ragdv1.GraphRagRequest{IndexName: "main", QueryText: "the valve of PX-11 and the director of RL-11", SearchMode: "keyword", Explain: true}
	topics := func(c servicetest.Client) map[int32]map[string]bool {
		t.Helper()
		found := map[int32]map[string]bool{}
		nodes := must(t)(c.GraphRag(t.Context(), question)).Explain.Nodes
		if len(nodes) < 10 {
			t.Fatalf("the walk reached %v", nodes)
		}
		for _, node := range nodes {
			if found[node.TopicId] == nil {
				found[node.TopicId] = map[string]bool{}
			}
			found[node.TopicId][strings.Split(node.Uri, "/")[0]] = true
		}
		return found
	}
	if got := topics(c); len(got) != 1 || got[0] == nil {
		t.Errorf("before topics are found: %v", got)
	}
	listed := map[int32]bool{}
	for _, topic := range listTopics(t, c).Topics {
		listed[topic.TopicId] = true
	}
	got := topics(c)
	for id, kinds := range got {
		if !listed[id] || len(kinds) != 1 {
			t.Errorf("topic %d has %v; listed are %v", id, kinds, listed)
		}
	}
	if len(got) < 2 {
		t.Errorf("topics %v", got)
	}
	if got := topics(other); len(got) != 1 || got[0] == nil {
		t.Errorf("another tenant, whose topics were not found, has %v", got)
	}
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"},
		MandatoryFilter: servicetest.Object(t, map[string]any{"kind": map[string]any{"$in": []any{"pump", "film"}}}),
	}))
	if got := topics(limited); len(got) != 1 || got[0] == nil {
		t.Errorf("a key with a filter sees topics %v", got)
	}
}
