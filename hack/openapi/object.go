package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// object is a JSON object that keeps the order of its keys. Its values are *object, []any, string,
// json.Number, bool and nil.
type object struct {
	keys   []string
	values map[string]any
}

func newObject() *object { return &object{values: map[string]any{}} }

// set sets a value; a new key is the last one.
func (o *object) set(key string, value any) {
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) delete(key string) {
	if _, ok := o.values[key]; ok {
		delete(o.values, key)
		o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
	}
}

// at returns the object at a key. It makes one if there is none.
func (o *object) at(key string) *object {
	if inner, ok := o.values[key].(*object); ok {
		return inner
	}
	inner := newObject()
	o.set(key, inner)
	return inner
}

func (o *object) text(key string) string {
	text, _ := o.values[key].(string)
	return text
}

// merge adds what other has: objects key by key, everything else in place of what was there.
func (o *object) merge(other *object) {
	for _, key := range other.keys {
		theirs, ok := other.values[key].(*object)
		if mine, both := o.values[key].(*object); ok && both {
			mine.merge(theirs)
			continue
		}
		o.set(key, other.values[key])
	}
}

// MarshalJSON implements json.Marshaler.
func (o *object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		for j, part := range []any{key, o.values[key]} {
			if j > 0 {
				out.WriteByte(':')
			}
			encoder := json.NewEncoder(&out)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(part); err != nil {
				return nil, err
			}
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	value, err := decode(decoder)
	if err != nil {
		return err
	}
	read, ok := value.(*object)
	if !ok {
		return fmt.Errorf("want an object, got %T", value)
	}
	*o = *read
	return nil
}

// decode reads the next value.
func decode(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := newObject()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := decode(d)
			if err != nil {
				return nil, err
			}
			o.set(key.(string), value)
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := decode(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}
