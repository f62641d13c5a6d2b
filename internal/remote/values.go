package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Values are what the placeholders of one call stand for.
type Values struct {
	// Arguments are those of the call, decoded by schema.Decode.
	Arguments any
	// Request returns values of the request context: paths that begin with context, claims,
	// key, tenant, subject or server.
	Request func(path string) (any, bool)
	// Secrets are the values of the secrets that the definition names.
	Secrets map[string]string
}

// Lookup returns the value of a path. Null is missing.
func (v Values) Lookup(path string) (any, bool) {
	root, rest, _ := strings.Cut(path, ".")
	switch root {
	case "arguments":
		value, ok := Below(v.Arguments, rest)
		return value, ok && value != nil
	case "secrets":
		value, ok := v.Secrets[rest]
		return value, ok
	}
	if v.Request == nil {
		return nil, false
	}
	value, ok := v.Request(path)
	return value, ok && value != nil
}

// RequestValues returns the function that looks up values of the request in ctx: tenant,
// subject, server, the request context, claims of an access token and, below key, attributes of an
// API key.
func RequestValues(ctx context.Context) func(path string) (any, bool) {
	r, ok := tenant.FromContext(ctx)
	if !ok {
		return nil
	}
	return func(path string) (any, bool) {
		if value, ok := r.Lookup(path); ok {
			return value, true
		}
		switch root, rest, _ := strings.Cut(path, "."); { // an item of a list
		case root == "claims" && rest != "":
			return Below(r.Principal.Claims, rest)
		case root == "key" && rest != "":
			return Below(r.Principal.Attributes, rest)
		}
		return nil, false
	}
}

// Below returns the value at a path of names and positions, separated by dots, in a JSON
// value; the value itself for an empty path.
func Below(value any, path string) (any, bool) {
	if path == "" {
		return value, true
	}
	for name := range strings.SplitSeq(path, ".") {
		var ok bool
		if value, ok = Child(value, name); !ok {
			return nil, false
		}
	}
	return value, true
}

// Child returns the member of an object, or the item of an array at a position from 0.
func Child(value any, name string) (any, bool) {
	switch in := value.(type) {
	case map[string]any:
		inner, ok := in[name]
		return inner, ok
	case []any:
		at, err := strconv.Atoi(name)
		if err != nil || at < 0 || at >= len(in) {
			return nil, false
		}
		return in[at], true
	}
	return nil, false
}

// Text returns the text of a value: a string as it is, others as JSON.
func Text(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "", fault.New(fault.Invalid, "a value cannot be written as JSON")
	}
	return string(raw), nil
}

// Segment returns the text of a value within one segment of a path. Errors: Invalid for an
// empty text, control characters, and texts that lead to another path.
func Segment(value any) (string, error) {
	text, err := Text(value)
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
	text, err := Text(value)
	if err == nil && !httpguts.ValidHeaderFieldValue(text) {
		err = fault.New(fault.Invalid, "a value in a header must not have line breaks or other control characters")
	}
	return text, err
}

// XML returns the text of a value in XML.
func XML(value any) (string, error) {
	text, err := Text(value)
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
