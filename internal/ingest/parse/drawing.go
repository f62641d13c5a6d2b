package parse

import "strings"

// drawing returns the texts of the SmartArt or chart to which a relation leads; none if the
// part is missing or broken, or was read before.
func (p *pack) drawing(r relation) ([]block, error) {
	if r.target == "" || r.beyond || p.repeated(r.target) {
		return nil, nil
	}
	data, err := p.optional(r.target)
	if err != nil || data == nil {
		return nil, err
	}
	root, err := tree(data)
	if err != nil {
		return nil, nil // the rest of the document can be read without it
	}
	switch r.kind {
	case "diagramData":
		return diagram(root), nil
	case "chart":
		return chart(root), nil
	}
	return nil, nil
}

// diagram returns the texts of SmartArt as a list.
func diagram(root *node) []block {
	var blocks []block
	root.all("pt", func(point *node) {
		if kind := point.attr("type"); kind != "" && kind != "node" && kind != "asst" {
			return
		}
		if text := drawnText(point.child("t")); text != "" {
			blocks = append(blocks, block{text: text, depth: 1, marker: "-"})
		}
	})
	return blocks
}

// drawnText returns the paragraphs of a shape in one line.
func drawnText(n *node) string {
	var texts []string
	n.all("p", func(p *node) {
		var text strings.Builder
		p.all("t", func(t *node) { text.Write(t.content) })
		texts = append(texts, text.String())
	})
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}

// maxChartPoints bounds the rows of the table of a chart.
const maxChartPoints = 1000

// chart returns the title of a chart and its values as a table with a row for each category.
func chart(root *node) []block {
	var blocks []block
	if title := drawnText(root.first("chart").child("title")); title != "" {
		blocks = append(blocks, block{text: title})
	}
	head, rows := []string{""}, [][]string{}
	root.all("ser", func(series *node) {
		if len(head) > maxCellSpan {
			return
		}
		head = append(head, strings.Join(cached(series.child("tx")), " "))
		names := append(cached(series.child("cat")), cached(series.child("xVal"))...)
		for i, value := range append(cached(series.child("val")), cached(series.child("yVal"))...) {
			if i == len(rows) {
				rows = append(rows, make([]string, 1))
			}
			if i < len(names) && rows[i][0] == "" {
				rows[i][0] = names[i]
			}
			for len(rows[i]) < len(head)-1 {
				rows[i] = append(rows[i], "")
			}
			rows[i] = append(rows[i], value)
		}
	})
	if len(rows) == 0 {
		return blocks
	}
	t := &flowTable{rows: [][]*flowCell{plainCells(head)}}
	for _, row := range rows {
		t.rows = append(t.rows, plainCells(row))
	}
	return append(blocks, block{table: t})
}

func plainCells(texts []string) []*flowCell {
	cells := make([]*flowCell, len(texts))
	for i, text := range texts {
		cells[i] = &flowCell{span: 1, blocks: []block{{text: text}}}
	}
	return cells
}

// cached returns the values that a chart keeps of cells, at their indices. Categories of several levels
// are joined, the outermost first.
func cached(n *node) []string {
	if levels := n.child("multiLvlStrRef"); levels.name != "" {
		var names []string
		levels.all("lvl", func(level *node) { names = joinedLevels(names, points(level)) })
		return names
	}
	return points(n)
}

// joinedLevels puts a level of categories before those within. A category stands at the first of them.
func joinedLevels(within, level []string) []string {
	name := ""
	for i := range within {
		if i < len(level) && level[i] != "" {
			name = level[i]
		}
		within[i] = strings.TrimSpace(name + " " + within[i])
	}
	if within == nil {
		return level
	}
	return within
}

// points returns the values below an element, at their indices.
func points(n *node) []string {
	var values []string
	n.all("pt", func(point *node) {
		i := number(point.attr("idx"))
		if i >= maxChartPoints {
			return
		}
		for len(values) <= i {
			values = append(values, "")
		}
		values[i] = strings.TrimSpace(string(point.child("v").content))
	})
	if text := strings.TrimSpace(string(n.child("v").content)); text != "" && len(values) == 0 {
		values = append(values, text)
	}
	return values
}
