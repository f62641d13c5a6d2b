package graphdraw

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Sizes in pixels.
const (
	boxWidth   = 230
	boxHeight  = 40
	columnStep = 430
	rowStep    = 60
	margin     = 24
	maxLabel   = 32 // runes
	titleRune  = 9  // approximate width of a rune of the title
)

// WriteSVG draws a walk as SVG: seeds in the left column, each other node in the
// column of its distance from the seeds. The main edge into a node comes from a
// column further left and is the one that most walkers take; it is drawn strong,
// with its label beside the node. The other edges are faint and show their label
// as a tooltip. Edges between nodes that do not exist, and from a node to itself,
// are left out.
func WriteSVG(w io.Writer, title string, nodes []Node, edges []Edge) error {
	edges = slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool {
		return !e.valid(len(nodes))
	})
	p := picture{nodes: nodes, edges: edges, columns: columns(nodes, edges)}
	p.findMain()
	p.layOut()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", p.width, p.height)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(title))
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="#456"/></marker></defs>` + "\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="15" font-weight="bold">%s</text>`+"\n", margin, margin, escape(short(title, (p.width-2*margin)/titleRune)))
	for i := range edges {
		if !p.isMain(i) {
			p.faintEdge(&b, edges[i])
		}
	}
	for i := range nodes {
		p.mainEdge(&b, i)
	}
	for i := range nodes {
		p.mainLabel(&b, i)
		p.node(&b, i)
	}
	p.legend(&b)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// columns returns the number of steps from the seeds to each node. Nodes that cannot
// be reached get a column after all others.
func columns(nodes []Node, edges []Edge) []int {
	const far = math.MaxInt
	column := make([]int, len(nodes))
	last := 0
	for i, node := range nodes {
		column[i] = far
		if node.Seed > 0 {
			column[i] = 0
		}
	}
	for changed := true; changed; {
		changed = false
		for _, e := range edges {
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

// picture is a walk with its layout.
type picture struct {
	nodes         []Node
	edges         []Edge
	columns       []int
	mainEdges     []int // main edge into each node, -1 for none
	x, y          []int // upper left corners of the boxes
	width, height int
}

// findMain finds the main edge into each node.
func (p *picture) findMain() {
	p.mainEdges = make([]int, len(p.nodes))
	flow := make([]float64, len(p.nodes))
	for i := range p.mainEdges {
		p.mainEdges[i] = -1
	}
	for i, e := range p.edges {
		walkers := p.nodes[e.From].Score * e.Share
		if p.columns[e.From] < p.columns[e.To] && (p.mainEdges[e.To] < 0 || walkers > flow[e.To]) {
			p.mainEdges[e.To], flow[e.To] = i, walkers
		}
	}
}

// isMain reports whether an edge is the main edge into its node.
func (p *picture) isMain(edge int) bool { return p.mainEdges[p.edges[edge].To] == edge }

// layOut sets the positions of the boxes. Nodes of a column are ordered by the
// height of the nodes that their main edges come from, so that few of these
// cross.
func (p *picture) layOut() {
	p.x, p.y = make([]int, len(p.nodes)), make([]int, len(p.nodes))
	order := make([]int, len(p.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.columns[a], p.columns[b]) })
	p.width, p.height = 2*columnStep, 5*margin
	for len(order) > 0 {
		column := p.columns[order[0]]
		n := 1
		for n < len(order) && p.columns[order[n]] == column {
			n++
		}
		slices.SortStableFunc(order[:n], func(a, b int) int { return cmp.Compare(p.sourceHeight(a), p.sourceHeight(b)) })
		for row, i := range order[:n] {
			p.x[i], p.y[i] = margin+column*columnStep, 2*margin+row*rowStep
		}
		p.width = max(p.width, 2*margin+column*columnStep+boxWidth)
		p.height = max(p.height, 5*margin+n*rowStep)
		order = order[n:]
	}
}

// sourceHeight returns the y of the node that the main edge comes from.
func (p *picture) sourceHeight(node int) int {
	if p.mainEdges[node] < 0 {
		return 0
	}
	return p.y[p.edges[p.mainEdges[node]].From]
}

// node draws a box, filled by its score.
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
	if node.Seed > 0 {
		dash = ` stroke-dasharray="5 3"`
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#fff"/>`, escape(node.Label), p.x[i], p.y[i], boxWidth, boxHeight)
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#3a7bd5" fill-opacity="%.2f" stroke="%s" stroke-width="%d"%s/>`,
		p.x[i], p.y[i], boxWidth, boxHeight, fill, stroke, width, dash)
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text><text x="%d" y="%d" fill="#556" font-size="10">%.4f</text></g>`+"\n",
		p.x[i]+8, p.y[i]+17, escape(short(node.Label, maxLabel)), p.x[i]+8, p.y[i]+32, node.Score)
}

// mainEdge draws the main edge into a node.
func (p *picture) mainEdge(b *strings.Builder, node int) {
	if p.mainEdges[node] < 0 {
		return
	}
	e := p.edges[p.mainEdges[node]]
	x1, y1 := p.x[e.From]+boxWidth, p.y[e.From]+boxHeight/2
	x2, y2 := p.x[node], p.y[node]+boxHeight/2
	fmt.Fprintf(b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="#456" stroke-width="%.1f" marker-end="url(#tip)"/>`+"\n",
		x1, y1, x1+(columnStep-boxWidth)/4, y1, x1, y2, x2, y2, 1+2*min(max(e.Share, 0), 1))
}

