package rpc_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// urisIn returns the uris of the sources of an answer.
func urisIn(res *ragdv1.VectorQueryResponse) (uris []string) {
	for _, source := range res.GetSources() {
		uris = append(uris, source.GetUri())
	}
	return uris
}

func TestFieldWeightsSayWhereATermCounts(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	ctx := t.Context()
	c.Index(t, "docs")
	c.UploadAll(t, []*ragdv1.UploadDocumentRequest{
		{IndexName: "docs", Uri: "title", Title: "Anchor winch", Source: servicetest.Text("Grease it twice a year. Somebody has to see to it before the boats go out in spring, and note it in the log.")},
		{IndexName: "docs", Uri: "heading", Title: "Upkeep", ContentType: "text/markdown", Source: servicetest.Text("# Anchor winch\n\nKeep salt away with fresh water after every trip, and cover the drum for as long as the ship lies in the harbour over winter.")},
		{IndexName: "docs", Uri: "text", Title: "Ropes", Source: servicetest.Text("The anchor winch takes the chain. An anchor winch that slips is stopped by hand, and the anchor winch is looked at by two of the crew.")},
		{IndexName: "docs", Uri: "other", Title: "Galley", Source: servicetest.Text("The stove burns alcohol, which is stored on deck in a locker that drains over board.")},
	})
	c.AwaitAll(t, "docs")
	ask := func(mode string, w *ragdv1.FieldWeights, profile string) *ragdv1.VectorQueryResponse {
		t.Helper()
		return need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "anchor winch", SearchMode: mode, FieldWeights: w, Profile: profile, Explain: true})).(*ragdv1.VectorQueryResponse)
	}
	for _, mode := range []string{"keyword", "hybrid"} {
		plain := ask(mode, nil, "")
		for best, w := range map[string]*ragdv1.FieldWeights{
			"title":   {Title: new(5.0), Text: new(0.2), Headings: new(0.2)},
			"heading": {Title: new(0.0), Text: new(0.2), Headings: new(9.0)},
			"text":    {Title: new(0.1), Headings: new(0.1)},
		} {
			res := ask(mode, w, "")
			if uris := urisIn(res); uris[0] != best {
				t.Errorf("%s with %v: %v, want %s first", mode, w, uris, best)
			}
			if !slices.ContainsFunc(res.Explain.Stages, func(s *ragdv1.Stage) bool { return s.Name == "fields" }) || res.Sources[0].KeywordFactor == nil {
				t.Errorf("%s with %v: explained by %v, factor %v", mode, w, res.Explain.Stages, res.Sources[0].KeywordFactor)
			}
		}
		// 1 everywhere is no weight, and less than 1 for all fields lowers all scores.
		same := ask(mode, &ragdv1.FieldWeights{Title: new(1.0), Text: new(1.0)}, "")
		if !slices.Equal(urisIn(same), urisIn(plain)) || same.Sources[0].Score != plain.Sources[0].Score || same.Sources[0].KeywordFactor != nil {
			t.Errorf("%s: weights of 1 give %v, none %v", mode, same.Sources, plain.Sources)
		}
		for _, s := range ask(mode, &ragdv1.FieldWeights{Title: new(0.5), Headings: new(0.5), Text: new(0.5)}, "").Sources {
			if s.KeywordFactor != nil && !(*s.KeywordFactor > 0.5 && *s.KeywordFactor < 1) {
				t.Errorf("%s: with half weights the terms of %s count %v times", mode, s.Uri, *s.KeywordFactor)
			}
		}
	}
	if res := ask("vector", &ragdv1.FieldWeights{Title: new(5.0)}, ""); res.Sources[0].KeywordFactor != nil {
		t.Errorf("without keywords: %v", res.Sources[0])
	}

	need(t)(c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{ProfileName: "titles", Ranking: &ragdv1.Ranking{FieldWeights: &ragdv1.FieldWeights{Title: new(5.0), Text: new(0.2), Headings: new(0.2)}}}))
	if uris := urisIn(ask("keyword", nil, "titles")); uris[0] != "title" {
		t.Errorf("by a profile: %v", uris)
	}
	if uris := urisIn(ask("keyword", &ragdv1.FieldWeights{Title: new(0.1), Headings: new(0.1)}, "titles")); uris[0] != "text" {
		t.Errorf("the query's weights do not go before the profile's: %v", uris)
	}
	need(t)(c.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "set", IndexName: "docs", Questions: []*ragdv1.Question{
		{QuestionId: "q", Text: "anchor winch", Relevant: []*ragdv1.Relevant{{Uri: "title"}}},
	}}))
	var runs []string
	for _, profile := range []string{"none", "titles"} {
		e := awaitEvaluation(t, c, need(t)(c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "set", K: []int32{1}, Settings: &ragdv1.StartEvaluationRequest_Query{
			Query: &ragdv1.VectorQueryRequest{SearchMode: "keyword", Profile: profile, FieldWeights: map[string]*ragdv1.FieldWeights{"none": {Title: new(0.1)}}[profile]},
		}})).(*ragdv1.Evaluation))
		runs = append(runs, e.EvaluationId)
	}
	compared := need(t)(c.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: runs[0], CandidateId: runs[1]})).(*ragdv1.EvaluationComparison)
	if len(compared.GetDifferences()) == 0 || compared.GetDifferences()[0].GetDifference() <= 0 {
		t.Errorf("compared: %v", compared)
	}

	for want, req := range map[string]*ragdv1.VectorQueryRequest{
		"fieldWeights.title: must be between 0 and 10": {FieldWeights: &ragdv1.FieldWeights{Title: new(11.0)}},
		"fieldWeights.text: must be between 0 and 10":  {FieldWeights: &ragdv1.FieldWeights{Text: new(math.NaN())}},
		"fieldWeights: must not all be 0":              {FieldWeights: &ragdv1.FieldWeights{Title: new(0.0), Headings: new(0.0), Text: new(0.0)}},
		"leave out hybrid.fusion rrf":                  {FieldWeights: &ragdv1.FieldWeights{Title: new(2.0)}, Hybrid: &ragdv1.Hybrid{Fusion: "rrf"}},
		"pageSize":                                     {FieldWeights: &ragdv1.FieldWeights{Title: new(2.0)}, PageSize: new(int32(2))},
	} {
		req.QueryText = "anchor winch"
		if _, err := c.VectorQuery(ctx, req); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Feedback of a tenant ranks the documents of that tenant, and of credentials with the same mandatory filter.
func TestPopularDocumentsComeFirst(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	popular := []*ragdv1.Boost{{Popularity: true, Weight: new(0.8)}}
	question := "when does the harbour open"
	for _, c := range []servicetest.Client{acme, bolt} {
		ranked(t, c, "docs")
	}
	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"size": map[string]any{"$gte": 0}})}))
	plain := need(t)(acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: question})).(*ragdv1.VectorQueryResponse)
	worst := plain.Sources[len(plain.Sources)-1]
	for _, words := range []string{"when does the harbour open", "harbour hours", "open at dawn"} {
		res := need(t)(acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: words})).(*ragdv1.VectorQueryResponse)
		for _, source := range res.Sources {
			judge(t, acme, res.QueryId, source.Id, source.Uri == worst.Uri)
		}
	}
	boosted := need(t)(acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: question, Boosts: popular, TopK: new(int32(1))})).(*ragdv1.VectorQueryResponse)
	// Three of three questions: 3/(3+5), less the seconds since.
	if got := boosted.Sources[0]; got.Uri != worst.Uri || math.Abs(got.Recency.GetFactor()-(0.2+0.8*3/8)) > 1e-3 {
		t.Errorf("popular: %v, want %s", got, worst.Uri)
	}
	walk := need(t)(acme.GraphRag(ctx, &ragdv1.GraphRagRequest{QueryText: question, Boosts: popular})).(*ragdv1.GraphRagResponse)
	if walk.Sources[0].Uri != worst.Uri {
		t.Errorf("popular in a walk: %v", walk.Sources)
	}
	for name, c := range map[string]servicetest.Client{"another tenant": bolt, "a key with a filter": filtered} {
		for _, source := range need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: question, Boosts: popular})).(*ragdv1.VectorQueryResponse).Sources {
			if math.Abs(source.Recency.GetFactor()-0.2) > 1e-9 {
				t.Errorf("the feedback shows to %s: %v", name, source)
			}
		}
	}
	for want, b := range map[string]*ragdv1.Boost{
		"boost.popularity: stands beside": {Popularity: true, Field: "size"},
		"boost.halfLife: must be":         {Popularity: true, HalfLife: "soon"},
	} {
		if _, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: question, Boost: b}); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A profile that another version of the service stored, with what this one does not read, fails no query, and can be listed and mended.
func TestAProfileThatCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	pool := schematest.Pool(t)
	c := servicetest.New(t, service.Config{AdminPool: pool}).Tenant(t, "acme")
	ctx := t.Context()
	ranked(t, c, "docs")
	for name, ranking := range map[string]string{
		"operator": `{"boosts": [{"filter": {"team": {"$sounds": "blue"}}}]}`,
		"shape":    `{"boosts": {"all": true}}`,
	} {
		need(t)(c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{ProfileName: name, Ranking: of("blue"), Default: true}))
		if _, err := pool.Exec(ctx, `UPDATE tenant_acme.indexes SET ranking_profiles = jsonb_set(ranking_profiles, ARRAY['profiles', (jsonb_array_length(ranking_profiles->'profiles') - 1)::text, 'versions', '0', 'ranking'], $1::jsonb), updated_at = now()`, ranking); err != nil {
			t.Fatal(err)
		}
		need(t)(c.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "docs"})) // drops the copy in memory
		want := "ranking profile " + name + "@1 of index docs cannot be applied"
		res := need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "harbour", Explain: true})).(*ragdv1.VectorQueryResponse)
		across := need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "harbour", IndexNames: []string{"*"}})).(*ragdv1.VectorQueryResponse)
		walk := need(t)(c.GraphRag(ctx, &ragdv1.GraphRagRequest{QueryText: "harbour"})).(*ragdv1.GraphRagResponse)
		for way, warnings := range map[string][]string{"query": res.Warnings, "several": across.Warnings, "walk": walk.Warnings} {
			if len(warnings) != 1 || !strings.Contains(warnings[0], want) {
				t.Errorf("%s, %s: warned %q, want %s", name, way, warnings, want)
			}
		}
		if len(res.Sources) != 3 || len(res.Explain.Profiles) != 0 || len(walk.Sources) != 3 {
			t.Errorf("%s: found %d and %d sources by %v", name, len(res.Sources), len(walk.Sources), res.Explain.Profiles)
		}
		listed := need(t)(c.ListRankingProfiles(ctx, &ragdv1.ListRankingProfilesRequest{})).(*ragdv1.ListRankingProfilesResponse)
		if len(listed.Profiles) != 1 || listed.Profiles[0].ProfileName != name || listed.Profiles[0].UnusableReason == "" {
			t.Errorf("%s: listed %v", name, listed)
		}
		if mended := need(t)(c.UpdateRankingProfile(ctx, &ragdv1.UpdateRankingProfileRequest{ProfileName: name, Ranking: of("green")})).(*ragdv1.RankingProfile); mended.UnusableReason != "" {
			t.Errorf("mended: %v", mended)
		}
		if uri, applied := bestBy(t, c, &ragdv1.VectorQueryRequest{}); uri != "green" || applied != "docs "+name+"@2" {
			t.Errorf("mended: %s by %s", uri, applied)
		}
		need(t)(c.DeleteRankingProfile(ctx, &ragdv1.DeleteRankingProfileRequest{ProfileName: name}))
	}
}
