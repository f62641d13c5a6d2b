package query

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// highlighted returns the passage of a text and its matches, for terms by word.
func highlighted(text string, terms map[string]string) (passage string, matches []string) {
	numbers := map[string]int{}
	worded := wordsOf(text, numbers)
	byNumber := map[int]string{}
	for word, term := range terms {
		if number, ok := numbers[word]; ok {
			byNumber[number] = term
		}
	}
	h := worded.highlight(byNumber, weigh([]wordedText{worded}, byNumber))
	for _, m := range h.Matches {
		matches = append(matches, text[m.Start:m.End])
	}
	return text[h.Passage.Start:h.Passage.End], matches
}

func TestPassagesAreTheSentencesThatMatchBest(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("Nothing of interest is said in this sentence. ", 12)
	for _, tc := range []struct {
		name, text string
		terms      map[string]string
		want       string // what the passage contains
		matches    []string
	}{
		{"in the middle", filler + "The gates open at 6.30. " + filler, map[string]string{"gates": "gate", "6.30": "6.30"}, "The gates open at 6.30.", []string{"gates", "6.30"}},
		{
			"different terms beat one term that repeats", "gate gate gate\n" + filler + "the gate of the harbour", map[string]string{"gate": "gate", "harbour": "harbour"},
			"the gate of the harbour", []string{"gate", "gate", "gate", "gate", "harbour"},
		},
		{"accents and marks", filler + "Der Ha\u0308fen \u00f6ffnet.", map[string]string{"Ha\u0308fen": "haf"}, "Ha\u0308fen \u00f6ffnet.", []string{"Ha\u0308fen"}},
		{"no match", filler, nil, "Nothing of interest", nil},
		{"a section", "# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree", map[string]string{"two": "two"}, "# B\n\ntwo", []string{"two"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			passage, matches := highlighted(tc.text, tc.terms)
			if !strings.Contains(passage, tc.want) || len(passage) > passageBytes {
				t.Errorf("the passage is %q, want %q", passage, tc.want)
			}
			if diff := cmp.Diff(tc.matches, matches); diff != "" {
				t.Error(diff)
			}
		})
	}
	if passage, _ := highlighted("# A\n\none\n\n# B\n\ntwo\n\n# C\n\nthree", map[string]string{"two": "two"}); passage != "# B\n\ntwo" {
		t.Errorf("a passage has other sections: %q", passage)
	}
}

func FuzzPassages(f *testing.F) {
	for _, text := range []string{"", "a b", "# A\n\nb. C d!", strings.Repeat("x", 2000), strings.Repeat("ä", 600) + " y", "\xff\xfe a\n\n \n"} {
		f.Add(text, "a")
	}
	f.Fuzz(func(t *testing.T, text, word string) {
		passage, matches := highlighted(text, map[string]string{word: "term"})
		if len(passage) > passageBytes || utf8.ValidString(text) && !utf8.ValidString(passage) {
			t.Fatalf("%q: passage %q", text, passage)
		}
		for _, match := range matches {
			if match != word {
				t.Fatalf("%q: %q matches %q", text, match, word)
			}
		}
	})
}
