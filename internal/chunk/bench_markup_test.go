package chunk

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// markupText returns about size bytes of one kind of document: a page or guide
// repeated, or a JSON array of one document repeated.
func markupText(b *testing.B, input string, size int) string {
	b.Helper()
	name, pretty := strings.CutSuffix(input, "?pretty")
	data, err := os.ReadFile("testdata/golden/inputs/" + name)
	if err != nil {
		b.Fatal(err)
	}
	if !strings.HasSuffix(name, ".json") {
		return strings.Repeat(string(data)+"\n\n", max(1, size/len(data)))
	}
	var buf bytes.Buffer
	if pretty {
		err = json.Indent(&buf, data, "", "  ")
	} else {
		err = json.Compact(&buf, data)
	}
	if err != nil {
		b.Fatal(err)
	}
	n := max(1, size/buf.Len())
	return "[" + strings.Repeat(buf.String()+",\n", n-1) + buf.String() + "]"
}

// BenchmarkSplitMarkup measures the strategies that read structure.
func BenchmarkSplitMarkup(b *testing.B) {
	headers := []any{[]any{"#", "h1"}, []any{"##", "h2"}, []any{"###", "h3"}}
	for _, c := range []struct {
		name, input string
		raw         map[string]any
	}{
		{"markdown-headers", "guide.md", map[string]any{"strategy": "markdown", "headers": headers}},
		{"markdown-headers-cut", "guide.md", map[string]any{"strategy": "markdown", "headers": headers, "maxSize": 1000, "overlap": 100}},
		{"html", "page.html", map[string]any{"strategy": "html", "headers": DefaultHTMLHeaders}},
		{"html-cut", "page.html", map[string]any{"strategy": "html", "headers": DefaultHTMLHeaders, "maxSize": 1000, "overlap": 100}},
		{"html-class", "page.html", map[string]any{"strategy": "html", "sections": []any{[]any{"div.lvl0", "part"}}}},
		{"json", "catalog.json", map[string]any{"strategy": "json", "maxSize": 1000}},
		{"json-pretty", "catalog.json?pretty", map[string]any{"strategy": "json", "maxSize": 1000}},
		{"json-deep", "config.json?pretty", map[string]any{"strategy": "json", "maxSize": 1000}},
		{"json-unicode", "catalog-unicode.json", map[string]any{"strategy": "json", "maxSize": 1000, "ensureAscii": false}},
		{"json-ascii", "catalog-unicode.json", map[string]any{"strategy": "json", "maxSize": 1000}},
	} {
		for _, size := range []struct {
			name  string
			bytes int
		}{{"10kB", 10_000}, {"1MB", 1_000_000}, {"50MB", 50_000_000}} {
			b.Run(c.name+"/"+size.name, func(b *testing.B) {
				text := markupText(b, c.input, size.bytes)
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
