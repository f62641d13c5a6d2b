package ingest

import (
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"github.com/ragdhq/ragd/internal/fault"
)

// byExtension are the content types of text formats that the system's own table
// may lack or may name in many ways.
var byExtension = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".mdx": "text/markdown",
	".txt": "text/plain", ".text": "text/plain", ".log": "text/plain", ".rst": "text/x-rst",
	".html": "text/html", ".htm": "text/html", ".xhtml": "text/html",
	".json": "application/json", ".tex": "application/x-latex", ".latex": "application/x-latex",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".csv": "text/csv",
}

// textual are the content types outside text/ that are text all the same.
var textual = map[string]bool{
	"application/json": true, "application/x-latex": true, "application/x-tex": true,
	"application/yaml": true, "application/toml": true, "application/xml": true,
	"application/javascript": true, "application/x-sh": true,
}

// contentType settles what a document is: what the caller says, else what the
// name's ending says, else what the bytes look like. Only text is taken.
func contentType(given, uri string, content []byte) (string, error) {
	if given != "" {
		parsed, _, err := mime.ParseMediaType(given)
		if err != nil || len(given) > 255 {
			return "", fault.Field("contentType", "is not a media type such as text/markdown")
		}
		return checkTextual(parsed)
	}
	if known, ok := byExtension[strings.ToLower(path.Ext(uri))]; ok {
		return known, nil
	}
	// Only a page is told from other text by its bytes: a text that happens to
	// begin as some binary format does is still a text.
	if strings.HasPrefix(http.DetectContentType(content), "text/html") {
		return "text/html", nil
	}
	return "text/plain", nil
}

func checkTextual(mediaType string) (string, error) {
	if strings.HasPrefix(mediaType, "text/") || textual[mediaType] {
		return mediaType, nil
	}
	return "", fault.Field("contentType", "%s is not a text format: send text, Markdown, HTML, JSON, LaTeX or source code", mediaType)
}

var markdownTitle = regexp.MustCompile(`(?m)^#[ \t]+(.+?)[ \t#]*\r?$`)

// maxTitleSearchBytes bounds how far into a document its title is looked for.
const maxTitleSearchBytes = 16 << 10

// titleOf finds the title in a document: the first heading of a Markdown file,
// the title element of an HTML page, else none.
func titleOf(contentType, text string) string {
	head := text[:min(len(text), maxTitleSearchBytes)]
	title := ""
	switch contentType {
	case "text/markdown":
		if m := markdownTitle.FindStringSubmatch(head); m != nil {
			title = m[1]
		}
	case "text/html":
		title = htmlTitle(head)
	}
	title = strings.Join(strings.Fields(strings.ToValidUTF8(title, "")), " ")
	if len(title) > maxTitleBytes {
		return strings.ToValidUTF8(title[:maxTitleBytes], "")
	}
	return title
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
