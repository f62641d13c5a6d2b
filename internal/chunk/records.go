package chunk

import (
	"context"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// Records are the rows Text[Start:End] of a table, a line for each, whose cells are "name: value", joined by "; ".
// Empty cells are left out.
type Records struct {
	Start, End int
	Names      []string // of the columns, "" for one without
}

// SplitRecords is Split for a text with tables, which are in order. A row that is longer than a chunk is cut by
// itself, and its later pieces begin with its first cell, if that is short, and the name of the column that they are of, which
// their bounds do not include.
func SplitRecords(ctx context.Context, text string, opts Options, tables []Records) ([]Chunk, error) {
	if opts.Strategy != Recursive && opts.Strategy != Markdown || len(opts.Headers) > 0 {
		return Split(ctx, text, opts)
	}
	var parts []Part
	for _, t := range tables {
		for at := t.Start; at < t.End; {
			end := t.End
			if n := strings.IndexByte(text[at:t.End], '\n'); n >= 0 {
				end = at + n
			}
			if r := (record{text: text[at:end], start: at, names: t.Names}); end-at > opts.MaxSize && textspan.Units(r.text) > opts.MaxSize && r.measure(opts.MaxSize) {
				parts = append(parts, Part{Start: at, End: end, room: r.room, lead: r.lead})
			}
			at = end + 1
		}
	}
	return SplitApart(ctx, text, opts, parts)
}

// record is a row of a table.
type record struct {
	text  string
	start int // in the text that is split
	names []string
	first string // cell, "" if it is long
	room  int    // for the longest lead, in UTF-16 code units
}

const between = "; " // cells

// measure sets the first cell and the room. It reports whether a lead fits into a chunk.
func (r *record) measure(maxSize int) bool {
	longest, second := 0, len(r.text)
	for _, name := range r.names {
		if name == "" {
			continue
		}
		longest = max(longest, textspan.Units(name))
		if at := strings.Index(r.text, between+name+": "); at >= 0 {
			second = min(second, at)
		}
	}
	if first := r.text[:second]; textspan.Units(first) <= maxRowName {
		r.first = first
	}
	r.room = textspan.Units(r.first) + longest + len(between) + len(": ")
	return longest > 0 && 2*r.room <= maxSize
}

// lead returns what a piece of the row that begins at a position of the text begins with.
func (r record) lead(at int) string {
	at -= r.start
	before := r.text[:at]
	if strings.TrimSpace(before) == "" {
		return ""
	}
	column, named := -1, ""
	for _, name := range r.names {
		if name == "" {
			continue
		}
		if strings.HasPrefix(r.text[at:], name+": ") && strings.HasSuffix(before, between) { // the piece begins with a cell
			named = ""
			break
		}
		n := strings.LastIndex(before, between+name+": ")
		if n < 0 && strings.HasPrefix(r.text, name+": ") {
			n = 0
		}
		if n > column || column < 0 && n == 0 {
			column, named = n, name+": "
		}
	}
	if r.first == "" || at < len(r.first) {
		return named
	}
	return r.first + between + named
}