// mainLabel writes the label of the main edge into a node where its arrow ends.
func (p *picture) mainLabel(b *strings.Builder, node int) {
	if p.mainEdges[node] < 0 {
		return
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="10" fill="#234" text-anchor="end" stroke="#fff" stroke-width="3" paint-order="stroke">%s</text>`+"\n",
		p.x[node]-12, p.y[node]+boxHeight/2-7, escape(short(p.edges[p.mainEdges[node]].Label, maxLabel)))
}

// faintEdge draws any other edge, with its label as a tooltip.
func (p *picture) faintEdge(b *strings.Builder, e Edge) {
	x1, y1 := p.x[e.From]+boxWidth, p.y[e.From]+boxHeight/2
	x2, y2 := p.x[e.To], p.y[e.To]+boxHeight/2
	bend := -70
	if p.columns[e.To] <= p.columns[e.From] { // back, or within a column: around the right side
		x2, bend = p.x[e.To]+boxWidth, 70
	}
	fmt.Fprintf(b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" stroke="#667" stroke-width="0.8" stroke-opacity="0.22"><title>%s</title></path>`+"\n",
		x1, y1, x1+70, y1, x2+bend, y2, x2, y2, escape(e.Label))
}

// legend explains boxes and arrows at the bottom.
func (p *picture) legend(b *strings.Builder) {
	y := p.height - margin
	x := margin
	for _, entry := range []struct{ sample, text string }{
		{`<rect y="-11" width="26" height="14" rx="3" fill="#fff" stroke="#99a" stroke-dasharray="5 3"/>`, "seed"},
		{`<rect y="-11" width="26" height="14" rx="3" fill="#fff" stroke="#245" stroke-width="2"/>`, "source"},
		{`<rect y="-11" width="26" height="14" rx="3" fill="#3a7bd5" fill-opacity="0.6" stroke="#99a"/>`, "the fuller, the more time there"},
		{`<path d="M0 -4L26 -4" stroke="#456" stroke-width="2" marker-end="url(#tip)"/>`, "way of most walkers"},
		{`<path d="M0 -4L26 -4" stroke="#667" stroke-width="0.8" stroke-opacity="0.4"/>`, "other edge"},
	} {
		fmt.Fprintf(b, `<svg x="%d" y="%d" overflow="visible">%s<text x="34" font-size="11" fill="#445">%s</text></svg>`+"\n", x, y, entry.sample, entry.text)
		x += 60 + 6*len(entry.text)
	}
}

// short cuts a text to at most most runes, the last an ellipsis.
func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// escape returns a text as XML, with control characters that XML forbids replaced.
func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}
