package query

import (
	"fmt"
	"strings"
	"testing"
)

func TestDescribeFields(t *testing.T) {
	t.Parallel()
	chunk := func(metadata map[string]any) sampledChunk { return sampledChunk{metadata: metadata} }
	var varied, many []sampledChunk
	for i := range 50 {
		varied = append(varied, chunk(map[string]any{"year": float64(1990 + i), "id": fmt.Sprint("n", i), "position": map[string]any{"line": float64(i)}}))
		many = append(many, chunk(map[string]any{fmt.Sprintf("field%02d", i): strings.Repeat("v", 30)}))
	}
	for name, tc := range map[string]struct {
		chunks []sampledChunk
		want   string
	}{
		"nothing": {},
		"frequent values first": {[]sampledChunk{
			chunk(map[string]any{"kind": "guide", "tags": []any{"a", "b"}, "draft": false}), chunk(map[string]any{"kind": "news", "tags": []any{"b"}}), chunk(map[string]any{"kind": "news"}),
		}, `kind ("news", "guide"); tags (list of "b", "a"); draft (false)`},
		"nested and empty": {[]sampledChunk{chunk(map[string]any{"author": map[string]any{"name": "Ada"}, "none": nil, "text": "x"})}, `author.name ("Ada")`},
		"ranges":           {varied, `id ("n0", "n1", "n10"); year (1990 to 2039)`},
		"times and names with dots": {[]sampledChunk{
			chunk(map[string]any{"when": "2024-03-01", "dc.title": "x"}), chunk(map[string]any{"when": "2024-03-01T05:00:00+06:00"}),
			chunk(map[string]any{"when": "2023-01-01"}), chunk(map[string]any{"when": "2024-01-01T00:00:00Z"}),
		}, `when (times 2023-01-01 to 2024-03-01); dc\.title ("x")`},
		"no long or unprintable texts": {[]sampledChunk{chunk(map[string]any{"a": strings.Repeat("x", 41), "b": "line\nbreak", "c\n": 1.0, "d": map[string]any{"e": []any{"f"}}})},
			`a; b; d.e (list of "f")`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := describeFields(summarize(tc.chunks)); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	if got := describeFields(summarize(many)); len(got) > maxFieldsBytes || strings.Count(got, ";") > maxFields {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// BenchmarkFields names the fields of one sample again and again, as callers that poll DescribeIndex have it.
func BenchmarkFields(b *testing.B) {
	s := &sample{}
	for n := range sampleChunks {
		s.chunks = append(s.chunks, sampledChunk{metadata: map[string]any{
			"source": fmt.Sprintf("s%d", n%10), "year": float64(1990 + n%40), "published": fmt.Sprintf("2024-01-%02dT10:00:00Z", 1+n%28), "tags": []any{"a", "b", "c"},
			"author": map[string]any{"name": fmt.Sprintf("Author %d", n)}, "path": fmt.Sprintf("docs/chapter/%d.md", n), "draft": n%2 == 0, "team": "search",
		}})
	}
	for b.Loop() {
		if len(s.fields()) != 8 {
			b.Fatal(len(s.fields()))
		}
	}
}
