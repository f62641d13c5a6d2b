package chunk

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tiktoken-go/tokenizer"
)

// tokensOf returns the tokens of a text.
func tokensOf(encoding, text string) []string {
	var tokens []string
	start := 0
	loadEncoding(encoding).each(text, 0, len(text), func(end int) {
		tokens = append(tokens, text[start:end])
		start = end
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
				got = append(got, loadEncoding(name).ranks[token])
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
	loadEncoding(defaultEncoding).each(text, 0, len(text), func(to int) {
		if to <= end {
			t.Fatalf("token from %d to %d", end, to)
		}
		end = to
	})
	if end != len(text) {
		t.Errorf("tokens end at %d of %d", end, len(text))
	}
}

// FuzzTokens compares our encoder with the codec that the ranks come from.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		"", "Hello, world!", "it's I'LL we've 'tis '", "  two  spaces \n\n\t tab\r\n", "1234567 ½ ٣٤", "über Ćevapi ǅ ʰx",
		"東京タワーは高い。", "👩🏽‍🔧 e\u0301\u0301A", "HTTPServer's fooBar/baz//\n", "\u0301ab \u0301 ", "a\u00a0b\u2003\u2003c\u0085d",
		strings.Repeat("ab", 80), strings.Repeat("=", 100), "文A文a文AA'sB",
	} {
		f.Add(s)
	}
	codecs := map[string]tokenizer.Codec{}
	for _, name := range []string{"cl100k_base", "o200k_base", "p50k_base", "r50k_base"} {
		c, err := tokenizer.Get(tokenizer.Encoding(name))
		if err != nil {
			f.Fatal(err)
		}
		codecs[name] = c
	}
	f.Fuzz(func(t *testing.T, text string) {
		// The codec ends "\n\t\n" after its first line break, other than the
		// expression that defines the encoding.
		text = strings.NewReplacer("\r", "", "\n", "").Replace(strings.ToValidUTF8(text, "\ufffd"))
		if len(text) > 500 {
			return
		}
		for name, codec := range codecs {
			_, want, err := codec.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, tokensOf(name, text)); diff != "" {
				t.Errorf("%s of %q (-want +got):\n%s", name, text, diff)
			}
		}
	})
}
