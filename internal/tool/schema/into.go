package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// maxShownBytes limits the bytes of a wrong value or name that an error shows.
const maxShownBytes = 60

// Into decodes JSON into a Go value: every member must be a field of the struct that takes it, by
// the exact name of its json tag. null leaves a field as it is. A type with the method JSONForm, which
// says in a few words what its JSON is, is described by it where a value is of another kind. Errors:
// Invalid, whose field is the path of the first mistake below field, such as definition.steps[0].retry.
func Into(field string, raw []byte, into any) error {
	value, err := Decode(raw)
	if err != nil {
		return fault.Field(field, "%s", err)
	}
	if err := conforms(field, reflect.TypeOf(into).Elem(), value); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.Field(field, "%s", textlimit.OneLine(strings.TrimPrefix(err.Error(), "json: "), maxReasonBytes))
	}
	return nil
}

// conforms returns the first mistake in a value that is to be decoded into a type.
func conforms(path string, t reflect.Type, value any) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil || t.Kind() == reflect.Interface {
		return nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return unmarshals(path, t, value)
	}
	object, isObject := value.(map[string]any)
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		if !isObject {
			return fault.Field(path, "must be %s, got %s", formOf(t), shown(value))
		}
		return members(path, t, object)
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			return fault.Field(path, "must be %s, got %s", formOf(t), shown(value))
		}
		for i, item := range list {
			if err := conforms(fmt.Sprintf("%s[%d]", path, i), t.Elem(), item); err != nil {
				return err
			}
		}
		return nil
	}
	return scalar(path, t, value)
}

// unmarshals asks a type that decodes itself.
func unmarshals(path string, t reflect.Type, value any) error {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	if err != nil {
		return fault.Field(path, "%s", textlimit.OneLine(err.Error(), maxReasonBytes))
	}
	return nil
}

// members checks the members of an object in the order of their names.
func members(path string, t reflect.Type, object map[string]any) error {
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := path + "." + textlimit.Shorten(name, maxShownBytes)
		member, ok := fields[name]
		if fields == nil {
			member, ok = t.Elem(), true
		}
		if !ok {
			known := slices.Sorted(maps.Keys(fields))
			hint := nearest.Hint(name, known)
			if hint == "" {
				hint = "; known are " + strings.Join(known, ", ")
			}
			return fault.Field(at, "is not known here%s", hint)
		}
		if err := conforms(at, member, object[name]); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf returns the types of the fields of a struct by their names in JSON. Those of an embedded
// struct without a name are its own.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(fields, fieldsOf(f.Type))
		case f.IsExported() && name != "-" && name != "":
			fields[name] = f.Type
		}
	}
	return fields
}

// scalar checks a text, a number or a truth value.
func scalar(path string, t reflect.Type, value any) error {
	var ok bool
	switch t.Kind() {
	case reflect.String:
		_, ok = value.(string)
	case reflect.Bool:
		_, ok = value.(bool)
	default:
		var number json.Number
		if number, ok = value.(json.Number); ok {
			ok = json.Unmarshal([]byte(number), reflect.New(t).Interface()) == nil
		}
	}
	if !ok {
		return fault.Field(path, "must be %s, got %s", formOf(t), shown(value))
	}
	return nil
}

// formOf says what the JSON of a type is.
func formOf(t reflect.Type) string {
	if described, ok := reflect.New(t).Interface().(interface{ JSONForm() string }); ok {
		return described.JSONForm()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return "a list of strings"
		}
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// shown returns what an error shows of a value.
func shown(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("%q", textlimit.Shorten(value, maxShownBytes))
	case json.Number:
		return textlimit.Shorten(string(value), maxShownBytes)
	}
	return fmt.Sprint(value)
}
