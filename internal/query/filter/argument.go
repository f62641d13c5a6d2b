package filter

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// parser reads the objects of a filter and enforces MaxBytes and MaxConditions.
type parser struct {
	bytes      int // read so far
	conditions int // read so far
	references []string
	now        time.Time // that of the request, in UTC
	relative   bool      // a time relative to now was read
}

// countBytes adds to the number of bytes read; more than MaxBytes are an error.
func (p *parser) countBytes(bytes int) error {
	if p.bytes += bytes; p.bytes > MaxBytes {
		return fault.Field("filter", "is longer than the %d bytes allowed", MaxBytes)
	}
	return nil
}

// text counts the bytes of a name or string and checks that PostgreSQL can hold it.
func (p *parser) text(s string, at location) error {
	if err := p.countBytes(len(s)); err != nil {
		return err
	}
	if !utf8.ValidString(s) {
		return at.refuse("is not valid UTF-8")
	}
	if strings.IndexByte(s, 0) >= 0 {
		return at.refuse("contains the character U+0000, which metadata cannot hold; remove it")
	}
	return nil
}

// nest checks the depth of an object or list at the location. It counts one byte
// per entry, so that a huge container is rejected before its entries are read.
func (p *parser) nest(at location, entries int) error {
	if err := p.countBytes(entries); err != nil {
		return err
	}
	return at.nest()
}

// countConditions adds n conditions or branches; more than MaxConditions are an
// error.
func (p *parser) countConditions(n int) error {
	if err := p.checkConditions(n); err != nil {
		return err
	}
	p.conditions += n
	return nil
}

// checkConditions returns an error if n more conditions would exceed
// MaxConditions. It counts nothing.
func (p *parser) checkConditions(n int) error {
	if p.conditions+n > MaxConditions {
		return fault.Field("filter", "has more than the %d conditions allowed; write many alternatives for one field as $in", MaxConditions)
	}
	return nil
}

// scalar returns the canonical text of a string, number or boolean.
func (p *parser) scalar(v any, at location) (string, error) {
	switch t := v.(type) {
	case string:
		return t, p.text(t, at)
	case bool:
		return strconv.FormatBool(t), nil
	}
	return p.number(v, at)
}

// number returns the canonical text of a number within the limits.
func (p *parser) number(v any, at location) (string, error) {
	literal, ok := numberLiteral(v)
	if !ok {
		if _, isFloat := v.(float64); isFloat {
			return "", at.refuse("must be a finite number, got %v", v)
		}
		return "", at.refuse("must be a string, a number or a boolean, got %s", typeName(v))
	}
	if err := p.text(literal, at); err != nil {
		return "", err
	}
	return limitedNumber(literal, at)
}

// limitedNumber returns the canonical text of a JSON number literal. One with
// more than MaxDigits digits on either side of the point is an error.
func limitedNumber(literal string, at location) (string, error) {
	text, ok := canonicalNumber(literal)
	if ok {
		integer, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
		ok = len(integer) <= MaxDigits && len(fraction) <= MaxDigits
	}
	if !ok {
		return "", at.refuse("is a number with more than %d digits before or after the point", MaxDigits)
	}
	return text, nil
}

// value checks a JSON value that is compared as a whole and returns a copy with
// its numbers in canonical form.
func (p *parser) value(v any, at location) (any, error) {
	switch t := v.(type) {
	case nil, bool:
		return t, nil
	case string:
		return t, p.text(t, at)
	case []any:
		if err := p.nest(at, len(t)); err != nil {
			return nil, err
		}
		list := make([]any, len(t))
		for i, element := range t {
			var err error
			if list[i], err = p.value(element, at.element(i)); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		if err := p.nest(at, len(t)); err != nil {
			return nil, err
		}
		object := map[string]any{}
		for key, value := range t {
			here := at.key(key)
			if err := p.text(key, here); err != nil {
				return nil, err
			}
			var err error
			if object[key], err = p.value(value, here); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	text, err := p.number(v, at)
	return json.Number(text), err
}

// typeName returns the type of a decoded JSON value for an error message.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case float64, json.Number:
		return "a number"
	}
	return fmt.Sprintf("a Go %T", v)
}
