package jsonmessage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// checkMessage returns the first mistake in a JSON text that should be a message, or nil
// if it finds none. path is the path of the message.
func checkMessage(raw json.RawMessage, message protoreflect.MessageDescriptor, path string) error {
	if want, ok := wellKnown[message.FullName()]; ok {
		if want.fits(raw) {
			if isFreeForm(message.FullName()) {
				return Exact(raw, path)
			}
			return nil
		}
		return wrong(path, want.name, raw)
	}
	if kindOf(raw) != object {
		return wrong(path, "an object", raw)
	}
	return eachMember(raw, func(seen map[string]bool, name string, value json.RawMessage) error {
		field := fieldOf(message, name)
		if field == nil {
			return fault.Field(join(path, name), "is not known here%s", Hint(name, message))
		}
		at := join(path, field.JSONName())
		if seen[field.JSONName()] {
			return fault.Field(at, "is given twice")
		}
		seen[field.JSONName()] = true
		if other := rival(field, seen); other != "" {
			return fault.Field(at, "cannot be given together with %s", join(path, other))
		}
		if kindOf(value) == null {
			return nil
		}
		return checkField(value, field, at)
	})
}

// fieldOf returns the field of a message by its name in JSON or in the proto file.
func fieldOf(message protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if field := message.Fields().ByJSONName(name); field != nil {
		return field
	}
	return message.Fields().ByTextName(name)
}

// Hint returns "; did you mean FIELD?" for the field of message whose JSON name is nearest
// to name, or else "; known are ..." with all of them.
func Hint(name string, message protoreflect.MessageDescriptor) string {
	names := make([]string, message.Fields().Len())
	for i := range names {
		names[i] = message.Fields().Get(i).JSONName()
	}
	if hint := nearest.Hint(name, names); hint != "" {
		return hint
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "; there are no fields"
	}
	return "; known are " + strings.Join(names, ", ")
}

// rival returns the name of a field already seen that cannot be given together with field.
func rival(field protoreflect.FieldDescriptor, seen map[string]bool) string {
	choice := field.ContainingOneof()
	if choice == nil || choice.IsSynthetic() {
		return ""
	}
	for i := range choice.Fields().Len() {
		if name := choice.Fields().Get(i).JSONName(); name != field.JSONName() && seen[name] {
			return name
		}
	}
	return ""
}

func checkField(raw json.RawMessage, field protoreflect.FieldDescriptor, path string) error {
	switch {
	case field.IsMap():
		if kindOf(raw) != object {
			return wrong(path, "an object", raw)
		}
		return eachMember(raw, func(_ map[string]bool, name string, value json.RawMessage) error {
			return checkValue(value, field.MapValue(), join(path, name))
		})
	case field.IsList():
		return checkList(raw, field, path)
	}
	return checkValue(raw, field, path)
}

