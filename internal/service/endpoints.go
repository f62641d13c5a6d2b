package service

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/endpoint/own"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/reseal"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// masterKeys returns the keys that encrypt tenants' secrets, nil if there are none. Errors:
// Precondition if a new key would be made although there are secrets that another one
// encrypted, as after a restore without the old file.
func masterKeys(ctx context.Context, config Config, d database) (*seal.Keys, error) {
	if config.MasterKeys != nil || d.embedded == nil {
		return config.MasterKeys, nil
	}
	path := filepath.Join(config.DataDir, seal.FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		sealed, err := reseal.Exist(ctx, d.admin)
		if err != nil {
			return nil, err
		}
		if sealed {
			return nil, fault.New(fault.Precondition,
				"the file %s does not exist, but the database has secrets that its key encrypted: put the file back, which backups of the database do not contain, or set master-key; "+
					"if the key is lost, make a new one with `openssl rand -hex 32` in that file, and set the secrets again", path)
		}
	}
	return seal.OpenFile(config.DataDir)
}

// endpoints returns the service of the tenants' own endpoints, which are beside those of
// the operator.
func (s *Service) endpoints(db *data.DB, operator *endpoint.Directory, guard *outbound.Guard, keys *seal.Keys) *own.Service {
	return own.New(own.Config{
		DB: db, Operator: operator, Guard: guard, Keys: keys, IndexOf: index.WithEndpoint,
	})
}

// try returns functions that use a model once, to see whether it works.
func try(models *embed.Registry, languageModels *llm.Client, reranker *rerank.Reranker) own.Try {
	return own.Try{
		endpoint.Embed: func(ctx context.Context, id, name string) (int, error) {
			model, err := models.Model(ctx, id, name)
			if err != nil {
				return 0, err
			}
			vectors, err := model.Embed(ctx, id, []string{"test"})
			if err != nil {
				return 0, err
			}
			return len(vectors[0]), nil
		},
		endpoint.Chat: func(ctx context.Context, id, name string) (int, error) {
			_, err := languageModels.Ask(ctx, llm.Question{Tenant: id, Model: name, System: "Answer in one word.", User: "Say yes."})
			return 0, err
		},
		endpoint.Rerank: func(ctx context.Context, id, name string) (int, error) {
			_, err := reranker.Rerank(ctx, rerank.Request{
				Tenant: id, Query: "test", Candidates: []rerank.Candidate{{Text: "a test"}}, Kind: rerank.CrossEncoder, Model: name,
				TopK: 1, Required: true,
			})
			return 0, err
		},
	}
}
