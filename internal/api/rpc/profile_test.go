package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// ranked makes an index whose documents differ in their metadata only, and returns the order of the uris that a query has.
func ranked(t *testing.T, c servicetest.Client, indexName string) {
	t.Helper()
	c.Index(t, indexName)
	var uploads []*ragdv1.UploadDocumentRequest
	for n, team := range []string{"red", "blue", "green"} {
		uploads = append(uploads, &ragdv1.UploadDocumentRequest{
			IndexName: indexName, Uri: team, Source: servicetest.Text(fmt.Sprintf("The harbour of %s opens at dawn.", team)),
			Metadata: servicetest.Object(t, map[string]any{"team": team, "when": fmt.Sprintf("202%d-01-01", n), "size": n}),
		})
	}
	c.UploadAll(t, uploads)
	c.AwaitAll(t, indexName)
}

// of returns boosts of the documents of a team.
func of(team string) *ragdv1.Ranking {
	return &ragdv1.Ranking{Boosts: []*ragdv1.Boost{{Filter: structpb.NewStringValue(`{"team": "` + team + `"}`), Weight: new(0.9)}}}
}

// bestBy returns the uri of the best source of a query, and the profiles that were applied.
func bestBy(t *testing.T, c servicetest.Client, req *ragdv1.VectorQueryRequest) (uri, applied string) {
	t.Helper()
	req.QueryText, req.Explain = "when does the harbour open", true
	res, err := c.VectorQuery(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range res.Explain.Profiles {
		applied += fmt.Sprintf("%s %s@%d ", p.IndexName, p.ProfileName, p.Version)
	}
	return res.Sources[0].Uri, strings.TrimSpace(applied)
}

func TestRankingProfilesAreAppliedByName(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	ctx := t.Context()
	ranked(t, c, "docs")
	create := func(name string, ranking *ragdv1.Ranking, isDefault bool) *ragdv1.RankingProfile {
		t.Helper()
		return need(t)(c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{IndexName: "docs", ProfileName: name, Description: "for " + name, Ranking: ranking, Default: isDefault})).(*ragdv1.RankingProfile)
	}
	create("blue", of("blue"), false)
	made := create("green", of("green"), true)
	if made.Version != 1 || !made.Default || made.Description != "for green" || made.IndexName != "docs" || !slices.Equal(made.Versions, []int32{1}) ||
		made.Ranking.Boosts[0].GetWeight() != 0.9 || made.CreateTime == nil {
		t.Errorf("created %v", made)
	}
	check := func(what string, req *ragdv1.VectorQueryRequest, uri, applied string) {
		t.Helper()
		if got, by := bestBy(t, c, req); got != uri || by != applied {
			t.Errorf("%s: %s by %q, want %s by %q", what, got, by, uri, applied)
		}
	}
	check("the default", &ragdv1.VectorQueryRequest{IndexName: "docs"}, "green", "docs green@1")
	check("a name", &ragdv1.VectorQueryRequest{IndexName: "docs", Profile: "blue"}, "blue", "docs blue@1")
	check("what the query says", &ragdv1.VectorQueryRequest{IndexName: "docs", Profile: "blue", Boosts: of("red").Boosts}, "red", "docs blue@1")
	check("several indexes", &ragdv1.VectorQueryRequest{IndexNames: []string{"d*"}, Profile: "blue"}, "blue", "docs blue@1")
	// Pages, an order and reciprocal ranks cannot have boosts, and go before the profile.
	for _, req := range []*ragdv1.VectorQueryRequest{{PageSize: new(int32(2))}, {OrderBy: []*ragdv1.OrderBy{{Field: "size"}}}, {Hybrid: &ragdv1.Hybrid{Fusion: "rrf"}}} {
		if _, by := bestBy(t, c, req); by != "docs green@1" {
			t.Errorf("%v: applied %q", req, by)
		}
	}
	if res := need(t)(c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "harbour", Profile: "none", Explain: true})).(*ragdv1.VectorQueryResponse); len(res.Explain.Profiles) != 0 || res.Sources[0].Recency != nil {
		t.Errorf("without a profile: %v", res.Explain)
	}
	batch := need(t)(c.BatchQuery(ctx, &ragdv1.BatchQueryRequest{Queries: []*ragdv1.VectorQueryRequest{{QueryText: "harbour", Profile: "blue"}, {QueryText: "harbour", Profile: "bleu"}}})).(*ragdv1.BatchQueryResponse)
	if batch.Answers[0].GetAnswer().GetSources()[0].GetUri() != "blue" || batch.Answers[1].GetError().GetCode() != "not_found" || !strings.Contains(batch.Answers[1].GetError().GetMessage(), "did you mean blue") {
		t.Errorf("batch: %v", batch)
	}
	walk := need(t)(c.GraphRag(ctx, &ragdv1.GraphRagRequest{QueryText: "when does the harbour open", Profile: "blue", Explain: true})).(*ragdv1.GraphRagResponse)
	if walk.Sources[0].Uri != "blue" || walk.Sources[0].Recency == nil || len(walk.Explain.Profiles) != 1 || walk.Explain.Profiles[0].ProfileName != "blue" {
		t.Errorf("walk: %v", walk)
	}
	called := need(t)(c.CallTool(ctx, &ragdv1.CallToolRequest{ToolName: "vector_query", Arguments: servicetest.Object(t, map[string]any{"queryText": "when does the harbour open", "profile": "blue"})})).(*ragdv1.CallToolResponse)
	if !strings.Contains(called.String(), "harbour of blue") || strings.Index(called.String(), "harbour of blue") > strings.Index(called.String(), "harbour of green") {
		t.Errorf("tool: %v", called)
	}

	// Other parameters make a version; the old one is there to read, to ask with and to restore.
	update := func(req *ragdv1.UpdateRankingProfileRequest) *ragdv1.RankingProfile {
		t.Helper()
		req.IndexName = "docs"
		return need(t)(c.UpdateRankingProfile(ctx, req)).(*ragdv1.RankingProfile)
	}
	if p := update(&ragdv1.UpdateRankingProfileRequest{ProfileName: "blue", Ranking: of("blue"), Description: new("same")}); p.Version != 1 || p.Description != "same" {
		t.Errorf("the same parameters: %v", p)
	}
	if p := update(&ragdv1.UpdateRankingProfileRequest{ProfileName: "blue", Ranking: of("red"), Default: new(true)}); p.Version != 2 || !slices.Equal(p.Versions, []int32{2, 1}) || !p.Default {
		t.Errorf("other parameters: %v", p)
	}
	check("the new version", &ragdv1.VectorQueryRequest{}, "red", "docs blue@2")
	check("the old version", &ragdv1.VectorQueryRequest{Profile: "blue@1"}, "blue", "docs blue@1")
	if p := need(t)(c.GetRankingProfile(ctx, &ragdv1.GetRankingProfileRequest{ProfileName: "blue", Version: 1})).(*ragdv1.RankingProfile); p.Version != 1 || p.Ranking.Boosts[0].Filter.String() != of("blue").Boosts[0].Filter.String() {
		t.Errorf("the old version: %v", p)
	}
	if p := update(&ragdv1.UpdateRankingProfileRequest{ProfileName: "blue", RestoreVersion: 1}); p.Version != 3 {
		t.Errorf("restored: %v", p)
	}
	check("the restored version", &ragdv1.VectorQueryRequest{}, "blue", "docs blue@3")
	list := need(t)(c.ListRankingProfiles(ctx, &ragdv1.ListRankingProfilesRequest{})).(*ragdv1.ListRankingProfilesResponse)
	if len(list.Profiles) != 2 || list.Profiles[0].ProfileName != "blue" || !list.Profiles[0].Default || list.Profiles[1].Default {
		t.Errorf("listed %v", list)
	}
	if i := need(t)(c.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: "docs"})).(*ragdv1.Index); !slices.Equal(i.RankingProfiles, []string{"blue", "green"}) || i.DefaultRankingProfile != "blue" {
		t.Errorf("described %v", i)
	}

	_, err := c.DeleteRankingProfile(ctx, &ragdv1.DeleteRankingProfileRequest{ProfileName: "blue", Version: 3})
	servicetest.WantCode(t, "DeleteRankingProfile of the latest version", err, connect.CodeFailedPrecondition)
	need(t)(c.DeleteRankingProfile(ctx, &ragdv1.DeleteRankingProfileRequest{ProfileName: "blue", Version: 1}))
	_, err = c.GetRankingProfile(ctx, &ragdv1.GetRankingProfileRequest{ProfileName: "blue", Version: 1})
	servicetest.WantCode(t, "GetRankingProfile of a deleted version", err, connect.CodeNotFound)
	need(t)(c.DeleteRankingProfile(ctx, &ragdv1.DeleteRankingProfileRequest{ProfileName: "blue"}))
	if _, by := bestBy(t, c, &ragdv1.VectorQueryRequest{}); by != "" {
		t.Errorf("a deleted default is applied: %s", by)
	}
}

