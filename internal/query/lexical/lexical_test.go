package lexical

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// show writes the tokens as stem/ordinal, with a mark for the form.
func show(text string) []string {
	var out []string
	for t := range Tokens(text) {
		out = append(out, [...]string{"", "g:", "p:"}[t.Form]+string(t.Stem)+"/"+string(rune('0'+t.Ordinal)))
	}
	return out
}

func TestTokensFoldAndStem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"punctuation alone", " -- !?\n", nil},
		{"case and punctuation", "Hello, WORLD-wide!", []string{"hello/0", "world/1", "wide/2"}},
		{"a possessive and a contraction lose their tails", "Tesla's don’t", []string{"tesla/0", "don/1"}},
		{"an elided article stays a word", "l'homme", []string{"l/0", "homm/1"}},
		{"quotes are not elisions", "'it' 's", []string{"it/0", "s/1"}},
		{"accents fold away", "Café naïve ÅNGSTRÖM", []string{"cafe/0", "naiv/1", "angstrom/2"}},
		{"sharp s and final sigma", "Straße ΟΔΟΣ ὁδός", []string{"strass/0", "οδοσ/1", "οδοσ/2"}},
		{"a thousand with a comma", "1,000 and 3, 4", []string{"1000/0", "and/1", "3/2", "4/3"}},
		{"full width and ligatures", "ＡＢＣ ﬁre", []string{"abc/0", "fire/1"}},
		{"plural and verb endings", "stories stopped hoping glasses", []string{"story/0", "stop/1", "hop/2", "glass/3"}},
		{"Chinese as runes and pairs", "北京市", []string{"g:北/0", "p:北京/0", "g:京/1", "p:京市/1", "g:市/2"}},
		{"Latin inside Chinese parts the pairs", "北a京", []string{"g:北/0", "a/1", "g:京/2"}},
		{"Korean words stay words", "한국어 문서", []string{"한국어/0", "문서/1"}},
		{"Hindi keeps its vowel signs", "हिन्दी", []string{"हिन्दी/0"}},
		{"a bad byte separates", "ab\xffcd", []string{"ab/0", "cd/1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, show(tc.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRank(t *testing.T) {
	t.Parallel()
	want := map[string]Rank{"the": Stop, "Which": Stop, "x": Stop, "7": Content, "country": Common, "countries": Common, "photosynthesis": Content, "の": Common, "水": Content}
	for text, rank := range want {
		for tok := range Tokens(text) {
			if got := tok.Rank(); got != rank {
				t.Errorf("rank of %q = %v, want %v", text, got, rank)
			}
		}
	}
}

func TestTokensStopWhenTold(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"one two three", "北京市"} {
		n := 0
		for range Tokens(text) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%q: %d tokens after a break", text, n)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "Tesla's 1,000 cafés", "北京市 ひらがな", "e\u0301\u0301", "ﷺ ½ ㎏", "\xff\xfe", "ศาลา", "sses ies ing ed"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ordinal := 0
		for tok := range Tokens(text) {
			if len(tok.Folded) == 0 || len(tok.Stem) == 0 || !utf8.Valid(tok.Folded) {
				t.Fatalf("%q: token %q with stem %q", text, tok.Folded, tok.Stem)
			}
			if tok.Ordinal < ordinal-1 || tok.Ordinal > ordinal {
				t.Fatalf("%q: ordinal %d after %d", text, tok.Ordinal, ordinal)
			}
			if tok.Form != Pair {
				ordinal = tok.Ordinal + 1
			}
			_ = tok.Rank()
		}
		if !utf8.ValidString(text) {
			return
		}
		if got, want := show(norm.NFD.String(text)), show(text); !slices.Equal(got, want) {
			t.Fatalf("%q: NFD gives %q, not %q", text, got, want)
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text := strings.Repeat("The quick brown foxes jumped over 1,000 lazy dogs near Zürich. ", 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for range Tokens(text) {
		}
	}
}

func TestCapitalsAndJoinedWords(t *testing.T) {
	t.Parallel()
	var got []string
	for token := range Tokens("WAL of Work_mem __init__ X X509 _so_ ÉTÉ a_B") {
		form := string(token.Folded)
		if token.Capitals {
			form += " in capitals"
		}
		if token.Joined {
			form += " joined"
		}
		got = append(got, form)
	}
	want := []string{"wal in capitals", "of", "work", "mem joined", "init", "x", "x509", "so", "ete", "a", "b joined"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
