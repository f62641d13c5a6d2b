package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) indexCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create INDEX",
		Short: "Make an index",
		Long: `Make an index. The same index again is no error; the same name with other
settings is. What is left out is chosen by the service: its default embedding
model, the model's dimension, cosine, an HNSW index. The embedding model cannot
be changed later.`,
		Example: `  ragd index create handbook
  ragd index create papers --embedding-model openai/text-embedding-3-small \
      --strategy markdown --max-size 1200 --overlap 100
  ragd index create small --type flat`,
		Args: arguments("INDEX"),
	}
	flags := cmd.Flags()
	model := flags.String("embedding-model", "", "provider/model (default of the service)")
	dimension := flags.Int32("dimension", 0, "of the embeddings (default that of the model)")
	metric := flags.String("metric", "", "cosine, euclidean or dotproduct (default cosine)")
	kind := flags.String("type", "", "hnsw, or flat for exact search (default hnsw)")
	m := flags.Int32("m", 0, "links per node of an HNSW index (default of the service)")
	ef := flags.Int32("ef-construction", 0, "candidates while an HNSW index is built (default of the service)")
	language := flags.String("text-language", "", "language of keyword search (default english)")
	chunking := chunkingFlags(flags)
	graph := graphFlags(flags, "graph-")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		req := &ragdv1.CreateIndexRequest{
			IndexName: args[0], Dimension: *dimension, Metric: *metric,
			EmbeddingModel: *model, Chunking: chunking(), TextLanguage: *language, Graph: graph(),
		}
		if *kind != "" || *m != 0 || *ef != 0 {
			req.IndexConfig = &ragdv1.IndexConfig{Type: *kind}
		}
		if *m != 0 || *ef != 0 {
			req.IndexConfig.Hnsw = &ragdv1.HnswConfig{M: *m, EfConstruction: *ef}
		}
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		index, err := c.indexes.CreateIndex(cmd.Context(), req)
		if err != nil {
			return err
		}
		return p.show(index, showIndex(index))
	}
	return cmd
}
