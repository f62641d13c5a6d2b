package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// shapeFor returns the shape of a message without maxima.
func shapeFor(m proto.Message) *Shape {
	d := m.ProtoReflect().Descriptor()
	return Shapes(nil, d)[d.FullName()]
}

// held returns the bytes of memory that the value returned by make holds.
func held(build func() any) int64 {
	var before, after runtime.MemStats
	collect()
	runtime.ReadMemStats(&before)
	value := build()
	collect()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(value)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// collect frees unused memory, that of pools too.
func collect() {
	runtime.GC()
	runtime.GC()
}

// object returns an object with n members.
func object(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out[fmt.Sprint("key", i)] = float64(i)
	}
	return out
}

func metadata(t *testing.T, n int) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(object(n))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A message takes no more memory than its weight, and its weight is not so much larger
// that ordinary messages would be rejected.
func TestWeightsCoverTheMemoryOfDecodedMessages(t *testing.T) {
	const most = 5 // times the memory
	for name, tc := range map[string]struct {
		message proto.Message
		fill    func(i int) proto.Message // merged n times
		n       int
	}{
		"empty results": {&ragdv1.RerankRequest{}, func(int) proto.Message {
			return &ragdv1.RerankRequest{Results: []*ragdv1.Source{{}}}
		}, 200_000},
		"empty texts": {&ragdv1.EmbedRequest{}, func(int) proto.Message {
			return &ragdv1.EmbedRequest{Texts: []string{""}}
		}, 200_000},
		"documents of a source": {&ragdv1.SyncSourceRequest{}, func(i int) proto.Message {
			return &ragdv1.SyncSourceRequest{Documents: []*ragdv1.SourceDocument{{Uri: fmt.Sprintf("https://docs.example.com/%d.html", i), Fingerprint: "v1"}}}
		}, 100_000},
		"vectors": {&ragdv1.UpsertRequest{}, func(i int) proto.Message {
			return &ragdv1.UpsertRequest{Entries: []*ragdv1.Entry{{Id: fmt.Sprint(i), Values: make([]float32, 384)}}}
		}, 2_000},
		"small metadata": {&ragdv1.UpsertRequest{}, func(i int) proto.Message {
			return &ragdv1.UpsertRequest{Entries: []*ragdv1.Entry{{Id: fmt.Sprint(i), Metadata: metadata(t, 1)}}}
		}, 20_000},
		"large metadata": {&ragdv1.UpsertRequest{}, func(i int) proto.Message {
			return &ragdv1.UpsertRequest{Entries: []*ragdv1.Entry{{Id: fmt.Sprint(i), Metadata: metadata(t, 100)}}}
		}, 1_000},
		"nested filters": {&ragdv1.VectorQueryRequest{}, func(int) proto.Message {
			v, err := structpb.NewValue(map[string]any{"$and": bytesOf(100_000)})
			if err != nil {
				t.Fatal(err)
			}
			return &ragdv1.VectorQueryRequest{Filter: v}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tc.n {
				proto.Merge(tc.message, tc.fill(i))
			}
			shape := shapeFor(tc.message)
			raw, err := proto.Marshal(tc.message)
			if err != nil {
				t.Fatal(err)
			}
			text, err := protojson.Marshal(tc.message)
			if err != nil {
				t.Fatal(err)
			}
			check := func(form string, weight int64, err error, build func() any) {
				took := held(build)
				t.Logf("%s: %d KiB, weight %d KiB", form, took>>10, weight>>10)
				if err != nil || took > weight || weight > most*took {
					t.Errorf("%s: %d KiB, weight %d KiB, %v", form, took>>10, weight>>10, err)
				}
			}
			fresh := func(decode func(m proto.Message) error) func() any {
				return func() any {
					m := tc.message.ProtoReflect().New().Interface()
					if err := decode(m); err != nil {
						t.Error(err)
					}
					return m
				}
			}
			weight, err := shape.WeighProto(raw)
			check("protobuf", weight, err, fresh(func(m proto.Message) error { return proto.Unmarshal(raw, m) }))
			weight, err = shape.WeighJSON(text)
			check("JSON", weight, err, fresh(func(m proto.Message) error { return protojson.Unmarshal(text, m) }))
			check("untyped JSON", WeighJSON(text), nil, func() any {
				decoder := json.NewDecoder(bytes.NewReader(text))
				decoder.UseNumber()
				var v any
				if err := decoder.Decode(&v); err != nil {
					t.Error(err)
				}
				return v
			})
			runtime.KeepAlive(raw)
			runtime.KeepAlive(text)
		})
	}
}

