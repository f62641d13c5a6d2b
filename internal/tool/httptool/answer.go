package httptool

import (
	"encoding/json"
	"github.com/ragdhq/ragd/internal/tool/template"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// maxExcerpt is how many bytes of an answer an error shows.
const maxExcerpt = 500

// media are the types of images and sounds that results may have.
var media = map[string]string{
	"image/png": "image", "image/jpeg": "image", "image/gif": "image", "image/webp": "image",
	"audio/wav": "audio", "audio/x-wav": "audio", "audio/mpeg": "audio", "audio/ogg": "audio", "audio/mp4": "audio", "audio/flac": "audio", "audio/webm": "audio",
}

// result returns the result of an answer. Errors: for another status than 2xx those of
// refusal; Precondition for an answer that the tool cannot use. Texts and errors are without
// the secrets of mask.
func (d *Definition) result(got *answer, mask remote.Mask) (Result, error) {
	if got.status < 200 || got.status > 299 {
		return Result{}, d.refusal(got, mask)
	}
	if got.cut {
		return Result{}, fault.New(fault.Precondition, "the answer of %s is longer than the %d bytes that the tool allows (settings.response.maxBytes): ask for less", d.host.Host, d.settings.Response.MaxBytes)
	}
	if len(got.body) == 0 {
		return d.empty(got)
	}
	kind := mediaType(got)
	switch {
	case isJSON(kind) || kind == "" && json.Valid(got.body):
		value, err := schema.Decode(got.body)
		if err != nil {
			return Result{}, fault.New(fault.Precondition, "the answer of %s cannot be used: the JSON %s", d.host.Host, err)
		}
		return d.mapped(mask.Value(value))
	case d.settings.Response.Format == formatMCP:
		return Result{}, d.wrong("it must be JSON or %s, and has the type %s", eventStream, textlimit.OneLine(kind, 100))
	case media[kind] != "" && d.output == nil:
		content, err := json.Marshal([]map[string]any{{"type": media[kind], "mimeType": kind, "data": got.body}})
		return Result{Content: content, Text: map[string]string{"image": "(an image)", "audio": "(a sound)"}[media[kind]]}, err
	case strings.HasPrefix(kind, "text/") || kind == "" || strings.HasSuffix(kind, "+xml") || kind == "application/xml":
		if d.output != nil || d.settings.Response.Path != "" {
			return Result{}, fault.New(fault.Precondition, "%s answered with text (%s), but the tool needs JSON, as it has an outputSchema or a response.path: %s", d.host.Host, kind, excerpt(got, mask))
		}
		return Result{Text: mask.Text(clean(string(got.body)))}, nil
	}
	return Result{}, fault.New(fault.Precondition, "%s answered with content of the type %s: a tool can use JSON, text, PNG, JPEG, GIF and WebP images, and sounds", d.host.Host, textlimit.OneLine(kind, 100))
}

func mediaType(got *answer) string {
	media, _, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// empty returns the result of an answer without content.
func (d *Definition) empty(got *answer) (Result, error) {
	if d.output != nil || d.settings.Response.Path != "" || d.settings.Response.Format == formatMCP {
		return Result{}, fault.New(fault.Precondition, "%s answered %s without content, but the tool needs JSON", d.host.Host, statusText(got.status))
	}
	return Result{Text: "done: " + statusText(got.status)}, nil
}

// mapped returns the result of a JSON answer: what is at the path of the tool, as structured
// content, which is an object, and as text.
func (d *Definition) mapped(value any) (Result, error) {
	value, ok := pointer(value, d.settings.Response.Path)
	if !ok {
		return Result{}, fault.New(fault.Precondition, "the answer of %s has nothing at %s (settings.response.path)", d.host.Host, d.settings.Response.Path)
	}
	if d.settings.Response.Format == formatMCP {
		return d.converted(value)
	}
	structured, ok := value.(map[string]any)
	if !ok {
		structured = map[string]any{"result": value}
	}
	if d.output != nil {
		if err := d.output.Validate("result", structured); err != nil {
			return Result{}, fault.Wrap(fault.Precondition, err, "the answer of %s does not match the tool's outputSchema: %s", d.host.Host, fault.Public(err))
		}
	}
	raw, err := json.Marshal(structured)
	if err != nil {
		return Result{}, err
	}
	result := Result{Structured: raw, Text: string(raw)}
	if text, ok := value.(string); ok {
		result.Text = text
	}
	if d.text != nil {
		result.Text, err = d.text.Render(template.NewBudget("the text of the result", maxAnswerBytes), func(path string) (any, bool) {
			_, rest, _ := strings.Cut(path, ".")
			return template.Below(value, rest)
		}, template.Text)
	}
	return result, err
}

// pointer returns the value at a JSON pointer (RFC 6901).
func pointer(value any, path string) (any, bool) {
	if path == "" {
		return value, true
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		var ok bool
		if value, ok = template.Child(value, name); !ok {
			return nil, false
		}
	}
	return value, true
}

// refusal returns the error for an answer that is no success. Its message has the status and
// the beginning of the answer, for a model that may do better.
func (d *Definition) refusal(got *answer, mask remote.Mask) error {
	said := excerpt(got, mask)
	if said != "" {
		said = ": " + said
	}
	const form = "%s answered %s%s"
	status := statusText(got.status)
	switch {
	case got.status == http.StatusTooManyRequests:
		return fault.Retry(retryAfter(got, time.Now()), form, d.host.Host, status, said)
	case got.status >= 500:
		e := fault.New(fault.Unavailable, form, d.host.Host, status, said)
		e.RetryAfter = retryAfter(got, time.Now())
		return e
	case got.status == http.StatusNotFound || got.status == http.StatusGone:
		return fault.New(fault.NotFound, form, d.host.Host, status, said)
	case got.status >= 300 && got.status < 400:
		return fault.New(fault.Precondition, "%s answered %s: redirects are not followed; the tool must have the final address", d.host.Host, status)
	case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden || got.status == http.StatusConflict || got.status < 200:
		return fault.New(fault.Precondition, form, d.host.Host, status, said)
	}
	return fault.New(fault.Invalid, form, d.host.Host, status, said)
}

func statusText(status int) string {
	text := http.StatusText(status)
	if text == "" {
		text = "with an unknown status"
	}
	return strconv.Itoa(status) + " " + text
}

// excerpt returns the beginning of an answer on one line, without secrets.
func excerpt(got *answer, mask remote.Mask) string {
	text := clean(string(got.body))
	if got.cut {
		return textlimit.OneLine(mask.CutText(text), maxExcerpt)
	}
	return textlimit.OneLine(mask.Text(text), maxExcerpt)
}

// clean returns a text in UTF-8 without control characters other than tabs and line breaks.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
