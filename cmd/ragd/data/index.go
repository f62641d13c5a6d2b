package data

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func indexCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("index", "Manage the indexes of a tenant", `
An index is a set of documents that are cut, embedded and searched alike.`,
		indexCreate(p), indexDescribe(p), indexList(p), indexGraph(p), indexRecall(p), indexTune(p), indexSynonyms(p), indexCurations(p), indexReembed(p), indexSituate(p), indexQuestions(p), indexExport(p), indexTruncate(p), indexDelete(p),
	))
}

func showIndex(index *ragdv1.Index) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "index", index.GetIndexName())
		output.Field(w, "status", index.GetStatus())
		output.Field(w, "embedding model", index.GetEmbeddingModel())
		output.Field(w, "dimension", index.GetDimension())
		output.Field(w, "vector type", index.GetVectorType())
		if index.GetOldEmbeddings() {
			output.Field(w, "old embeddings", "made without the headings above a chunk; `ragd index reembed "+index.GetIndexName()+"` makes them anew")
		}
		output.Field(w, "next embedding model", index.GetNextEmbeddingModel())
		output.Field(w, "reembedding job", index.GetReembedJobId())
		output.Field(w, "metric", index.GetMetric())
		output.Field(w, "type", index.GetIndexConfig().GetType())
		output.Field(w, "text language", index.GetTextLanguage())
		output.Field(w, "chunking", output.CompactJSON(index.GetChunking()))
		output.Field(w, "extract", output.CompactJSON(index.GetExtract()))
		output.Field(w, "metadata schema", output.CompactJSON(index.GetMetadataSchema()))
		output.Field(w, "documents ready", index.GetDocumentCount())
		output.Field(w, "documents pending", index.GetPendingDocumentCount())
		output.Field(w, "documents failed", index.GetFailedDocumentCount())
		output.Field(w, "chunks", index.GetCount())
		output.Field(w, "metadata", fieldsSummary(index.GetFields()))
		output.Field(w, "recall target", index.GetRecallTarget())
		output.Field(w, "search width", widthSummary(index))
		output.Field(w, "tuning", tuningSummary(index.GetTuning(), ""))
		output.Field(w, "graph", graphSummary(index.GetGraph()))
		output.Field(w, "created", output.Stamp(index.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(index.GetUpdateTime()))
	}
}

// fieldsSummary names metadata fields with their types.
func fieldsSummary(fields []*ragdv1.MetadataField) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		kind := strings.Join(f.GetTypes(), " or ")
		if f.GetList() {
			kind = "list of " + kind
		}
		names[i] = fmt.Sprintf("%s (%s)", f.GetName(), kind)
	}
	return strings.Join(names, ", ")
}

func indexCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create INDEX",
		Short: "Make an index",
		Long: `Make an index. The same index again is no error; the same name with other
settings is. What is left out is chosen by the service: its default embedding
model, the model's dimension, cosine, an HNSW index. To change the embedding
model later, use "ragd index reembed".`,
		Example: `  ragd index create handbook
  ragd index create papers --embedding-model openai/text-embedding-3-small \
      --strategy markdown --max-size 1200 --overlap 100
  ragd index create small --type flat`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	model := flags.String("embedding-model", "", "endpoint/model (default of the service)")
	dimension := flags.Int32("dimension", 0, "of the embeddings (default that of the model)")
	metric := flags.String("metric", "", "cosine, euclidean or dotproduct (default cosine)")
	kind := flags.String("type", "", "hnsw, or flat for exact search (default hnsw)")
	vectorType := flags.String("vector-type", "", "vector, or halfvec, bit or sparsevec; halfvec takes half the space (default vector, halfvec over 2,000 dimensions)")
	m := flags.Int32("m", 0, "links per node of an HNSW index (default of the service)")
	ef := flags.Int32("ef-construction", 0, "candidates while an HNSW index is built (default of the service)")
	language := flags.String("text-language", "", "language of keyword search: auto, simple or one such as english (default auto)")
	chunking := command.ChunkingFlags(flags)
	extract := command.ObjectFlag(flags, "extract", "default extraction of uploads, such as {\"title\": true, \"keywords\": true} (default nothing)")
	schema := command.ObjectFlag(flags, "metadata-schema", "JSON Schema that the metadata of uploads must match, such as {\"required\": [\"team\"]} (default any metadata)")
	recall := flags.Float64("recall-target", 0, "part of the nearest chunks that approximate searches find, 0.9 to 0.999 (default 0.95)")
	graph := graphFlags(flags, "graph-")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		req := &ragdv1.CreateIndexRequest{
			IndexName: args[0], Dimension: *dimension, Metric: *metric, VectorType: *vectorType,
			EmbeddingModel: *model, Chunking: chunking(), Extract: extract(), TextLanguage: *language, Graph: graph(), MetadataSchema: schema(), RecallTarget: *recall,
		}
		if *kind != "" || *m != 0 || *ef != 0 {
			req.IndexConfig = &ragdv1.IndexConfig{Type: *kind}
		}
		if *m != 0 || *ef != 0 {
			req.IndexConfig.Hnsw = &ragdv1.HnswConfig{M: *m, EfConstruction: *ef}
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		index, err := c.Indexes.CreateIndex(cmd.Context(), req)
		if err != nil {
			return err
		}
		if index.GetEmbeddingModel() == "" {
			output.Note(p.Out.Stderr, "index %s has no embedding model: it takes ready-made vectors only, not documents and questions; --embedding-model makes one that does", args[0])
		}
		return p.Out.Show(index, showIndex(index))
	}
	return cmd
}

