package graph

import (
	"fmt"
	"slices"
	"testing"
)

func TestSectionHeads(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		texts []string
		want  []int
	}{
		{"nothing", nil, []int{}},
		{"no headings: all are of the document", []string{"a", "b", "c"}, []int{0, 0, 0}},
		{"sections go on until the next", []string{"# A\n\na", "more", "more", "# B\n\nb", "more"}, []int{0, 0, 0, 0, 3}},
		{"sections lie inside of each other", []string{"# A", "## B", "b", "### C", "c", "c", "## D", "d"}, []int{0, 0, 1, 1, 3, 3, 0, 6}},
		{"a level is left out", []string{"intro", "### C", "c", "## B", "b"}, []int{0, 0, 1, 0, 3}},
		{"several headings in a text", []string{"# A\n\na\n\n## B\n\nb", "b", "b\n\n## C", "c", "c"}, []int{0, 0, 0, 2, 2}},
		{"a heading after other text comes too late", []string{"# A", "a\n\n# B", "b"}, []int{0, 0, 1}},
		{"code has no headings", []string{"# A", "```\n# comment\n```", "a"}, []int{0, 0, 0}},
		{"neither has what only looks like one", []string{"# A", "#tag", "a", "    # indented", "a", "####### seven", "#"}, []int{0, 0, 0, 0, 0, 0, 0}},
		{"blank texts", []string{"", "# A", "\n", "a"}, []int{0, 0, 1, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := sectionHeads(tc.texts); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestEdgesOfALongSectionAreBounded(t *testing.T) {
	t.Parallel()
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	chunks := sectionChunks([]Document{{DocumentID: "d", Texts: texts}})
	if len(chunks) != maxSectionEdges || chunks[0] != (sectionChunk{ChunkRef{"d", 2}, 0}) {
		t.Errorf("%d chunks, the first %v", len(chunks), chunks[0])
	}
}
