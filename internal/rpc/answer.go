package rpc

import (
	"errors"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// appendMessage writes a message in its binary form. The library goes through the
// metadata of results by reflection, twice, which took more time than all the rest
// of an answer: that we write ourselves.
func appendMessage(dst []byte, m proto.Message) ([]byte, error) {
	switch m := m.(type) {
	case *ragdv1.QueryResponse:
		return appendAnswer(dst, m, "results", &m.Results, func(r *ragdv1.QueryResult) **structpb.Struct { return &r.Metadata })
	case *ragdv1.VectorQueryResponse:
		return appendAnswer(dst, m, "sources", &m.Sources, metadataOf)
	case *ragdv1.GraphRagResponse:
		return appendAnswer(dst, m, "sources", &m.Sources, metadataOf)
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, m)
}

func metadataOf(s *ragdv1.Source) **structpb.Struct { return &s.Metadata }

// appendAnswer writes a message, its list last, and of each in the list the metadata
// last: readers take fields in any order. What is written by ourselves is taken out
// while the library writes the rest.
func appendAnswer[M proto.Message](dst []byte, m proto.Message, field protoreflect.Name, list *[]M, metadata func(M) **structpb.Struct) ([]byte, error) {
	all := *list
	*list = nil
	defer func() { *list = all }()
	dst, err := proto.MarshalOptions{}.MarshalAppend(dst, m)
	if err != nil {
		return nil, err
	}
	number := m.ProtoReflect().Descriptor().Fields().ByName(field).Number()
	for _, one := range all {
		dst = protowire.AppendTag(dst, number, protowire.BytesType)
		start := len(dst)
		if dst, err = appendResult(dst, one, metadata(one)); err != nil {
			return nil, err
		}
		dst = withLength(dst, start)
	}
	return dst, nil
}

func appendResult(dst []byte, m proto.Message, metadata **structpb.Struct) ([]byte, error) {
	object := *metadata
	*metadata = nil
	defer func() { *metadata = object }()
	dst, err := proto.MarshalOptions{}.MarshalAppend(dst, m)
	if err != nil || object == nil {
		return dst, err
	}
	number := m.ProtoReflect().Descriptor().Fields().ByName("metadata").Number()
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	start := len(dst)
	if dst, err = appendStruct(dst, object); err != nil {
		return nil, err
	}
	return withLength(dst, start), nil
}

// withLength puts the length of what begins at start before it.
func withLength(dst []byte, start int) []byte {
	length := uint64(len(dst) - start)
	width := protowire.SizeVarint(length)
	dst = append(dst, make([]byte, width)...)
	copy(dst[start+width:], dst[start:])
	protowire.AppendVarint(dst[:start], length)
	return dst
}

// Field numbers of google/protobuf/struct.proto.
const (
	structFields = 1
	mapKey       = 1
	mapValue     = 2
	valueNull    = 1
	valueNumber  = 2
	valueString  = 3
	valueBool    = 4
	valueStruct  = 5
	valueList    = 6
	listValues   = 1
)

var errNotUTF8 = errors.New("metadata holds a string that is not valid UTF-8")

func appendStruct(dst []byte, s *structpb.Struct) (_ []byte, err error) {
	for key, value := range s.GetFields() {
		dst = protowire.AppendTag(dst, structFields, protowire.BytesType)
		start := len(dst)
		if dst, err = appendString(dst, mapKey, key); err != nil {
			return nil, err
		}
		dst = protowire.AppendTag(dst, mapValue, protowire.BytesType)
		if dst, err = appendValue(dst, value); err != nil {
			return nil, err
		}
		dst = withLength(dst, start)
	}
	return dst, nil
}

func appendString(dst []byte, number protowire.Number, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, errNotUTF8
	}
	return protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), text), nil
}

// appendValue writes a value with its length.
func appendValue(dst []byte, v *structpb.Value) (_ []byte, err error) {
	start := len(dst)
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		dst = protowire.AppendVarint(protowire.AppendTag(dst, valueNull, protowire.VarintType), 0)
	case *structpb.Value_NumberValue:
		dst = protowire.AppendFixed64(protowire.AppendTag(dst, valueNumber, protowire.Fixed64Type), math.Float64bits(kind.NumberValue))
	case *structpb.Value_StringValue:
		dst, err = appendString(dst, valueString, kind.StringValue)
	case *structpb.Value_BoolValue:
		dst = protowire.AppendVarint(protowire.AppendTag(dst, valueBool, protowire.VarintType), protowire.EncodeBool(kind.BoolValue))
	case *structpb.Value_StructValue:
		dst = protowire.AppendTag(dst, valueStruct, protowire.BytesType)
		inner := len(dst)
		if dst, err = appendStruct(dst, kind.StructValue); err == nil {
			dst = withLength(dst, inner)
		}
	case *structpb.Value_ListValue:
		dst = protowire.AppendTag(dst, valueList, protowire.BytesType)
		inner := len(dst)
		if dst, err = appendList(dst, kind.ListValue); err == nil {
			dst = withLength(dst, inner)
		}
	}
	if err != nil {
		return nil, err
	}
	return withLength(dst, start), nil
}

func appendList(dst []byte, l *structpb.ListValue) (_ []byte, err error) {
	for _, value := range l.GetValues() {
		dst = protowire.AppendTag(dst, listValues, protowire.BytesType)
		if dst, err = appendValue(dst, value); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
