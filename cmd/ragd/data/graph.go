package data

import (
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/graphdraw"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func graphCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "graph QUESTION",
		Short: "Answer a question by following what passages name",
		Long: `Find the chunks that a walk through the index's graph visits most often and print
them, best first, with the path that leads to each. The walk starts from what a
search finds and from what the question names, and follows names of other
documents, reading order and similarity.

--svg draws the walk: seeds on the left with broken lines, sources with strong
ones. --dot writes it in the DOT language, for Graphviz and other graph tools;
with --dot - it is printed instead of the chunks.`,
		Example: `  ragd graph "Where was the director of Dark River born?"
  ragd graph "What torque does the part of LD-101 need?" --svg walk.svg
  ragd graph "LD-101" --dot - | dot -Tpng -o walk.png
  ragd graph "What are these documents about?" --scope global
  ragd graph "who repaired LD-101?" --index "manuals,reports-*"
  ragd graph "LD-101" --edge-types mention,next --restart 0.3 --json`,
		Args: command.Arguments("QUESTION"),
	})
	flags := cmd.Flags()
	index := flags.String("index", "", indexesUsage)
	topK := flags.Int32P("top-k", "k", 10, "chunks wanted")
	mode := flags.String("mode", "", "how seeds are searched for: vector, keyword or hybrid (default hybrid where it is possible)")
	namespace := flags.String("namespace", "", "part of the index to walk in (default \"default\")")
	filter := command.FilterFlags(flags, "only chunks whose metadata match, on the way too")
	types := flags.StringSlice("edge-types", nil, "mention, next, similar (default all)")
	scope := flags.String("scope", "", "local, or global for broad questions: the best chunks of several topics (default local)")
	minScore := flags.Float64("min-score", 0, "start only at chunks that score more than this in the search")
	recall := flags.Float64("recall-target", 0, "part of the nearest chunks that an approximate search for the seeds finds, 0.9 to 0.999 (default that of the index)")
	minSimilarity := flags.Float64("min-similarity", 0, "only chunks whose embedding is more similar than this")
	restart := flags.Float64("restart", 0, "probability of going back to the seeds (default the service's)")
	reranker := command.RerankerFlag(flags, "score what the walk finds a second time")
	svg := flags.String("svg", "", "draw the walk into this file")
	dot := flags.String("dot", "", "write the walk in the DOT language into this file, - for standard output")
	full := flags.Bool("full", false, "print chunks as a whole, not only the sentences that match best")
	explain := flags.Bool("explain", false, "print of what each score is made and how long each stage took")
	budget := budgetFlags(flags, "the text for a prompt")
	ranking := rankingFlags(flags)
	distinct := distinctFlag(flags)
	expand := expandFlag(flags)
	within := command.ContextFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *dot == "-" && p.Out.JSON {
			return misuse.Errorf("--json and --dot - both write to standard output: give --dot a file")
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		req := &ragdv1.GraphRagRequest{
			QueryText: args[0], TopK: topK, SearchMode: *mode, Namespace: *namespace, Explain: true, Highlight: true,
			Reranker:     reranker(),
			GraphOptions: &ragdv1.GraphOptions{EdgeTypes: *types}, Scope: *scope,
		}
		req.IndexName, req.IndexNames = indexesOf(*index)
		if req.Boost, req.Boosts, req.Profile, err = ranking(); err != nil {
			return err
		}
		req.MaxTokens, req.EncodingName = budget()
		req.Distinct, req.Expand = distinct(), *expand
		if flags.Changed("restart") {
			req.GraphOptions.RestartProb = restart
		}
		if flags.Changed("min-score") {
			req.MinScore = minScore
		}
		if flags.Changed("min-similarity") {
			req.MinSimilarity = minSimilarity
		}
		if flags.Changed("recall-target") {
			req.RecallTarget = recall
		}
		if object := filter(); object != nil {
			req.Filter = structpb.NewStructValue(object)
		}
		answer, err := c.Queries.GraphRag(within(cmd.Context()), req)
		if err != nil {
			return err
		}
		walk := newWalkDrawing(args[0], answer.GetExplain())
		if *svg != "" {
			if err := output.WriteFile(*svg, walk.writeSVG); err != nil {
				return err
			}
		}
		switch {
		case *dot == "-":
			for _, warning := range answer.GetWarnings() {
				output.Note(p.Out.Stderr, "warning: %s", output.OneLine(warning))
			}
			return walk.writeDOT(p.Out.Stdout)
		case *dot != "":
			if err := output.WriteFile(*dot, walk.writeDOT); err != nil {
				return err
			}
		}
		if p.Out.JSON {
			return p.Out.Message(answer)
		}
		list := sourceList{sources: answer.GetSources(), warnings: answer.GetWarnings(), full: *full, widened: *expand != ""}
		if *explain {
			list.explain = func(source *ragdv1.Source) string { return explainWalk(source, answer.GetExplain()) }
		}
		if err := printSources(p, list); err != nil {
			return err
		}
		if noteBudget(p, answer.GetBudget()); !*explain {
			return nil
		}
		if err := printContext(p, answer.GetExplain().GetContext()); err != nil {
			return err
		}
		return printStages(p, answer.GetExplain().GetSearchMode(), answer.GetExplain().GetStages())
	}
	cmd.AddCommand(graphTopics(p))
	return cmd
}

// walkDrawing is the walk that answered a question, for SVG and DOT.
type walkDrawing struct {
	question string
	nodes    []graphdraw.Node
	edges    []graphdraw.Edge
}

func newWalkDrawing(question string, walk *ragdv1.GraphExplain) walkDrawing {
	d := walkDrawing{question: question}
	for _, n := range walk.GetNodes() {
		d.nodes = append(d.nodes, graphdraw.Node{Label: n.GetTitle(), Score: n.GetScore(), Seed: n.GetSeed(), Source: n.GetSource()})
	}
	for _, e := range walk.GetEdges() {
		d.edges = append(d.edges, graphdraw.Edge{
			From: int(e.GetFrom()), To: int(e.GetTo()), Type: e.GetType(), Label: e.GetWords(), Share: e.GetShare(),
		})
	}
	return d
}

// maxDrawn bounds the chunks in an SVG: with more it is not legible.
const maxDrawn = 24

func (d walkDrawing) writeSVG(w io.Writer) error {
	return graphdraw.WriteSVG(w, d.question, d.nodes[:min(maxDrawn, len(d.nodes))], d.edges)
}

func (d walkDrawing) writeDOT(w io.Writer) error {
	return graphdraw.WriteDOT(w, d.question, d.nodes, d.edges)
}
