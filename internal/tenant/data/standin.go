package data

import "strings"

// SQL returns the statement with its stand-in names replaced.
func (h *Handle) SQL(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 10*len(h.schema))
	for {
		before, name, found := strings.Cut(text, "tenant.")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if rest, ok := strings.CutPrefix(name, "this_index"); ok && h.index != "" {
			b.WriteString(h.index)
			text = rest
			continue
		}
		if rest, ok := h.cutAbsent(&b, name); ok {
			text = rest
			continue
		}
		b.WriteString(h.schema)
		b.WriteByte('.')
		text = name
		if h.index == "" {
			continue
		}
		for _, table := range []struct{ name, generation string }{{"chunk", h.generation}, {"kept", h.generation}, {"edge", ""}, {"term", ""}, {"topic", ""}, {"member", ""}, {"reembed", ""}, {"renewal", ""}, {"word", ""}, {"cells", ""}} {
			if rest, ok := strings.CutPrefix(name, table.name); ok && !continuesName(rest) {
				b.WriteString(table.name + "_" + h.index + table.generation)
				text = rest
			}
		}
	}
}

// cutAbsent writes the subquery for the absent table that the text begins with, and returns
// the rest of the text; false if it begins with none.
func (h *Handle) cutAbsent(b *strings.Builder, text string) (rest string, ok bool) {
	for _, table := range h.absent {
		if rest, ok := strings.CutPrefix(text, table.name); ok && !continuesName(rest) {
			b.WriteString(table.empty)
			return rest, true
		}
	}
	return text, false
}

// continuesName reports whether the text begins with a character of an unquoted SQL name.
func continuesName(text string) bool {
	if text == "" {
		return false
	}
	c := text[0]
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
