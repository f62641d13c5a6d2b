package chunk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// texts splits a text and returns the texts of the chunks.
func texts(t *testing.T, text string, raw map[string]any) []string {
	t.Helper()
	o, err := parseOptions(raw)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(t.Context(), text, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range chunks {
		out = append(out, c.Text)
	}
	return out
}

func TestLanguagesSplitBeforeTheirKeywords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language, text string
		want           []string
	}{
		{"rust", "use a;\nfn one() {}\nfn two() {}\n", []string{"use a;\nfn one() {}", "fn two() {}"}},
		{"python", "import a\nclass A:\n\tdef f():\n\tdef g():", []string{"import a", "class A:\n\tdef f():", "def g():"}},
		{"proto", "syntax = 3;\nmessage A {}\nenum B {}", []string{"syntax = 3;", "message A {}", "enum B {}"}},
		{"cobol", "X\nDATA DIVISION.\nPROCEDURE DIVISION.", []string{"X", "DATA DIVISION.", "PROCEDURE DIVISION."}},
		{"html", "<body>a<p>long text<pre>b", []string{"<body>a<p>long text", "<pre>b"}},
		{"rst", "Title\n=====\nSome text\n-----\nMore", []string{"Title", "=====\nSome text", "-----\nMore"}},
		{"latex", `\section{A}text \subsection*{B}more`, []string{`\section{A}text`, `\subsection*{B}more`}},
		{"markdown", "a\n# Heading\ntext\n***\nmore", []string{"a", "# Heading\ntext", "***\nmore"}},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			got := texts(t, c.text, map[string]any{"language": c.language, "maxSize": 21, "overlap": 0})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryLanguageCoversItsText(t *testing.T) {
	t.Parallel()
	text, _ := strings.CutSuffix(strings.Repeat("class A \nfunc b() {\n\tif x {\n<div>\\section{c}\n\n", 20), "\n")
	for _, language := range Languages() {
		splitOnce(t, Recursive, map[string]any{"language": language}, text, 30, 5)
	}
	if n := len(Languages()); n != 26 {
		t.Errorf("%d languages", n)
	}
}

func TestMarkdownLeavesFencedCodeAlone(t *testing.T) {
	t.Parallel()
	text := "# A\n\ntext\n\n````go\n# comment\n```\n---\n````\n# B\n~~~\n# open"
	want := []string{"# A\n\ntext\n\n````go\n# comment\n```\n---\n````", "# B\n~~~\n# open"}
	got := texts(t, text, map[string]any{"strategy": "markdown", "maxSize": 40, "overlap": 0})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSeparatorsStayAtTheGivenPosition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		raw  map[string]any
		want []string
	}{
		{"dropped at the edges only", map[string]any{"separators": []any{"--"}, "maxSize": 8, "overlap": 0}, []string{"one--two", "three"}},
		{"start", map[string]any{"separators": []any{"--"}, "separatorPosition": "start", "maxSize": 8, "overlap": 0}, []string{"one--two", "--three"}},
		{"end", map[string]any{"separators": []any{"--"}, "separatorPosition": "end", "maxSize": 8, "overlap": 0}, []string{"one--", "two--", "three"}},
		{"expression with a group", map[string]any{"separators": []any{"(-)+"}, "isSeparatorRegex": true, "maxSize": 8, "overlap": 0}, []string{"one--two", "three"}},
		{"character drops", map[string]any{"strategy": "character", "separator": "--", "maxSize": 8, "overlap": 0}, []string{"one", "two", "three"}},
		{"character windows", map[string]any{"strategy": "character", "separator": "", "maxSize": 8, "overlap": 2}, []string{"one--two", "wo--thre", "ree"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, texts(t, "one--two--three", c.raw)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnExpressionThatLooksAheadTooFarIsRefused(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 200_000)
	o, err := parseOptions(map[string]any{"separators": []any{"a*b|a"}, "isSeparatorRegex": true, "maxSize": 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Split(t.Context(), text, o); fault.KindOf(err) != fault.Invalid {
		t.Errorf("error %v, want an invalid one", err)
	}
}

func TestSplitRejectsInvalidUTF8AndTooMuchOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		raw  map[string]any
	}{
		"chunks":     {strings.Repeat("a", MaxChunks+1), map[string]any{"maxSize": 1, "overlap": 0}},
		"repetition": {strings.Repeat("ab ", 100_000), map[string]any{"maxSize": 5000, "overlap": 4999}},
		"UTF-8":      {"fine so far \xff", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := parseOptions(c.raw)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Split(t.Context(), c.text, o); fault.KindOf(err) != fault.Invalid {
				t.Errorf("error %v, want an invalid one", err)
			}
		})
	}
}

func TestSentencesEndByTheRulesOfTheirScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		raw        map[string]any
		want       []string
	}{
		{"wide enders", "「はい。」次の文！？終わり", nil, []string{"「はい。」", "次の文！？", "終わり"}},
		{"own enders are strict", "次の文。終わり", map[string]any{"sentenceEnders": []any{"。"}}, []string{"次の文。終わり"}},
		{"capitals of any script", "Да. Нет. Ещё.", nil, []string{"Да.", "Нет.", "Ещё."}},
		{"abbreviations", "Dr. Who met J. R. Smith. At 5 p.m. They left.", nil, []string{"Dr. Who met J. R. Smith.", "At 5 p.m. They left."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw := map[string]any{"strategy": "sentence", "maxSize": 100, "targetSize": 1}
			for k, v := range c.raw {
				raw[k] = v
			}
			if diff := cmp.Diff(c.want, texts(t, c.text, raw)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGraphemeClustersAreNotCut(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("👩🏽‍🔧🇯🇵e\u0301", 20)
	for _, raw := range []map[string]any{
		{"maxSize": 17, "overlap": 8},
		{"strategy": "sentence", "maxSize": 17},
		{"strategy": "token", "maxSize": 20, "overlap": 0},
	} {
		for i, s := range texts(t, text, raw) {
			if strings.HasPrefix(s, "\u200d") || strings.HasPrefix(s, "🏽") || strings.HasPrefix(s, "🇵") || strings.HasPrefix(s, "\u0301") || strings.HasSuffix(s, "\u200d") {
				t.Errorf("%v: chunk %d is cut inside a cluster: %q", raw, i, s)
			}
		}
	}
}

func TestSpecialTokensAreTextUnlessNamed(t *testing.T) {
	t.Parallel()
	text := "a<|endoftext|>b"
	for _, c := range []struct {
		name string
		raw  map[string]any
		want int // number of tokens; 0 if the text is rejected
	}{
		{"by default", nil, 9},
		{"allowed", map[string]any{"allowedSpecial": []any{"all"}}, 3},
		{"disallowed", map[string]any{"disallowedSpecial": []any{"all"}}, 0},
		{"disallowed but allowed", map[string]any{"disallowedSpecial": []any{"all"}, "allowedSpecial": []any{"<|endoftext|>"}}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw := map[string]any{"strategy": "token"}
			for k, v := range c.raw {
				raw[k] = v
			}
			o, err := parseOptions(raw)
			if err != nil {
				t.Fatal(err)
			}
			chunks, err := Split(t.Context(), text, o)
			switch {
			case c.want == 0 && fault.KindOf(err) != fault.Invalid:
				t.Errorf("error %v, want an invalid one", err)
			case c.want > 0 && (err != nil || len(chunks) != 1 || chunks[0].TokenCount != c.want):
				t.Errorf("chunks %+v, error %v, want %d tokens", chunks, err, c.want)
			}
		})
	}
}

func TestSemanticMarkdownCutsSectionsOverMaxSize(t *testing.T) {
	t.Parallel()
	text := "# Long\n\n" + strings.Repeat("A paragraph of some words.\n\n", 40) + "# Empty end"
	o, err := parseOptions(map[string]any{"strategy": "semantic-markdown", "maxSize": 50, "overlap": 0})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(t.Context(), text, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(chunks) < 5 {
		t.Errorf("%d chunks", len(chunks))
	}
	for i, c := range chunks {
		if c.TokenCount > 50 || c.Metadata["tokenCount"] != c.TokenCount {
			t.Errorf("chunk %d has %d tokens, metadata %v", i, c.TokenCount, c.Metadata)
		}
	}
}

func TestRecursiveTakesOneSeparatorBeforeTheDefaultOnes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw  map[string]any
		text string
		want []string
	}{
		{map[string]any{"separator": "|", "maxSize": 8, "overlap": 0}, "one|two words|three", []string{"one", "two", "words", "three"}},
		{map[string]any{"separator": "\n", "maxSize": 8, "overlap": 0}, "one\n\ntwo\nthree four", []string{"one\n\ntwo", "three", "four"}},
		{map[string]any{"separator": "[|;]", "isSeparatorRegex": true, "maxSize": 4, "overlap": 0}, "one|two;six", []string{"one", "two", "six"}},
	} {
		if diff := cmp.Diff(c.want, texts(t, c.text, c.raw)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.raw, diff)
		}
	}
}
