package parse

import (
	"context"
	"errors"
	"path"
	"strings"
	"unicode"

	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
)

// csv reads a table, a line of text for each record.
func (p *parser) csv(ctx context.Context) error {
	text, err := p.utf8()
	if err != nil {
		return err
	}
	d := dialectOf(text, strings.HasSuffix(strings.ToLower(p.src.FileName), ".tsv") || strings.HasPrefix(p.src.ContentType, "text/tab-separated-values"))
	err = p.records(ctx, d, text)
	if errors.Is(err, errQuote) {
		// A quote that is never closed is a character like any other, such as that of inches.
		d.quote, p.text = noQuote, textBuilder{}
		d.describe(text)
		err = p.records(ctx, d, text)
	}
	return err
}

// records writes a line for each record of a table.
func (p *parser) records(ctx context.Context, d dialect, text string) error {
	t := table{begun: !d.hasNames}
	defer p.text.grids.End()
	err := d.records(ctx, text, func(line int, row []string) bool {
		named := t.begun
		start := p.text.Len()
		t.row(&p.text, row)
		p.text.numbered(start, Span{Kind: Line, Number: line})
		p.text.record(start, t.columns)
		switch {
		case t.columns == nil || blank(row):
		case named:
			p.text.grids.Row(line, gridCells(row, nil))
		default:
			p.text.grids.Begin(grid.Place{Name: strings.TrimSuffix(baseName(p.src.FileName), path.Ext(p.src.FileName)), Unit: grid.Line}, t.columns)
		}
		if t.begun && !named {
			p.property("columns", d.columns(t.columns))
		}
		return !p.text.full
	})
	t.finish(&p.text)
	return err
}

// gridCells returns the cells of a row for its table. raw are numbers as a spreadsheet stores them, by column.
func gridCells(cells, raw []string) []grid.Cell {
	all := make([]grid.Cell, len(cells))
	for i, text := range cells {
		text, _, _ = strings.Cut(text, commentMark)
		all[i].Text = text
		if i < len(raw) && raw[i] != text {
			all[i].Raw = raw[i]
		}
	}
	return all
}

// commentMark begins the comment on a cell.
const commentMark = " (comment: "

// table writes the rows of a table as lines of "column: value; column: value", so that
// every line is understood wherever the text is cut. The column names are the cells of
// the first row if they look like names; otherwise lines have values only.
type table struct {
	begun   bool
	written bool // a row
	columns []string
}

func (t *table) row(out *textBuilder, cells []string) {
	if !t.begun {
		if blank(cells) {
			return
		}
		t.begun = true
		if areNames(cells) {
			t.columns = append([]string{}, cells...)
			for i, c := range t.columns {
				t.columns[i] = strings.Join(strings.Fields(c), " ")
			}
			return
		}
	}
	begun := false
	for i, cell := range cells {
		cell = strings.Join(strings.Fields(cell), " ")
		if cell == "" {
			continue
		}
		switch {
		case begun:
			out.write("; ")
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "\n"):
			out.write("\n")
		}
		begun, t.written = true, true
		if i < len(t.columns) && t.columns[i] != "" {
			out.write(t.columns[i])
			out.write(": ")
		}
		out.write(cell)
	}
}

// finish writes the column names of a table without other rows.
func (t *table) finish(out *textBuilder) {
	if t.columns != nil && !t.written {
		out.write(strings.Join(t.columns, "; "))
	}
}

func blank(cells []string) bool {
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			return false
		}
	}
	return true
}

// areNames reports whether cells look like column names: short, with a letter, distinct.
func areNames(cells []string) bool {
	seen := map[string]bool{}
	for _, c := range cells {
		c = strings.TrimSpace(c)
		if c == "" {
			continue
		}
		if seen[c] || len(c) > 100 || !strings.ContainsFunc(c, unicode.IsLetter) {
			return false
		}
		seen[c] = true
	}
	return len(seen) > 1
}
