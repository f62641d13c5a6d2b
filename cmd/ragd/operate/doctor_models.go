package operate

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/model/localmodel/hub"
	"github.com/ragdhq/ragd/internal/operate/doctor"
)

// checkDefaultModel says which model new indexes of the service on this machine have with the setting auto, and
// which indexes were made before there was one.
func (p *program) checkDefaultModel(ctx context.Context) []doctor.Finding {
	s := p.settings.Service
	if _, err := os.Stat(s.DataDir); s.EmbeddingModel != embed.Auto || err != nil && s.ModelsDir == "" {
		return nil // the model is named, or no service runs here
	}
	found := doctor.Finding{Check: "embedding model", Status: doctor.OK}
	name, err := localmodel.New(localmodel.Config{Dir: p.modelsDir()}).Embedding()
	switch {
	case err != nil:
		found.Status, found.Detail, found.Action = doctor.Warn, err.Error(), "run doctor as the user of the service"
	case name == "":
		found.Detail = fmt.Sprintf("new indexes compare words, because %s has no model", output.Printable(p.modelsDir()))
		found.Action = fmt.Sprintf("`ragd model pull %s` fetches one that compares meanings", hub.Pinned("").Model)
	default:
		found.Detail = fmt.Sprintf("new indexes have local/%s", name)
		if before := p.builtinIndexes(ctx); len(before) > 0 {
			found.Detail += fmt.Sprintf("; %d of the tenant's were made with the builtin model, which compares words", len(before))
			found.Action = fmt.Sprintf("`ragd index reembed %s --model local/%s`", before[0], name)
		}
	}
	return []doctor.Finding{found}
}

// builtinIndexes returns the first indexes of the tenant that have the builtin model.
func (p *program) builtinIndexes(ctx context.Context) (names []string) {
	for _, index := range p.indexes(ctx) {
		if strings.HasPrefix(index.GetEmbeddingModel(), "builtin/") && index.GetReembedJobId() == "" {
			names = append(names, index.GetIndexName())
		}
	}
	return names
}

// checkEmbeddings names the indexes of the tenant whose embeddings an earlier version made from less of a chunk.
func (p *program) checkEmbeddings(ctx context.Context) []doctor.Finding {
	var old []string
	for _, index := range p.indexes(ctx) {
		described, err := p.Client.Indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: index.GetIndexName()})
		if err == nil && described.GetOldEmbeddings() { // one that was deleted meanwhile has none
			old = append(old, index.GetIndexName())
		}
	}
	if len(old) == 0 {
		return nil
	}
	return []doctor.Finding{{
		Check: "embeddings", Status: doctor.Warn,
		Detail: fmt.Sprintf("those of %s were made without the headings above a chunk", strings.Join(old, ", ")),
		Action: fmt.Sprintf("`ragd index reembed %s` makes them anew, while the index serves", old[0]),
	}}
}

// indexes returns the first indexes of the tenant; none without a key. The check of the operator's key has
// connected with that one.
func (p *program) indexes(ctx context.Context) []*ragdv1.Index {
	c, err := p.Connect(client.ForTenant)
	if err != nil || c.Access.Key == "" {
		return nil
	}
	list, err := c.Indexes.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: 100})
	if err != nil {
		return nil // the key was checked before
	}
	return list.GetIndexes()
}
