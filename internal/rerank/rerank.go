package rerank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// DefaultTopK is the number of results of a request without topK.
const DefaultTopK = 3

// MaxCandidates is the greatest number of candidates in one request.
const MaxCandidates = 1000

// Fetch returns how many candidates to fetch for topK results: asked, or five times
// topK if asked is 0. The result is at least topK and at most MaxCandidates. Fetching
// more than topK lets reranking promote candidates that the first stage ranked low.
func Fetch(topK, asked int) int {
	return min(max(topK, cmp.Or(asked, 5*topK)), MaxCandidates)
}

// Config configures the scorers. The zero Config has only the lexical scorer.
type Config struct {
	// LLM asks language models, for the llm kinds.
	LLM *llm.Client
	// Endpoints finds the endpoints of rerank APIs. Default: none.
	Endpoints *endpoint.Directory
	// Local has the cross-encoders that are named local/model. Default: none.
	Local Local
	// Meter counts the tokens of cross-encoders; LLM counts those of language models. Default:
	// nothing is counted.
	Meter endpoint.Meter
	// Processor is used by the lexical scorer. Default: no limit.
	Processor *limit.Processor
	// Timeout bounds the scoring of one request. Candidates that are not scored by
	// then count as failed. The time is shorter if the context ends sooner. 0 means
	// 10 s.
	Timeout time.Duration
	// CacheBytes bounds the cached scores, in bytes. 0 means 16 MiB, a negative number
	// means no cache.
	CacheBytes int64
}

// Local scores with cross-encoders in this process. It is safe for concurrent use.
type Local interface {
	// CrossEncoder returns the model of requests that name none, or "" if there is none.
	CrossEncoder() (string, error)
	// Check returns Invalid, naming the field model, for a model that does not exist.
	Check(model string) error
	// Score returns the relevance of each text to a tenant's query, from 0 to 1.
	Score(ctx context.Context, tenant, model, query string, texts []string) ([]float64, error)
}

// Request holds the candidates to rerank and the settings.
type Request struct {
	Tenant string // whose cached scores and endpoint slots are used
	Query  string
	// Candidates are in the order of the first stage, best first.
	Candidates []Candidate
	// Kind is the way of scoring. Empty means the default for the kind of Model's endpoint.
	Kind Kind
	// Model is endpoint/model. Empty means the cross-encoder that Config.Local chooses, else
	// builtin/lexical.
	Model   string
	Weights Weights
	// NormalizeWeights divides the weights by their sum. Without it, weights that do
	// not add up to 1 are an error.
	NormalizeWeights bool
	// NormalizeScores maps the candidates' scores linearly to 0..1. It is for scores of
	// another range, such as dot products and fused ranks.
	NormalizeScores bool
	// TopK is how many results to return; 0 returns none.
	TopK int
	// Best is how many of the results matter, if not all of them do.
	Best int
	// Required makes Rerank return an error if no candidate could be scored.
	Required bool
	// QueryEmbedding, if given, scales all scores by one factor that depends on its
	// Euclidean length, and is described in Details.Query. It does not change the order.
	QueryEmbedding []float64
}

// Candidate is one result of the first stage.
type Candidate struct {
	// Title, if not empty, is scored together with the text.
	Title string
	// Text is scored against the query. A blank text has the semantic score 0.
	Text string
	// Score is the score of the first stage, higher is better. NaN and infinities count
	// as 0.
	Score float64
}

// judged returns the title and the text, or only the text if it begins with the title.
func (c Candidate) judged() string {
	if c.Title == "" || strings.HasPrefix(c.Text, c.Title) {
		return c.Text
	}
	return c.Title + "\n" + c.Text
}

// Result holds the candidates in their new order.
type Result struct {
	// Ranked has at most TopK entries, best first. Ties keep the order of the first
	// stage.
	Ranked []Ranked
	Report
}

// Report describes the outcome and the cost of a reranking.
type Report struct {
	Kind  Kind
	Model string
	// Reranked is false if no candidate could be scored: the results then have the
	// order and the scores of the first stage.
	Reranked bool
	// Candidates is the number of candidates, Failed how many of them could not be
	// scored, and Cached how many of their scores came from the cache.
	Candidates, Failed, Cached int
	// Warnings describe failures that were not returned as an error, for the caller.
	Warnings []string
	// Usage counts the calls and tokens of this request. Cached scores add nothing.
	Usage llm.Usage
	Took  time.Duration
}

// Ranked is one candidate with its final score.
type Ranked struct {
	Index   int // in Request.Candidates
	Score   float64
	Details Details
}

