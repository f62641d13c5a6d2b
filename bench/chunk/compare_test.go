package chunk

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/textsplitter"

	ragd "github.com/ragdhq/ragd/internal/chunk"
)

// BenchmarkCompare runs both splitters in turn, so that a change of the
// machine's speed hits both, and reports the rate of each and their ratio.
func BenchmarkCompare(b *testing.B) {
	for _, c := range []struct {
		name, input string
		ours        ragd.Settings
		theirs      textsplitter.TextSplitter
	}{
		{
			"recursive", "prose-large.txt",
			ragd.Settings{MaxSize: new(1000), Overlap: new(100)},
			textsplitter.NewRecursiveCharacter(textsplitter.WithChunkSize(1000), textsplitter.WithChunkOverlap(100)),
		},
		{
			"recursive words", "prose-large.txt",
			ragd.Settings{MaxSize: new(200), Overlap: new(40)},
			textsplitter.NewRecursiveCharacter(textsplitter.WithChunkSize(200), textsplitter.WithChunkOverlap(40)),
		},
		{
			"markdown", "guide.md",
			ragd.Settings{Strategy: ragd.Markdown, MaxSize: new(1000), Overlap: new(100)},
			textsplitter.NewMarkdownTextSplitter(textsplitter.WithChunkSize(1000), textsplitter.WithChunkOverlap(100)),
		},
	} {
		for _, size := range []struct {
			name  string
			bytes int
		}{{"10kB", 10_000}, {"1MB", 1_000_000}} {
			b.Run(c.name+"/"+size.name, func(b *testing.B) {
				text := sample(b, c.input, size.bytes)
				opts, err := c.ours.Options()
				if err != nil {
					b.Fatal(err)
				}
				var ours, theirs time.Duration
				for b.Loop() {
					start := time.Now()
					if _, err := ragd.Split(text, opts); err != nil {
						b.Fatal(err)
					}
					between := time.Now()
					if _, err := c.theirs.SplitText(text); err != nil {
						b.Fatal(err)
					}
					ours += between.Sub(start)
					theirs += time.Since(between)
				}
				megabytes := float64(len(text)) * float64(b.N) / 1e6
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(megabytes/ours.Seconds(), "ragd-MB/s")
				b.ReportMetric(megabytes/theirs.Seconds(), "langchaingo-MB/s")
				b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
			})
		}
	}
}

// sample returns size bytes of one of the texts of the reference cases.
func sample(b *testing.B, input string, size int) string {
	b.Helper()
	data, err := os.ReadFile("../../internal/chunk/testdata/golden/inputs/" + input)
	if err != nil {
		b.Fatal(err)
	}
	return strings.Repeat(string(data)+"\n\n", size/len(data)+1)[:size]
}