// A profile has hybrid weights, a reranker, diversity and thresholds too.
func TestARankingProfileHasAllParameters(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	ranked(t, c, "docs")
	want := &ragdv1.Ranking{
		Boosts: []*ragdv1.Boost{
			{Field: "when", HalfLife: "30d", Decay: "gauss", Origin: structpb.NewStringValue("2021-01-01"), Offset: structpb.NewStringValue("7d")},
			{Field: "size", Origin: structpb.NewNumberValue(2), HalfDistance: new(1.5), Decay: "linear", Offset: structpb.NewNumberValue(0.5)},
		},
		Hybrid: &ragdv1.Hybrid{VectorWeight: new(0.3)}, FieldWeights: &ragdv1.FieldWeights{Title: new(2.0), Text: new(0.5)},
		Reranker: &ragdv1.Reranker{Kind: "lexical", TopK: new(int32(2)), Candidates: 20, Weights: &ragdv1.RerankerWeights{Semantic: new(0.5), Vector: new(0.5), Position: new(0.0)}, NormalizeWeights: true},
		MinScore: new(0.001), MinSimilarity: new(-1.0), Diversity: new(0.2), MaxPerDocument: new(int32(1)),
	}
	made := need(t)(c.CreateRankingProfile(t.Context(), &ragdv1.CreateRankingProfileRequest{ProfileName: "all", Ranking: want, Default: true})).(*ragdv1.RankingProfile)
	if made.Ranking.String() != want.String() {
		t.Errorf("stored %v, want %v", made.Ranking, want)
	}
	res := need(t)(c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "harbour at dawn", Explain: true})).(*ragdv1.VectorQueryResponse)
	if len(res.Sources) != 2 || res.Explain.Reranking.GetKind() != "lexical" || res.Explain.GetVectorWeight() != 0.3 || len(res.Sources[0].Recency.GetFactors()) != 2 {
		t.Errorf("answer %v", res)
	}
	res = need(t)(c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "harbour at dawn", MinScore: new(0.9999), Hybrid: &ragdv1.Hybrid{VectorWeight: new(0.6)}, Explain: true})).(*ragdv1.VectorQueryResponse)
	if len(res.Sources) != 0 || res.Explain.GetVectorWeight() != 0.6 {
		t.Errorf("with parameters of its own: %v", res)
	}
}

