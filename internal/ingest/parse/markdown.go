package parse

import (
	"encoding/json"
	"strings"

	"golang.org/x/net/html"

	"github.com/ragdhq/ragd/internal/chunk/frontmatter"
	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// maxTitleSearch is how many bytes of a text are searched for a title.
const maxTitleSearch = 16 << 10

// TitleOf returns the title of a text: in Markdown that of the front matter, else the
// first heading of level 1, the title element in HTML, \title in LaTeX, the field "title"
// of a JSON object. It returns "" if there is none.
func TitleOf(contentType, text string) string {
	head := text[:min(len(text), maxTitleSearch)]
	title := ""
	switch f, _ := FormatOf(contentType); f {
	case Markdown:
		title = markdownTitle(text)
	case HTML:
		title = htmlTitle(head)
	case LaTeX:
		title = latexArgument(head, `\title`)
	case JSON:
		title = jsonTitle(head)
	}
	return textlimit.OneLine(title, maxTitle)
}

// markdownTitle returns the title of the front matter, else the first heading of level 1.
func markdownTitle(text string) string {
	front, _ := frontmatter.Read(text) // what is not front matter is text
	if front.Title != "" {
		return front.Title
	}
	text = text[front.Body:]
	for h := range headings(text[:min(len(text), maxTitleSearch)]) {
		if h.level == 1 {
			return h.text
		}
	}
	return ""
}

// jsonTitle returns the field "title" of a JSON object if it is a string. The object may be
// cut off behind it.
func jsonTitle(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return ""
		}
		if key == "title" {
			var title string
			_ = json.Unmarshal(value, &title) // it stays empty for other types
			return title
		}
	}
	return ""
}

func htmlTitle(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "title" && z.Next() == html.TextToken {
				return string(z.Text())
			}
		}
	}
}

// heading is the heading of a section.
type heading struct {
	start, level int
	text         string
}

// headings yields the headings of a Markdown text that have a title.
func headings(text string) func(yield func(heading) bool) {
	return func(yield func(heading) bool) {
		for _, h := range markdown.Headings(text, nil) {
			if !yield(heading{h.Start, h.Level, h.Title}) {
				return
			}
		}
	}
}

// Limits of the sections that are kept.
const (
	maxSections    = 50_000
	maxSectionPath = 512 // bytes
)

// sections returns the sections of a Markdown text.
func sections(text string) []Span { return nest(headings(text), len(text)) }

// shifted moves the spans by n bytes.
func shifted(spans []Span, n int) []Span {
	for i := range spans {
		spans[i].Start += n
		spans[i].End += n
	}
	return spans
}

// nest returns a span for each heading, up to the next one. Its name is the path of
// headings to it.
func nest(all func(yield func(heading) bool), end int) []Span {
	var spans []Span
	var above []heading
	for h := range all {
		if n := len(spans); n > 0 {
			spans[n-1].End = h.start
		}
		if len(spans) == maxSections {
			return spans
		}
		for len(above) > 0 && above[len(above)-1].level >= h.level {
			above = above[:len(above)-1]
		}
		above = append(above, h)
		var names []string
		for _, a := range above {
			if n := len(names); n == 0 || names[n-1] != a.text { // what a page says twice stands once
				names = append(names, a.text)
			}
		}
		spans = append(spans, Span{Kind: Section, Start: h.start, Name: textlimit.OneLine(strings.Join(names, SectionSeparator), maxSectionPath)})
	}
	if n := len(spans); n > 0 {
		spans[n-1].End = end
	}
	return spans
}
