// Package rerank is the second stage of retrieval: it scores candidates against
// the question one by one and orders them anew, by a language model, a
// cross-encoder API, or words alone. Reranking improves an answer and never
// costs it: what cannot be scored keeps its place from the first stage and the
// result says so.
//
//	result, err := reranker.Rerank(ctx, rerank.Request{
//		Tenant: "acme", Query: question, Candidates: candidates,
//		Model: "openai/gpt-5-mini", TopK: 10,
//	})
//
// docs/reranking.md shows what callers see when a provider fails.
package rerank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/endpoint"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/llm"
)

// DefaultTopK is how many results a request without a topK of its own gets.
const DefaultTopK = 3

// MaxCandidates is the most candidates of one request.
const MaxCandidates = 1000

// Fetch returns how many candidates to fetch for topK results, so that
// reranking can lift what the first stage ranked low: asked if that is set, else
// five times topK; never fewer than topK and never more than MaxCandidates.
func Fetch(topK, asked int) int {
	return min(max(topK, cmp.Or(asked, 5*topK)), MaxCandidates)
}

// Config says which scorers there are. The zero Config has lexical alone.
type Config struct {
	// LLM asks language models, for the llm kinds.
	LLM *llm.Client
	// The cross-encoder APIs; a zero one leaves the provider out.
	Cohere, Jina, Voyage, TEI endpoint.Config
	// Timeout bounds the scoring of one request; what is not scored by then
	// counts as failed. Less if the context has less left. 10 s.
	Timeout time.Duration
	// CacheBytes bounds the scores kept in memory. 0 means 16 MiB, a negative
	// number means none.
	CacheBytes int64
}

// Request is what to rerank and how.
type Request struct {
	Tenant string // whose scores, and whose share of the concurrency
	Query  string
	// Candidates are in the order of the first stage, best first.
	Candidates []Candidate
	// Kind is how to score; empty means as Model's provider does.
	Kind Kind
	// Model is provider/model, or builtin/lexical. Empty means that too.
	Model   string
	Weights Weights
	// NormalizeWeights divides the weights by their sum instead of refusing those
	// that do not add up to 1.
	NormalizeWeights bool
	// NormalizeScores maps the candidates' scores to 0..1, lowest to highest. It
	// is for scores without such bounds: dot products, fused ranks.
	NormalizeScores bool
	// TopK is how many results to return; 0 returns none.
	TopK int
	// Required makes it an error when no candidate could be scored.
	Required bool
	// QueryEmbedding, if given, scales all scores by a factor that depends on its
	// length and is described in the details. It cannot change the order.
	QueryEmbedding []float64
}

// Candidate is one result of the first stage.
type Candidate struct {
	// Title, if there is one, is judged with the text.
	Title string
	// Text is what is judged. A blank one has the semantic score 0.
	Text string
	// Score is the first stage's, higher is better. NaN and infinities count as 0.
	Score float64
}

// judged is the text with its title, unless it begins with that already.
func (c Candidate) judged() string {
	if c.Title == "" || strings.HasPrefix(c.Text, c.Title) {
		return c.Text
	}
	return c.Title + "\n" + c.Text
}

// Result is the candidates in their new order.
type Result struct {
	// Ranked has at most TopK entries, best first, ties in the order of the first
	// stage.
	Ranked []Ranked
	Report
}

// Report is how a reranking went and what it took.
type Report struct {
	Kind  Kind
	Model string
	// Reranked is false when nothing could be scored: the results are then in the
	// order of the first stage with its scores.
	Reranked bool
	// Candidates were to be scored. Failed of them could not be, Cached of them
	// had been before.
	Candidates, Failed, Cached int
	// Warnings say what went wrong without being an error, for the caller.
	Warnings []string
	// Usage is what this request cost; nothing for what came from the cache.
	Usage llm.Usage
	Took  time.Duration
}

// Ranked is one candidate in its new place.
type Ranked struct {
	Index   int // in Request.Candidates
	Score   float64
	Details Details
}

