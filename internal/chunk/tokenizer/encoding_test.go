package tokenizer

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// tokensOf returns the tokens of a text.
func tokensOf(encoding, text string) []string {
	var tokens []string
	start := 0
	Load(encoding).each(text, 0, len(text), func(end int) bool {
		tokens = append(tokens, text[start:end])
		start = end
		return true
	})
	return tokens
}

func TestTokensAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/tokens/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []map[string]json.RawMessage
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		var text string
		if err := json.Unmarshal(c["text"], &text); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"cl100k_base", "o200k_base", "p50k_base", "r50k_base"} {
			var want, got []uint32
			if err := json.Unmarshal(c[name], &want); err != nil {
				t.Fatal(err)
			}
			for _, token := range tokensOf(name, text) {
				got = append(got, Load(name).ranks[token])
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s of %q: %q (-want +got):\n%s", name, text, tokensOf(name, text), diff)
			}
		}
	}
}

func TestAHugeWordIsEncodedWhole(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("語a", 10_000)
	end := 0
	Load(Default).each(text, 0, len(text), func(to int) bool {
		if to <= end {
			t.Fatalf("token from %d to %d", end, to)
		}
		end = to
		return true
	})
	if end != len(text) {
		t.Errorf("tokens end at %d of %d", end, len(text))
	}
}

// preTokenExpressions has the defining expressions of the encodings in RE2 syntax, with
// white space spelled out. naiveTokens does the look-ahead (?!\S).
var preTokenExpressions = func() map[string]*regexp.Regexp {
	gpt2 := `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^S\p{L}\p{N}]+|(?P<blank>[S]+)`
	sources := map[string]string{
		"r50k_base":   gpt2,
		"p50k_base":   gpt2,
		"cl100k_base": `'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^S\p{L}\p{N}]+[\r\n]*|[S]*[\r\n]+|(?P<blank>[S]+)`,
		"o200k_base": `[^\r\n\p{L}\p{N}]?[U]*[L]+(C)?|[^\r\n\p{L}\p{N}]?[U]+[L]*(C)?|` +
			`\p{N}{1,3}| ?[^S\p{L}\p{N}]+[\r\n/]*|[S]*[\r\n]+|(?P<blank>[S]+)`,
	}
	sets := strings.NewReplacer(
		"[S]", `[\t-\r \x{85}\p{Z}]`, "^S", `^\t-\r \x{85}\p{Z}`, "(C)", `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`,
		"[U]", `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, "[L]", `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`,
	)
	out := map[string]*regexp.Regexp{}
	for name, source := range sources {
		out[name] = regexp.MustCompile("^(?:" + sets.Replace(source) + ")")
	}
	return out
}()

// naiveTokens encodes as defined: it finds pre-tokens by the expression and merges the
// pair of the lowest rank in each until there is none.
func naiveTokens(name, text string) []string {
	var tokens []string
	e := Load(name)
	for text != "" {
		m := preTokenExpressions[name].FindStringSubmatchIndex(text)
		end := m[1]
		if m[2] >= 0 && end < len(text) { // the last blank belongs to the word after it
			if _, n := utf8.DecodeLastRuneInString(text[:end]); n < end {
				end -= n
			}
		}
		var parts []string
		for i := range end {
			parts = append(parts, text[i:i+1])
		}
		if _, ok := e.ranks[text[:end]]; ok {
			parts = []string{text[:end]}
		}
		for {
			best, at := uint32(noRank), 0
			for i := range len(parts) - 1 {
				if rank, ok := e.ranks[parts[i]+parts[i+1]]; ok && rank < best {
					best, at = rank, i
				}
			}
			if best == noRank {
				break
			}
			parts[at] += parts[at+1]
			parts = slices.Delete(parts, at+1, at+2)
		}
		tokens = append(tokens, parts...)
		text = text[end:]
	}
	return tokens
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		"", "Hello, world!", "it's I'LL we've 'tis '", "  two  spaces \n\n\t tab\r\n", "1234567 ½ ٣٤", "über Ćevapi ǅ ʰx",
		"東京タワーは高い。", "👩🏽‍🔧 e\u0301\u0301A", "HTTPServer's fooBar/baz//\n", "\u0301ab \u0301 ", "a\u00a0b\u2003\u2003c\u0085d",
		strings.Repeat("ab", 80), strings.Repeat("=", 100), "文A文a文AA'sB", "\n\t\n`",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 500 {
			return
		}
		for name := range preTokenExpressions {
			if diff := cmp.Diff(naiveTokens(name, text), tokensOf(name, text)); diff != "" {
				t.Errorf("%s of %q (-want +got):\n%s", name, text, diff)
			}
		}
	})
}
