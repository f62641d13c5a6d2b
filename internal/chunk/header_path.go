package chunk

import "slices"

// maxHeaderTitle is the longest title in bytes. It goes into the metadata of
// every chunk below it, so a longer one is text.
const maxHeaderTitle = 1024

// header is a heading of a document under which other text stands.
type header struct {
	level int // the smaller encloses the larger
	key   string
	value string
}

// headerPath is the headings that enclose a place, outermost first.
type headerPath []header

// under returns the path of a heading of the level: what stays open when it
// comes.
func (p headerPath) under(level int) headerPath {
	for len(p) > 0 && p[len(p)-1].level >= level {
		p = p[:len(p)-1]
	}
	return p
}

// fields returns the metadata of the path, one for each key; the inner heading
// wins.
func (p headerPath) fields() []field {
	fields := make([]field, 0, len(p)+1)
	for _, h := range p {
		fields = setField(fields, h.key, h.value)
	}
	return fields
}

// field is an entry of metadata.
type field struct{ key, value string }

func setField(fields []field, key, value string) []field {
	i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
	if i < 0 {
		return append(fields, field{key, value})
	}
	fields[i].value = value
	return fields
}

// metadataOf returns a new map of the fields, nil if there are none.
func metadataOf(fields []field) map[string]any {
	if len(fields) == 0 {
		return nil
	}
	m := make(map[string]any, len(fields)+1)
	for _, f := range fields {
		m[f.key] = f.value
	}
	return m
}
