package embed

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/endpoint"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/limit"
)

// Config configures the providers. The zero Config has only builtin.
type Config struct {
	// OpenAI is the endpoint of the openai provider. The provider is missing if it is
	// zero.
	OpenAI endpoint.Config
	// Processor is used by the builtin model. Default: no limit.
	Processor *limit.Processor
	// QueryCacheBytes bounds the cached vectors of recent questions, in bytes. 0 means
	// 64 MiB, a negative number means no cache.
	QueryCacheBytes int64
}

// Registry finds models by name. Safe for concurrent use.
type Registry struct {
	backends  map[string]backend
	openAI    endpoint.Config
	questions *questionCache
}

// NewRegistry returns a registry of the configured providers and builtin.
func NewRegistry(config Config) *Registry {
	backends := map[string]backend{"builtin": newBuiltin(config.Processor)}
	if config.OpenAI.Configured() {
		backends["openai"] = newOpenAI(config.OpenAI)
	}
	return &Registry{backends: backends, openAI: config.OpenAI, questions: newQuestionCache(config.QueryCacheBytes)}
}

// Model returns the model of a name, provider/model, that a caller chose, without a call to
// the provider. Errors: those of Stored, and Invalid for a model that
// endpoint.Config.Models does not allow.
func (r *Registry) Model(name string) (*Model, error) {
	model, err := r.Stored(name)
	if err == nil && model.provider == "openai" {
		err = r.openAI.CheckModel("embeddingModel", model.id)
	}
	if err != nil {
		return nil, err
	}
	return model, nil
}

// Stored returns the model of a name that an index has, which was allowed when the index
// got it. Errors: Invalid for a name that is not of the form provider/model or a model that
// builtin does not have, Precondition for a provider that is not configured.
func (r *Registry) Stored(name string) (*Model, error) {
	provider, model, ok := strings.Cut(name, "/")
	if !ok || provider == "" || model == "" {
		return nil, fault.Field("embeddingModel", "must be provider/model, such as openai/text-embedding-3-small or builtin/hash-512, got %q", name)
	}
	b, ok := r.backends[provider]
	if !ok {
		if slices.Contains(providers, provider) {
			return nil, fault.New(fault.Precondition, "embeddingModel: the provider %[1]s is not configured on this server; its operator sets RAGD_%[2]s_API_KEY or RAGD_%[2]s_BASE_URL", provider, strings.ToUpper(provider))
		}
		return nil, fault.Field("embeddingModel", "provider %q is unknown; the providers are %s", provider, strings.Join(providers, ", "))
	}
	if provider == "builtin" && model != builtinModel {
		return nil, fault.Field("embeddingModel", "builtin has no model %q, only builtin/%s", model, builtinModel)
	}
	known := wellKnown(model)
	return &Model{Name: name, Dimension: known.dimension, MaxTokens: known.maxTokens, provider: provider, id: model, known: known, backend: b}, nil
}

// providers lists the providers that a model's name may start with.
var providers = []string{"builtin", "openai"}