func TestRankingProfilesRefuseWhatNoQueryCouldHave(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	ranked(t, c, "docs")
	ctx := t.Context()
	long := of("red")
	long.Boosts[0].Filter = structpb.NewStringValue(`{"team": "` + strings.Repeat("x", index.MaxProfileBytes) + `"}`)
	for want, req := range map[string]*ragdv1.CreateRankingProfileRequest{
		"profileName: must be 1 to 64 letters":       {ProfileName: "a@1", Ranking: of("red")},
		"profileName: must not be none":              {ProfileName: "none", Ranking: of("red")},
		"description":                                {ProfileName: "a", Ranking: of("red"), Description: strings.Repeat("x", 501)},
		"ranking: must have a parameter":             {ProfileName: "a"},
		"ranking.boosts[0].halfLife: must be":        {ProfileName: "a", Ranking: &ragdv1.Ranking{Boosts: []*ragdv1.Boost{{Field: "when"}}}},
		"ranking.boosts: must be at most 8, got 9":   {ProfileName: "a", Ranking: &ragdv1.Ranking{Boosts: slices.Repeat(of("red").Boosts, 9)}},
		"ranking.hybrid.fusion: unknown fusion":      {ProfileName: "a", Ranking: &ragdv1.Ranking{Hybrid: &ragdv1.Hybrid{Fusion: "sum"}}},
		"ranking.diversity: must be between 0 and 1": {ProfileName: "a", Ranking: &ragdv1.Ranking{Diversity: new(2.0)}},
		"ranking.reranker.kind":                      {ProfileName: "a", Ranking: &ragdv1.Ranking{Reranker: &ragdv1.Reranker{Kind: "coin"}}},
		"ranking: takes":                             {ProfileName: "a", Ranking: long},
	} {
		if _, err := c.CreateRankingProfile(ctx, req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", req, err, want)
		}
	}
	for n := range index.MaxProfiles {
		need(t)(c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{ProfileName: fmt.Sprintf("p%d", n), Ranking: of("red")}))
	}
	_, err := c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{ProfileName: "p1", Ranking: of("red")})
	servicetest.WantCode(t, "a name that is taken", err, connect.CodeAlreadyExists)
	_, err = c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{ProfileName: "more", Ranking: of("red")})
	servicetest.WantCode(t, "one profile more", err, connect.CodeResourceExhausted)
	for n := range index.MaxProfileVersions {
		_, err = c.UpdateRankingProfile(ctx, &ragdv1.UpdateRankingProfileRequest{ProfileName: "p1", Ranking: of(fmt.Sprint(n))})
	}
	servicetest.WantCode(t, "one version more", err, connect.CodeResourceExhausted)
	for what, req := range map[string]*ragdv1.UpdateRankingProfileRequest{"another profile": {ProfileName: "p99"}, "another version": {ProfileName: "p2", RestoreVersion: 7}, "no name": {}} {
		_, err := c.UpdateRankingProfile(ctx, req)
		servicetest.WantCode(t, what, err, connect.CodeNotFound)
	}
	_, err = c.UpdateRankingProfile(ctx, &ragdv1.UpdateRankingProfileRequest{ProfileName: "p2", RestoreVersion: 1, Ranking: of("red")})
	servicetest.WantCode(t, "two rankings", err, connect.CodeInvalidArgument)
	_, err = c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "harbour", Profile: "p1@latest"})
	servicetest.WantCode(t, "a version that is no number", err, connect.CodeInvalidArgument)
}

