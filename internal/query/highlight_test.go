package query

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/index/analyzer"
)

// highlighted returns the passage of a text and its matches, for a question.
func highlighted(text, question string) (passage string, matches []string) {
	matched := match(analyzer.NewFinder(question, []string{analyzer.English}), text)
	h := matched.highlight(weigh([]matchedText{matched}))
	for _, m := range h.Matches {
		matches = append(matches, text[m.Start:m.End])
	}
	return text[h.Passage.Start:h.Passage.End], matches
}

func TestPassagesAreTheSentencesThatMatchBest(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing of interest is said in this sentence. ", 12)
	for _, tc := range []struct {
		name, text, question string
		want                 string // what the passage contains
		matches              []string
	}{
		{"in the middle", filler + "The gates open at 6.30. " + filler, "gate 6.30", "The gates open at 6.30.", []string{"gates", "6.30"}},
		{
			"different terms beat one term that repeats", "gate gate gate\n" + filler + "the gate of the harbour", "gates of harbours",
			"the gate of the harbour", []string{"gate", "gate", "gate", "gate", "harbour"},
		},
		{"accents and marks", filler + "Der Ha\u0308fen \u00f6ffnet.", "hafen", "Ha\u0308fen \u00f6ffnet.", []string{"Ha\u0308fen"}},
		{"no match", filler, "harbour", "Nothing of interest", nil},
		{"no spaces", strings.Repeat("甲乙丙。", 60) + "外币汇率换算需要每天更新。", "汇率换算", "外币汇率换算", []string{"汇率换算"}},
		{"an identifier", filler + "Call get_user_by_id() first.", "getUserById", "get_user_by_id", []string{"get_user_by_id"}},
		{"a section", "# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree", "two", "# B\n\ntwo", []string{"two"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			passage, matches := highlighted(tc.text, tc.question)
			if !strings.Contains(passage, tc.want) || len(passage) > passageBytes {
				t.Errorf("the passage is %q, want %q", passage, tc.want)
			}
			if diff := cmp.Diff(tc.matches, matches); diff != "" {
				t.Error(diff)
			}
		})
	}
	if passage, _ := highlighted("# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree", "two"); passage != "# B\n\ntwo" {
		t.Errorf("a passage has other sections: %q", passage)
	}
}

func FuzzPassages(f *testing.F) {
	for _, text := range []string{"", "a b", "# A\n\nb. C d!", strings.Repeat("x", 2000), strings.Repeat("ä", 600) + " y", "\xff\xfe a\n\n \n"} {
		f.Add(text, "a")
	}
	f.Fuzz(func(t *testing.T, text, word string) {
		passage, matches := highlighted(text, word)
		if len(passage) > passageBytes || utf8.ValidString(text) && !utf8.ValidString(passage) {
			t.Fatalf("%q: passage %q", text, passage)
		}
		if word == "" && len(matches) > 0 {
			t.Fatalf("%q: nothing matches %q", text, matches)
		}
	})
}
