package ingest

import (
	"fmt"
	"mime"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/parse"
)

// textual are the content types of text that stand for no format of their own.
var textual = map[string]bool{
	"application/json": true, "application/yaml": true, "application/toml": true, "application/xml": true,
	"application/javascript": true, "application/x-sh": true, "application/octet-stream": true,
}

// contentType settles what a document is: its bytes say so where they can, else
// the caller, else the name's ending, else the look of the text. The content type
// is the caller's where that is true and says something.
func contentType(given, uri string, content []byte) (parse.Format, string, error) {
	declared := ""
	if given != "" {
		parsed, _, err := mime.ParseMediaType(given)
		if err != nil || len(given) > 255 {
			return "", "", fault.Field("contentType", "is not a media type such as text/markdown")
		}
		if _, known := parse.FormatOf(parsed); !known && !textual[parsed] && !strings.HasPrefix(parsed, "text/") {
			return "", "", fault.Field("contentType", "%s is not a format that can be read: send text, Markdown, HTML, PDF, an Office document, an email or an archive of these", parsed)
		}
		declared = parsed
	}
	format, err := parse.Detect(parse.Source{Content: content, ContentType: declared, FileName: uri})
	if err != nil {
		return "", "", err
	}
	if said, known := parse.FormatOf(declared); known && said == format || textual[declared] && declared != "application/octet-stream" {
		return format, declared, nil
	}
	return format, format.MediaType(), nil
}

// Defaults of a split, where neither the upload nor its index says anything.
const (
	defaultMaxSize = 1000
	defaultOverlap = 100
)

// chunkOptions settles how a document is cut: what was asked for, completed by
// what suits the document.
func chunkOptions(asked map[string]any, contentType, uri string) (chunk.Options, error) {
	raw := make(map[string]any, len(asked)+3)
	for key, value := range asked {
		raw[key] = value
	}
	if _, ok := raw["strategy"]; !ok {
		strategy, language := chunk.StrategyFor(contentType, uri)
		raw["strategy"] = string(strategy)
		if _, ok := raw["language"]; !ok && language != "" {
			raw["language"] = language
		}
	}
	if raw["strategy"] == string(chunk.HTML) && raw["headers"] == nil && raw["sections"] == nil {
		raw["headers"] = htmlHeaders()
	}
	completeSize(raw)
	return chunk.ParseOptions(raw)
}

// htmlHeaders keeps the headings above a chunk in its metadata.
func htmlHeaders() []any {
	headers := make([]any, 6)
	for level := range headers {
		tag := fmt.Sprintf("h%d", level+1)
		headers[level] = []any{tag, tag}
	}
	return headers
}

// completeSize gives a split our default size. An overlap goes with the size it
// was chosen for, so it is only set together with it.
func completeSize(raw map[string]any) {
	if raw["maxSize"] != nil || raw["size"] != nil {
		return
	}
	raw["maxSize"] = defaultMaxSize
	if raw["overlap"] == nil && raw["strategy"] != string(chunk.JSON) {
		raw["overlap"] = defaultOverlap
	}
}
