package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Ranking has the parameters of ranking of a profile. What is nil is not part of it.
type Ranking struct {
	Boosts         []Boost       `json:"boosts,omitempty"`
	Hybrid         *Fusion       `json:"hybrid,omitempty"`
	FieldWeights   *FieldWeights `json:"fieldWeights,omitempty"`
	Reranker       *Reranker     `json:"reranker,omitempty"`
	Diversity      *float64      `json:"diversity,omitempty"`
	MaxPerDocument *int          `json:"maxPerDocument,omitempty"`
	MinScore       *float64      `json:"minScore,omitempty"`
	MinSimilarity  *float64      `json:"minSimilarity,omitempty"`
}

// Profile is a version of a ranking profile.
type Profile struct {
	index.Profile

	Ranking Ranking
	// UnusableReason is why queries leave the profile out; empty if they apply it.
	UnusableReason string
}

// AppliedProfile is a ranking profile by which an index was searched.
type AppliedProfile struct {
	IndexName string
	Name      string
	Version   int
}

// profileOf returns the ranking profile that a query of an index names, by name or name@version, or the default; ok is false for none.
// Errors: NotFound; Invalid for a version that is no number.
func profileOf(i index.Index, asked string) (p Profile, ok bool, err error) {
	if asked == index.NoProfile || asked == "" && !i.HasDefaultProfile() {
		return Profile{}, false, nil
	}
	name, number, versioned := strings.Cut(asked, "@")
	version := 0
	if versioned {
		if version, err = strconv.Atoi(number); err != nil || version < 1 {
			return Profile{}, false, fault.Field("profile", "must be the name of a ranking profile, or name@version with the number of a version, such as fresh@2; got %q", asked)
		}
	}
	stored, err := i.Profile(name, version)
	if err != nil {
		return Profile{}, false, err
	}
	p, err = opened(stored)
	return p, true, err
}

// opened returns a stored profile with its parameters. Errors: Invalid for parameters that this version of the service does not read, which
// are left out then.
func opened(stored index.Profile) (Profile, error) {
	p := Profile{Profile: stored}
	if json.Unmarshal(stored.Ranking, &p.Ranking) != nil {
		p.Ranking = Ranking{}
		return p, fault.Field("ranking", "has parameters that this version of the service does not read")
	}
	return p, nil
}

// SkippedProfile returns the warning that a profile is left out which cannot be applied, such as one with a condition that another version
// of the service has stored. Errors: err unless it is about the parameters of a profile.
func SkippedProfile(applied []AppliedProfile, err error) (warning string, _ error) {
	if len(applied) == 0 || fault.KindOf(err) != fault.Invalid {
		return "", fault.Under("profile", err)
	}
	p := applied[0]
	return fmt.Sprintf("ranking profile %s@%d of index %s cannot be applied and was left out; update it: %s", p.Name, p.Version, p.IndexName, fault.Public(err)), nil
}

func (p Profile) applied() []AppliedProfile {
	if p.Name == "" {
		return nil
	}
	return []AppliedProfile{{p.IndexName, p.Name, p.Version}}
}

// Profiled returns the question with the parameters of its ranking profile that it does not have itself, and which one that is.
// Errors: NotFound; Invalid.
func (q Question) Profiled(i index.Index) (Question, []AppliedProfile, error) {
	p, ok, err := profileOf(i, q.Profile)
	if !ok {
		return q, nil, err
	}
	return q.with(p.Ranking), p.applied(), err
}

// with returns the question with the parameters that it does not have itself.
func (q Question) with(r Ranking) Question {
	if q.Boost == nil && len(q.Boosts) == 0 {
		q.Boosts = r.Boosts
	}
	if strings.TrimSpace(q.QueryText) != "" {
		q.Reranker = cmp.Or(q.Reranker, r.Reranker.Flat())
	}
	q.MinScore = cmp.Or(q.MinScore, r.MinScore)
	q.MinSimilarity = cmp.Or(q.MinSimilarity, r.MinSimilarity)
	return q
}

// profiled returns the request with the parameters of its ranking profile that it does not have itself and can have, and which one
// that is. across: it is for several indexes, which are reranked together. Errors: NotFound; Invalid.
func (r Request) profiled(i index.Index, across bool) (Request, []AppliedProfile, error) {
	hasQuestion := strings.TrimSpace(r.QueryText) != "" || len(r.QueryVector) > 0 || r.SparseVector != nil || r.Like != nil
	if !hasQuestion || len(r.OrderBy) > 0 && r.Mode == Keyword { // all that match, in another order
		return r, nil, nil
	}
	p, ok, err := profileOf(i, r.Profile)
	if !ok || err != nil {
		return r, p.applied(), err
	}
	ranking := p.Ranking
	fusion := r.Fusion
	if fusion == (Fusion{}) && ranking.Hybrid != nil && (!across || ranking.Hybrid.Method != RRF) {
		fusion = *ranking.Hybrid
	}
	ordered := len(r.OrderBy) > 0 || r.PageSize != nil
	if ordered || fusion.Method == RRF || r.Like != nil && r.Like.Combine == Best {
		ranking.Boosts, ranking.FieldWeights = nil, nil
	}
	if ordered || across {
		ranking.Reranker = nil
	}
	r.Fusion, r.Question, r.FieldWeights = fusion, r.with(ranking), cmp.Or(r.FieldWeights, ranking.FieldWeights)
	if r.Diversity == 0 && !ordered && r.GroupBy == nil {
		r.Diversity = valueOr(ranking.Diversity, 0)
	}
	r.MaxPerDocument = cmp.Or(r.MaxPerDocument, valueOr(ranking.MaxPerDocument, 0))
	return r, p.applied(), nil
}

