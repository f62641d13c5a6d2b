package rpc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Each field of the message converts to a setting and back to the same value.
func TestChunkingSurvivesConversion(t *testing.T) {
	t.Parallel()
	sent := &ragdv1.Chunking{
		Strategy: "s", MaxSize: new(int32(1)), Size: new(int32(2)), MinSize: new(int32(3)), Overlap: new(int32(0)), TargetSize: new(int32(4)),
		Separators: []string{"a", ""}, Separator: new(""), IsSeparatorRegex: new(false), SeparatorPosition: new("end"),
		KeepSeparator: structpb.NewBoolValue(true), StripWhitespace: new(false), AddStartIndex: new(true), IncludeHidden: new(true), Language: new("go"),
		EncodingName: new("e"), ModelName: new("m"), Headers: []*ragdv1.ChunkingHeader{{Marker: "#", Key: "k"}},
		Sections: []*ragdv1.ChunkingSection{{Path: "p", Key: "k"}}, StripHeaders: new(false), ReturnEachLine: new(true), EnsureAscii: new(false),
		ConvertLists: new(true), JoinThreshold: new(int32(5)), SentenceEnders: []string{"."}, FallbackToWords: new(false), FallbackToCharacters: new(false),
		AllowedSpecial:    structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("<|endoftext|>")}}),
		DisallowedSpecial: structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("all")}}),
	}
	fields := sent.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if !sent.ProtoReflect().Has(fields.Get(i)) {
			t.Fatalf("the test leaves out %s", fields.Get(i).Name())
		}
	}
	settings, err := chunkingSettings(sent)
	if err != nil {
		t.Fatal(err)
	}
	back, err := chunkingMessage(settings)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, back, protocmp.Transform()); diff != "" {
		t.Errorf("(-sent +back):\n%s", diff)
	}
}

func TestEmptyChunkingConvertsToNoMessage(t *testing.T) {
	t.Parallel()
	for _, sent := range []*ragdv1.Chunking{nil, {}, {Separators: []string{}, KeepSeparator: structpb.NewNullValue()}} {
		settings, err := chunkingSettings(sent)
		if err != nil || !settings.IsZero() {
			t.Errorf("%v became %s, %v", sent, settings, err)
		}
		if back, err := chunkingMessage(settings); err != nil || back != nil {
			t.Errorf("%v came back as %v, %v", sent, back, err)
		}
	}
}
