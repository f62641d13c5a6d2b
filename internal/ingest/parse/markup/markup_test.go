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

// patience is many times what a long text takes to read, and less than one takes whose time grows with the
// square of its length.
const patience = 30 * time.Second

// linear fails the test if longText bytes of a repeated unit are not read within patience.
func linear(t *testing.T, name string, read func(string) Text, units ...string) {
	t.Helper()
	for _, unit := range units {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = read(strings.Repeat(unit, longText/len(unit)+1))
		}()
		select {
		case <-done:
		case <-time.After(patience):
			t.Fatalf("%s: %d bytes of %q are not read after %v", name, longText, unit, patience)
		}
	}
}