// Details are the parts of a score, each before its weight.
type Details struct {
	Semantic float64 // the scorer's, 0..1
	Vector   float64 // the first stage's
	Position float64 // 1 for the first candidate, falling evenly to 1/n for the last
	// Estimated says that the candidate could not be scored and Semantic is the
	// mean of those that could.
	Estimated bool
	// Query describes QueryEmbedding, if there was one.
	Query *QueryAnalysis
}

// Reranker reranks. It is safe for concurrent use.
type Reranker struct {
	config   Config
	encoders map[string]*crossEncoder // by provider
	cache    *scoreCache
}

// New returns a reranker with the configured scorers.
func New(config Config) *Reranker {
	config.Timeout = cmp.Or(config.Timeout, 10*time.Second)
	if config.LLM == nil {
		config.LLM = llm.New(llm.Config{})
	}
	return &Reranker{
		config:   config,
		encoders: newCrossEncoders(config),
		cache:    newScoreCache(config.CacheBytes),
	}
}

// Rerank scores the candidates and returns the best TopK. Failures of the
// provider are warnings, unless nothing could be scored and the request says
// that it must be. Errors by kind: Invalid for a request that makes no sense;
// Precondition for a provider that is not configured; with Required those of
// provider's Client.Do; the context's error when that ends.
func (r *Reranker) Rerank(ctx context.Context, request Request) (Result, error) {
	if err := request.validate(); err != nil {
		return Result{}, err
	}
	start := time.Now()
	result := Result{Report: Report{Candidates: len(request.Candidates)}}
	result.Kind, result.Model = resolve(request.Kind, request.Model)
	scorer, weights, err := r.settle(request)
	if err != nil {
		return Result{}, err
	}
	if len(request.Candidates) == 0 || request.TopK == 0 {
		result.Reranked = true
		return result, nil
	}
	verdicts := r.judge(ctx, scorer, request, &result.Report)
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
	result.Ranked = combine(request, weights, verdicts)
	return result, nil
}

// Check refuses a kind, model and weights as Rerank does, for who is yet to find
// the candidates. Errors: Invalid, Precondition for a provider that is not
// configured.
func (r *Reranker) Check(request Request) error {
	_, _, err := r.settle(request)
	return err
}

func (r *Reranker) settle(request Request) (scorer, resolved, error) {
	weights, err := request.Weights.resolve(request.NormalizeWeights)
	if err != nil {
		return nil, weights, err
	}
	scorer, err := r.scorer(resolve(request.Kind, request.Model))
	return scorer, weights, err
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

// judge asks the scorer about every text that is not blank and not in the cache,
// each text once, within the time there is.
func (r *Reranker) judge(ctx context.Context, scorer scorer, request Request, report *Report) []verdict {
	ctx, cancel := context.WithTimeout(ctx, r.budget(ctx))
	defer cancel()

	verdicts := make([]verdict, len(request.Candidates))
	task := task{tenant: request.Tenant, query: request.Query}
	places := map[string][]int{} // of each text to score, in Candidates
	for i, c := range request.Candidates {
		if strings.TrimSpace(c.Text) == "" {
			continue
		}
		text := c.judged()
		if score, ok := r.cache.get(scorer, task, text); ok {
			verdicts[i].score = score
			report.Cached++
			continue
		}
		if places[text] == nil {
			task.texts, task.titles = append(task.texts, text), append(task.titles, c.Title)
		}
		places[text] = append(places[text], i)
	}
	if len(task.texts) == 0 {
		return verdicts
	}
	scored, usage := scorer.score(ctx, task)
	report.Usage = usage
	for n, v := range scored {
		if v.err == nil {
			r.cache.put(scorer, task, task.texts[n], v.score)
		}
		for _, i := range places[task.texts[n]] {
			verdicts[i] = v
		}
	}
	return verdicts
}

// budget is the time for scoring: a tenth of what the caller has is left for
// what comes after.
func (r *Reranker) budget(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(r.config.Timeout, time.Until(end)*9/10)
	}
	return r.config.Timeout
}

// failed is the candidates without a score.
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

// reason is what the caller may know about a failure.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "there was no time left for it"
	}
	return fault.Public(err)
}