// Profiles are of an index of a tenant: others have none of the name. Keys that see a part of an index read and use its profiles, and
// change none; a boost by a field that a filter hides shows nothing of what it hides.
func TestRankingProfilesStayWithinTheirTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	for _, c := range []servicetest.Client{acme, bolt} {
		ranked(t, c, "docs")
	}
	need(t)(acme.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{IndexName: "docs", ProfileName: "blue", Ranking: of("blue"), Default: true}))
	if _, by := bestBy(t, bolt, &ragdv1.VectorQueryRequest{}); by != "" {
		t.Errorf("the default of another tenant is applied: %s", by)
	}
	_, err := bolt.VectorQuery(ctx, &ragdv1.VectorQueryRequest{QueryText: "harbour", Profile: "blue"})
	servicetest.WantCode(t, "VectorQuery", err, connect.CodeNotFound)
	_, err = bolt.GetRankingProfile(ctx, &ragdv1.GetRankingProfileRequest{IndexName: "docs", ProfileName: "blue"})
	servicetest.WantCode(t, "GetRankingProfile", err, connect.CodeNotFound)
	_, err = bolt.UpdateRankingProfile(ctx, &ragdv1.UpdateRankingProfileRequest{IndexName: "docs", ProfileName: "blue", Ranking: of("red")})
	servicetest.WantCode(t, "UpdateRankingProfile", err, connect.CodeNotFound)
	_, err = bolt.DeleteRankingProfile(ctx, &ragdv1.DeleteRankingProfileRequest{IndexName: "docs", ProfileName: "blue"})
	servicetest.WantCode(t, "DeleteRankingProfile", err, connect.CodeNotFound)

	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
	if uri, by := bestBy(t, filtered, &ragdv1.VectorQueryRequest{}); uri != "red" || by != "docs blue@1" {
		t.Errorf("a key with a filter finds %s by %q", uri, by)
	}
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	for name, c := range map[string]servicetest.Client{"filter": filtered, "read": reader} {
		_, err = c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{IndexName: "docs", ProfileName: "red", Ranking: of("red")})
		servicetest.WantCode(t, "CreateRankingProfile with "+name, err, connect.CodePermissionDenied)
		_, err = c.UpdateRankingProfile(ctx, &ragdv1.UpdateRankingProfileRequest{IndexName: "docs", ProfileName: "blue", Ranking: of("red")})
		servicetest.WantCode(t, "UpdateRankingProfile with "+name, err, connect.CodePermissionDenied)
		_, err = c.DeleteRankingProfile(ctx, &ragdv1.DeleteRankingProfileRequest{IndexName: "docs", ProfileName: "blue"})
		servicetest.WantCode(t, "DeleteRankingProfile with "+name, err, connect.CodePermissionDenied)
	}
	acme.Index(t, "other")
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: names("other")}))
	_, err = bound.GetRankingProfile(ctx, &ragdv1.GetRankingProfileRequest{IndexName: "docs", ProfileName: "blue"})
	servicetest.WantCode(t, "GetRankingProfile beyond bounds", err, connect.CodeNotFound)
}

