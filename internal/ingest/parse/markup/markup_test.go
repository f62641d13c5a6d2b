package markup

import (
	"runtime"
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

// A text that is eight times as long as another takes eight times its time, or 64 times if the time grows
// with the square of the length. Between these is mostGrowth. Texts that take less than leastTime are too
// quick to tell.
const (
	growth     = 8
	mostGrowth = 24
	leastTime  = 500 * time.Millisecond
)

// A mark that is not closed costs about as much as one that is: patterns that count the bytes of a text cost 10 times as much.
func TestMarksThatAreNotClosedCostLittle(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread() // until the test ends
	const bytes, most, least = 128 << 10, 4, 20 * time.Millisecond
	for name, read := range map[string]func(string) Text{"AsciiDoc": AsciiDoc, "Org": Org, "MediaWiki": MediaWiki, "reStructuredText": RST} {
		spent := func(unit string) time.Duration {
			began := threadTime(t)
			_ = read(strings.Repeat(unit, bytes/len(unit)+1))
			return threadTime(t) - began
		}
		closed := spent("a *b* _c_ `d` [[e]] [[f][g]] ''h'' ") + least
		for _, unit := range []string{"[", "[[", "[[[", "((", "(((", "<<", "<<a", "_a ", "*a ", "#a ", "+a ", "/a ", "=a ", "~a ", "__a ", "`a ", "link:a[", "image:a[", "footnote:[", "[fn:a ", "{a", "{{a"} {
			if took := spent(unit); took > most*closed {
				t.Errorf("%s: %d bytes of %q took %v, of marks that are closed %v", name, bytes, unit, took, closed)
			}
		}
	}
}

// linear fails the test if the time for reading a repeated unit grows faster than the length of the text,
// which is longText bytes.
func linear(t *testing.T, name string, read func(string) Text, units ...string) {
	t.Helper()
	runtime.LockOSThread() // until the test ends
	spent := func(unit string, bytes int) time.Duration {
		began := threadTime(t)
		_ = read(strings.Repeat(unit, bytes/len(unit)+1))
		return threadTime(t) - began
	}
	for _, unit := range units {
		whole := spent(unit, longText)
		if whole < leastTime {
			continue
		}
		if part := spent(unit, longText/growth); whole > mostGrowth*part {
			t.Errorf("%s: %d bytes of %q took %v, an eighth of them %v", name, longText, unit, whole, part)
		}
	}
}