func indexDescribe(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "describe INDEX",
		Short:   "Show an index and how many documents it has",
		Example: `  ragd index describe handbook --json | jq .documentCount`,
		Args:    command.Arguments("INDEX"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Index, error) {
			return c.Indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: args[0]})
		}, showIndex),
	}
}

func indexList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the indexes in the order of their names",
		Example: `  ragd index list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		indexes := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Index, string, error) {
			page, err := c.Indexes.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: size, PageToken: token})
			return page.GetIndexes(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "indexes", indexes, "INDEX MODEL DIMENSION READY PENDING FAILED CHUNKS STATUS", func(i *ragdv1.Index) []any {
			return []any{
				i.GetIndexName(), i.GetEmbeddingModel(), i.GetDimension(), i.GetDocumentCount(),
				i.GetPendingDocumentCount(), i.GetFailedDocumentCount(), i.GetCount(), i.GetStatus(),
			}
		})
	})
	return cmd
}

// widthSummary returns one line about the measured search width and how it was measured; ""
// for an index without one.
func widthSummary(index *ragdv1.Index) string {
	width := index.GetSearchWidth()
	if width == nil {
		return ""
	}
	questions := "questions made from chunks"
	if width.GetOwnQuestions() {
		questions = "questions that were asked"
	}
	summary := fmt.Sprintf("%d, found %.1f %% with %d %s", width.GetWidth(), 100*width.GetRecall(), width.GetQuestions(), questions)
	if !index.GetRecordQuestions() {
		summary += "; questions are not recorded"
	}
	return summary
}

func indexQuestions(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "questions INDEX",
		Short: "List questions that found nothing, took long or failed, or choose whether an index records any",
		Long: `List questions of the last 14 days that found nothing, took long or failed, the
latest first: whoever looks after the documents sees what they lack. Or choose
whether an index records questions, or delete those that it has. Beside these it
keeps the embeddings of up to 128 recent questions, without their texts, and
measures with them how widely approximate searches must look.`,
		Example: `  ragd index questions handbook --kind unanswered
  ragd index questions handbook --delete
  ragd index questions handbook --record=false`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	record := flags.Bool("record", true, "record questions; false also deletes them")
	remove := flags.Bool("delete", false, "delete the recorded questions")
	kind := flags.String("kind", "", "unanswered, slow or failed (default all)")
	limit := command.LimitFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changes := flags.Changed("record")
		switch lists := flags.Changed("kind") || flags.Changed("limit"); {
		case changes && *remove:
			return misuse.Errorf("--record and --delete exclude each other")
		case lists && (changes || *remove):
			return misuse.Errorf("--kind and --limit list questions: leave out --record and --delete")
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		if !changes && !*remove {
			return listQuestions(cmd.Context(), p, c, args[0], *kind, *limit)
		}
		if changes {
			index, err := c.Indexes.UpdateIndex(cmd.Context(), &ragdv1.UpdateIndexRequest{IndexName: args[0], RecordQuestions: record})
			if err != nil {
				return err
			}
			return p.Out.Show(index, showIndex(index))
		}
		deleted, err := c.Indexes.DeleteAskedQuestions(cmd.Context(), &ragdv1.DeleteAskedQuestionsRequest{IndexName: args[0]})
		if err != nil {
			return err
		}
		output.Note(p.Out.Stderr, "%d questions deleted", deleted.GetDeleted())
		if p.Out.JSON {
			return p.Out.Message(deleted)
		}
		return nil
	}
	return cmd
}

// listQuestions prints the notable questions of an index.
func listQuestions(ctx context.Context, p *command.Program, c *client.Client, indexName, kind string, limit int) error {
	questions := paging.Items(limit, func(size int32, token string) ([]*ragdv1.NotableQuestion, string, error) {
		page, err := c.Indexes.ListNotableQuestions(ctx, &ragdv1.ListNotableQuestionsRequest{IndexName: indexName, Kind: kind, PageSize: size, PageToken: token})
		return page.GetQuestions(), page.GetNextPageToken(), err
	})
	return output.List(p.Out, "questions", questions, "KIND ASKED LAST SCORE SLOWEST CODE QUESTION", func(q *ragdv1.NotableQuestion) []any {
		score := ""
		if q.BestScore != nil {
			score = fmt.Sprintf("%.2f", q.GetBestScore())
		}
		return []any{q.GetKind(), q.GetCount(), output.Stamp(q.GetLastTime()), score, fmt.Sprintf("%.0f ms", q.GetSlowestMs()), q.GetCode(), output.OneLine(q.GetText())}
	})
}

func indexRecall(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "recall INDEX TARGET",
		Short: "Choose how much of the nearest chunks approximate searches find",
		Long: `Choose the part of the nearest chunks that approximate searches find, 0.9 to 0.999.
