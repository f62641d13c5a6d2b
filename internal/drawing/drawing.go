// Package drawing draws a walk through a graph as SVG: seeds on the left, what
// they lead to on the right of them, step by step. It is pure: the same graph
// gives the same picture.
package drawing

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Node is one box of the picture.
type Node struct {
	Label  string
	Score  float64 // the fuller the box, the higher
	Seed   bool
	Source bool
}

// Edge is an arrow between two nodes.
type Edge struct {
	From, To int
	Label    string
	Share    float64 // in [0,1]; the thicker the arrow, the higher
}

// Sizes in pixels.
const (
	boxWidth   = 220
	boxHeight  = 40
	columnStep = 400
	rowStep    = 64
	margin     = 24
	maxLabel   = 30 // runes
)

// Write writes the picture. Nodes keep their order from top to bottom in each
// column; edges to positions that do not exist are left out.
func Write(w io.Writer, title string, nodes []Node, edges []Edge) error {
	p := picture{nodes: nodes, columns: columns(nodes, edges)}
	p.place()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", p.width, p.height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>` + "\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="15" font-weight="bold">%s</text>`+"\n", margin, margin, html.EscapeString(title))
	for _, edge := range edges {
		if edge.From >= 0 && edge.From < len(nodes) && edge.To >= 0 && edge.To < len(nodes) && edge.From != edge.To {
			p.edge(&b, edge)
		}
	}
	for i := range nodes {
		p.node(&b, i)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// columns returns how many steps each node is from the seeds; those that no edge
// leads to stand behind all others.
func columns(nodes []Node, edges []Edge) []int {
	const far = math.MaxInt
	column := make([]int, len(nodes))
	last := 0
	for i, node := range nodes {
		column[i] = far
		if node.Seed {
			column[i] = 0
		}
	}
	for changed := true; changed; {
		changed = false
		for _, e := range edges {
			if e.From < 0 || e.From >= len(nodes) || e.To < 0 || e.To >= len(nodes) {
				continue
			}
			if from := column[e.From]; from != far && from+1 < column[e.To] {
				column[e.To], changed = from+1, true
				last = max(last, from+1)
			}
		}
	}
	for i := range column {
		if column[i] == far {
			column[i] = last + 1
		}
	}
	return column
}

type picture struct {
	nodes         []Node
	columns       []int
	x, y          []int // of the boxes' upper left corners
	width, height int
}

func (p *picture) place() {
	rows := map[int]int{}
	for _, column := range p.columns {
		p.x = append(p.x, margin+column*columnStep)
		p.y = append(p.y, 2*margin+rows[column]*rowStep)
		rows[column]++
		p.width = max(p.width, 2*margin+column*columnStep+boxWidth)
		p.height = max(p.height, 3*margin+rows[column]*rowStep)
	}
	p.width, p.height = max(p.width, 2*columnStep), max(p.height, 4*margin)
}

func (p *picture) node(b *strings.Builder, i int) {
	node := p.nodes[i]
	top := 0.0
	for _, n := range p.nodes {
		top = max(top, n.Score)
	}
	fill := 0.0
	if top > 0 {
		fill = 0.1 + 0.5*max(node.Score, 0)/top
	}
	stroke, width, dash := "#99a", 1, ""
	if node.Source {
		stroke, width = "#245", 2
	}
	if node.Seed {
		dash = ` stroke-dasharray="5 3"`
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#fff"/>`, html.EscapeString(node.Label), p.x[i], p.y[i], boxWidth, boxHeight)
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#3a7bd5" fill-opacity="%.2f" stroke="%s" stroke-width="%d"%s/>`,
		p.x[i], p.y[i], boxWidth, boxHeight, fill, stroke, width, dash)
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text><text x="%d" y="%d" fill="#556" font-size="10">%.4f</text></g>`+"\n",
		p.x[i]+8, p.y[i]+17, html.EscapeString(short(node.Label)), p.x[i]+8, p.y[i]+32, node.Score)
}

func (p *picture) edge(b *strings.Builder, e Edge) {
	x1, y1 := p.x[e.From]+boxWidth, p.y[e.From]+boxHeight/2
	x2, y2 := p.x[e.To], p.y[e.To]+boxHeight/2
	bend := 80
	if p.columns[e.To] <= p.columns[e.From] { // back, or within a column: around the right side
		x2, bend = p.x[e.To]+boxWidth, 120
	}
	x3 := x2 - bend
	if x2 > p.x[e.To] {
		x3 = x2 + bend
	}
	fmt.Fprintf(b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="#667" stroke-width="%.1f" stroke-opacity="0.7" marker-end="url(#tip)"/>`,
		x1, y1, x1+bend, y1, x3, y2, x2, y2, 0.7+2.5*min(max(e.Share, 0), 1))
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="9" fill="#445" text-anchor="middle">%s</text>`+"\n",
		(x1+x2+bend+x3-x2)/2, (y1+y2)/2-3, html.EscapeString(short(e.Label)))
}

func short(label string) string {
	runes := []rune(label)
	if len(runes) <= maxLabel {
		return label
	}
	return string(runes[:maxLabel-1]) + "…"
}
