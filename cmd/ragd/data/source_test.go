package data

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func TestSourcesAreLocatedAsAPersonWould(t *testing.T) {
	t.Parallel()
	const text = "## Fees\n\nnone\n\n### Yachts\n\nten\n\n## Hours\n\nall day"
	at := func(part string) output.Span { return output.Span{Start: strings.Index(text, part), End: len(text)} }
	for _, tc := range []struct {
		name     string
		metadata map[string]any
		passage  output.Span
		widened  bool
		want     string
	}{
		{"lines and headings", map[string]any{"position": map[string]any{"line": 7}, "headings": []any{"Harbour", "Fees"}}, at("none"), false, "line 9, Fees"},
		{"a deeper heading", map[string]any{"position": map[string]any{"line": 7}, "headings": []any{"Harbour", "Fees"}}, at("ten"), false, "line 13, Fees > Yachts"},
		{"a later heading", map[string]any{"position": map[string]any{"line": 7}, "headings": []any{"Harbour", "Fees"}}, at("all day"), false, "line 17, Hours"},
		{"with neighbours", map[string]any{"position": map[string]any{"line": 7}, "headings": []any{"Harbour", "Fees"}}, at("ten"), true, "Fees > Yachts"},
		{"a page", map[string]any{"position": map[string]any{"page": 3, "pageEnd": 4, "section": "Harbour > Fees"}}, at("none"), false, "page 3, Fees"},
		{"a slide", map[string]any{"position": map[string]any{"slide": 2}}, at("none"), false, "slide 2"},
		{"a sheet in an archive", map[string]any{"position": map[string]any{"sheet": "2024", "file": "a.xlsx"}}, at("none"), false, "file a.xlsx, sheet 2024"},
		{"cells of a sheet", map[string]any{"position": map[string]any{"sheet": "Fees", "range": "A2:C9"}}, at("none"), false, "sheet Fees, A2:C9"},
		{"a time", map[string]any{"position": map[string]any{"time": 62.5, "timeEnd": 70}}, at("none"), false, "1m2s"},
		{"other metadata", map[string]any{"position": "here", "headings": 3}, at("none"), false, ""},
		{"nothing", nil, at("none"), false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			metadata, err := structpb.NewStruct(tc.metadata)
			if err != nil {
				t.Fatal(err)
			}
			source := &ragdv1.Source{Title: "Harbour", Document: text, EndByte: uint32(len(text)), Metadata: metadata}
			if got := location(source, tc.passage, !tc.widened); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMatchesAreColoredOnTerminalsOnly(t *testing.T) {
	t.Parallel()
	source := &ragdv1.Source{
		Uri: "a\x1b[2J", Document: "before. The h\u00e4fen\x1b[2J open late. after", Score: 0.5,
		Highlight: &ragdv1.Highlight{
			Passage: &ragdv1.ByteRange{StartByte: 8, EndByte: 33},
			Matches: []*ragdv1.ByteRange{{StartByte: 0, EndByte: 6}, {StartByte: 12, EndByte: 18}, {StartByte: 23, EndByte: 27}, {StartByte: 900, EndByte: 901}},
		},
	}
	for color, want := range map[bool]string{
		false: "1. 0.5000  a\ufffd[2J\n   ... The h\u00e4fen\ufffd[2J open late. ...\n\n",
		true:  "1. 0.5000  \x1b[1ma\ufffd[2J\x1b[0m\n   ... The \x1b[1;31mh\u00e4fen\x1b[0m\ufffd[2J \x1b[1;31mopen\x1b[0m late. ...\n\n",
	} {
		var out bytes.Buffer
		p := &command.Program{Out: output.Printer{Stdout: &out, Stderr: &out, Color: color}}
		if err := printSources(p, sourceList{sources: []*ragdv1.Source{source}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
}