Their width follows from it: the least that was measured to hold it with 95 %
confidence. It is measured again in the background.`,
		Example: `  ragd index recall handbook 0.99`,
		Args:    command.Arguments("INDEX", "TARGET"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Index, error) {
			target, err := strconv.ParseFloat(args[1], 64)
			if err != nil {
				return nil, misuse.Errorf("TARGET must be a number such as 0.99, got %q", args[1])
			}
			return c.Indexes.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: args[0], RecallTarget: &target})
		}, showIndex),
	}
}

func indexGraph(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph INDEX",
		Short: "Choose which edges an index keeps, or find them anew",
		Long: `Choose which edges an index keeps between its chunks. What is left out goes back
to its default. The graph is then rebuilt in the background; --rebuild alone does
that without a change, and links chunks by similarity that were loaded before the
index over their embeddings was built.`,
		Example: `  ragd index graph handbook --edge-types mention,next
  ragd index graph handbook --off
  ragd index graph handbook --rebuild`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	settings := graphFlags(flags, "")
	rebuild := flags.Bool("rebuild", false, "find the edges anew and keep the settings")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wanted := settings()
		if *rebuild == (wanted != nil) {
			return misuse.Errorf("either settings are needed or --rebuild")
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		if *rebuild {
			started, err := c.Indexes.RebuildGraph(cmd.Context(), &ragdv1.RebuildGraphRequest{IndexName: args[0]})
			if err != nil {
				return err
			}
			output.Note(p.Out.Stderr, "rebuilding the graph: see ragd job watch %s", started.GetJobId())
			if p.Out.JSON {
				return p.Out.Message(started)
			}
			return nil
		}
		index, err := c.Indexes.UpdateIndex(cmd.Context(), &ragdv1.UpdateIndexRequest{IndexName: args[0], Graph: wanted})
		if err != nil {
			return err
		}
		return p.Out.Show(index, showIndex(index))
	}
	return cmd
}

// graphFlags adds the flags about the edges of an index, each name with the prefix. The
// returned function gives nil if none of them was given.
func graphFlags(flags *pflag.FlagSet, prefix string) func() *ragdv1.GraphSettings {
	off := flags.Bool(prefix+"off", false, "keep no graph")
	types := flags.StringSlice(prefix+"edge-types", nil, "edges to keep: mention, next, similar (default all)")
	model := flags.String(prefix+"topic-model", "", "chat model that writes titles and summaries of topics, as provider/model (default none)")
	threshold := flags.Float64(prefix+"threshold", 0, "cosine from which chunks are linked as similar (default of the service)")
	return func() *ragdv1.GraphSettings {
		if !flags.Changed(prefix+"off") && !flags.Changed(prefix+"edge-types") && !flags.Changed(prefix+"threshold") && !flags.Changed(prefix+"topic-model") {
			return nil
		}
		settings := &ragdv1.GraphSettings{Off: *off, EdgeTypes: *types, TopicModel: *model}
		if flags.Changed(prefix + "threshold") {
			settings.Threshold = threshold
		}
		return settings
	}
}

// graphSummary returns one line about the edges that an index keeps and their number.
func graphSummary(g *ragdv1.Graph) string {
	settings := g.GetSettings()
	if settings.GetOff() {
		return "off"
	}
	summary := "all edges"
	if types := settings.GetEdgeTypes(); len(types) > 0 {
		summary = strings.Join(types, ", ")
	}
	if g.GetNodes() == 0 { // empty, or not counted
		return summary
	}
	summary += fmt.Sprintf(": %d names, %d mentions, %d similar pairs", g.GetNames(), g.GetMentions(), g.GetSimilarities())
	if g.GetComponents() > 0 {
		summary += fmt.Sprintf(", %d components", g.GetComponents())
	}
	return summary
}

func indexReembed(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reembed INDEX",
		Short: "Give an index another embedding model, while it serves",
		Long: `Give an index another embedding model. All documents are embedded again beside the
