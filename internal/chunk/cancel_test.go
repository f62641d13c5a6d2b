package chunk

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/fault"
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

// However many expressions there are, together they read a bounded number of characters.
func TestExpressionsShareABudget(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 100_000)
	ctx := &patience{Context: t.Context(), left: 1 << 30}
	_, err := Split(ctx, text, Options{
		Strategy: Recursive, MaxSize: 10, IsSeparatorRegex: true,
		Separators: []string{"(a+)+b", "a{1,50}$", "(a|aa)+c", "a[^b]*?d"},
	})
	if fault.KindOf(err) != fault.Invalid && err != nil {
		t.Fatal(err)
	}
	if most := budgetFor(text, 4) * matchSteps / (1 << 16); ctx.asked > 2*most {
		t.Errorf("the work took %d slices, want about %d at most", ctx.asked, most)
	}
}
