package own

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Try uses models of a tenant, by use. A function of it returns the dimension of the vector
// that it got, if any.
type Try map[endpoint.Use]func(ctx context.Context, tenant, model string) (dimension int, err error)

// WithTry sets what Test uses models with. Call it before the first request.
func (s *Service) WithTry(try Try) { s.try = try }

// Tested is the outcome of Test.
type Tested struct {
	Models    []string // if no model was used
	Dimension int      // of the vector, if one was made
	Took      time.Duration
}

// Test calls an endpoint of the tenant or of the operator. Without a model it lists the
// models, else it uses the model for use, or embeds if that is empty. Errors: NotFound;
// Invalid for a kind without a list and an unknown use; those of the call.
func (s *Service) Test(ctx context.Context, name, model string, use endpoint.Use) (Tested, error) {
	h, err := s.admin(ctx)
	if err != nil {
		return Tested{}, err
	}
	if _, err := s.Get(ctx, name); err != nil {
		return Tested{}, err
	}
	id, start := string(h.Tenant()), time.Now()
	var tested Tested
	if model == "" {
		var found *endpoint.Endpoint
		if found, err = s.Find(ctx, id, name); found == nil && err == nil {
			found = s.config.Operator.Operator(name)
		}
		if err == nil {
			tested.Models, err = found.ListModels(ctx, id)
		}
	} else {
		if use == "" {
			use = endpoint.Embed
		}
		try := s.try[use]
		if try == nil {
			return Tested{}, fault.Field("use", "must be %s, %s or %s, got %q", endpoint.Embed, endpoint.Chat, endpoint.Rerank, use)
		}
		tested.Dimension, err = try(ctx, id, name+"/"+model)
	}
	tested.Took = time.Since(start)
	return tested, err
}
