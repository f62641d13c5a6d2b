package markup

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// valid fails the test unless a text is valid UTF-8 if its source is, and of a bounded length.
func valid(t *testing.T, source string, text Text) {
	t.Helper()
	if utf8.ValidString(source) && (!utf8.ValidString(text.Markdown) || !utf8.ValidString(text.Title)) {
		t.Errorf("the text of %q is not valid UTF-8: %q", source, text.Markdown)
	}
	if len(text.Markdown) > 1000+300*len(source) {
		t.Errorf("of %d bytes %d were made", len(source), len(text.Markdown))
	}
}

// linear fails the test if a text of 32 times the length takes far more than 32 times as long to read.
func linear(t *testing.T, name string, read func(string) Text, unit string) {
	t.Helper()
	const small, times = 4 << 10, 32
	measure := func(size int) time.Duration {
		source := strings.Repeat(unit, size/len(unit)+1)
		best := time.Duration(1 << 62)
		for range 3 {
			began := time.Now()
			_ = read(source)
			best = min(best, time.Since(began))
		}
		return best
	}
	once, long := measure(small), measure(times*small)
	if long > 14*times*once+300*time.Millisecond {
		t.Errorf("%s: %q takes %v for %d bytes, and %v for %d times as many", name, unit, once, small, long, times)
	}
}
