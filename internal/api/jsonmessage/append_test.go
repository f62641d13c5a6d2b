package jsonmessage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// compact returns a message as protojson writes it, without white space.
func compact(m proto.Message) (string, error) {
	raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = json.Compact(&out, raw)
	return out.String(), err
}

func TestAppendWritesWhatProtojsonWrites(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	messages := 0
	protoregistry.GlobalTypes.RangeMessages(func(kind protoreflect.MessageType) bool {
		if kind.Descriptor().ParentFile().Package() != "ragd.v1" || kind.Descriptor().IsMapEntry() {
			return true
		}
		messages++
		for range 30 {
			m := kind.New()
			fill(random, m, 4)
			compareJSON(t, m.Interface())
		}
		return true
	})
	if messages < 50 {
		t.Errorf("only %d messages were compared", messages)
	}
}

func compareJSON(t *testing.T, m proto.Message) {
	t.Helper()
	want, failure := compact(m)
	got, err := Append([]byte("before "), m)
	if failure != nil || err != nil {
		if (failure == nil) != (err == nil) {
			t.Errorf("%s: %v, protojson: %v", m.ProtoReflect().Descriptor().FullName(), err, failure)
		}
		return
	}
	if string(got) != "before "+want {
		t.Errorf("%s:\n%s, protojson:\n%s", m.ProtoReflect().Descriptor().FullName(), got, want)
	}
}

// fill sets random fields of a message.
func fill(random *rand.Rand, m protoreflect.Message, depth int) {
	switch known := m.Interface().(type) {
	case *structpb.Value:
		proto.Merge(known, randomValue(random, depth))
		return
	case *structpb.ListValue:
		known.Values = append(known.Values, randomValue(random, depth), randomValue(random, depth))
		return
	}
	if m.Descriptor().FullName() == "google.protobuf.Timestamp" {
		m.Set(m.Descriptor().Fields().ByName("seconds"), protoreflect.ValueOfInt64(random.Int64N(1<<32)))
		return
	}
	for i := range m.Descriptor().Fields().Len() {
		field := m.Descriptor().Fields().Get(i)
		if random.IntN(3) == 0 || depth == 0 {
			continue
		}
		switch {
		case field.IsMap():
			for _, key := range []string{"b", "a\n", "ä"} {
				value := m.Mutable(field).Map().NewValue()
				if field.MapValue().Message() == nil {
					value = randomScalar(random, field.MapValue())
				} else {
					fill(random, value.Message(), depth-1)
				}
				m.Mutable(field).Map().Set(protoreflect.ValueOfString(key).MapKey(), value)
			}
		case field.IsList():
			for range random.IntN(4) {
				if field.Message() != nil {
					fill(random, m.Mutable(field).List().AppendMutable().Message(), depth-1)
				} else {
					m.Mutable(field).List().Append(randomScalar(random, field))
				}
			}
		case field.Message() != nil:
			fill(random, m.Mutable(field).Message(), depth-1)
		default:
			m.Set(field, randomScalar(random, field))
		}
	}
}

func randomNumber(random *rand.Rand) float64 {
	some := []float64{0, math.Copysign(0, -1), 1, -1.5, 1e-6, 9.9e-7, 1e-9, 1e-10, 1e20, 1e21, 123456789, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1), math.Inf(-1)}
	if n := random.IntN(3 * len(some)); n < len(some) {
		return some[n]
	}
	return random.NormFloat64()
}

func randomText(random *rand.Rand) string {
	some := []string{"", "plain", "a \"quote\" and \\", "\x00\x1f\b\f\n\r\t\x7f", "<&>\u2028", "Größe 大きさ 🚲", "\xff"}
	return some[random.IntN(3*len(some))%len(some)]
}

func randomScalar(random *rand.Rand, field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(randomText(random))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(randomText(random)))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(random.IntN(2) == 0)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(randomNumber(random)))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(randomNumber(random))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(random.IntN(3)))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(random.Int32() - 1<<30)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(random.Uint32())
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(random.Uint64())
	default:
		return protoreflect.ValueOfInt64(random.Int64() - 1<<62)
	}
}

func randomValue(random *rand.Rand, depth int) *structpb.Value {
	kinds := 6
	if depth <= 0 {
		kinds = 4
	}
	switch random.IntN(kinds) {
	case 0:
		return structpb.NewNumberValue(randomNumber(random))
	case 1:
		return structpb.NewStringValue(randomText(random))
	case 2:
		return structpb.NewBoolValue(true)
	case 3:
		return structpb.NewNullValue()
	case 4:
		fields := map[string]*structpb.Value{}
		for n := range random.IntN(40) {
			fields[fmt.Sprint("k", n)] = randomValue(random, depth-2)
		}
		return structpb.NewStructValue(&structpb.Struct{Fields: fields})
	}
	return structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{randomValue(random, depth-2)}})
}

func TestAppendRejectsAValueWithoutAValue(t *testing.T) {
	t.Parallel()
	compareJSON(t, &structpb.Value{})
	compareJSON(t, &ragdv1.QueryRequest{Filter: &structpb.Value{}})
}

// BenchmarkAppend encodes an answer with ten sources, beside protojson.
func BenchmarkAppend(b *testing.B) {
	res := &ragdv1.VectorQueryResponse{}
	for n := range 10 {
		res.Sources = append(res.Sources, &ragdv1.Source{
			Id: fmt.Sprint(n), Score: 1 / float64(n+2), Document: "A passage of text, which has some words.", Title: "Title",
			Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
				"team": structpb.NewStringValue("alpha"), "year": structpb.NewNumberValue(2024), "draft": structpb.NewBoolValue(false),
				"text": structpb.NewStringValue("A passage of text, which has some words."),
			}},
		})
	}
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Append(nil, res); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (protojson.MarshalOptions{EmitDefaultValues: true}).Marshal(res); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestAppendSetLeavesOutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	source := &ragdv1.Source{Document: "a", Details: &ragdv1.RerankDetails{Semantic: 1}}
	got, err := AppendSet(nil, source, "score", "id")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"","score":0,"document":"a","details":{"semantic":1,"vector":0,"position":0,"estimated":false}}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
