package budget_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/budget"
)

func newBudget(t testing.TB, most int) *budget.Budget {
	t.Helper()
	b, err := budget.New(&most, "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBudgetsOutsideOfTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		most     *int
		encoding string
		want     string
	}{
		{new(511), "", "maxTokens: must be between 512 and 1000000, got 511; leave it out for no limit"},
		{new(-1), "", "maxTokens: must be between 512 and 1000000, got -1; leave it out for no limit"},
		{new(1_000_001), "", "maxTokens: must be between 512 and 1000000, got 1000001; leave it out for no limit"},
		{new(600), "o300k", `encodingName: unknown encoding "o300k"; known are cl100k_base, gpt2, o200k_base, p50k_base, p50k_edit, r50k_base`},
		{nil, "gpt2", "encodingName: says how maxTokens is counted: give maxTokens, too"},
	} {
		if _, err := budget.New(tc.most, tc.encoding); fault.Public(err) != tc.want || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v %q: %v", tc.most, tc.encoding, err)
		}
	}
	if b, err := budget.New(nil, ""); b != nil || err != nil {
		t.Errorf("none: %v, %v", b, err)
	}
}

func TestTextsEndWithSentencesRowsAndItems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{ // ¶ after each end but the last
		{"One is here. Two is, e.g. there.\nThree goes\non. End", "One is here.¶Two is, e.g. there.¶Three goes\non.¶End"},
		{"第一句。第二句！第三句", "第一句。¶第二句！¶第三句"},
		{"Intro:\n\n- an item. With two\n- another\n\nEnd.", "Intro:¶- an item.¶With two¶- another¶End."},
		{"| a | b |\n|---|---|\n| One. Two. | 2 |\n| 3 | 4 |\n", "| a | b |\n|---|---|\n| One. Two. | 2 |¶| 3 | 4 |"},
		{"Text.\n\n## Head\n\nMore. Yet more.", "Text.¶## Head\n\nMore.¶Yet more."},
		{"Call it.\n\n```go\nf(a). B(c)\ng()\n```\n\nDone. Really.", "Call it.¶```go\nf(a). B(c)¶g()¶```¶Done.¶Really."},
		{"1. first item\n   goes on\n2. second", "1. first item\n   goes on¶2. second"},
	} {
		var got []string
		last := 0
		for _, end := range budget.Ends(tc.text, 0) {
			if part := strings.TrimSpace(tc.text[last:end]); part != "" {
				got = append(got, part)
			}
			last = end
		}
		if joined := strings.Join(got, "¶"); joined != tc.want {
			t.Errorf("%q ends as\n%q, want\n%q", tc.text, joined, tc.want)
		}
	}
}

// sentences returns a text of n sentences of about ten tokens each.
func sentences(word string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "The %s number %d stands by the sea. ", word, i)
	}
	return strings.TrimSpace(b.String())
}

func TestTheBestPassagesFitAndTheLastIsCutAtASentence(t *testing.T) {
	t.Parallel()
	b := newBudget(t, 512)
	passages := []budget.Passage{{Text: sentences("tower", 20)}, {Text: sentences("gate", 80)}, {Text: sentences("lamp", 1)}}
	cost := func(_ int, text string) int { return b.Count(text) + 3 }
	c := b.Fit(passages, b.Max, cost)
	if len(c.Parts) != 2 || !c.Cut || c.Parts[0].End != len(passages[0].Text) {
		t.Fatalf("chose %+v", c)
	}
	kept := passages[1].Text[c.Parts[1].Start:c.Parts[1].End]
	if !strings.HasSuffix(kept, "the sea.") || !strings.HasPrefix(passages[1].Text, kept) {
		t.Errorf("the last is %q", kept)
	}
	used := cost(0, passages[0].Text) + cost(1, kept)
	if next := passages[1].Text[len(kept):]; used > b.Max || used+b.Count(next[:strings.Index(next, ".")+1]) <= b.Max {
		t.Errorf("uses %d of %d", used, b.Max)
	}
	if want := c.Tokens[0] + c.Tokens[1] + c.Tokens[2] - used; c.LeftOut != want {
		t.Errorf("%d left out, want %d", c.LeftOut, want)
	}
	r := c.Report(b, used, func(i int) budget.Omitted { return budget.Omitted{ID: fmt.Sprint(i)} })
	if r.CutID != "1" || r.OmittedCount != 1 || len(r.Omitted) != 1 || r.Omitted[0].ID != "2" || r.Omitted[0].Tokens != c.Tokens[2] {
		t.Errorf("reports %+v", r)
	}
}

