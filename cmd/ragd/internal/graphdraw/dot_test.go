package graphdraw

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/encoding"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/multi"
)

func TestWriteDOT(t *testing.T) {
	t.Parallel()
	nodes := []Node{{Label: "LD-101", Score: 0.5, Seed: 2.5, Source: true}, {Label: "Rope", Score: 0.25}}
	edges := []Edge{{0, 1, "mention", `names "rope"`, 0.75}, {0, 1, "next", "next to", 0.2}, {1, 0, "next", "next to", 0.125}, {0, 9, "next", "nowhere", 1}, {1, 1, "next", "itself", 1}}
	const want = `digraph walk {
	graph [
		label="What is LD-101?"
		rankdir=LR
	];
	node [
		shape=box
	];

	// Node definitions.
	0 [
		label="LD-101"
		score=0.5000
		seed=2.5000
		style=dashed
		source=true
		penwidth=2
	];
	1 [
		label="Rope"
		score=0.2500
	];

	// Edge definitions.
	0 -> 1 [
		type="mention"
		label="names \"rope\""
		weight=0.7500
	];
	0 -> 1 [
		type="next"
		label="next to"
		weight=0.2000
	];
	1 -> 0 [
		type="next"
		label="next to"
		weight=0.1250
	];
}
`
	var b strings.Builder
	if err := WriteDOT(&b, "What is LD-101?", nodes, edges); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// parsed is a graph whose nodes keep their attributes.
type parsed struct{ *multi.DirectedGraph }

type parsedNode struct {
	graph.Node
	attributes map[string]string
}

func (n *parsedNode) SetAttribute(a encoding.Attribute) error {
	n.attributes[a.Key] = a.Value
	return nil
}

func (p parsed) NewNode() graph.Node {
	return &parsedNode{p.DirectedGraph.NewNode(), map[string]string{}}
}

func TestDOTCanBeReadBack(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		`A & "B" \ <c>`:          `A & "B" \ <c>`,
		"<b>not HTML</b>":        `"<b>not HTML</b>"`, // gonum keeps the quotes, as HTML has none
		`"quoted"`:               `"quoted"`,
		"two\nlines\x01\x7f, öß": "two lines, öß",
		"digraph":                "digraph",
		"":                       "",
		`ends with \`:            `ends with \`,
	} {
		var b strings.Builder
		if err := WriteDOT(&b, label, []Node{{Label: label}, {Label: label}}, []Edge{{0, 1, "next", label, 0.5}}); err != nil {
			t.Fatal(err)
		}
		g := parsed{multi.NewDirectedGraph()}
		if err := dot.UnmarshalMulti([]byte(b.String()), g); err != nil {
			t.Errorf("%q: %v in\n%s", label, err, b.String())
			continue
		}
		nodes := graph.NodesOf(g.Nodes())
		if len(nodes) != 2 {
			t.Errorf("%q: %d nodes", label, len(nodes))
			continue
		}
		if got := nodes[0].(*parsedNode).attributes["label"]; got != want {
			t.Errorf("%q is read back as %q, want %q", label, got, want)
		}
	}
}