// An evaluation keeps the version of the profile that it began with, and two of them compare profiles.
func TestEvaluationsCompareRankingProfiles(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	ctx := t.Context()
	ranked(t, c, "docs")
	need(t)(c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{ProfileName: "blue", Ranking: of("blue")}))
	need(t)(c.CreateRankingProfile(ctx, &ragdv1.CreateRankingProfileRequest{ProfileName: "red", Ranking: of("red"), Default: true}))
	need(t)(c.CreateQuestionSet(ctx, &ragdv1.CreateQuestionSetRequest{SetName: "set", IndexName: "docs", Questions: []*ragdv1.Question{
		{QuestionId: "q", Text: "when does the harbour open", Relevant: []*ragdv1.Relevant{{Uri: "blue"}}},
	}}))
	run := func(req *ragdv1.StartEvaluationRequest) *ragdv1.Evaluation {
		t.Helper()
		req.SetName, req.K = "set", []int32{1}
		return awaitEvaluation(t, c, need(t)(c.StartEvaluation(ctx, req)).(*ragdv1.Evaluation))
	}
	byDefault, byName := run(&ragdv1.StartEvaluationRequest{}), run(&ragdv1.StartEvaluationRequest{Settings: &ragdv1.StartEvaluationRequest_Query{Query: &ragdv1.VectorQueryRequest{Profile: "blue"}}})
	walked := run(&ragdv1.StartEvaluationRequest{Settings: &ragdv1.StartEvaluationRequest_Graph{Graph: &ragdv1.GraphRagRequest{Profile: "blue"}}})
	if byDefault.GetQuery().GetProfile() != "red@1" || byName.GetQuery().GetProfile() != "blue@1" || walked.GetGraph().GetProfile() != "blue@1" {
		t.Errorf("evaluated with %q, %q and %q", byDefault.GetQuery().GetProfile(), byName.GetQuery().GetProfile(), walked.GetGraph().GetProfile())
	}
	compared := need(t)(c.CompareEvaluations(ctx, &ragdv1.CompareEvaluationsRequest{BaselineId: byDefault.EvaluationId, CandidateId: byName.EvaluationId})).(*ragdv1.EvaluationComparison)
	if !strings.Contains(compared.String(), "1") || len(compared.GetDifferences()) == 0 || compared.GetDifferences()[0].GetDifference() <= 0 {
		t.Errorf("compared: %v", compared)
	}
	_, err := c.StartEvaluation(ctx, &ragdv1.StartEvaluationRequest{SetName: "set", Settings: &ragdv1.StartEvaluationRequest_Query{Query: &ragdv1.VectorQueryRequest{Profile: "grey"}}})
	servicetest.WantCode(t, "StartEvaluation with another profile", err, connect.CodeNotFound)
}
