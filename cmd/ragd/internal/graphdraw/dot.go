package graphdraw

import (
	"io"
	"strconv"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/encoding"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/multi"
)

// WriteDOT writes a walk as a directed graph in the DOT language, for Graphviz
// and for tools that read it, such as Gephi and NetworkX. Nodes have the
// attributes label and score, seeds the attribute seed with their weight, sources
// source=true; edges have type, label and weight, which is the share. Nodes are
// numbered in their order. Edges between nodes that do not exist, and from a node to
// itself, are left out.
func WriteDOT(w io.Writer, title string, nodes []Node, edges []Edge) error {
	g := &dotGraph{DirectedGraph: multi.NewDirectedGraph(), title: title}
	for i, n := range nodes {
		g.AddNode(dotNode{Node: n, id: int64(i)})
	}
	for i, e := range edges {
		if e.valid(len(nodes)) {
			g.SetLine(dotLine{Edge: e, id: int64(i), from: g.Node(int64(e.From)), to: g.Node(int64(e.To))})
		}
	}
	text, err := dot.MarshalMulti(g, "walk", "", "\t")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// dotGraph implements dot.Attributers.
type dotGraph struct {
	*multi.DirectedGraph
	title string
}

func (g *dotGraph) DOTAttributers() (graphs, nodes, edges encoding.Attributer) {
	return &encoding.Attributes{{Key: "label", Value: quoted(g.title)}, {Key: "rankdir", Value: "LR"}},
		&encoding.Attributes{{Key: "shape", Value: "box"}}, nil
}

// dotNode implements graph.Node and encoding.Attributer.
type dotNode struct {
	Node
	id int64
}

func (n dotNode) ID() int64 { return n.id }

func (n dotNode) Attributes() []encoding.Attribute {
	attributes := []encoding.Attribute{{Key: "label", Value: quoted(n.Label)}, {Key: "score", Value: number(n.Score)}}
	if n.Seed > 0 {
		attributes = append(attributes, encoding.Attribute{Key: "seed", Value: number(n.Seed)}, encoding.Attribute{Key: "style", Value: "dashed"})
	}
	if n.Source {
		attributes = append(attributes, encoding.Attribute{Key: "source", Value: "true"}, encoding.Attribute{Key: "penwidth", Value: "2"})
	}
	return attributes
}

// dotLine implements graph.Line and encoding.Attributer.
type dotLine struct {
	Edge
	id       int64
	from, to graph.Node
}

func (l dotLine) ID() int64                { return l.id }
func (l dotLine) From() graph.Node         { return l.from }
func (l dotLine) To() graph.Node           { return l.to }
func (l dotLine) ReversedLine() graph.Line { return l }

func (l dotLine) Attributes() []encoding.Attribute {
	return []encoding.Attribute{
		{Key: "type", Value: quoted(l.Type)}, {Key: "label", Value: quoted(l.Label)}, {Key: "weight", Value: number(l.Share)},
	}
}

// number formats a number with four decimals.
func number(f float64) string { return strconv.FormatFloat(f, 'f', 4, 64) }

// quoted returns a text as a DOT string without control characters. gonum would not
// quote every text, and would write "<...>" as HTML.
func quoted(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
