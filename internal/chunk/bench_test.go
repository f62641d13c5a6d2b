package chunk

import (
	"os"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// benchText returns size bytes made of one of the golden inputs.
func benchText(b *testing.B, input string, size int) string {
	b.Helper()
	data, err := os.ReadFile("testdata/golden/inputs/" + input)
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(data)+"\n\n", size/len(data)+1)
	return text[:textspan.RuneStart(text, size)]
}

// BenchmarkSplit measures each strategy on a text that suits it. Most cases have chunks
// of 1,000 units (200 tokens) with an overlap of 100 (20).
func BenchmarkSplit(b *testing.B) {
	for _, c := range []struct {
		name, input string
		raw         map[string]any
	}{
		{"recursive", "prose-large.txt", map[string]any{"maxSize": 1000, "overlap": 100}},
		{"recursive-cjk", "cjk-zh.txt", map[string]any{"maxSize": 1000, "overlap": 100}},
		{"recursive-words", "prose-large.txt", map[string]any{"maxSize": 200, "overlap": 40}},
		{"recursive-go", "harbour.go.txt", map[string]any{"maxSize": 1000, "overlap": 100, "language": "go"}},
		{"recursive-regex", "prose-large.txt", map[string]any{"maxSize": 1000, "overlap": 100, "separators": []any{`[.!?]\s+`}, "isSeparatorRegex": true}},
		{"character", "prose-large.txt", map[string]any{"strategy": "character", "maxSize": 1000, "overlap": 100}},
		{"markdown", "guide.md", map[string]any{"strategy": "markdown", "maxSize": 1000, "overlap": 100}},
		{"latex", "paper.tex", map[string]any{"strategy": "latex", "maxSize": 1000, "overlap": 100}},
		{"sentence", "prose-large.txt", map[string]any{"strategy": "sentence", "maxSize": 1000, "overlap": 100}},
		{"semantic-markdown", "guide.md", map[string]any{"strategy": "semantic-markdown"}},
		{"token", "prose-large.txt", map[string]any{"strategy": "token", "maxSize": 200, "overlap": 20}},
		{"token-o200k", "prose-large.txt", map[string]any{"strategy": "token", "maxSize": 200, "overlap": 20, "modelName": "gpt-4o"}},
	} {
		for _, size := range []struct {
			name  string
			bytes int
		}{{"10kB", 10_000}, {"1MB", 1_000_000}, {"50MB", 50_000_000}} {
			b.Run(c.name+"/"+size.name, func(b *testing.B) {
				text := benchText(b, c.input, size.bytes)
				opts, err := parseOptions(c.raw)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Split(b.Context(), text, opts); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
