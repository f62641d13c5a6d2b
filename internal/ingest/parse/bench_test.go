package parse

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkParse reads the test files. Text files are repeated to about a megabyte, so
// that fixed costs do not dominate the rate.
func BenchmarkParse(b *testing.B) {
	for _, path := range files(b, "files") {
		name := filepath.Base(path)
		content := read(b, path)
		format, err := Detect(Source{Content: content, FileName: name})
		if err != nil {
			b.Fatal(err)
		}
		switch {
		case format == HTML:
			page, end, _ := strings.Cut(string(content), "<h2>")
			content = []byte(page + strings.Repeat("<h2>"+end[:strings.Index(end, "<aside>")], 1<<20/len(end)))
		case format == JSON:
		case format.IsText() && !isSigned(content):
			content = bytes.Repeat(content, 1<<20/len(content))
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(b.Context(), Source{Content: content, FileName: name}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
