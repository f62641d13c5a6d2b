package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/rerank"
)

// CreateRankingProfile implements IndexService.
func (h *Handlers) CreateRankingProfile(ctx context.Context, req *ragdv1.CreateRankingProfileRequest) (*ragdv1.RankingProfile, error) {
	made, err := h.Queries.CreateProfile(ctx, query.Profile{
		Profile: index.Profile{IndexName: req.GetIndexName(), Name: req.GetProfileName(), Description: req.GetDescription(), Default: req.GetDefault()},
		Ranking: rankingOf(req.GetRanking()),
	})
	return profileMessage(made, err)
}

// GetRankingProfile implements IndexService.
func (h *Handlers) GetRankingProfile(ctx context.Context, req *ragdv1.GetRankingProfileRequest) (*ragdv1.RankingProfile, error) {
	found, err := h.Queries.GetProfile(ctx, req.GetIndexName(), req.GetProfileName(), int(req.GetVersion()))
	return profileMessage(found, err)
}

// ListRankingProfiles implements IndexService.
func (h *Handlers) ListRankingProfiles(ctx context.Context, req *ragdv1.ListRankingProfilesRequest) (*ragdv1.ListRankingProfilesResponse, error) {
	found, err := h.Queries.ListProfiles(ctx, req.GetIndexName())
	if err != nil {
		return nil, err
	}
	all, err := convertAll(ctx, found, func(p query.Profile) (*ragdv1.RankingProfile, error) { return profileMessage(p, nil) })
	return &ragdv1.ListRankingProfilesResponse{Profiles: all}, err
}

// UpdateRankingProfile implements IndexService.
func (h *Handlers) UpdateRankingProfile(ctx context.Context, req *ragdv1.UpdateRankingProfileRequest) (*ragdv1.RankingProfile, error) {
	var ranking *query.Ranking
	if req.Ranking != nil {
		ranking = new(rankingOf(req.Ranking))
	}
	changed, err := h.Queries.UpdateProfile(ctx, req.GetIndexName(), req.GetProfileName(), ranking, index.ProfileChange{
		Description: req.Description, RestoreVersion: int(req.GetRestoreVersion()), Default: req.Default,
	})
	return profileMessage(changed, err)
}

// DeleteRankingProfile implements IndexService.
func (h *Handlers) DeleteRankingProfile(ctx context.Context, req *ragdv1.DeleteRankingProfileRequest) (*ragdv1.DeleteRankingProfileResponse, error) {
	return &ragdv1.DeleteRankingProfileResponse{}, h.Indexes.DeleteProfile(ctx, req.GetIndexName(), req.GetProfileName(), int(req.GetVersion()))
}

func rankingOf(r *ragdv1.Ranking) query.Ranking {
	if r == nil {
		return query.Ranking{}
	}
	out := query.Ranking{
		Boosts: boostsOf(r.GetBoosts()), Reranker: rerankerOf(r.GetReranker()), Diversity: r.Diversity, MaxPerDocument: intOf(r.MaxPerDocument),
		MinScore: r.MinScore, MinSimilarity: r.MinSimilarity, FieldWeights: fieldWeightsOf(r.GetFieldWeights()),
	}
	if r.GetHybrid() != nil {
		out.Hybrid = new(fusionOf(r.GetHybrid()))
	}
	return out
}

func profileMessage(p query.Profile, err error) (*ragdv1.RankingProfile, error) {
	if err != nil {
		return nil, err
	}
	r := p.Ranking
	ranking := &ragdv1.Ranking{
		Reranker: rerankerMessage(r.Reranker), Diversity: r.Diversity, MaxPerDocument: numberOf(r.MaxPerDocument), MinScore: r.MinScore, MinSimilarity: r.MinSimilarity,
	}
	for _, b := range r.Boosts {
		message, err := boostMessage(b)
		if err != nil {
			return nil, err
		}
		ranking.Boosts = append(ranking.Boosts, message)
	}
	if w := r.FieldWeights; w != nil {
		ranking.FieldWeights = &ragdv1.FieldWeights{Title: w.Title, Headings: w.Headings, Text: w.Text}
	}
	if f := r.Hybrid; f != nil {
		ranking.Hybrid = &ragdv1.Hybrid{Fusion: string(f.Method), VectorWeight: f.VectorWeight, KeywordWeight: f.KeywordWeight, VectorLogOdds: f.VectorLogOdds}
	}
	message := &ragdv1.RankingProfile{
		IndexName: p.IndexName, ProfileName: p.Name, Version: int32(p.Version), Description: p.Description, Ranking: ranking, Default: p.Default,
		CreateTime: timestamp(p.CreatedAt), UnusableReason: p.UnusableReason,
	}
	for _, version := range p.Versions {
		message.Versions = append(message.Versions, int32(version))
	}
	return message, nil
}

func rerankerMessage(r *query.Reranker) *ragdv1.Reranker {
	if r == nil {
		return nil
	}
	message := &ragdv1.Reranker{
		Model: r.Model, Kind: string(r.Kind), TopK: numberOf(r.TopK), Candidates: int32(r.Candidates), NormalizeWeights: r.NormalizeWeights, Required: r.Required,
	}
	if w := r.Weights; w != (rerank.Weights{}) {
		message.Weights = &ragdv1.RerankerWeights{Semantic: w.Semantic, Vector: w.Vector, Position: w.Position}
	}
	return message
}

func appliedMessages(applied []query.AppliedProfile) []*ragdv1.AppliedProfile {
	messages := make([]*ragdv1.AppliedProfile, len(applied))
	for n, p := range applied {
		messages[n] = &ragdv1.AppliedProfile{IndexName: p.IndexName, ProfileName: p.Name, Version: int32(p.Version)}
	}
	return messages
}
