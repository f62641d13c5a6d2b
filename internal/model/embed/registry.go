package embed

import (
	"context"
	"fmt"
	"strings"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// Config configures the models. The zero Config has only builtin.
type Config struct {
	// Endpoints finds the endpoints of models. Default: none.
	Endpoints *endpoint.Directory
	// Local has the models that are named local/model. Default: none.
	Local Local
	// Meter counts the tokens of all models but the builtin one. Default: nothing is counted.
	Meter endpoint.Meter
	// Processor is used by the builtin model. Default: no limit.
	Processor *limit.Processor
	// QueryCacheBytes bounds the cached vectors of recent questions, in bytes. 0 means
	// 64 MiB, a negative number means no cache.
	QueryCacheBytes int64
}

// Local computes embeddings in this process. It is safe for concurrent use.
type Local interface {
	// Embedding returns the model that Auto names, or "" if there is none.
	Embedding() (string, error)
	// Describe returns what is known of a model, with its dimension. Errors: Invalid,
	// naming the field embeddingModel, for a model that does not exist.
	Describe(model string) (endpoint.Model, error)
	// Embed returns the vectors of a tenant's texts, in their order. No text is blank. It
	// adds the prefixes that the model needs for questions or for documents.
	Embed(ctx context.Context, tenant, model string, texts []string, questions bool) ([][]float32, error)
}

// Registry finds models by name. Safe for concurrent use.
type Registry struct {
	endpoints *endpoint.Directory
	local     Local
	builtin   backend
	questions *questionCache
	meter     endpoint.Meter
}

// NewRegistry returns a registry of builtin, the local models and those at endpoints.
func NewRegistry(config Config) *Registry {
	r := &Registry{
		endpoints: config.Endpoints, local: config.Local,
		builtin: newBuiltin(config.Processor), questions: newQuestionCache(config.QueryCacheBytes), meter: config.Meter,
	}
	if r.meter == nil {
		r.meter = endpoint.Unmetered{}
	}
	if r.endpoints == nil {
		r.endpoints = new(endpoint.Directory)
	}
	return r
}

// Model returns the model of a name, endpoint/model or Auto, that a tenant chose, without a call
// to the endpoint. An empty tenant finds the operator's endpoints only. Errors: those of
// endpoint.Directory.Resolve, naming the field embeddingModel.
func (r *Registry) Model(ctx context.Context, tenant, name string) (*Model, error) {
	return r.find(ctx, endpoint.Query{Tenant: tenant, Name: name})
}

// Stored returns the model of a name that an index has, which was allowed when the index
// got it. Errors: as Model, but for models that the endpoint does not allow.
func (r *Registry) Stored(ctx context.Context, tenant, name string) (*Model, error) {
	return r.find(ctx, endpoint.Query{Tenant: tenant, Name: name, Stored: true})
}

func (r *Registry) find(ctx context.Context, q endpoint.Query) (*Model, error) {
	const field = "embeddingModel"
	if q.Name == Auto {
		var err error
		if q.Name, err = r.auto(); err != nil {
			return nil, err
		}
	}
	name, id, _ := strings.Cut(q.Name, "/")
	switch {
	case name == "builtin" && id == builtinModel:
		return &Model{Name: q.Name, Dimension: builtinDimension, id: id, known: wellKnown(id), here: true, backend: r.builtin}, nil
	case name == "builtin" && id != "":
		return nil, fault.Field(field, "builtin has no model %q, only builtin/%s", id, builtinModel)
	case name == "local" && r.local != nil && id != "":
		described, err := r.local.Describe(id)
		if err != nil {
			return nil, err
		}
		known := declared(described)
		known.documentPrefix, known.questionPrefix = "", "" // Local adds them
		if described.DocumentPrefix == "" && described.QuestionPrefix == "" {
			published := wellKnown(id)
			known.documentPrefix, known.questionPrefix = published.documentPrefix, published.questionPrefix
		}
		return &Model{Name: q.Name, Dimension: known.dimension, MaxTokens: known.maxTokens, id: id, known: known, scope: "local", backend: inProcess{r.local}, meter: r.meter}, nil
	}
	q.Field, q.Use = field, endpoint.Embed
	target, err := r.endpoints.Resolve(ctx, q)
	if err != nil {
		return nil, err
	}
	known := knownAt(target)
	return &Model{
		Name: q.Name, Dimension: known.dimension, MaxTokens: known.maxTokens, id: target.Model, known: known,
		scope: target.Config.BaseURL, backend: remote{target.Endpoint, dialects[target.Kind]}, meter: r.meter,
	}, nil
}

// auto returns the name of the model that Auto means now.
func (r *Registry) auto() (string, error) {
	if r.local != nil {
		name, err := r.local.Embedding()
		if err != nil {
			return "", fmt.Errorf("choose a local model: %w", err)
		}
		if name != "" {
			return "local/" + name, nil
		}
	}
	return "builtin/" + builtinModel, nil
}

// inProcess embeds with the local models.
type inProcess struct{ models Local }

func (p inProcess) embed(ctx context.Context, j job) ([][]float32, error) {
	vectors, err := p.models.Embed(ctx, j.tenant, j.model, j.texts, j.purpose == question)
	if err == nil {
		j.tokens.Add(estimateAll(j.texts))
	}
	return vectors, err
}
