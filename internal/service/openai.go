package service

import (
	"context"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/api/openai"
	"github.com/ragdhq/ragd/internal/api/rpc"
	"github.com/ragdhq/ragd/internal/tenant"
)

// newOpenAI returns the handler of the OpenAI-compatible interface.
func (s *Service) newOpenAI() *openai.Handler {
	return openai.New(openai.Config{
		API: rpc.Recorded{Handlers: s.Handlers}, Documents: s.Handlers.Ingest, DB: s.db, Agents: s.Handlers.Agents, Models: s.knownModels,
		Gate: s.gate, Repeats: s.idempotent, Guard: s.guard, Authenticate: s.Credentials.Auth.Middleware,
	})
}

// builtinModels run in this process and need no files.
var builtinModels = []string{"builtin/hash-512", "builtin/lexical"}

// knownModels returns the models that a tenant may use and whose names are known: those in this
// process, and those that endpoints name, not by a pattern.
func (s *Service) knownModels(ctx context.Context, id tenant.ID) ([]openai.Model, error) {
	var all []openai.Model
	add := func(owner, name string, at time.Time) {
		all = append(all, openai.Model{Name: owner + "/" + name, Owner: owner, CreatedAt: at})
	}
	for _, full := range builtinModels {
		owner, name, _ := strings.Cut(full, "/")
		add(owner, name, time.Time{})
	}
	folders, err := s.local.List()
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if folder.Err == nil {
			add("local", folder.Name, time.Time{})
		}
	}
	usable, err := s.Handlers.Endpoints.Usable(ctx, id)
	for _, e := range usable {
		for _, m := range e.Models {
			if !strings.Contains(m.Name, "*") {
				add(e.Name, m.Name, e.CreatedAt)
			}
		}
	}
	return all, err
}
