package main

import (
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/graphsvg"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) graphCommand() *cobra.Command {
	cmd := p.clientFlags(&cobra.Command{
		Use:   "graph QUESTION",
		Short: "Answer a question by following what passages name",
		Long: `Find the chunks that a walk through the index's graph comes by most often and
print them, best first, with the way that leads to each. The walk starts from
what a search finds and from what the question names, and follows names of other
documents, reading order and similarity.

--svg draws the walk: seeds on the left with broken lines, sources with strong
ones.`,
		Example: `  ragd graph "Where was the director of Dark River born?"
  ragd graph "What torque does the part of LD-101 need?" --svg walk.svg
  ragd graph "LD-101" --edge-types mention,next --restart 0.3 --json`,
		Args: arguments("QUESTION"),
	})
	flags := cmd.Flags()
	index := indexFlag(cmd)
	topK := flags.Int32P("top-k", "k", 10, "chunks wanted")
	mode := flags.String("mode", "", "how seeds are searched for: vector, keyword or hybrid (default hybrid where it is possible)")
	namespace := flags.String("namespace", "", "part of the index to walk in (default \"default\")")
	filter := objectFlag(flags, "filter", "only chunks whose metadata match, on the way too")
	types := flags.StringSlice("edge-types", nil, "mention, next, similar (default all)")
	restart := flags.Float64("restart", 0, "probability of going back to the seeds (default the service's)")
	reranker := rerankerFlag(flags, "score what the walk finds a second time")
	svg := flags.String("svg", "", "draw the walk into this file")
	full := flags.Bool("full", false, "print chunks as a whole, not their beginnings")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		req := &ragdv1.GraphRagRequest{
			QueryText: args[0], IndexName: *index, TopK: topK, SearchMode: *mode, Namespace: *namespace, Explain: true,
			Reranker:     reranker(),
			GraphOptions: &ragdv1.GraphOptions{EdgeTypes: *types},
		}
		if flags.Changed("restart") {
			req.GraphOptions.RestartProb = restart
		}
		if object := filter(); object != nil {
			req.Filter = structpb.NewStructValue(object)
		}
		answer, err := c.queries.GraphRag(cmd.Context(), req)
		if err != nil {
			return err
		}
		if *svg != "" {
			if err := drawWalk(*svg, args[0], answer.GetExplain()); err != nil {
				return err
			}
		}
		if p.json {
			return p.showJSON(answer)
		}
		return p.printSources(answer.GetSources(), answer.GetWarnings(), *full)
	}
	return cmd
}

// maxDrawn bounds the chunks in a picture: more cannot be read.
const maxDrawn = 24

// drawWalk writes the picture of a walk.
func drawWalk(path, question string, walk *ragdv1.GraphExplain) error {
	var nodes []graphsvg.Node
	for _, n := range walk.GetNodes()[:min(maxDrawn, len(walk.GetNodes()))] {
		nodes = append(nodes, graphsvg.Node{Label: n.GetTitle(), Score: n.GetScore(), Seed: n.GetSeed() > 0, Source: n.GetSource()})
	}
	var edges []graphsvg.Edge
	for _, e := range walk.GetEdges() {
		edges = append(edges, graphsvg.Edge{From: int(e.GetFrom()), To: int(e.GetTo()), Label: e.GetWords(), Share: e.GetShare()})
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := graphsvg.Write(file, question, nodes, edges); err != nil {
		file.Close() //nolint:errcheck,gosec // the write has failed already
		return err
	}
	return file.Close()
}
