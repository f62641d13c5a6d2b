// Package outline represents the headings that enclose a position of a document.
package outline

import "slices"

// MaxTitle is the maximum length of a title, in bytes. A longer heading is treated as
// text, because the title is repeated in the metadata of every chunk below it.
const MaxTitle = 1024

// Heading is a heading of a document.
type Heading struct {
	Level int    // a heading encloses the following ones of larger levels
	Key   string // the metadata key of the title
	Title string
}

// Path holds the headings that enclose a position, outermost first.
type Path []Heading

// Under returns the headings that enclose a new heading of the level.
func (p Path) Under(level int) Path {
	for len(p) > 0 && p[len(p)-1].Level >= level {
		p = p[:len(p)-1]
	}
	return p
}

// Fields returns the metadata of the path, one field for each key. If two headings
// have the same key, the inner one is used.
func (p Path) Fields() []Field {
	fields := make([]Field, 0, len(p)+1)
	for _, h := range p {
		fields = Set(fields, h.Key, h.Title)
	}
	return fields
}

// Field is an entry of metadata.
type Field struct{ Key, Value string }

// Set returns the fields with the value for the key.
func Set(fields []Field, key, value string) []Field {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key })
	if i < 0 {
		return append(fields, Field{key, value})
	}
	fields[i].Value = value
	return fields
}

// Metadata returns a new map of the fields, nil if there are none.
func Metadata(fields []Field) map[string]any {
	if len(fields) == 0 {
		return nil
	}
	m := make(map[string]any, len(fields)+1)
	for _, f := range fields {
		m[f.Key] = f.Value
	}
	return m
}
