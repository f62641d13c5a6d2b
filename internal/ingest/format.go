package ingest

import (
	"mime"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// textual lists the text content types that have no format of their own.
var textual = map[string]bool{
	"application/json": true, "application/yaml": true, "application/toml": true, "application/xml": true,
	"application/javascript": true, "application/x-sh": true, "application/octet-stream": true,
}

// Reads says which files can be read that need a program or an endpoint.
type Reads struct {
	Pictures   bool
	Recordings int64 // bytes of the largest; 0 for none
}

// contentType finds the format of a document from its bytes if they identify it, else from
// the given content type, else from the extension of the uri, else by guessing from the
// text. It returns the given content type where that agrees with the format.
func contentType(given, uri string, content []byte, reads Reads) (parse.Format, string, error) {
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
	format, err := parse.Detect(parse.Source{Content: content, ContentType: declared, FileName: uri, Pictures: reads.Pictures, Recordings: reads.Recordings})
	if err != nil {
		return "", "", err
	}
	settled := format.MediaType()
	if format == parse.Recording {
		settled = parse.RecordingType(content)
	}
	if said, known := parse.FormatOf(declared); known && said == format || textual[declared] && declared != "application/octet-stream" {
		settled = declared
	}
	if format == parse.Picture { // what is declared is often that of another kind
		settled = parse.PictureType(content)
	}
	if format.IsText() {
		settled = parse.WithCharset(settled, given, content)
	}
	return format, settled, nil
}
