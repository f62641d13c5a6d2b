package chunk

import (
	"github.com/ragdhq/ragd/internal/chunk/htmlsplit"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// DefaultHTMLHeaders are the headings at which an HTML document is split if the
// settings name none. Each title is stored under the name of its tag. Callers must
// not modify it.
var DefaultHTMLHeaders = []HeaderKey{
	{"h1", "h1"}, {"h2", "h2"}, {"h3", "h3"}, {"h4", "h4"}, {"h5", "h5"}, {"h6", "h6"},
}

// splitHTML makes a chunk of the text under each element that o.Headers select, or
// o.Sections if there are no headers; see htmlsplit.Split. If o.MaxSize is set,
// the recursive strategy cuts longer chunks.
//
// StartByte and EndByte reach from the first to the last character of the text in
// the source. Tags between them are included, the header is not.
func splitHTML(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	field, headers := "headers", o.Headers
	if len(headers) == 0 {
		field, headers = "sections", o.Sections
	}
	selectors := make([]htmlsplit.Selector, len(headers))
	for i, h := range headers {
		var ok bool
		if selectors[i], ok = htmlsplit.ParseSelector(h.Marker, h.Key); !ok {
			return nil, fault.Field(field, "%q is not a selector of the forms %s", h.Marker, htmlsplit.SelectorForms)
		}
	}
	out := newRebuilder(steps, text, o)
	out.trims = true
	options := htmlsplit.Options{Selectors: selectors, Sections: field == "sections", ReturnEachLine: o.ReturnEachLine, Track: out.tracks(), Steps: steps}
	err := htmlsplit.Split(text, options, func(s htmlsplit.Section) error {
		if s.Body == nil {
			out.addText(s.Title, s.Source, s.Fields)
		} else {
			out.addAssembly(s.Body, s.Fields)
		}
		return out.err
	})
	if err != nil {
		return nil, err
	}
	return out.chunks, nil
}
