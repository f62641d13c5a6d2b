package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) indexGraph() *cobra.Command {
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
		Args: arguments("INDEX"),
	}
	flags := cmd.Flags()
	settings := graphFlags(flags, "")
	rebuild := flags.Bool("rebuild", false, "find the edges anew and keep the settings")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wanted := settings()
		if *rebuild == (wanted != nil) {
			return usagef("either settings are needed or --rebuild")
		}
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		if *rebuild {
			started, err := c.indexes.RebuildGraph(cmd.Context(), &ragdv1.RebuildGraphRequest{IndexName: args[0]})
			if err != nil {
				return err
			}
			note(p.stderr, "rebuilding the graph: see ragd job watch %s", started.GetJobId())
			if p.json {
				return p.showJSON(started)
			}
			return nil
		}
		index, err := c.indexes.UpdateIndex(cmd.Context(), &ragdv1.UpdateIndexRequest{IndexName: args[0], Graph: wanted})
		if err != nil {
			return err
		}
		return p.show(index, showIndex(index))
	}
	return cmd
}

// graphFlags adds the flags that say which edges an index keeps, their names
// after a prefix. The result is nil if none is given.
func graphFlags(flags *pflag.FlagSet, prefix string) func() *ragdv1.GraphSettings {
	off := flags.Bool(prefix+"off", false, "keep no graph")
	types := flags.StringSlice(prefix+"edge-types", nil, "edges to keep: mention, next, similar (default all)")
	threshold := flags.Float64(prefix+"threshold", 0, "cosine from which chunks are linked as similar (default of the service)")
	return func() *ragdv1.GraphSettings {
		if !flags.Changed(prefix+"off") && !flags.Changed(prefix+"edge-types") && !flags.Changed(prefix+"threshold") {
			return nil
		}
		settings := &ragdv1.GraphSettings{Off: *off, EdgeTypes: *types}
		if flags.Changed(prefix + "threshold") {
			settings.Threshold = threshold
		}
		return settings
	}
}

// graphWords says in one line which edges an index keeps and what they are.
func graphWords(g *ragdv1.Graph) string {
	settings := g.GetSettings()
	if settings.GetOff() {
		return "off"
	}
	words := "all edges"
	if types := settings.GetEdgeTypes(); len(types) > 0 {
		words = strings.Join(types, ", ")
	}
	if g.GetNodes() == 0 { // empty, or not described
		return words
	}
	words += fmt.Sprintf(": %d names, %d mentions, %d similar pairs", g.GetNames(), g.GetMentions(), g.GetSimilarities())
	if g.GetComponents() > 0 {
		words += fmt.Sprintf(", %d components", g.GetComponents())
	}
	return words
}
