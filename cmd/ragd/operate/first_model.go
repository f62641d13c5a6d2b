package operate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/model/localmodel/hub"
)

// firstModel returns the request for the model of a first start, which waits three seconds for the hub.
func (p *program) firstModel() hub.Request {
	request := hub.Pinned(p.modelsDir())
	request.Answer = 3 * time.Second
	return request
}

// fetchFirstModel fetches the embedding model of a service that starts for the first time, unless it
// has one or shall not. Without the model the service works, but compares words: then it says so.
// Errors: that of ctx.
func (p *program) fetchFirstModel(ctx context.Context, request hub.Request) error {
	if !p.needsFirstModel() {
		return nil
	}
	output.Note(p.Out.Stderr, "fetching the embedding model %s from %s, so that search understands meaning; --offline starts without it", request.Model, output.Printable(p.settings.ModelHub))
	_, err := p.fetchModel(ctx, request)
	if err != nil && ctx.Err() == nil {
		output.Note(p.Out.Stderr, "no embedding model was fetched: %s\n"+
			"Until there is one, search finds the words of a question, and no other words of the same meaning.\n"+
			"Later: `ragd model pull %s`, then `ragd index reembed` for the indexes made before", output.OneLine(err.Error()), request.Model)
		return nil
	}
	return err
}

// needsFirstModel reports whether a model is to be fetched: the first start of an embedded database
// with the model auto, and no local model.
func (p *program) needsFirstModel() bool {
	s := p.settings
	if s.Offline || s.Service.EmbeddingModel != embed.Auto || s.Service.DatabaseURL != "" {
		return false
	}
	if _, err := os.Stat(filepath.Join(s.Service.DataDir, "postgres")); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	name, err := localmodel.New(localmodel.Config{Dir: p.modelsDir()}).Embedding()
	return err == nil && name == ""
}