func checkList(raw json.RawMessage, field protoreflect.FieldDescriptor, path string) error {
	if isVector(field) && kindOf(raw) == text {
		return checkVector(raw, path)
	}
	if kindOf(raw) != list {
		return wrong(path, "a list", raw)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	_, _ = decoder.Token() // the bracket; the text is valid JSON
	for i := 0; decoder.More(); i++ {
		var entry json.RawMessage
		if err := decoder.Decode(&entry); err != nil {
			return nil
		}
		if err := checkValue(entry, field, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// checkValue checks one value of a field.
func checkValue(raw json.RawMessage, field protoreflect.FieldDescriptor, path string) error {
	if field.Message() != nil {
		return checkMessage(raw, field.Message(), path)
	}
	if field.Enum() != nil {
		return checkEnum(raw, field.Enum(), path)
	}
	if want := scalarOf(field.Kind()); want.fits != nil && !want.fits(raw) {
		return wrong(path, want.name, raw)
	}
	return nil
}

func checkEnum(raw json.RawMessage, enum protoreflect.EnumDescriptor, path string) error {
	names := make([]string, enum.Values().Len())
	for i := range names {
		names[i] = string(enum.Values().Get(i).Name())
	}
	if kindOf(raw) == number || slices.Contains(names, textOf(raw)) {
		return nil
	}
	return wrong(path, "one of "+strings.Join(names, ", "), raw)
}

// expected describes what a value must be.
type expected struct {
	name string
	fits func(json.RawMessage) bool
}

// wellKnown describes the messages that JSON writes in another form than an object.
var wellKnown = map[protoreflect.FullName]expected{
	"google.protobuf.Struct":    {"an object", func(raw json.RawMessage) bool { return kindOf(raw) == object }},
	"google.protobuf.ListValue": {"a list", func(raw json.RawMessage) bool { return kindOf(raw) == list }},
	"google.protobuf.Value":     {"any value", func(json.RawMessage) bool { return true }},
	"google.protobuf.Timestamp": {`a time such as "2026-01-31T12:00:00Z"`, isTime},
	"google.protobuf.Duration":  {`a number of seconds such as "1.5s"`, isSeconds},
}

func isTime(raw json.RawMessage) bool {
	_, err := time.Parse(time.RFC3339Nano, textOf(raw))
	return err == nil
}

func isSeconds(raw json.RawMessage) bool {
	digits, ok := strings.CutSuffix(textOf(raw), "s")
	_, err := strconv.ParseFloat(digits, 64)
	return ok && err == nil
}

// scalarOf describes the values of a kind of field.
func scalarOf(kind protoreflect.Kind) expected {
	switch kind {
	case protoreflect.StringKind:
		return expected{"a string", func(raw json.RawMessage) bool { return kindOf(raw) == text }}
	case protoreflect.BoolKind:
		return expected{"true or false", func(raw json.RawMessage) bool { return kindOf(raw) == boolean }}
	case protoreflect.BytesKind:
		return expected{"base64 in a string", isBase64}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return expected{"a number", isNumber}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return expected{"a whole number from -2147483648 to 2147483647", isWhole(-1<<31, 1<<31-1)}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return expected{"a whole number from 0 to 4294967295", isWhole(0, 1<<32-1)}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return expected{"a whole number", isWhole(-1<<63, 1<<63)}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return expected{"a whole number, at least 0", isWhole(0, 1<<64)}
	}
	return expected{}
}

func isBase64(raw json.RawMessage) bool {
	if kindOf(raw) != text {
		return false
	}
	plain := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(textOf(raw)), "=")
	_, err := base64.RawStdEncoding.DecodeString(plain)
	return err == nil
}

// isNumber reports whether raw is a number, or a string that holds one as proto allows.
func isNumber(raw json.RawMessage) bool {
	if kindOf(raw) != text {
		return kindOf(raw) == number
	}
	_, err := strconv.ParseFloat(textOf(raw), 64)
	return err == nil
}

func isWhole(least, most float64) func(json.RawMessage) bool {
	return func(raw json.RawMessage) bool {
		digits := string(raw)
		if kindOf(raw) == text {
			digits = textOf(raw)
		}
		value, err := strconv.ParseFloat(digits, 64)
		return err == nil && value == float64(int64(value)) && value >= least && value <= most
	}
}

// kind is a kind of JSON value.
type kind string

const (
	object  kind = "an object"
	list    kind = "a list"
	text    kind = "a string"
	number  kind = "a number"
	boolean kind = "a boolean"
	null    kind = "null"
)

// kindOf returns the kind of a valid JSON value.
func kindOf(raw json.RawMessage) kind {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return null
	}
	switch raw[0] {
	case '{':
		return object
	case '[':
		return list
	case '"':
		return text
	case 't', 'f':
		return boolean
	case 'n':
		return null
	}
	return number
}

// textOf returns the text of a JSON string, or "" for other values.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// eachMember calls do for the members of a JSON object until it returns an error. seen is
// empty at first, for do to use.
func eachMember(raw json.RawMessage, do func(seen map[string]bool, name string, value json.RawMessage) error) error {
	seen := map[string]bool{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	_, _ = decoder.Token() // the brace; the text is valid JSON
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil
		}
		if err := do(seen, name, value); err != nil {
			return err
		}
	}
	return nil
}

// join returns the path of a field of the object at path.
func join(path, name string) string {
	name = textlimit.Shorten(name, maxShown)
	if path == "" {
		return name
	}
	return path + "." + name
}

// maxShown limits the bytes of a wrong value or name that an error shows.
const maxShown = 60

// wrong returns the error about a value of another kind than expected.
func wrong(path, want string, raw json.RawMessage) error {
	got := kindOf(raw)
	shown := string(got)
	if got == text || got == number || got == boolean {
		shown = textlimit.Shorten(string(raw), maxShown)
	}
	if path == "" {
		return fault.New(fault.Invalid, "the message must be %s, got %s", want, shown)
	}
	return fault.Field(path, "must be %s, got %s", want, shown)
}
