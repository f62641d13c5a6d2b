package openai

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/automation/agent"
)

// annotation is a place of an answer that cites a passage. Start and end count characters.
type annotation struct {
	start, end int
	passage    agent.Citation
}

// annotationsOf returns the places of a text that cite one of the citations, in their order.
func annotationsOf(text string, citations []agent.Citation) []annotation {
	byNumber := make(map[int]agent.Citation, len(citations))
	for _, c := range citations {
		byNumber[c.Number] = c
	}
	found, at, characters := []annotation{}, 0, 0
	for _, m := range agent.Markers(text) {
		start := characters + utf8.RuneCountInString(text[at:m.Start])
		end := start + utf8.RuneCountInString(text[m.Start:m.End])
		at, characters = m.End, end
		for _, n := range m.Numbers {
			if c, ok := byNumber[n]; ok {
				found = append(found, annotation{start, end, c})
			}
		}
	}
	return found
}

// urlCitation is an annotation of a passage with an address.
type urlCitation struct {
	Type       string `json:"type,omitempty"`
	URL        string `json:"url"`
	Title      string `json:"title"`
	StartIndex int    `json:"start_index"`
	EndIndex   int    `json:"end_index"`
}

func (a annotation) urlCitation(kind string) urlCitation {
	return urlCitation{kind, cmp.Or(a.passage.URI, filePrefix+a.passage.DocumentID), titleOf(a.passage), a.start, a.end}
}

// fileCitation is an annotation of a passage of a document that has no address.
type fileCitation struct {
	Type     string `json:"type"`
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
	Index    int    `json:"index"`
}

// either returns the annotation as a response has it.
func (a annotation) either() any {
	if isURL(a.passage.URI) {
		return a.urlCitation("url_citation")
	}
	id := filePrefix + a.passage.DocumentID
	if made := fileOf(a.passage.URI); isFileID(made) {
		id = made
	}
	return fileCitation{"file_citation", id, fileNameOf(a.passage), a.start}
}

func isURL(uri string) bool {
	return strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")
}

func titleOf(c agent.Citation) string {
	return strings.Join(strings.Fields(cmp.Or(c.Title, fileNameOf(c))), " ")
}

// fileNameOf returns the last element of the uri of a passage.
func fileNameOf(c agent.Citation) string {
	if c.URI == "" {
		return c.DocumentID
	}
	return path.Base(c.URI)
}

// shownURI returns the uri of a passage for people: of an uploaded file, its name.
func shownURI(c agent.Citation) string {
	if isFileID(fileOf(c.URI)) {
		return fileNameOf(c)
	}
	return c.URI
}

// footnotes returns the sources of an answer as a list in Markdown, to be put below it; "" for none.
func footnotes(citations []agent.Citation) string {
	var b strings.Builder
	for i, c := range citations {
		if i == 0 {
			b.WriteString("\n\n")
		} else {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- [%d] ", c.Number)
		title := unmarked.Replace(shorten(titleOf(c)))
		switch {
		case isURL(c.URI):
			fmt.Fprintf(&b, "[%s](<%s>)", title, notInAddress.Replace(c.URI))
		case c.Title != "" && c.URI != "" && c.Title != fileNameOf(c):
			fmt.Fprintf(&b, "%s (%s)", title, unmarked.Replace(strings.Join(strings.Fields(shorten(shownURI(c))), " ")))
		default:
			b.WriteString(title)
		}
	}
	return b.String()
}

var (
	// unmarked escapes what would be marks of Markdown in a title.
	unmarked = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`", "*", `\*`)
	// notInAddress encodes what would end an address of Markdown.
	notInAddress = strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "%0A", "\r", "%0D", " ", "%20")
)

// notes matches what footnotes returns.
var notes = regexp.MustCompile(`\n\n- \[\d+\] [^\n]*(\n- \[\d+\] [^\n]*)*\s*$`)

// withoutFootnotes returns an answer as it was before footnotes were added. They are not shown to the model
// again, which would imitate them.
func withoutFootnotes(text string) string { return notes.ReplaceAllString(text, "") }