// bytesOf returns a list of n empty objects.
func bytesOf(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = map[string]any{}
	}
	return out
}

func TestListsWithTooManyEntries(t *testing.T) {
	t.Parallel()
	shape := Shapes(map[protoreflect.FullName]int{
		"ragd.v1.UpsertRequest.entries": 3, "ragd.v1.Entry.values": 2,
		"ragd.v1.Chunking.separators": 2,
	}, (&ragdv1.UpsertRequest{}).ProtoReflect().Descriptor(), (&ragdv1.ChunkTextRequest{}).ProtoReflect().Descriptor())
	upsert, chunk := shape["ragd.v1.UpsertRequest"], shape["ragd.v1.ChunkTextRequest"]
	entries := func(n int) *ragdv1.UpsertRequest {
		req := &ragdv1.UpsertRequest{}
		for range n {
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: "a"})
		}
		return req
	}
	separators := func(n int) *ragdv1.ChunkTextRequest {
		return &ragdv1.ChunkTextRequest{Chunking: &ragdv1.Chunking{Separators: make([]string, n)}}
	}
	for _, tc := range []struct {
		message proto.Message
		shape   *Shape
		field   string
	}{
		{entries(3), upsert, ""},
		{entries(4), upsert, "entries"},
		{separators(2), chunk, ""},
		{separators(3), chunk, "chunking.separators"},
	} {
		raw, err := proto.Marshal(tc.message)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tc.shape.WeighProto(raw)
		wantField(t, "protobuf", err, tc.field)
		text, err := protojson.Marshal(tc.message)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tc.shape.WeighJSON(text)
		wantField(t, "JSON", err, tc.field)
		_, err = tc.shape.WeighJSON(bytes.ReplaceAll(text, []byte("s"), []byte(`\u0073`))) // other spellings of the names
		wantField(t, "escaped JSON", err, tc.field)
	}
}

func wantField(t *testing.T, what string, err error, field string) {
	t.Helper()
	if (err == nil) != (field == "") || err != nil && (fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fault.Public(err), field+": must have at most")) {
		t.Errorf("%s: %v, want an error about %q", what, err, field)
	}
}

// Packed lists, and values of another type than their field's, are weighed.
func TestOddEncodings(t *testing.T) {
	t.Parallel()
	shape := shapeFor(&ragdv1.VectorQueryRequest{})
	const n = 1000
	unknown := protowire.AppendTag(nil, 2, protowire.BytesType) // query_vector
	unknown = protowire.AppendBytes(unknown, make([]byte, 4*n))
	if weight, err := shape.WeighProto(unknown); err != nil || weight < 4*n {
		t.Errorf("a packed list: %d, %v", weight, err)
	}
	wrong := protowire.AppendTag(nil, 1, protowire.VarintType) // query_text
	wrong = bytes.Repeat(protowire.AppendVarint(wrong, 1), n)
	if weight, err := shape.WeighProto(wrong); err != nil || weight < int64(len(wrong)) {
		t.Errorf("numbers for a text: %d, %v", weight, err)
	}
	deep := strings.Repeat(`{"filter":[`, 100_000)
	if weight := WeighJSON([]byte(deep)); weight == 0 {
		t.Error("a deep text weighs nothing")
	}
}

// The scanner never fails or loops on malformed messages, and what a decoder accepts is no
// heavier than its weight.
func FuzzWeigh(f *testing.F) {
	f.Add([]byte(`{"results":[{},{"id":"a"}],"queryText":"\\\"x"}`))
	f.Add([]byte("\x12\x00\x12\x02\x0a\x00"))
	shape := shapeFor(&ragdv1.RerankRequest{})
	f.Fuzz(func(t *testing.T, data []byte) {
		inProto, err := shape.WeighProto(data)
		if err != nil || inProto < 0 {
			t.Errorf("protobuf: %d, %v", inProto, err)
		}
		weight, err := shape.WeighJSON(data)
		if err != nil || weight < 0 {
			t.Errorf("JSON: %d, %v", weight, err)
		}
		var m ragdv1.RerankRequest
		if protojson.Unmarshal(data, &m) == nil {
			if least := int64(len(m.Results)) * 64; weight < least {
				t.Errorf("%d results weigh %d", len(m.Results), weight)
			}
		}
	})
}
