package rpc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// metadataOfAll are the objects that the reader is tested with.
func metadataOfAll(t testing.TB) []*structpb.Struct {
	t.Helper()
	var r objectReader
	all := []*structpb.Struct{nil, {Fields: map[string]*structpb.Value{"of no kind": {}}}}
	for _, text := range objects {
		made, err := r.read(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, made)
	}
	return append(all, &structpb.Struct{Fields: map[string]*structpb.Value{"long": structpb.NewStringValue(strings.Repeat("long ", 10_000))}})
}

func TestAnswersAreWrittenWhole(t *testing.T) {
	t.Parallel()
	results, vectors, graph := &ragdv1.QueryResponse{}, &ragdv1.VectorQueryResponse{}, &ragdv1.GraphRagResponse{}
	for _, metadata := range metadataOfAll(t) {
		results.Results = append(results.Results, &ragdv1.QueryResult{Id: "a", Score: 0.5, Metadata: metadata, Vector: []float32{1, 2}, Document: "text"})
		source := &ragdv1.Source{Id: "b", Score: 0.25, Metadata: metadata, Document: "text", Uri: "file", Ordinal: 3}
		vectors.Sources, graph.Sources = append(vectors.Sources, source), append(graph.Sources, proto.CloneOf(source))
	}
	results.Warnings, results.Explain = []string{"careful"}, &ragdv1.Explain{Plan: "exact"}
	vectors.RelevantContext, vectors.Warnings = "[1]\ntext", []string{"careful"}
	graph.RelevantContext, graph.Explain = "[1]\ntext", &ragdv1.GraphExplain{SearchMode: "hybrid"}
	for _, message := range []proto.Message{
		results, vectors, graph, &ragdv1.QueryResponse{}, &ragdv1.QueryResponse{Results: []*ragdv1.QueryResult{{}}}, &ragdv1.UpsertResponse{Ids: []string{"a"}},
	} {
		before := proto.Clone(message)
		raw, err := protoCodec{}.MarshalAppend([]byte("before"), message)
		if err != nil {
			t.Fatal(err)
		}
		rest, found := strings.CutPrefix(string(raw), "before")
		got := message.ProtoReflect().New().Interface()
		if err := proto.Unmarshal([]byte(rest), got); err != nil || !found {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, got, protocmp.Transform()); diff != "" {
			t.Errorf("%T as it is read again:\n%s", message, diff)
		}
		if diff := cmp.Diff(before, message, protocmp.Transform()); diff != "" {
			t.Errorf("%T is changed:\n%s", message, diff)
		}
	}
}

func TestWhatIsNotUTF8IsNotWritten(t *testing.T) {
	t.Parallel()
	for _, fields := range []map[string]*structpb.Value{
		{"\xff": structpb.NewNullValue()},
		{"a": structpb.NewStringValue("\xff")},
		{"a": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("\xff")}})},
		{"a": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"\xff": {}}})},
	} {
		message := &ragdv1.QueryResponse{Results: []*ragdv1.QueryResult{{Metadata: &structpb.Struct{Fields: fields}}}}
		if raw, err := (protoCodec{}).Marshal(message); err == nil {
			t.Errorf("%v is written as %q", fields, raw)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	var r objectReader
	message := &ragdv1.QueryResponse{}
	for range 10 {
		metadata, err := r.read(`{"half": 1, "tenth": 7, "twentieth": 12, "hundredth": 61, "thousandth": 730}`)
		if err != nil {
			b.Fatal(err)
		}
		message.Results = append(message.Results, &ragdv1.QueryResult{Id: "000123", Score: 0.5, Metadata: metadata})
	}
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst, _ = protoCodec{}.MarshalAppend(dst[:0], message)
	}
}
