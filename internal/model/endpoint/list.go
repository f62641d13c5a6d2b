package endpoint

import (
	"context"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// MaxListed is the greatest number of models that ListModels returns.
const MaxListed = 1000

// ListModels asks the endpoint for the names of its models. Errors: Invalid, naming the
// field model, for a kind that has no list; those of Client.Do.
func (e *Endpoint) ListModels(ctx context.Context, tenant string) ([]string, error) {
	path := kinds[e.Kind].models
	if path == "" {
		return nil, fault.Field("model", "is needed, because endpoints of the kind %s cannot list their models", e.Kind)
	}
	client := e.client(lane{quick: true})
	var names []string
	err := client.Do(ctx, tenant, func(ctx context.Context) error {
		var answer struct {
			Data []struct { // OpenAI
				ID string `json:"id"`
			} `json:"data"`
			Models []struct { // Cohere, Ollama, Gemini
				Name string `json:"name"`
			} `json:"models"`
			ModelID string `json:"model_id"` // text-embeddings-inference
		}
		if err := client.GetJSON(ctx, path, &answer); err != nil {
			return err
		}
		names = nil
		for _, m := range answer.Data {
			names = append(names, m.ID)
		}
		for _, m := range answer.Models {
			names = append(names, strings.TrimPrefix(m.Name, "models/"))
		}
		if answer.ModelID != "" {
			names = append(names, answer.ModelID)
		}
		return nil
	})
	return usable(names), err
}

// usable returns the names that a model can have, at most MaxListed.
func usable(names []string) []string {
	var out []string
	for _, name := range names {
		if len(out) < MaxListed && (Config{}).CheckModel("", name) == nil {
			out = append(out, name)
		}
	}
	return out
}
