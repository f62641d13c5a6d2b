package jsonmessage

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// Append appends a message to dst as compact JSON, with fields that are empty or zero, but
// without messages and optional fields that are not set. The result is that of protojson
// with EmitDefaultValues without its white space, which varies; Append takes a fifth of its
// time for messages with much metadata. It may be spliced into other JSON. Errors: for text
// that is not UTF-8, and for a google.protobuf.Value without a value or with a number that
// is not finite.
func Append(dst []byte, m proto.Message) ([]byte, error) {
	if m == nil || !m.ProtoReflect().IsValid() {
		return append(dst, "{}"...), nil
	}
	return appendMessage(dst, m.ProtoReflect())
}

// AppendSet appends a message as Append does, but of its own fields only those that are
// neither empty nor zero, and those with the JSON names in always.
func AppendSet(dst []byte, m proto.Message, always ...string) ([]byte, error) {
	return appendFields(dst, m.ProtoReflect(), func(field protoreflect.FieldDescriptor) bool {
		return slices.Contains(always, field.JSONName())
	})
}

func appendMessage(dst []byte, m protoreflect.Message) ([]byte, error) {
	switch known := m.Interface().(type) {
	case *structpb.Struct:
		return appendStruct(dst, known)
	case *structpb.Value:
		return appendAny(dst, known)
	case *structpb.ListValue:
		return appendValues(dst, known)
	}
	if m.Descriptor().ParentFile().Package() == "google.protobuf" {
		return appendOther(dst, m)
	}
	return appendFields(dst, m, func(field protoreflect.FieldDescriptor) bool { return !field.HasPresence() })
}

// appendFields appends an object of the fields that are set and of those for which always
// returns true.
func appendFields(dst []byte, m protoreflect.Message, always func(protoreflect.FieldDescriptor) bool) ([]byte, error) {
	dst = append(dst, '{')
	fields, first := m.Descriptor().Fields(), true
	for i := range fields.Len() {
		field := fields.Get(i)
		if !always(field) && !m.Has(field) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), field.JSONName()...), `":`...)
		var err error
		if dst, err = appendField(dst, field, m.Get(field)); err != nil {
			return nil, fmt.Errorf("%s: %w", field.JSONName(), err)
		}
	}
	return append(dst, '}'), nil
}

// appendOther appends a message with a JSON form of its own, such as a timestamp.
func appendOther(dst []byte, m protoreflect.Message) ([]byte, error) {
	raw, err := protojson.Marshal(m.Interface())
	return append(dst, raw...), err
}

func appendField(dst []byte, field protoreflect.FieldDescriptor, v protoreflect.Value) (_ []byte, err error) {
	switch {
	case field.IsMap():
		return appendMap(dst, field, v.Map())
	case !field.IsList():
		return appendScalar(dst, field, v)
	}
	list := v.List()
	dst = append(dst, '[')
	for i := range list.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendScalar(dst, field, list.Get(i)); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendMap appends a map whose keys are strings, sorted, or whose order does not matter.
func appendMap(dst []byte, field protoreflect.FieldDescriptor, m protoreflect.Map) (_ []byte, err error) {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = AppendString(dst, key.String()); err != nil {
			return nil, err
		}
		if dst, err = appendScalar(append(dst, ':'), field.MapValue(), m.Get(key)); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendScalar appends one value of a field.
func appendScalar(dst []byte, field protoreflect.FieldDescriptor, v protoreflect.Value) ([]byte, error) {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return appendMessage(dst, v.Message())
	case protoreflect.StringKind:
		return AppendString(dst, v.String())
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, v.Bool()), nil
	case protoreflect.FloatKind:
		return appendFloat(dst, v.Float(), 32), nil
	case protoreflect.DoubleKind:
		return appendFloat(dst, v.Float(), 64), nil
	case protoreflect.BytesKind:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes())
		return append(dst, '"'), nil
	case protoreflect.EnumKind:
		if known := field.Enum().Values().ByNumber(v.Enum()); known != nil {
			return append(append(append(dst, '"'), known.Name()...), '"'), nil
		}
		return strconv.AppendInt(dst, int64(v.Enum()), 10), nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return append(strconv.AppendUint(append(dst, '"'), v.Uint(), 10), '"'), nil
	default: // the signed numbers of 64 bits
		return append(strconv.AppendInt(append(dst, '"'), v.Int(), 10), '"'), nil
	}
}

func appendStruct(dst []byte, s *structpb.Struct) (_ []byte, err error) {
	const usual = 16
	var space [usual]string
	keys := slices.AppendSeq(space[:0], maps.Keys(s.GetFields()))
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = AppendString(dst, key); err != nil {
			return nil, err
		}
		if dst, err = appendAny(append(dst, ':'), s.GetFields()[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendValues(dst []byte, list *structpb.ListValue) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, v := range list.GetValues() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendAny(dst, v); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

var (
	errNoValue   = errors.New("a google.protobuf.Value has no value")
	errNotFinite = errors.New("a google.protobuf.Value has a number that is not finite")
	errNotUTF8   = errors.New("a text is not valid UTF-8")
)

func appendAny(dst []byte, v *structpb.Value) ([]byte, error) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return AppendString(dst, kind.StringValue)
	case *structpb.Value_NumberValue:
		if math.IsNaN(kind.NumberValue) || math.IsInf(kind.NumberValue, 0) {
			return nil, errNotFinite
		}
		return appendFloat(dst, kind.NumberValue, 64), nil
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(dst, kind.BoolValue), nil
	case *structpb.Value_NullValue:
		return append(dst, "null"...), nil
	case *structpb.Value_StructValue:
		return appendStruct(dst, kind.StructValue)
	case *structpb.Value_ListValue:
		return appendValues(dst, kind.ListValue)
	}
	return nil, errNoValue
}

// appendFloat appends a number in the form of ECMAScript, as protojson does. Numbers that
// are not finite become strings.
func appendFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(dst, `"-Infinity"`...)
	}
	const least, most = 1e-6, 1e21 // from these on exponents are used
	format, size := byte('f'), math.Abs(x)
	if size != 0 && (bits == 64 && (size < least || size >= most) || bits == 32 && (float32(size) < least || float32(size) >= most)) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, x, format, -1, bits)
	if n := len(dst); format == 'e' && n >= 4 && string(dst[n-4:n-1]) == "e-0" { // e-09 becomes e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// AppendString appends a text as a JSON string. Errors: for text that is not UTF-8.
func AppendString(dst []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, errNotUTF8
	}
	dst = append(dst, '"')
	plain := 0 // begin of what needs no escapes
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[plain:i]...)
		plain = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, text[plain:]...), '"'), nil
}
