package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"path"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of a search.
const (
	maxResults   = 50
	maxQuestions = 10
)

// questions is one question or several.
type questions []string

// UnmarshalJSON implements json.Unmarshaler.
func (q *questions) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*q = questions{one}
		return nil
	}
	if json.Unmarshal(data, (*[]string)(q)) != nil {
		return fault.Field("query", "must be a string or an array of strings")
	}
	return nil
}

type searchRequest struct {
	Query          questions       `json:"query"`
	Filters        *condition      `json:"filters"`
	MaxNumResults  *int32          `json:"max_num_results"`
	RankingOptions *rankingOptions `json:"ranking_options"`
	RewriteQuery   bool            `json:"rewrite_query"`
}

type rankingOptions struct {
	Ranker         string         `json:"ranker"`
	ScoreThreshold *float64       `json:"score_threshold"`
	HybridSearch   *hybridWeights `json:"hybrid_search"`
}

type hybridWeights struct {
	EmbeddingWeight float64 `json:"embedding_weight"`
	TextWeight      float64 `json:"text_weight"`
}

// rankers are known names, which all mean the score of the search.
var rankers = []string{"", "auto", "none", "default-2024-11-15", "default_2024_08_21"}

// searchResult is a chunk that was found.
type searchResult struct {
	FileID     string         `json:"file_id"`
	Filename   string         `json:"filename"`
	Score      float64        `json:"score"`
	Attributes map[string]any `json:"attributes"`
	Content    []textContent  `json:"content"`
}

type searchPage struct {
	Object      string         `json:"object"`
	SearchQuery []string       `json:"search_query"`
	Data        []searchResult `json:"data"`
	HasMore     bool           `json:"has_more"`
	NextPage    *string        `json:"next_page"`
}

// search implements POST /v1/vector_stores/{store}/search. Of several questions, each chunk has its
// best score.
func (h *Handler) search(ctx context.Context, r *http.Request, in *searchRequest) (*searchPage, error) {
	indexName, db, err := h.storeToRead(ctx, r)
	if err != nil {
		return nil, err
	}
	asked, err := in.query(indexName)
	if err != nil {
		return nil, err
	}
	best := map[string]*ragdv1.Source{}
	for _, question := range in.Query {
		asked.QueryText = question
		found, err := h.config.API.VectorQuery(ctx, asked)
		if fault.KindOf(err) == fault.NotFound {
			return nil, unknownStore(indexName, err)
		}
		if err != nil {
			return nil, fault.Rename("queryText", "query", fault.Rename("filter", "filters", err))
		}
		for _, source := range found.GetSources() {
			if known := best[source.GetId()]; known == nil || known.GetScore() < source.GetScore() {
				best[source.GetId()] = source
			}
		}
	}
	sources := make([]*ragdv1.Source, 0, len(best))
	for _, source := range best {
		sources = append(sources, source)
	}
	slices.SortFunc(sources, func(a, b *ragdv1.Source) int {
		return cmp.Or(cmp.Compare(b.GetScore(), a.GetScore()), cmp.Compare(a.GetId(), b.GetId()))
	})
	sources = sources[:min(len(sources), int(asked.GetTopK()))]
	page := &searchPage{Object: "vector_store.search_results.page", SearchQuery: in.Query}
	page.Data, err = h.searchResults(ctx, db, indexName, sources)
	return page, err
}

// searchResults returns what was found, with the names and attributes of the files.
func (h *Handler) searchResults(ctx context.Context, db *data.Handle, indexName string, sources []*ragdv1.Source) ([]searchResult, error) {
	ids, uris := make([]string, len(sources)), make([]string, len(sources))
	for i, source := range sources {
		ids[i], uris[i] = fileOf(source.GetUri()), source.GetUri()
	}
	known, err := attachedFiles(ctx, db, indexName, ids)
	if err != nil {
		return nil, err
	}
	documents, _, _, err := h.config.Documents.Documents(ctx, ingest.Listing{IndexName: indexName, Namespace: index.DefaultNamespace, URIs: uris, PageSize: maxResults})
	if err != nil {
		return nil, unknownStore(indexName, err)
	}
	attributes := map[string]map[string]any{}
	for _, d := range documents {
		attributes[d.URI] = attributesOf(d.Metadata)
	}
	results := make([]searchResult, len(sources))
	for i, source := range sources {
		id := fileIDOf(source.GetUri(), source.GetDocumentId(), known)
		results[i] = searchResult{
			FileID: id, Filename: cmp.Or(known[id].FileName, path.Base(source.GetUri())), Score: source.GetScore(),
			Attributes: attributes[source.GetUri()], Content: []textContent{{"text", source.GetDocument()}},
		}
		if results[i].Attributes == nil { // ready-made vectors have no document
			results[i].Attributes = map[string]any{}
		}
	}
	return results, nil
}

// query returns the search of a request, without its question. Errors: Invalid.
func (in *searchRequest) query(indexName string) (*ragdv1.VectorQueryRequest, error) {
	asked := &ragdv1.VectorQueryRequest{IndexName: indexName, TopK: proto.Int32(10)}
	switch {
	case len(in.Query) == 0 || len(in.Query) > maxQuestions:
		return nil, fault.Field("query", "must be 1 to %d questions, got %d", maxQuestions, len(in.Query))
	case in.RewriteQuery:
		return nil, fault.Field("rewrite_query", "questions are searched as they are: leave rewrite_query out, or ask an agent")
	case in.MaxNumResults != nil && (*in.MaxNumResults < 1 || *in.MaxNumResults > maxResults):
		return nil, fault.Field("max_num_results", "must be 1 to %d, got %d", maxResults, *in.MaxNumResults)
	case in.MaxNumResults != nil:
		asked.TopK = in.MaxNumResults
	}
	if o := in.RankingOptions; o != nil {
		if !slices.Contains(rankers, o.Ranker) {
			return nil, fault.Field("ranking_options.ranker", "%q is unknown; known are auto and none", shorten(o.Ranker))
		}
		if o.ScoreThreshold != nil && *o.ScoreThreshold > 0 {
			if *o.ScoreThreshold > 1 {
				return nil, fault.Field("ranking_options.score_threshold", "must be 0 to 1, got %v", *o.ScoreThreshold)
			}
			asked.MinScore = o.ScoreThreshold
		}
		if o.HybridSearch != nil {
			asked.SearchMode = "hybrid"
			asked.Hybrid = &ragdv1.Hybrid{VectorWeight: &o.HybridSearch.EmbeddingWeight, KeywordWeight: &o.HybridSearch.TextWeight}
		}
	}
	if in.Filters != nil {
		where, err := in.Filters.filter("filters", 0)
		if err != nil {
			return nil, err
		}
		if asked.Filter, err = structpb.NewValue(where); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "filters: is malformed")
		}
	}
	return asked, nil
}
