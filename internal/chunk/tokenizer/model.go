package tokenizer

import "strings"

// Default is the encoding of callers that name none.
const Default = "cl100k_base"

// Names are the names of the encodings, sorted. gpt2 is the old name of r50k_base.
var Names = []string{"cl100k_base", "gpt2", "o200k_base", "p50k_base", "p50k_edit", "r50k_base"}

// modelEncodings maps names of models to encodings. A name that ends in a dash or a
// dot, or that starts with "ft:", is a prefix of the names of models.
var modelEncodings = map[string]string{
	"o1": "o200k_base", "o1-": "o200k_base",
	"o3": "o200k_base", "o3-": "o200k_base",
	"o4-":   "o200k_base",
	"gpt-5": "o200k_base", "gpt-5-": "o200k_base", "gpt-5.": "o200k_base",
	"gpt-4.5": "o200k_base", "gpt-4.5-": "o200k_base",
	"gpt-4.1": "o200k_base", "gpt-4.1-": "o200k_base",
	"gpt-4o": "o200k_base", "gpt-4o-": "o200k_base", "chatgpt-4o-": "o200k_base",
	"gpt-oss-": "o200k_base", "ft:gpt-4o": "o200k_base",
	"gpt-4": "cl100k_base", "gpt-4-": "cl100k_base", "ft:gpt-4": "cl100k_base",
	"gpt-3.5": "cl100k_base", "gpt-3.5-": "cl100k_base", "gpt-35-": "cl100k_base", "ft:gpt-3.5": "cl100k_base",
	"davinci-002": "cl100k_base", "babbage-002": "cl100k_base", "ft:davinci-002": "cl100k_base", "ft:babbage-002": "cl100k_base",
	"text-embedding-ada-002": "cl100k_base", "text-embedding-3-": "cl100k_base",
	"text-davinci-002": "p50k_base", "text-davinci-003": "p50k_base", "code-davinci-": "p50k_base", "code-cushman-": "p50k_base",
	"davinci-codex": "p50k_base", "cushman-codex": "p50k_base",
	"text-davinci-edit-": "p50k_edit", "code-davinci-edit-": "p50k_edit",
	"text-davinci-001": "r50k_base", "text-curie-": "r50k_base", "text-babbage-": "r50k_base", "text-ada-": "r50k_base",
	"davinci": "r50k_base", "curie": "r50k_base", "babbage": "r50k_base", "ada": "r50k_base",
	"text-similarity-": "r50k_base", "text-search-": "r50k_base", "code-search-": "r50k_base",
	"gpt2": "gpt2", "gpt-2": "gpt2",
}

// OfModel returns the name of the encoding of a model and whether the model is known.
// The longest matching name or prefix counts; a provider before a slash
// ("openai/gpt-4o") is ignored.
func OfModel(model string) (string, bool) {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	if e, ok := modelEncodings[name]; ok {
		return e, true
	}
	best := ""
	for prefix := range modelEncodings {
		open := strings.HasSuffix(prefix, "-") || strings.HasSuffix(prefix, ".") || strings.HasPrefix(prefix, "ft:")
		if open && len(prefix) > len(best) && strings.HasPrefix(name, prefix) {
			best = prefix
		}
	}
	return modelEncodings[best], best != ""
}