// profiledPart returns what asked is with the ranking profile of one of several indexes.
func (r Request) profiledPart(i index.Index, asked prepared) (prepared, []AppliedProfile, error) {
	ranked, applied, err := r.profiled(i, true)
	p := asked
	if err == nil && len(applied) > 0 {
		ranked.Reranker = nil
		p, err = ranked.prepare()
		p.topK = asked.topK
	}
	if err != nil {
		p = asked
		warning, err := SkippedProfile(applied, err)
		p.warnings = append(slices.Clip(p.warnings), warning)
		return p, nil, err
	}
	return p, applied, nil
}

// checkRanking checks that a query could have the parameters. It returns them as JSON. Errors: Invalid; Precondition for a reranker whose
// provider is not configured.
func (s *Service) checkRanking(ctx context.Context, r *access.Request, ranking Ranking) (json.RawMessage, error) {
	ranking.Reranker = ranking.Reranker.Flat()
	if ranking.Reranker == nil && ranking.Boosts == nil && ranking.Hybrid == nil && ranking.FieldWeights == nil && ranking.Diversity == nil && ranking.MaxPerDocument == nil &&
		ranking.MinScore == nil && ranking.MinSimilarity == nil {
		return nil, fault.Field("ranking", "must have a parameter: boosts, hybrid, fieldWeights, reranker, diversity, maxPerDocument, minScore or minSimilarity")
	}
	if err := ranking.check(); err != nil {
		return nil, err
	}
	if err := s.CheckReranker(ctx, r.Tenant, ranking.Reranker); err != nil {
		return nil, fault.Under("ranking", err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(ranking)
	return bytes.TrimSpace(text.Bytes()), err
}

// check checks that a query could have the parameters. Errors: Invalid.
func (r Ranking) check() error {
	asked := Request{Question: Question{QueryText: "question"}}
	asked.Question = asked.with(r)
	asked.Fusion, asked.FieldWeights = valueOr(r.Hybrid, Fusion{}), r.FieldWeights
	asked.Diversity, asked.MaxPerDocument = valueOr(r.Diversity, 0), valueOr(r.MaxPerDocument, 0)
	_, err := asked.prepare()
	return fault.Under("ranking", err)
}

// shown returns a stored profile with the reason why queries leave it out, if they do.
func shown(stored index.Profile) Profile {
	p, err := opened(stored)
	if err == nil {
		err = p.Ranking.check()
	}
	if err != nil {
		p.UnusableReason = fault.Public(err)
	}
	return p
}

// CreateProfile stores version 1 of a ranking profile. Errors: those of index.Service.CreateProfile, and Invalid for parameters that a query
// could not have.
func (s *Service) CreateProfile(ctx context.Context, p Profile) (Profile, error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return Profile{}, err
	}
	if p.Profile.Ranking, err = s.checkRanking(ctx, r, p.Ranking); err != nil {
		return Profile{}, err
	}
	made, err := s.indexes.CreateProfile(ctx, p.IndexName, p.Profile)
	if err != nil {
		return Profile{}, err
	}
	return opened(made)
}

// GetProfile returns a version of a ranking profile, the latest for 0. Errors: NotFound.
func (s *Service) GetProfile(ctx context.Context, indexName, name string, version int) (Profile, error) {
	i, err := s.indexOf(ctx, indexName)
	if err != nil {
		return Profile{}, err
	}
	stored, err := i.Profile(cmp.Or(name, index.NoProfile), version)
	if err != nil {
		return Profile{}, err
	}
	return shown(stored), nil
}

// ListProfiles returns the latest version of each ranking profile of an index, in the order of their names. Errors: NotFound.
func (s *Service) ListProfiles(ctx context.Context, indexName string) ([]Profile, error) {
	i, err := s.indexOf(ctx, indexName)
	if err != nil {
		return nil, err
	}
	stored := i.Profiles()
	all := make([]Profile, len(stored))
	for n, one := range stored {
		all[n] = shown(one)
	}
	return all, nil
}

// UpdateProfile changes a ranking profile; ranking replaces its parameters unless it is nil. Errors: as CreateProfile; NotFound.
func (s *Service) UpdateProfile(ctx context.Context, indexName, name string, ranking *Ranking, change index.ProfileChange) (Profile, error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return Profile{}, err
	}
	if ranking != nil {
		if change.Ranking, err = s.checkRanking(ctx, r, *ranking); err != nil {
			return Profile{}, err
		}
	}
	changed, err := s.indexes.UpdateProfile(ctx, indexName, name, change)
	if err != nil {
		return Profile{}, err
	}
	return shown(changed), nil
}

// PinnedProfile returns the ranking profile of a query as name@version, so that the query keeps it when the profile changes; none for
// no profile. Errors: NotFound; Invalid.
func (s *Service) PinnedProfile(ctx context.Context, indexName, asked string) (string, error) {
	i, err := s.indexOf(ctx, indexName)
	if err != nil {
		return "", err
	}
	p, ok, err := profileOf(i, asked)
	if !ok || err != nil {
		return index.NoProfile, err
	}
	return p.Name + "@" + strconv.Itoa(p.Version), nil
}

// indexOf returns an index that the caller may read.
func (s *Service) indexOf(ctx context.Context, name string) (index.Index, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return index.Index{}, err
	}
	return s.indexes.Resolve(ctx, r.Tenant, name)
}
