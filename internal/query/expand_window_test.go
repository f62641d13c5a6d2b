package query

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAround(t *testing.T) {
	t.Parallel()
	got := around([]chunkAt{{"x", 7}, {"y", 0}, {"x", 1}, {"x", 4}, {"x", 20}}, 1)
	want := []window{{"x", 0, 8}, {"x", 19, 21}, {"y", 0, 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(window{})); diff != "" {
		t.Error(diff)
	}
}

func TestChooseWindows(t *testing.T) {
	t.Parallel()
	// A document of an introduction of one chunk, a long section of six with a hidden chunk before the
	// last two, and a short section of two; and a document whose only section is short.
	outline := []outlinedChunk{
		{"x", 0, 10, "[]"},
		{"x", 1, 30, `["Fees"]`}, {"x", 2, 30, `["Fees"]`}, {"x", 3, 30, `["Fees"]`}, {"x", 5, 30, `["Fees"]`}, {"x", 6, 30, `["Fees"]`},
		{"x", 7, 20, `["Tides"]`}, {"x", 8, 20, `["Tides"]`},
		{"y", 0, 5, `["Tides"]`},
	}
	const short, most = 50, 95
	for _, tc := range []struct {
		name string
		hits []chunkAt
		most int
		want []window
	}{
		{"one hit in a short section", []chunkAt{{"x", 8}}, most, []window{{"x", 7, 8}}},
		{"one hit in a long section", []chunkAt{{"x", 2}}, most, []window{{"x", 2, 2}}},
		{"two hits in a long section", []chunkAt{{"x", 3}, {"x", 1}}, most, []window{{"x", 1, 3}}},
		{"hits on both sides of a hidden chunk", []chunkAt{{"x", 3}, {"x", 6}}, most, []window{{"x", 3, 3}, {"x", 6, 6}}},
		{"two hits in a section over the limit", []chunkAt{{"x", 1}, {"x", 3}}, 65, []window{{"x", 1, 2}, {"x", 3, 3}}},
		{"a chunk over the limit", []chunkAt{{"x", 7}}, 15, []window{{"x", 7, 7}}},
		{"sections with the same headings in two documents", []chunkAt{{"y", 0}, {"x", 7}}, most, []window{{"y", 0, 0}, {"x", 7, 8}}},
		{"a chunk that may not be shown", []chunkAt{{"x", 4}}, most, nil},
		{"no hits", nil, most, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := chooseWindows(outline, tc.hits, short, tc.most)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(window{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
