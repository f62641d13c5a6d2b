package chunk

import (
	"errors"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// fuzzStrategy checks the properties of a strategy with texts, sizes and option sets
// from the fuzzer.
func fuzzStrategy(f *testing.F, strategy Strategy) {
	f.Helper()
	f.Add("", uint16(1), uint16(0), byte(0))
	f.Add("One. Two!\n\nThree? Four.", uint16(8), uint16(3), byte(1))
	f.Add("# A\n\ntext\n```\n# no heading\n```\n## B\n---\nend", uint16(12), uint16(5), byte(0))
	f.Add("👩🏽‍🔧🇯🇵🇧🇷e\u0301 日本語の文。次", uint16(5), uint16(4), byte(3))
	f.Add(strings.Repeat("\n", 50)+"x"+strings.Repeat(" ", 50), uint16(10), uint16(9), byte(2))
	sets := optionSets[strategy]
	f.Fuzz(func(t *testing.T, text string, maxSize, overlap uint16, set byte) {
		if len(text) > 4000 {
			return
		}
		size := 1 + int(maxSize)%500
		splitOnce(t, strategy, sets[int(set)%len(sets)], text, size, int(overlap)%size)
	})
}

func FuzzRecursive(f *testing.F)        { fuzzStrategy(f, Recursive) }
func FuzzCharacter(f *testing.F)        { fuzzStrategy(f, Character) }
func FuzzToken(f *testing.F)            { fuzzStrategy(f, Token) }
func FuzzMarkdown(f *testing.F)         { fuzzStrategy(f, Markdown) }
func FuzzLaTeX(f *testing.F)            { fuzzStrategy(f, LaTeX) }
func FuzzSentence(f *testing.F)         { fuzzStrategy(f, Sentence) }
func FuzzSemanticMarkdown(f *testing.F) { fuzzStrategy(f, SemanticMarkdown) }

// FuzzSeparators splits by regular expressions and literals from the fuzzer.
func FuzzSeparators(f *testing.F) {
	f.Add(`\s+`, "a b  c\nd", true, uint16(3))
	f.Add(`(a*b)?c|a`, "aaaaaaaab", true, uint16(2))
	f.Add(`\b`, "one two", true, uint16(2))
	f.Add("||", "a||b||||c", false, uint16(2))
	f.Fuzz(func(t *testing.T, separator, text string, regex bool, maxSize uint16) {
		if len(text) > 4000 {
			return
		}
		set := map[string]any{"separators": []any{separator}, "isSeparatorRegex": regex}
		splitOnce(t, Recursive, set, text, 2+int(maxSize)%500, 1)
		set = map[string]any{"separator": separator, "isSeparatorRegex": regex, "separatorPosition": "start"}
		splitOnce(t, Character, set, text, 2+int(maxSize)%500, 1)
	})
}

// FuzzSettings sets an option to any value and checks that an error names the option.
func FuzzSettings(f *testing.F) {
	for _, name := range append(commonOptions, "separators", "headers", "sentenceEnders", "joinThreshold", "language", "modelName") {
		f.Add("recursive", name, "x", 1.5, byte(0))
	}
	f.Fuzz(func(t *testing.T, strategy, name, text string, number float64, kind byte) {
		values := []any{nil, text, number, true, []any{text, text}, []any{[]any{text, name}}, map[string]any{"marker": text}, []any{map[string]any{"marker": text, "key": name}}}
		o, err := parseOptions(map[string]any{"strategy": strategy, name: values[int(kind)%len(values)]})
		if err == nil {
			if _, err := Split(t.Context(), "Some text.\n\nMore of it.", o); err != nil && fault.KindOf(err) != fault.Invalid {
				t.Errorf("Split: %v", err)
			}
			return
		}
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Invalid || len(e.Violations) == 0 {
			t.Errorf("error %v does not name an option", err)
		}
	})
}