func TestAPassageOfWhichNoSentenceFitsIsLeftOut(t *testing.T) {
	t.Parallel()
	b := newBudget(t, 512)
	endless := strings.Repeat("and the sea ", 400)
	cost := func(_ int, text string) int { return b.Count(text) }
	for name, tc := range map[string]struct {
		passages []string
		want     []int
	}{
		"the first": {[]string{endless, "Short.", endless, "Later."}, []int{1}},
		"a later":   {[]string{"Short.", endless, "Later."}, []int{0}},
		"all":       {[]string{endless, endless}, nil},
	} {
		var passages []budget.Passage
		for _, text := range tc.passages {
			passages = append(passages, budget.Passage{Text: text})
		}
		var got []int
		c := b.Fit(passages, b.Max, cost)
		for _, part := range c.Parts {
			got = append(got, part.Passage)
		}
		if !slices.Equal(got, tc.want) || c.Cut {
			t.Errorf("%s: chose %v, want %v", name, got, tc.want)
		}
	}
}

// A passage with its neighbours is cut so that the chunk itself stays.
func TestAWidenedPassageKeepsItsChunk(t *testing.T) {
	t.Parallel()
	b := newBudget(t, 512)
	before, own, after := sentences("before", 60), sentences("own", 5), sentences("after", 60)
	text := before + "\n" + own + "\n" + after
	c := b.Fit([]budget.Passage{{Text: text, From: len(before) + 1}}, b.Max, func(_ int, text string) int { return b.Count(text) })
	if len(c.Parts) != 1 {
		t.Fatalf("chose %+v", c)
	}
	kept := text[c.Parts[0].Start:c.Parts[0].End]
	if !strings.HasPrefix(kept, own+"\nThe after number 0") || !strings.HasSuffix(kept, "the sea.") {
		t.Errorf("kept %q", kept)
	}
}

func TestDocumentsEndWithASectionOrASentenceAndAlwaysGoOn(t *testing.T) {
	t.Parallel()
	b := newBudget(t, 512)
	for name, text := range map[string]string{
		"sentences": sentences("tower", 200),
		"sections":  strings.Repeat("# Head\n\n"+sentences("tower", 4)+"\n\n", 30),
		"words":     strings.Repeat("and the sea ", 500),
		"one word":  strings.Repeat("x", 5000) + " end",
		"chinese":   strings.Repeat("产品说明书讲的是产品。", 300),
		"bytes":     strings.Repeat("\U0001F9EA\U0001F30A", 900),
	} {
		read, calls := "", 0
		for at := 0; at < len(text); {
			rest := text[at:]
			end := budget.Shorten(rest, b.Prefix(rest, b.Max), true, true, func(part string) bool { return b.Count(part) <= b.Max })
			if end <= 0 {
				t.Fatalf("%s: stands still at %d", name, at)
			}
			part := rest[:end]
			if b.Count(part) > b.Max || strings.ToValidUTF8(part, "") != part {
				t.Errorf("%s: %d tokens in %q", name, b.Count(part), part)
			}
			if last := at+end == len(text); !last {
				switch name {
				case "sentences":
					if !strings.HasSuffix(part, "the sea.") {
						t.Errorf("%s: ends with %q", name, part[max(0, len(part)-30):])
					}
				case "sections":
					if !strings.HasPrefix(strings.TrimLeft(rest[end:], "\n"), "# Head") {
						t.Errorf("%s: goes on with %q", name, rest[end:end+20])
					}
				case "words":
					if !strings.HasPrefix(rest[end:], " ") {
						t.Errorf("%s: cut in %q", name, rest[end-10:end+10])
					}
				}
			}
			read += part
			at += end
			if calls++; b.Count(text)/calls < b.Max/3 && at < len(text) {
				t.Fatalf("%s: %d parts for %d bytes", name, calls, at)
			}
		}
		if read != text {
			t.Errorf("%s: reading on gives another text", name)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	most := newBudget(b, 4000)
	text := strings.Repeat(sentences("tower", 20)+"\n\n", 60)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		most.Count(text)
	}
}