present embeddings, which serve until everything is there. It follows the job to its
end, unless --wait=false; ` + "`ragd job cancel`" + ` ends it and leaves the index as it is.
Without --model, embeddings that an earlier version made without the headings above
a chunk are made anew with the model of the index.`,
		Example: `  ragd index reembed papers --model openai/text-embedding-3-large
  ragd index reembed papers --model openai/text-embedding-3-large --dimension 1024 --wait=false
  ragd index reembed papers`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	model := flags.String("model", "", "the new model, as endpoint/model (default that of the index, if its embeddings are old)")
	dimension := flags.Int32("dimension", 0, "of the new embeddings (default the model's own)")
	wait := flags.Bool("wait", true, "follow the job to its end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		if *model == "" {
			present, err := c.Indexes.DescribeIndex(cmd.Context(), &ragdv1.DescribeIndexRequest{IndexName: args[0]})
			if err != nil {
				return err
			}
			if !present.GetOldEmbeddings() {
				return misuse.Errorf("--model is missing: the embeddings of %s are as its model makes them now", args[0])
			}
			*model, *dimension = present.GetEmbeddingModel(), cmp.Or(*dimension, present.GetDimension())
		}
		index, err := c.Indexes.UpdateIndex(cmd.Context(), &ragdv1.UpdateIndexRequest{
			IndexName: args[0], EmbeddingModel: *model, Dimension: *dimension,
		})
		if err != nil {
			return err
		}
		job := index.GetReembedJobId()
		if !*wait || job == "" {
			return p.Out.Show(index, showIndex(index))
		}
		output.Note(p.Out.Stderr, "job %s embeds index %s with %s", job, index.GetIndexName(), output.OneLine(index.GetNextEmbeddingModel()))
		return watch(cmd.Context(), p, c, job)
	}
	return cmd
}

func indexDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete INDEX",
		Short: "Delete an index with its documents",
		Long: `Delete an index with its documents and chunks. It cannot be undone, so it asks
for the index's name unless --yes is given.`,
		Example: `  ragd index delete handbook --yes`,
		Args:    command.Arguments("INDEX"),
	}
	yes := command.YesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := p.Confirm(cmd.Context(), *yes, args[0], "This deletes index %s with its documents.", args[0]); err != nil {
			return err
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		res, err := c.Indexes.DeleteIndex(cmd.Context(), &ragdv1.DeleteIndexRequest{IndexName: args[0]})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) { fmt.Fprintf(w, "deleted index %s\n", args[0]) })
	}
	return cmd
}

func indexTruncate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "truncate INDEX",
		Short: "Empty an index and keep its settings",
		Long: `Delete all documents, chunks, vectors and edges of an index, and keep the index with
its settings. It cannot be undone, so it asks for the index's name unless --yes is
given.`,
		Example: `  ragd index truncate handbook --yes`,
		Args:    command.Arguments("INDEX"),
	}
	yes := command.YesFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		index, err := c.Indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: args[0]})
		if err != nil {
			return err
		}
		documents := int(index.GetDocumentCount() + index.GetPendingDocumentCount() + index.GetFailedDocumentCount())
		what := fmt.Sprintf("%s and %s", output.Count(documents, "document"), output.Count(int(index.GetCount()), "chunk"))
		if err := p.Confirm(ctx, *yes, args[0], "This deletes the content of index %s: %s.", args[0], what); err != nil {
			return err
		}
		res, err := c.Indexes.TruncateIndex(ctx, &ragdv1.TruncateIndexRequest{IndexName: args[0]})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) { fmt.Fprintf(w, "emptied index %s: %s deleted\n", args[0], what) })
	})
	return cmd
}
