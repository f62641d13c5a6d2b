package analyzer

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// termsOf returns the terms of a text, each with those at the same position joined by a bar.
func termsOf(text, language string) string {
	var at []string
	New(language).Terms(text, func(t Term) {
		for len(at) <= t.Position {
			at = append(at, "")
		}
		if at[t.Position] != "" {
			at[t.Position] += "|"
		}
		at[t.Position] += t.Text
	})
	return strings.Join(at, " ")
}

func TestTermsOfTexts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, language, want string }{
		{"The gates of Harbours", English, "the gate of harbour"},
		{"DEC-0045", English, "dec|dec0045 0045|45"},
		{"getUserById get_user_by_id", Simple, "get|getuserbyid user by id get|getuserbyid user by id"},
		{"HTTPServer URLs PDFs", Simple, "http|httpserver server urls pdfs"},
		{"CVE-2024-1234", Simple, "cve|cve2024.1234|cve20241234 2024 1234"},
		{"10.0.12.7 v1.2.3", Simple, "10|10.0.12.7 0 12 7 v|v1|v1.2.3 1|1.2.3 2 3"},
		{"AB-1234/X", Simple, "ab|ab1234|ab1234x 1234 x"},
		{"DE89 3704 0044 0532", Simple, "de|de89|de89370400440532 89 3704 0044|44 0532|532"},
		{"1,000 and 1,00", Simple, "1000 and 1 00"},
		{"C++ C# F# .NET ...and", Simple, "c|c++ c|c# f|f# net|.net and"},
		{"it's O'Neil's l'homme don't", Simple, "it o|oneil neil homme don"},
		{"Straße ΣΊΣΥΦΟΣ naïve Ærø İADE", Simple, "strasse σισυφοσ naive aero iade"},
		{"so\u00adft hy\u2011phen ﬁ ＡＢ", Simple, "soft hy|hyphen phen fi ab"},
		{"Häuser", "german", "haus"},
		{"домов", English, "дом"},
		{"数据库 Git提交", English, "数|数据 据|据库 库 git 提|提交 交"},
		{"サーバーの", English, "サ|サー ー|ーバ バ|バー ー|ーの の"},
		{"환불은", English, "환|환불 불|불은 은"},
		{"ผู้ดู", English, "ผู้|ผู้ดู ดู"},
		{"٠٤٥", Simple, "045|45"},
		{"9f86d081884c7d659a2feaa0c55ad015", Simple, "9f86d081884c7d659a2feaa0c55ad015"},
		{"\xff a \xc3", Simple, "a"},
	} {
		if got := termsOf(tc.text, tc.language); got != tc.want {
			t.Errorf("%q in %s: %q, want %q", tc.text, tc.language, got, tc.want)
		}
	}
}

func TestQuestionsAskForWhatTextsHave(t *testing.T) {
	t.Parallel()
	asked := Question("Houses and houses, Häuser 007", []string{English, "german"})
	want := []struct {
		terms []string
		count int
		stop  bool
	}{{[]string{"hous"}, 2, false}, {[]string{"and"}, 1, true}, {[]string{"hauser", "haus"}, 1, false}, {[]string{"007", "7"}, 1, false}}
	if len(asked) != len(want) {
		t.Fatalf("%+v", asked)
	}
	for n, w := range want {
		if a := asked[n]; !slices.Equal(a.Terms[:len(w.terms)], w.terms) || a.Count != w.count || a.Stop != w.stop {
			t.Errorf("%+v, want %+v", a, w)
		}
	}
	if telling := Informative(asked); len(telling) != 3 {
		t.Errorf("%d words tell something", len(telling))
	}
	if only := Informative(Question("the who", []string{English})); len(only) != 2 {
		t.Errorf("a question of stop words has %d words", len(only))
	}
	if got := Phrase("Harbour's gates-open 汇率换", []string{English}); got != "('harbour') <1> ('gate') <1> ('open') <1> ('汇率') <1> ('率换')" {
		t.Errorf("the phrase is %s", got)
	}
}

func TestLanguagesAreDetected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"short":                       English,
		strings.Repeat("\x80", 2<<10): English, // no UTF-8
		"Die Räume können bis zum Vortag abgesagt werden, danach wird eine Gebühr fällig.":                              "german",
		"Para la renovación del pasaporte se necesitan dos fotografías y el documento anterior de cada niño.":           "spanish",
		"Возврат товара возможен в течение тридцати дней.":                                                              English, // of the words in Latin letters
		strings.Repeat("Do wymiany paszportu potrzebne są dwie fotografie i wypełniony wniosek, opłatę wnosi się. ", 6): Simple,
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, text := range []string{"", "AB-1234/X C++ .NET", "it's O'Neil's", "数据库サーバーの환불은", "DE89 3704 0044", "1,000.5", "\xff\xfe\u00ad\u0301", "a\u0300-\u0301b", "bint \u0650Hussein", "\u0640 \u05b0", "12\u0301-\u0640"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		scan(text, func(k token) {
			if k.text == "" || !utf8.ValidString(k.text) || len(k.text) > maxToken+utf8.UTFMax || k.start < 0 || k.start >= k.end || k.end > len(text) {
				t.Fatalf("%q: %+v", text, k)
			}
			if k.kind == word || k.kind == glyph {
				if k.position < last {
					t.Fatalf("%q: position %d after %d", text, k.position, last)
				}
				last = k.position
			}
		})
		for _, language := range []string{English, Simple, "arabic", "russian"} {
			New(language).Terms(text, func(term Term) {
				if term.Text == "" || !utf8.ValidString(term.Text) {
					t.Fatalf("%q has in %s the term %+v", text, language, term)
				}
			})
		}
		finder := NewFinder(text, []string{English})
		finder.Find(text, func(_, start, end int) {
			if start < 0 || start >= end || end > len(text) {
				t.Fatalf("%q: [%d, %d)", text, start, end)
			}
		})
		_ = Phrase(text, []string{English, "german"})
	})
}
