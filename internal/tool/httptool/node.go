package httptool

import (
	"encoding/json"
	"github.com/ragdhq/ragd/internal/tool/template"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// node is a JSON value whose strings are templates.
type node struct {
	template *template.Template // of a string
	items    []*node            // of an array
	names    []string           // of an object, in order
	members  map[string]*node
	constant any // anything else
}

// parseNode returns the templates in a JSON value. Errors: Invalid, naming the field.
func parseNode(field string, value any) (*node, error) {
	var err error
	n := &node{}
	switch value := value.(type) {
	case string:
		if len(value) > maxTemplate {
			return nil, fault.Field(field, "must be at most %d bytes, got %d", maxTemplate, len(value))
		}
		n.template, err = template.ParseCall(field, value)
	case []any:
		n.items = make([]*node, len(value))
		for i, item := range value {
			if n.items[i], err = parseNode(field, item); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		n.members = map[string]*node{}
		n.names = slices.Sorted(maps.Keys(value))
		for _, name := range n.names {
			if strings.Contains(name, "{{") {
				return nil, fault.Field(field, "names of fields must not have placeholders: %q", name)
			}
			if n.members[name], err = parseNode(field+"."+name, value[name]); err != nil {
				return nil, err
			}
		}
	default:
		n.constant = value
	}
	return n, err
}

// paths returns the paths of all placeholders.
func (n *node) paths() []string {
	var paths []string
	if n.template != nil {
		paths = n.template.Paths()
	}
	for _, item := range n.items {
		paths = append(paths, item.paths()...)
	}
	for _, name := range n.names {
		paths = append(paths, n.members[name].paths()...)
	}
	return paths
}

// value returns the JSON value with the placeholders replaced. A string that is one
// placeholder becomes the value itself, of any type. It returns false if that is missing;
// then it is left out of its array or object. What is filled in is taken from the budget.
func (n *node) value(budget *template.Budget, lookup func(string) (any, bool)) (any, bool, error) {
	switch {
	case n.template != nil:
		if placeholder, ok := n.template.Whole(); ok {
			value, found := placeholder.Value(lookup)
			return value, found, budget.TakeValue(value)
		}
		text, err := n.template.Render(budget, lookup, template.Text)
		return text, true, err
	case n.items != nil:
		items := []any{}
		for _, item := range n.items {
			value, ok, err := item.value(budget, lookup)
			if err != nil {
				return nil, false, err
			}
			if ok {
				items = append(items, value)
			}
		}
		return items, true, nil
	case n.members != nil:
		members := map[string]any{}
		for _, name := range n.names {
			value, ok, err := n.members[name].value(budget, lookup)
			if err != nil {
				return nil, false, err
			}
			if ok {
				members[name] = value
			}
		}
		return members, true, nil
	}
	return n.constant, true, nil
}

// encoding is how a body is written.
type encoding struct {
	contentType string
	kind        bodyKind
}

type bodyKind int

const (
	asJSON bodyKind = iota
	asForm
	asText
	asXML
)

// encodingOf returns the encoding of a content type. Errors: Invalid for a type whose values
// cannot be escaped.
func encodingOf(contentType string) (encoding, error) {
	if contentType == "" {
		contentType = "application/json"
	}
	media, _, err := mime.ParseMediaType(contentType)
	e := encoding{contentType: contentType}
	switch {
	case err != nil:
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return e, nil
	case media == "application/x-www-form-urlencoded":
		e.kind = asForm
		return e, nil
	case media == "text/plain":
		e.kind = asText
		return e, nil
	case media == "application/xml" || media == "text/xml" || strings.HasSuffix(media, "+xml"):
		e.kind = asXML
		return e, nil
	}
	return e, fault.Field("contentType", "must be a type of JSON or XML, application/x-www-form-urlencoded or text/plain, got %q", contentType)
}

// check checks that a body can be written.
func (e encoding) check(body *node) error {
	whole := false
	if body.template != nil {
		_, whole = body.template.Whole()
	}
	switch {
	case e.kind == asForm && body.members == nil && !whole:
		return fault.Field("body", "of a form must be an object")
	case (e.kind == asText || e.kind == asXML) && body.template == nil:
		return fault.Field("body", "of the content type %s must be a string", e.contentType)
	}
	return nil
}

// encode returns a body.
func (e encoding) encode(body *node, lookup func(string) (any, bool)) ([]byte, error) {
	budget := template.NewBudget("the body of the request", maxBodyBytes)
	switch e.kind {
	case asText, asXML:
		escape := template.Text
		if e.kind == asXML {
			escape = remote.XML
		}
		text, err := body.template.Render(budget, lookup, escape)
		return []byte(text), err
	}
	value, ok, err := body.value(budget, lookup)
	if err != nil || !ok {
		return nil, err
	}
	if e.kind == asForm {
		form, err := encodeForm(value)
		return []byte(form.Encode()), err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the body cannot be written as JSON")
	}
	return raw, nil
}

func encodeForm(value any) (url.Values, error) {
	members, ok := value.(map[string]any)
	if !ok {
		return nil, fault.New(fault.Invalid, "the body of a form must be an object")
	}
	form := url.Values{}
	for name, value := range members {
		if err := addParameter(form, name, value); err != nil {
			return nil, err
		}
	}
	return form, nil
}

// addParameter adds a parameter for a value: one for each item of an array, none for null,
// JSON for an object.
func addParameter(to url.Values, name string, value any) error {
	if value == nil {
		return nil
	}
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	for _, item := range items {
		text, err := template.Text(item)
		if err != nil {
			return err
		}
		to.Add(name, text)
	}
	return nil
}
