package main

import (
	"fmt"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) indexReembed() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reembed INDEX",
		Short: "Give an index another embedding model, while it serves",
		Long: `Give an index another embedding model. All documents are embedded again beside the
present embeddings, which serve until everything is there. It follows the job to its
end, unless --wait=false; ` + "`ragd job cancel`" + ` ends it and leaves the index as it is.`,
		Example: `  ragd index reembed papers --model openai/text-embedding-3-large
  ragd index reembed papers --model openai/text-embedding-3-large --dimension 1024 --wait=false`,
		Args: arguments("INDEX"),
	}
	flags := cmd.Flags()
	model := flags.String("model", "", "the new model, as provider/model")
	dimension := flags.Int32("dimension", 0, "of the new embeddings (default the model's own)")
	wait := flags.Bool("wait", true, "follow the job to its end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *model == "" {
			return usagef("--model is missing")
		}
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		index, err := c.indexes.UpdateIndex(cmd.Context(), &ragdv1.UpdateIndexRequest{
			IndexName: args[0], EmbeddingModel: *model, Dimension: *dimension,
		})
		if err != nil {
			return err
		}
		job := index.GetReembedJobId()
		if !*wait || job == "" {
			return p.show(index, showIndex(index))
		}
		note(p.stderr, "job %s embeds index %s with %s", job, index.GetIndexName(), oneLine(index.GetNextEmbeddingModel()))
		ended, err := p.watch(cmd.Context(), c, job)
		if err == nil && ended.GetStatus() != "succeeded" {
			err = fmt.Errorf("job %s ended as %s: %s", job, ended.GetStatus(), ended.GetError())
		}
		return err
	}
	return cmd
}
