package chunk_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

func TestQuotedSpansAreChunks(t *testing.T) {
	t.Parallel()
	const text = "𝄞 a song. Its cover. End."
	got := chunk.Quote(text, chunk.Options{AddStartIndex: true}, []textspan.Span{{Start: 5, End: 12}, {Start: 5, End: 6}, {Start: 13, End: 23}})
	want := []chunk.Chunk{
		{Text: "a song.", StartByte: 5, EndByte: 12, Metadata: map[string]any{"startIndex": 3}},
		{Text: "a", StartByte: 5, EndByte: 6, Metadata: map[string]any{"startIndex": 3}},
		{Text: "Its cover.", StartByte: 13, EndByte: 23, Metadata: map[string]any{"startIndex": 11}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
