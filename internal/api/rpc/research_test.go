package rpc_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// orchard are pages of which each names the next one, beside others that it names as well.
var orchard = []page{
	{"cider", "Amber Cider", "Amber Cider is pressed by Hallow Press. Its label was drawn by Mina Torr.", map[string]any{"level": "open", "day": "1990-05-02"}},
	{"press", "Hallow Press", "Hallow Press was founded by Edwin Marsh. Mina Torr once worked there.", map[string]any{"level": "open", "day": "1991-05-02"}},
	{"edwin", "Edwin Marsh", "Edwin Marsh was born in Little Stoke. He admired Mina Torr.", map[string]any{"level": "secret", "day": "1992-05-02"}},
	{"mina", "Mina Torr", "Mina Torr was born in Upper Vale and painted signs.", map[string]any{"level": "open", "day": "1993-05-02"}},
	{"stoke", "Little Stoke", "Little Stoke has 340 inhabitants and a well.", map[string]any{"level": "open", "day": "1994-05-02"}},
	{"vale", "Upper Vale", "Upper Vale has 90 inhabitants.", map[string]any{"level": "open", "day": "1995-05-02"}},
	{"fair-1990", "Apple fair", "The apple fair of 1990 was opened by Edwin Marsh.", map[string]any{"level": "open", "day": "1990-09-01"}},
	{"fair-1996", "Apple fair again", "The apple fair of 1996 was opened by Mina Torr.", map[string]any{"level": "open", "day": "1996-09-01"}},
}

const orchardQuestion = "How many inhabitants has the birthplace of the founder of the press that makes Amber Cider?"

// foundURIs returns the uris of the passages of a part.
func foundURIs(res *ragdv1.ResearchResponse, part int) (all []string) {
	for _, n := range res.Parts[part].Passages {
		all = append(all, res.Passages[n].Source.Uri)
	}
	return all
}

// researched fails the test for an error of a research.
func researched(t *testing.T) func(*ragdv1.ResearchResponse, error) *ragdv1.ResearchResponse {
	return func(res *ragdv1.ResearchResponse, err error) *ragdv1.ResearchResponse {
		t.Helper()
		noError(t, err)
		return res
	}
}

