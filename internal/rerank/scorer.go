package rerank

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Kind is a way of scoring.
type Kind string

// The kinds.
const (
	// Lexical scores by the query's terms in the text, how often and how close together
	// they occur. It needs no model.
	Lexical Kind = "lexical"
	// LLM asks a language model about several texts at a time.
	LLM Kind = "llm"
	// LLMPassage asks a language model about each text separately. It costs the most
	// calls, but texts cannot influence each other's scores.
	LLMPassage Kind = "llm-passage"
	// LLMListwise asks a language model to put texts in order, window by window. Its
	// scores only express the order.
	LLMListwise Kind = "llm-listwise"
	// CrossEncoder asks a rerank API.
	CrossEncoder Kind = "cross-encoder"
)

// lexicalModel is the name of the lexical scorer as a model.
const lexicalModel = "builtin/lexical"

// scorer scores texts against a query.
type scorer interface {
	// score returns a verdict for each text, in the order of the texts. It blocks until
	// every text has one or the context ends.
	score(ctx context.Context, t task) ([]verdict, llm.Usage)
	// key identifies the scorer in the cache. It is empty if scores are not cached
	// because they are cheap or depend on the other texts.
	key() string
}

// task holds the texts to score: distinct, not blank, and each beginning with its title.
type task struct {
	tenant, query string
	texts, titles []string
}

// verdict is a text's relevance to the query, 0..1, or the error of scoring it.
type verdict struct {
	score   float64
	skipped bool // the text was not scored, score is the least of the others
	err     error
}

// failAll returns n verdicts with the same error.
func failAll(n int, err error) []verdict {
	verdicts := make([]verdict, n)
	for i := range verdicts {
		verdicts[i].err = err
	}
	return verdicts
}

// resolve returns the kind and the model of a request with their defaults.
func (r *Reranker) resolve(ctx context.Context, request Request) (kind Kind, model string, err error) {
	kind, model = request.Kind, request.Model
	if model == "rerank-v3.5" {
		model = "cohere/rerank-v3.5" // other libraries use this model without the prefix
	}
	if model == "" && (kind == "" || kind == CrossEncoder) && r.config.Local != nil {
		name, err := r.config.Local.CrossEncoder()
		if err != nil {
			return kind, model, fmt.Errorf("choose a local cross-encoder: %w", err)
		}
		if name != "" {
			model = "local/" + name
		}
	}
	if kind == "" {
		if kind, err = r.kindOf(ctx, request.Tenant, model); err != nil {
			return kind, model, err
		}
	}
	if kind == Lexical {
		model = cmp.Or(model, lexicalModel)
	}
	return kind, model, nil
}

// kindOf returns the default kind for a tenant's model.
func (r *Reranker) kindOf(ctx context.Context, tenant, model string) (Kind, error) {
	name, _, _ := strings.Cut(model, "/")
	switch name {
	case "", "builtin":
		return Lexical, nil
	case "local":
		return CrossEncoder, nil
	}
	api, err := r.config.Endpoints.KindOf(ctx, tenant, name)
	if _, ok := shapes[api]; ok || err != nil {
		return CrossEncoder, err
	}
	return LLM, nil
}

// scorer returns the scorer of a kind and model returned by resolve.
func (r *Reranker) scorer(ctx context.Context, tenant string, kind Kind, model string) (scorer, error) {
	switch kind {
	case Lexical:
		if model != lexicalModel {
			return nil, fault.Field("model", "lexical has no model %q, only %s", model, lexicalModel)
		}
		return lexicalScorer{r.config.Processor}, nil
	case LLM, LLMPassage, LLMListwise:
		if err := r.config.LLM.Check(ctx, tenant, model); err != nil {
			return nil, err
		}
		if kind == LLMListwise {
			return listwise{r.config.LLM, model}, nil
		}
		return pointwise{r.config.LLM, model, kind}, nil
	case CrossEncoder:
		return r.crossEncoder(ctx, tenant, model)
	}
	return nil, fault.Field("kind", "must be %s, %s, %s, %s or %s, got %q", Lexical, LLM, LLMPassage, LLMListwise, CrossEncoder, kind)
}
