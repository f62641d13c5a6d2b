package filter

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// decode reads the JSON text of a filter object. For a blank text the object is
// nil. Numbers keep all their digits. source is the text without insignificant
// white space. Unlike encoding/json, decode rejects duplicate keys and invalid
// UTF-8, which would change what the filter selects.
func decode(text []byte) (object map[string]any, source string, err error) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return nil, "", nil
	case len(text) > MaxBytes:
		return nil, "", fault.Field("filter", "is %d bytes long; %d are allowed", len(text), MaxBytes)
	case !utf8.Valid(text):
		return nil, "", fault.Field("filter", "is not valid UTF-8")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, "", fault.Field("filter", "is not valid JSON: %v", err)
	}
	d := decoder{json.NewDecoder(bytes.NewReader(compact.Bytes()))}
	d.tokens.UseNumber()
	v, err := d.value(top)
	if err != nil {
		return nil, "", err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, "", fault.Field("filter", "must be a JSON object, got %s", typeName(v))
	}
	return object, compact.String(), nil
}

// decoder builds a value from the tokens of valid JSON.
type decoder struct{ tokens *json.Decoder }

func (d decoder) value(at location) (any, error) {
	token, err := d.tokens.Token()
	if err != nil {
		return nil, fault.Field("filter", "is not valid JSON: %v", err)
	}
	delimiter, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if err := at.nest(); err != nil {
		return nil, err
	}
	if delimiter == '{' {
		return d.object(at)
	}
	return d.list(at)
}

func (d decoder) object(at location) (any, error) {
	object := map[string]any{}
	for d.tokens.More() {
		token, err := d.tokens.Token()
		if err != nil {
			return nil, fault.Field("filter", "is not valid JSON: %v", err)
		}
		key := token.(string) // a key of valid JSON
		here := at.key(key)
		if _, twice := object[key]; twice {
			return nil, here.refuse("is given twice; join conditions with $and")
		}
		if object[key], err = d.value(here); err != nil {
			return nil, err
		}
	}
	_, err := d.tokens.Token() // the closing brace
	return object, err
}

func (d decoder) list(at location) (any, error) {
	list := []any{}
	for d.tokens.More() {
		element, err := d.value(at.element(len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, element)
	}
	_, err := d.tokens.Token() // the closing bracket
	return list, err
}
