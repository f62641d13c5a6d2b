package remote

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/schema"
	"github.com/ragdhq/ragd/internal/tool/template"
)

// Segment returns the text of a value within one segment of a path. Errors: Invalid for an
// empty text, control characters, and texts that lead to another path.
func Segment(value any) (string, error) {
	text, err := template.Text(value)
	if err != nil {
		return "", err
	}
	if text == "" || strings.ContainsFunc(text, unicode.IsControl) {
		return "", fault.New(fault.Invalid, "a value in the address must be 1 or more printable characters")
	}
	up := func(piece string) bool { return piece == "." || piece == ".." }
	if slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), up) {
		return "", fault.New(fault.Invalid, "a value in the address must not be . or .., nor have them between slashes")
	}
	return url.PathEscape(text), nil
}

// Header returns the text of a value in a header. Errors: Invalid for line breaks and other
// control characters.
func Header(value any) (string, error) {
	text, err := template.Text(value)
	if err == nil && !httpguts.ValidHeaderFieldValue(text) {
		err = fault.New(fault.Invalid, "a value in a header must not have line breaks or other control characters")
	}
	return text, err
}

// XML returns the text of a value in XML.
func XML(value any) (string, error) {
	text, err := template.Text(value)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return "", fault.New(fault.Invalid, "a value cannot be written as XML")
	}
	return b.String(), nil
}

// minMasked is the shortest secret that is masked: shorter ones are in too many texts by
// chance.
const minMasked = 4

// Mask replaces secrets in texts.
type Mask struct {
	replacer *strings.Replacer
	texts    []string // that are replaced, the longest first
}

// NewMask returns a Mask of the values of secrets, also as addresses, JSON and base64 have them.
func NewMask(secrets map[string]string) Mask {
	var texts []string
	for _, value := range secrets {
		quoted, _ := template.Text([]string{value}) // ["value"]
		for _, text := range []string{
			value, strings.TrimSpace(value), url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value)),
			strings.TrimSuffix(strings.TrimPrefix(quoted, `["`), `"]`),
		} {
			if len(text) >= minMasked {
				texts = append(texts, text)
			}
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	texts = slices.Compact(texts)
	var pairs []string
	for _, text := range texts {
		pairs = append(pairs, text, masked)
	}
	return Mask{strings.NewReplacer(pairs...), texts}
}

// Hidden returns what answers must not show: the given secrets, and those of the request context.
func Hidden(ctx context.Context, secrets map[string]string) map[string]string {
	r, ok := access.FromContext(ctx)
	if !ok {
		return secrets
	}
	hidden := map[string]string{}
	for name, value := range r.Secrets() {
		hidden["context."+name] = value
	}
	maps.Copy(hidden, secrets)
	return hidden
}

// masked stands for a secret.
const masked = "***"

// Text returns a text without the secrets.
func (m Mask) Text(text string) string { return m.replacer.Replace(text) }

// CutText is Text for a text that was cut off, which may end within a secret.
func (m Mask) CutText(text string) string {
	for at := max(0, len(text)-m.longest()+1); at < len(text); at++ {
		begins := func(secret string) bool { return strings.HasPrefix(secret, text[at:]) }
		if slices.ContainsFunc(m.texts, begins) {
			return m.Text(text[:at]) + masked
		}
	}
	return m.Text(text)
}

func (m Mask) longest() int {
	if len(m.texts) == 0 {
		return 0
	}
	return len(m.texts[0])
}

// Value returns a JSON value without the secrets, in its strings, numbers and names. It changes
// value.
func (m Mask) Value(value any) any {
	switch value := value.(type) {
	case string:
		return m.Text(value)
	case json.Number:
		if text := m.Text(string(value)); text != string(value) {
			return text
		}
	case []any:
		for i := range value {
			value[i] = m.Value(value[i])
		}
	case map[string]any:
		for name, inner := range value {
			masked := m.Text(name)
			if masked != name {
				delete(value, name)
			}
			value[masked] = m.Value(inner)
		}
	}
	return value
}

// JSON returns JSON without the secrets. Errors: what is wrong with the JSON, as schema.Decode
// says it.
func (m Mask) JSON(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(m.Value(value))
}
