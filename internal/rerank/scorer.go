package rerank

import (
	"cmp"
	"context"
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/llm"
)

// Kind is a way of scoring.
type Kind string

// The kinds.
const (
	// Lexical scores by the words of the query that stand in the text, how often
	// and how close together. It needs no model.
	Lexical Kind = "lexical"
	// LLM asks a language model about several texts at a time.
	LLM Kind = "llm"
	// LLMPassage asks a language model about each text by itself: the dearest,
	// and the one in which texts cannot influence each other.
	LLMPassage Kind = "llm-passage"
	// LLMListwise asks a language model to put texts in order, window by window.
	// Its scores say the order and nothing more.
	LLMListwise Kind = "llm-listwise"
	// CrossEncoder asks a rerank API.
	CrossEncoder Kind = "cross-encoder"
)

// lexicalModel names the lexical scorer where a model is asked for.
const lexicalModel = "builtin/lexical"

// scorer judges texts.
type scorer interface {
	// score returns a verdict on each text, in the order of the texts. It returns
	// when every text has one or the context has ended.
	score(ctx context.Context, t task) ([]verdict, llm.Usage)
	// key names the scorer in the cache; empty for scores not worth keeping or
	// not independent of the other texts.
	key() string
}

// task is what to judge: texts, none of them blank and no two the same. They
// begin with their titles.
type task struct {
	tenant, query string
	texts, titles []string
}

// verdict is a text's relevance to the query, 0..1, or why there is none.
type verdict struct {
	score float64
	err   error
}

// failAll is the verdict on n texts after one common failure.
func failAll(n int, err error) []verdict {
	verdicts := make([]verdict, n)
	for i := range verdicts {
		verdicts[i].err = err
	}
	return verdicts
}

// resolve fills in what a request leaves out of kind and model.
func resolve(kind Kind, model string) (Kind, string) {
	if model == "rerank-v3.5" {
		model = "cohere/rerank-v3.5" // known by its bare name to users of other libraries
	}
	provider, _, _ := strings.Cut(model, "/")
	kind = cmp.Or(kind, kindOf(provider))
	if kind == Lexical {
		model = cmp.Or(model, lexicalModel)
	}
	return kind, model
}

// scorer returns the scorer of this kind and model, which resolve has seen.
func (r *Reranker) scorer(kind Kind, model string) (scorer, error) {
	provider, id, _ := strings.Cut(model, "/")
	switch kind {
	case Lexical:
		if model != lexicalModel {
			return nil, fault.Field("model", "lexical has no model %q, only %s", model, lexicalModel)
		}
		return lexicalScorer{}, nil
	case LLM, LLMPassage, LLMListwise:
		if err := r.config.LLM.Check(model); err != nil {
			return nil, err
		}
		if kind == LLMListwise {
			return listwise{r.config.LLM, model}, nil
		}
		return pointwise{r.config.LLM, model, kind}, nil
	case CrossEncoder:
		return r.crossEncoder(provider, id)
	}
	return nil, fault.Field("kind", "must be %s, %s, %s, %s or %s, got %q", Lexical, LLM, LLMPassage, LLMListwise, CrossEncoder, kind)
}

// kindOf is the kind that goes without saying for a model of this provider.
func kindOf(provider string) Kind {
	if provider == "" || provider == "builtin" {
		return Lexical
	}
	if _, ok := shapes[provider]; ok {
		return CrossEncoder
	}
	return LLM
}
