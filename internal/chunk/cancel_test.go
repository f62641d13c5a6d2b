package chunk

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// patience is a context that is cancelled after its error was asked for so many times.
type patience struct {
	context.Context
	left, asked int
}

func (p *patience) Err() error {
	p.asked++
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// Every strategy checks its context all along, and ends soon after it.
func TestSplitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	prose := strings.Repeat("# Title\n\nSome words of a sentence that ends. And another one!\n\n<p>text</p>\n", 20_000)
	for name, tc := range map[string]struct {
		text string
		opts Options
	}{
		"recursive":         {prose, Options{Strategy: Recursive, MaxSize: 100}},
		"any character":     {strings.Repeat("é", 1<<20), Options{Strategy: Recursive, MaxSize: 100}},
		"expression":        {strings.Repeat("a", 1<<20), Options{Strategy: Recursive, MaxSize: 100, IsSeparatorRegex: true, Separators: []string{"(a|aa)+c", ""}}},
		"character":         {strings.Repeat("é", 1<<20), Options{Strategy: Character, MaxSize: 100, Separator: "\n\n"}},
		"character pattern": {strings.Repeat("a", 1<<20), Options{Strategy: Character, MaxSize: 100, IsSeparatorRegex: true, Separator: "a{1,50}$"}},
		"token":             {prose, Options{Strategy: Token, MaxSize: 100, EncodingName: "cl100k_base"}},
		"markdown":          {prose, Options{Strategy: Markdown, MaxSize: 100}},
		"markdown headers":  {prose, Options{Strategy: Markdown, Headers: []HeaderKey{{"#", "title"}}}},
		"semantic-markdown": {prose, Options{Strategy: SemanticMarkdown, JoinThreshold: 100, EncodingName: "cl100k_base"}},
		"sentence":          {prose, Options{Strategy: Sentence, MaxSize: 100, TargetSize: 80}},
		"html":              {strings.Repeat("<p>text</p>", 200_000), Options{Strategy: HTML, Headers: DefaultHTMLHeaders}},
		"json":              {"[" + strings.Repeat(`{"key": "value"},`, 100_000) + "0]", Options{Strategy: JSON, MaxSize: 100}},
		"latex":             {strings.Repeat(`\section{a} text `, 100_000), Options{Strategy: LaTeX, MaxSize: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := &patience{Context: t.Context(), left: 1 << 30}
			if _, err := Split(whole, tc.text, tc.opts); err != nil && fault.KindOf(err) != fault.Invalid {
				t.Fatal(err)
			}
			if whole.asked < 10 {
				t.Errorf("the context was checked %d times for %d bytes", whole.asked, len(tc.text))
			}
			short := &patience{Context: t.Context(), left: 3}
			if _, err := Split(short, tc.text, tc.opts); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if short.asked > 5 {
				t.Errorf("went on after the end: %d checks", short.asked)
			}
		})
	}
}

// Whatever the options are, a split takes a bounded number of steps for each byte of the text, and
// the error names the option that makes it take more.
func TestTheWorkOfASplitIsBounded(t *testing.T) {
	t.Parallel()
	letters, prose := strings.Repeat("a", 1<<18), strings.Repeat("Some words of a sentence that ends. ", 1<<18/36)
	for name, tc := range map[string]struct {
		text  string
		opts  Options
		field string // "" if the split succeeds
	}{
		"usual":               {prose, Options{Strategy: Recursive, MaxSize: 1000, Overlap: 200}, ""},
		"usual tokens":        {prose, Options{Strategy: Token, MaxSize: 200, Overlap: 100, EncodingName: "cl100k_base"}, ""},
		"usual expressions":   {prose, Options{Strategy: Recursive, MaxSize: 100, IsSeparatorRegex: true, Separators: []string{`\n\s*\n`, `[.!?]\s+`, ""}}, ""},
		"large windows":       {prose, Options{Strategy: Token, MaxSize: 10_000, Overlap: 9_700, EncodingName: "cl100k_base"}, "overlap"},
		"many windows":        {letters, Options{Strategy: Token, MaxSize: 310, Overlap: 300, EncodingName: "cl100k_base"}, "overlap"},
		"counted sections":    {prose, Options{Strategy: SemanticMarkdown, MaxSize: 310, Overlap: 300, JoinThreshold: 500, EncodingName: "cl100k_base"}, "overlap"},
		"many states":         {letters, Options{Strategy: Recursive, MaxSize: 100, IsSeparatorRegex: true, Separators: []string{"(a|aa){1,400}$", ""}}, "separators"},
		"one long look":       {letters, Options{Strategy: Character, MaxSize: 100, IsSeparatorRegex: true, Separator: "a{1,500}$"}, "separators"},
		"many looks":          {letters, Options{Strategy: Recursive, MaxSize: 10, IsSeparatorRegex: true, Separators: []string{"a*b|a", ""}}, "separators"},
		"several expressions": {letters, Options{Strategy: Recursive, MaxSize: 10, IsSeparatorRegex: true, Separators: []string{"(a+)+b", "a{1,50}$", "(a|aa)+c", "a[^b]*?d", ""}}, "separators"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := &patience{Context: t.Context(), left: 1 << 30}
			_, err := Split(ctx, tc.text, tc.opts)
			if most := stepsFor(len(tc.text), &tc.opts)/(1<<16) + 2; int64(ctx.asked) > most {
				t.Errorf("the work took %d slices, want at most %d", ctx.asked, most)
			}
			var refused *fault.Error
			switch {
			case tc.field == "" && err != nil:
				t.Error(err)
			case tc.field != "" && (!errors.As(err, &refused) || refused.Kind != fault.Invalid || refused.Violations[0].Field != tc.field):
				t.Errorf("error %v, want one that names %s", err, tc.field)
			}
		})
	}
}
