package rerank

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// shape describes the requests of a rerank API. All APIs answer with a list of index
// and score; they differ in the names of the list and of the score.
type shape struct {
	path  string
	batch int // the most texts in one request
	ask   func(model, query string, texts []string) any
}

var shapes = map[endpoint.Kind]shape{
	endpoint.Cohere: {"/v2/rerank", 100, func(model, query string, texts []string) any {
		return map[string]any{"model": model, "query": query, "documents": texts, "top_n": len(texts)}
	}},
	endpoint.Jina: {"/v1/rerank", 100, func(model, query string, texts []string) any {
		return map[string]any{"model": model, "query": query, "documents": texts, "top_n": len(texts), "return_documents": false}
	}},
	endpoint.Voyage: {"/v1/rerank", 100, func(model, query string, texts []string) any {
		return map[string]any{"model": model, "query": query, "documents": texts, "top_k": len(texts), "return_documents": false, "truncation": true}
	}},
	// text-embeddings-inference serves one model and accepts 32 texts by default.
	endpoint.TEI: {"/rerank", 32, func(_, query string, texts []string) any {
		return map[string]any{"query": query, "texts": texts, "truncate": true, "raw_scores": false}
	}},
}

// crossEncoder returns the scorer for a tenant's model.
func (r *Reranker) crossEncoder(ctx context.Context, tenant, name string) (scorer, error) {
	if name == "" {
		return nil, fault.Field("model", "is needed for the kind %s, such as cohere/rerank-v3.5", CrossEncoder)
	}
	if model, ok := strings.CutPrefix(name, "local/"); ok && r.config.Local != nil {
		return r.metered(tenant, name, localScorer{r.config.Local, model}), r.config.Local.Check(model)
	}
	target, err := r.config.Endpoints.Resolve(ctx, endpoint.Query{Tenant: tenant, Field: "model", Name: name, Use: endpoint.Rerank})
	if err != nil {
		return nil, err
	}
	return r.metered(tenant, name, crossEncoderScorer{target, shapes[target.Kind]}), nil
}

// meteredScorer counts the tokens of a scorer.
type meteredScorer struct {
	scorer
	meter         endpoint.Meter
	tenant, model string
}

func (r *Reranker) metered(tenant, model string, s scorer) scorer {
	if r.config.Meter == nil {
		return s
	}
	return meteredScorer{s, r.config.Meter, tenant, model}
}

func (s meteredScorer) score(ctx context.Context, t task) ([]verdict, llm.Usage) {
	if err := s.meter.Admit(ctx, s.tenant); err != nil {
		return failAll(len(t.texts), err), llm.Usage{}
	}
	verdicts, used := s.scorer.score(ctx, t)
	tokens := used.InputTokens + used.OutputTokens
	if tokens <= 0 || tokens > maxReportedTokens {
		tokens = 0
		for i, v := range verdicts {
			if v.err == nil {
				tokens += endpoint.EstimateTokens(len(t.query) + len(t.texts[i]))
			}
		}
	}
	if tokens > 0 {
		s.meter.Count(ctx, s.tenant, endpoint.Rerank, s.model, tokens, 0)
	}
	return verdicts, used
}

// maxReportedTokens is more than any request has.
const maxReportedTokens = 100_000_000

// localScorer scores with a model in this process.
type localScorer struct {
	models Local
	model  string
}

func (s localScorer) key() string { return string(CrossEncoder) + " local/" + s.model }

func (s localScorer) score(ctx context.Context, t task) ([]verdict, llm.Usage) {
	scores, err := s.models.Score(ctx, t.tenant, s.model, t.query, t.texts)
	if err != nil {
		return failAll(len(t.texts), err), llm.Usage{}
	}
	verdicts := make([]verdict, len(scores))
	for i, score := range scores {
		verdicts[i].score = score
	}
	return verdicts, llm.Usage{}
}

// crossEncoderScorer scores with a rerank API.
type crossEncoderScorer struct {
	endpoint.Target
	shape shape
}

func (s crossEncoderScorer) key() string {
	return strings.Join([]string{string(CrossEncoder), s.Config.BaseURL, s.Name, s.Model}, " ")
}

func (s crossEncoderScorer) score(ctx context.Context, t task) ([]verdict, llm.Usage) {
	verdicts := make([]verdict, len(t.texts))
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		usage llm.Usage
	)
	for start := 0; start < len(t.texts); start += s.shape.batch {
		end := min(start+s.shape.batch, len(t.texts))
		group.Go(func() {
			used := s.scoreBatch(ctx, t, t.texts[start:end], verdicts[start:end])
			mu.Lock()
			defer mu.Unlock()
			usage.Add(used)
		})
	}
	group.Wait()
	return verdicts, usage
}

// scoreBatch scores texts in one request and stores the results in verdicts.
func (s crossEncoderScorer) scoreBatch(ctx context.Context, t task, texts []string, verdicts []verdict) (usage llm.Usage) {
	body := s.shape.ask(s.Model, t.query, texts)
	client := s.Client(endpoint.Rerank)
	err := client.Do(ctx, t.tenant, func(ctx context.Context) error {
		usage.Calls++
		var answer answer
		if err := client.PostJSON(ctx, s.shape.path, body, &answer); err != nil {
			return err
		}
		usage.InputTokens += answer.tokens
		return answer.fill(verdicts)
	})
	if err != nil {
		copy(verdicts, failAll(len(verdicts), err))
	}
	return usage
}

// answer is the response of a rerank API.
type answer struct {
	scores []struct {
		Index *int     `json:"index"`
		Cross *float64 `json:"relevance_score"`
		TEI   *float64 `json:"score"`
	}
	tokens int
}

// UnmarshalJSON decodes a bare list, or a list in the field results or data.
func (a *answer) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &a.scores)
	}
	var outer struct {
		Results, Data json.RawMessage
		Usage         struct {
			Tokens int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(data, &outer); err != nil {
		return err
	}
	a.tokens = outer.Usage.Tokens
	list := outer.Results
	if list == nil {
		list = outer.Data
	}
	if list == nil {
		return fmt.Errorf("neither results nor data")
	}
	return json.Unmarshal(list, &a.scores)
}

// fill stores the scores in verdicts by index. A text without a valid score gets an
// error in its verdict. Errors: *endpoint.BadAnswerError if an index is out of range or
// no text has a valid score.
func (a *answer) fill(verdicts []verdict) error {
	copy(verdicts, failAll(len(verdicts), fault.New(fault.Unavailable, "the rerank provider gave no usable score for them")))
	found := 0
	for _, s := range a.scores {
		score := s.Cross
		if score == nil {
			score = s.TEI
		}
		if s.Index == nil || *s.Index < 0 || *s.Index >= len(verdicts) {
			return endpoint.BadAnswer("an index out of range for %d texts", len(verdicts))
		}
		if score == nil || !(*score >= 0 && *score <= 1) {
			continue
		}
		verdicts[*s.Index] = verdict{score: *score}
		found++
	}
	if found == 0 {
		return endpoint.BadAnswer("no score between 0 and 1 for %d texts", len(verdicts))
	}
	return nil
}