func TestResearch(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "main", MetadataSchema: servicetest.Object(t, map[string]any{
		"type": "object", "properties": map[string]any{"day": map[string]any{"type": "string", "format": "date"}},
	})})
	noError(t, err)
	upload(t, c, orchard...)
	open := servicetest.Object(t, map[string]any{"level": "open"})
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: open}))

	t.Run("a chain is followed to its end, with quotes", func(t *testing.T) {
		t.Parallel()
		res := researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion}))
		if got := foundURIs(res, 0); !slices.Equal(got, []string{"cider", "press", "edwin", "stoke"}) || !res.Parts[0].Found || res.Stopped != "exhausted" {
			t.Fatalf("the chain is %v, found %v, stopped %s", got, res.Parts[0].Found, res.Stopped)
		}
		for n, names := range []string{"Hallow Press", "Edwin Marsh", "Little Stoke", ""} {
			passage := res.Passages[res.Parts[0].Passages[n]]
			at := slices.IndexFunc(passage.Quotes, func(q *ragdv1.ResearchQuote) bool { return q.Names == names })
			if at < 0 {
				t.Errorf("%s quotes nothing that leads to %q: %v", passage.Source.Uri, names, passage.Quotes)
				continue
			}
			quote := passage.Quotes[at]
			if passage.Source.Document[quote.Range.StartByte:quote.Range.EndByte] != quote.Text || !strings.Contains(quote.Text, names) {
				t.Errorf("%s quotes %q at %v", passage.Source.Uri, quote.Text, quote.Range)
			}
		}
		if !strings.Contains(res.RelevantContext, "340 inhabitants") {
			t.Errorf("the context is %q", res.RelevantContext)
		}
	})
	t.Run("a comparison has a part for each thing", func(t *testing.T) {
		t.Parallel()
		res := researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: "Who was born in the larger town, Edwin Marsh or Mina Torr?"}))
		if len(res.Parts) != 2 || foundURIs(res, 0)[0] != "edwin" || foundURIs(res, 1)[0] != "mina" {
			t.Errorf("the parts are %v", res.Parts)
		}
		seen := map[string]bool{}
		for _, p := range res.Passages {
			if seen[p.Source.Id] {
				t.Errorf("%s is there twice", p.Source.Uri)
			}
			seen[p.Source.Id] = true
		}
	})
	t.Run("what is not there is said", func(t *testing.T) {
		t.Parallel()
		res := researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: "Who founded Hallow Press, and which telescope discovered the comet Zyx?"}))
		if len(res.Parts) != 2 || !res.Parts[0].Found || res.Parts[1].Found || !slices.Contains(res.Parts[1].Missing, "telescope") {
			t.Errorf("the parts are %v", res.Parts)
		}
	})
	t.Run("dates select by the schema", func(t *testing.T) {
		t.Parallel()
		res := researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: "Who opened the apple fair in 1996?"}))
		if res.Parts[0].DateFilter == nil || foundURIs(res, 0)[0] != "fair-1996" {
			t.Errorf("the part is %v with %v", res.Parts[0], foundURIs(res, 0))
		}
	})
	t.Run("a hidden page is neither shown nor passed", func(t *testing.T) {
		t.Parallel()
		for name, ask := range map[string]func() (*ragdv1.ResearchResponse, error){
			"mandatory filter": func() (*ragdv1.ResearchResponse, error) {
				return limited.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion})
			},
			"filter": func() (*ragdv1.ResearchResponse, error) {
				return c.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion, Filter: value(t, open.AsMap())})
			},
		} {
			res := researched(t)(ask())
			for _, p := range res.Passages {
				if p.Source.Uri == "edwin" || strings.Contains(p.Via, "Edwin Marsh") {
					t.Errorf("%s: %s is shown, %s", name, p.Source.Uri, p.Via)
				}
			}
		}
	})
	t.Run("budgets hold", func(t *testing.T) {
		t.Parallel()
		res := researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion, Budget: &ragdv1.ResearchBudget{Steps: new(int32(2))}}))
		if res.StepCount != 2 || res.Stopped != "steps" || len(res.Passages) == 0 {
			t.Errorf("%d steps, stopped by %q with %d passages", res.StepCount, res.Stopped, len(res.Passages))
		}
		res = researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion, Budget: &ragdv1.ResearchBudget{Passages: new(int32(3))}}))
		if len(res.Passages) != 3 || res.Parts[0].Found {
			t.Errorf("%d passages, found %v", len(res.Passages), res.Parts[0].Found)
		}
		res = researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion, Budget: &ragdv1.ResearchBudget{MaxTokens: new(int32(512))}}))
		if res.Budget == nil || res.Budget.UsedTokens > 512 {
			t.Errorf("the budget is %v", res.Budget)
		}
		res = researched(t)(c.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion, Budget: &ragdv1.ResearchBudget{Seconds: new(1e-6)}}))
		if res.Stopped != "seconds" {
			t.Errorf("it was stopped by %q", res.Stopped)
		}
	})
	t.Run("the stream tells the plan, the steps and the result", func(t *testing.T) {
		t.Parallel()
		stream, err := c.ResearchStream(t.Context(), &ragdv1.ResearchStreamRequest{Research: &ragdv1.ResearchRequest{Question: orchardQuestion}})
		noError(t, err)
		var kinds []string
		steps := int32(0)
		for stream.Receive() {
			switch e := stream.Msg(); {
			case e.GetPlan() != nil:
				kinds = append(kinds, "plan")
			case e.GetStep() != nil:
				if e.GetStep().Number <= steps {
					t.Errorf("step %d after %d", e.GetStep().Number, steps)
				}
				steps = e.GetStep().Number
			case e.GetFinding() != nil:
				kinds = append(kinds, strings.Join(e.GetFinding().Titles, ">"))
			case e.GetResult() != nil:
				kinds = append(kinds, "result")
			}
		}
		noError(t, stream.Err())
		if want := []string{"plan", "Amber Cider>Hallow Press>Edwin Marsh>Little Stoke", "result"}; !slices.Equal(kinds, want) || steps < 3 {
			t.Errorf("the events are %v with %d steps, want %v", kinds, steps, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stream, err = c.ResearchStream(ctx, &ragdv1.ResearchStreamRequest{Research: &ragdv1.ResearchRequest{Question: orchardQuestion}})
		noError(t, err)
		stream.Receive()
		cancel()
		for stream.Receive() { // what is on its way
		}
		if stream.Err() != nil {
			servicetest.WantCode(t, "a cancelled research", stream.Err(), connect.CodeCanceled)
		}
	})
	t.Run("bad input names its field", func(t *testing.T) {
		t.Parallel()
		for field, req := range map[string]*ragdv1.ResearchRequest{
			"question":            {Question: " "},
			"budget.steps":        {Question: "x", Budget: &ragdv1.ResearchBudget{Steps: new(int32(65))}},
			"budget.seconds":      {Question: "x", Budget: &ragdv1.ResearchBudget{Seconds: new(-1.0)}},
			"budget.passages":     {Question: "x", Budget: &ragdv1.ResearchBudget{Passages: new(int32(0))}},
			"budget.maxTokens":    {Question: "x", Budget: &ragdv1.ResearchBudget{MaxTokens: new(int32(3))}},
			"budget.encodingName": {Question: "x", Budget: &ragdv1.ResearchBudget{EncodingName: "x"}},
		} {
			_, err := c.Research(t.Context(), req)
			servicetest.WantCode(t, field, err, connect.CodeInvalidArgument)
			if err != nil && !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
		_, err := c.Research(t.Context(), &ragdv1.ResearchRequest{Question: strings.Repeat("x", 9<<10)})
		servicetest.WantCode(t, "a long question", err, connect.CodeInvalidArgument)
		_, err = c.Research(t.Context(), &ragdv1.ResearchRequest{Question: "x", IndexNames: []string{"none"}})
		servicetest.WantCode(t, "an unknown index", err, connect.CodeNotFound)
	})
}

// Two tenants have pages of the same names; and a key that is bound to one of two indexes sees that one alone.
func TestResearchStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, name := range []string{"main", "other"} {
		acme.Index(t, name)
		for _, p := range orchard[:3] {
			acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: name, Uri: name + "-" + p.uri, Title: p.title, Source: servicetest.Text(p.text)})
		}
	}
	bolt.Index(t, "main")
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: names("other")}))
	res := researched(t)(bolt.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion}))
	if len(res.Passages) != 0 || res.Parts[0].Found {
		t.Errorf("another tenant sees %v", res.Passages)
	}
	res = researched(t)(bound.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion}))
	if got := foundURIs(res, 0); !slices.Equal(got, []string{"other-cider", "other-press", "other-edwin"}) {
		t.Errorf("the bound key finds %v", got)
	}
	for _, p := range res.Passages {
		if !strings.HasPrefix(p.Source.Uri, "other-") {
			t.Errorf("the bound key sees %s", p.Source.Uri)
		}
	}
	_, err := bound.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion, IndexNames: []string{"main"}})
	servicetest.WantCode(t, "an index outside of the bounds", err, connect.CodeNotFound)
	both := researched(t)(acme.Research(t.Context(), &ragdv1.ResearchRequest{Question: orchardQuestion, IndexNames: []string{"*"}}))
	if len(foundURIs(both, 0)) != 3 {
		t.Errorf("of both indexes it finds %v", foundURIs(both, 0))
	}
}

// Where the graph keeps no mentions, names are searched for: a hidden page is not found so either, nor one of another tenant.
func TestResearchSearchesForNamesWithoutMentions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "main", Graph: &ragdv1.GraphSettings{EdgeTypes: []string{"similar"}}})
		noError(t, err)
	}
	upload(t, acme, orchard...)
	upload(t, bolt, orchard[0], orchard[3])
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
	req := &ragdv1.ResearchRequest{Question: "Where was the founder of Hallow Press born?"}
	res := researched(t)(acme.Research(t.Context(), req))
	if got := foundURIs(res, 0); !slices.Equal(got, []string{"press", "edwin"}) || !res.Parts[0].Found {
		t.Errorf("it finds %v: %v", got, res.Parts[0])
	}
	for name, c := range map[string]servicetest.Client{"a key with a filter": limited, "another tenant": bolt} {
		res := researched(t)(c.Research(t.Context(), req))
		for _, p := range res.Passages {
			if p.Source.Uri == "edwin" || strings.Contains(p.Via, "Edwin Marsh") {
				t.Errorf("%s sees %s, %s", name, p.Source.Uri, p.Via)
			}
		}
		if res.Parts[0].Found {
			t.Errorf("%s finds %v", name, res.Parts[0])
		}
	}
}
