//go:build !race

package chunk

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// TestHugeTextsTakeLinearTimeAndMemory splits texts that have no borders or only
// borders. Quadratic time anywhere would make the test run for hours. Memory in addition to the text must stay under
// six times its size plus a constant 128 MB.
func TestHugeTextsTakeLinearTimeAndMemory(t *testing.T) {
	size := hugeSize()
	tokenizer.Load(tokenizer.Default) // build its tables before memory is measured
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	for _, shape := range []struct{ name, unit string }{
		{"one word", "a"},
		{"one wide word", "語"},
		{"one cluster", "\u0301"},
		{"newlines", "\n"},
		{"unclosed fences", "```\n"},
		{"full stops", "."},
		{"headings", "# a\n"},
		{"words", "ab "},
		{"open braces", `\a{`},
		{"open sections", "\\section{\n"},
	} {
		text := strings.Repeat(shape.unit, size/len(shape.unit))
		for _, strategy := range []Strategy{Recursive, Character, Markdown, LaTeX, Sentence, Token, SemanticMarkdown} {
			t.Run(shape.name+"/"+string(strategy), func(t *testing.T) {
				splitHuge(t, text, map[string]any{"strategy": string(strategy), "maxSize": 1000}, 6)
			})
		}
	}
}

// hugeSize returns the size of huge texts in bytes: 256 KiB, or 100 MiB if RAGD_TEST_HUGE is set,
// which takes minutes.
func hugeSize() int {
	if os.Getenv("RAGD_TEST_HUGE") != "" {
		return 100 << 20
	}
	return 256 << 10
}

// splitHuge splits a text and checks its speed and that it takes at most
// times*len(text) bytes of memory plus 128 MB. An Invalid error, such as for too many
// chunks, is accepted.
func splitHuge(t *testing.T, text string, raw map[string]any, times int) {
	t.Helper()
	leastRate := 0.002 // tells minutes from seconds, however busy the machine is
	if hugeSize() > 2<<20 {
		leastRate = 0.5
	}
	opts, err := parseOptions(raw)
	if err != nil {
		t.Fatal(err)
	}
	peak := watchMemory()
	start := time.Now()
	chunks, err := Split(t.Context(), text, opts)
	elapsed, used := time.Since(start), peak()
	if err != nil && fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	rate := float64(len(text)) / elapsed.Seconds() / 1e6
	t.Logf("%d chunks, %.1f MB/s, %.2f bytes of memory for each of the text, error %v", len(chunks), rate, float64(used)/float64(len(text)), err)
	if rate < leastRate {
		t.Errorf("took %v for %d bytes", elapsed, len(text))
	}
	if used > times*len(text)+128<<20 {
		t.Errorf("used %d bytes for a text of %d", used, len(text))
	}
}

// watchMemory starts to watch the heap. The returned function stops that and returns
// the largest growth in bytes.
func watchMemory() func() int {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() int {
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	before, most := heap(), 0
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				most = max(most, heap()-before)
			}
		}
	}()
	return func() int {
		close(stop)
		<-done
		return max(most, heap()-before)
	}
}
