package parse

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode"
)

// csv reads a table, a line of text for each record.
func (p *parser) csv(ctx context.Context) error {
	text, err := p.utf8()
	if err != nil {
		return err
	}
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = delimiter(text)
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord, r.TrimLeadingSpace = -1, true, true, true
	var t table
	for number := 0; ; number++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			t.finish(&p.text)
			return nil
		}
		if err != nil {
			return broken(p.format, err)
		}
		if number%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, _ := r.FieldPos(0)
		start := p.text.Len()
		t.row(&p.text, row)
		p.text.numbered(start, Span{Kind: Line, Number: line})
		if p.text.full {
			return nil
		}
	}
}

// delimiter returns the character that separates most fields of the first line.
func delimiter(text string) rune {
	line, _, _ := strings.Cut(text, "\n")
	best, most := ',', 0
	for _, r := range ",;\t|" {
		if n := strings.Count(line, string(r)); n > most {
			best, most = r, n
		}
	}
	return best
}

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
