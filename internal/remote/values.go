package remote

import (
	"encoding/base64"
	"encoding/xml"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/template"
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
type Mask struct{ replacer *strings.Replacer }

// NewMask returns a Mask of the values of secrets, also as addresses and base64 have them.
func NewMask(secrets map[string]string) Mask {
	var texts []string
	for _, value := range secrets {
		for _, text := range []string{value, strings.TrimSpace(value), url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value))} {
			if len(text) >= minMasked {
				texts = append(texts, text)
			}
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, text := range slices.Compact(texts) {
		pairs = append(pairs, text, "***")
	}
	return Mask{strings.NewReplacer(pairs...)}
}

// Text returns a text without the secrets.
func (m Mask) Text(text string) string { return m.replacer.Replace(text) }

// Value returns a JSON value without the secrets, in its strings and names. It changes value.
func (m Mask) Value(value any) any {
	switch value := value.(type) {
	case string:
		return m.Text(value)
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
