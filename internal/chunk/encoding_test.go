package chunk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tiktoken-go/tokenizer"
)

// FuzzTokens compares our encoder with the codec that the ranks come from.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{
		"", "Hello, world!", "it's I'LL we've 'tis '", "  two  spaces \n\n\t tab\r\n", "1234567 ½ ٣٤", "über Ćevapi ǅ ʰx",
		"東京タワーは高い。", "👩🏽‍🔧 e\u0301\u0301A", "HTTPServer's fooBar/baz//\n", "\u0301ab \u0301 ", "a\u00a0b\u2003\u2003c\u0085d",
		strings.Repeat("ab", 80), strings.Repeat("=", 300), strings.Repeat(" ", 200) + "x", "文A文a文AA'sB",
	} {
		f.Add(s)
	}
	names := []string{"cl100k_base", "o200k_base", "p50k_base", "r50k_base"}
	codecs := map[string]tokenizer.Codec{}
	for _, n := range names {
		c, err := tokenizer.Get(tokenizer.Encoding(n))
		if err != nil {
			f.Fatal(err)
		}
		codecs[n] = c
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\ufffd")
		if len(text) > 2000 {
			return
		}
		for _, n := range names {
			_, want, err := codecs[n].Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			start := 0
			loadEncoding(n).each(text, 0, len(text), func(end int) {
				got = append(got, text[start:end])
				start = end
			})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %q (-want +got):\n%s", n, text, diff)
			}
		}
	})
}
