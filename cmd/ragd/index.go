package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) indexCommands() *cobra.Command {
	return p.clientFlags(p.group("index", "Manage the indexes of a tenant", `
An index is a set of documents that are cut, embedded and searched alike.`,
		p.indexCreate(), p.indexDescribe(), p.indexList(), p.indexGraph(), p.indexReembed(), p.indexDelete(),
	))
}

func showIndex(index *ragdv1.Index) func(io.Writer) {
	return func(w io.Writer) {
		field(w, "index", index.GetIndexName())
		field(w, "status", index.GetStatus())
		field(w, "embedding model", index.GetEmbeddingModel())
		field(w, "dimension", index.GetDimension())
		field(w, "next embedding model", index.GetNextEmbeddingModel())
		field(w, "reembedding job", index.GetReembedJobId())
		field(w, "metric", index.GetMetric())
		field(w, "type", index.GetIndexConfig().GetType())
		field(w, "text language", index.GetTextLanguage())
		field(w, "chunking", compactJSON(index.GetChunking()))
		field(w, "documents ready", index.GetDocumentCount())
		field(w, "documents pending", index.GetPendingDocumentCount())
		field(w, "documents failed", index.GetFailedDocumentCount())
		field(w, "chunks", index.GetCount())
		field(w, "graph", graphWords(index.GetGraph()))
		field(w, "created", stamp(index.GetCreateTime()))
		field(w, "updated", stamp(index.GetUpdateTime()))
	}
}

// onlyIndex returns name, or if it is empty the tenant's only index; "" if it has
// none. It is a usage error if there are several to choose from.
func (c *client) onlyIndex(ctx context.Context, name string) (string, error) {
	if name != "" {
		return name, nil
	}
	const shown = 5
	page, err := c.indexes.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: shown})
	names := page.GetIndexNames()
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", nil
	case len(names) == 1:
		return names[0], nil
	}
	if page.GetNextPageToken() != "" {
		names = append(names, "...")
	}
	return "", usagef("--index is missing and there are several: %s", strings.Join(names, ", "))
}