// Details are the components of a score, before weighting.
type Details struct {
	Semantic float64 // score of the scorer, 0..1
	Vector   float64 // score of the first stage
	Position float64 // 1 for the first candidate, falling evenly to 1/n for the last
	// Estimated says that the candidate was not scored: Semantic is the mean of the others if it
	// could not be, or the least of them if it was too far down to matter.
	Estimated bool
	// Query describes QueryEmbedding, if there was one.
	Query *QueryAnalysis
}

// Reranker reranks. It is safe for concurrent use.
type Reranker struct {
	config Config
	cache  *scoreCache
}

// New returns a reranker with the configured scorers.
func New(config Config) *Reranker {
	config.Timeout = cmp.Or(config.Timeout, 10*time.Second)
	if config.LLM == nil {
		config.LLM = llm.New(llm.Config{})
	}
	config.Endpoints = cmp.Or(config.Endpoints, new(endpoint.Directory))
	return &Reranker{config: config, cache: newScoreCache(config.CacheBytes)}
}

// Rerank scores the candidates and returns the best TopK. Failures of the provider are
// warnings, unless no candidate could be scored and Required is set. Errors by kind:
// Invalid for invalid settings, a blank query or too many candidates; Precondition for a
// provider that is not configured; with Required, those of endpoint.Client.Do; the error
// of ctx when that ends.
func (r *Reranker) Rerank(ctx context.Context, request Request) (Result, error) {
	if err := request.validate(); err != nil {
		return Result{}, err
	}
	start := time.Now()
	result := Result{Report: Report{Candidates: len(request.Candidates)}}
	choice, err := r.settle(ctx, request)
	if err != nil {
		return Result{}, err
	}
	result.Kind, result.Model = choice.kind, choice.model
	if len(request.Candidates) == 0 || request.TopK == 0 {
		result.Reranked = true
		return result, nil
	}
	verdicts := r.judge(ctx, choice, request, &result.Report)
	result.Took = time.Since(start)
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("rerank %d candidates: %w", len(request.Candidates), err)
	}
	failed := failures(verdicts)
	result.Failed = failed.count
	if failed.count == len(verdicts) {
		if request.Required {
			return Result{}, failed.first
		}
		result.Warnings = append(result.Warnings, fmt.Sprintf("rerank: the results are in the order of the first stage, because %s", reason(failed.first)))
		result.Ranked = firstStage(request)
		return result, nil
	}
	if failed.count > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("rerank: %d of %d candidates could not be scored and count with the mean score of the others, because %s", failed.count, len(verdicts), reason(failed.first)))
	}
	result.Reranked = true
	result.Ranked = combine(request, choice.weights, verdicts)
	return result, nil
}

// Check validates the kind, model and weights of a request before its candidates are
// known. Errors: Invalid for invalid settings; Precondition for a provider that is not
// configured.
func (r *Reranker) Check(ctx context.Context, request Request) error {
	_, err := r.settle(ctx, request)
	return err
}

// choice is how a request is scored.
type choice struct {
	kind    Kind
	model   string
	here    bool // the model is a cross-encoder of Config.Local
	scorer  scorer
	weights resolved
}

func (r *Reranker) settle(ctx context.Context, request Request) (c choice, err error) {
	if c.weights, err = request.Weights.resolve(request.NormalizeWeights); err != nil {
		return c, err
	}
	if c.kind, c.model, err = r.resolve(ctx, request); err != nil {
		return c, err
	}
	c.here = c.kind == CrossEncoder && r.config.Local != nil && strings.HasPrefix(c.model, "local/")
	c.scorer, err = r.scorer(ctx, request.Tenant, c.kind, c.model)
	return c, err
}

func (q Request) validate() error {
	switch {
	case strings.TrimSpace(q.Query) == "":
		return fault.Field("queryText", "must not be blank")
	case q.TopK < 0:
		return fault.Field("topK", "must be 0 or more, got %d", q.TopK)
	case len(q.Candidates) > MaxCandidates:
		return fault.Field("candidates", "at most %d can be reranked at once, got %d", MaxCandidates, len(q.Candidates))
	}
	return nil
}

// failed counts the candidates without a score.
type failed struct {
	count int
	first error
}

func failures(verdicts []verdict) failed {
	var f failed
	for _, v := range verdicts {
		if v.err != nil {
			f.count++
			f.first = cmp.Or(f.first, v.err)
		}
	}
	return f
}

// reason returns the part of an error that the caller may see.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "there was no time left for it"
	}
	return fault.Public(err)
}
