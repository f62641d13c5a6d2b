package wording

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/index/analyzer"
)

var english = []string{analyzer.English}

// used describes synonyms as "term: synonym".
func used(uses []Use) (out []string) {
	for _, u := range uses {
		out = append(out, u.Term+": "+u.Synonym)
	}
	return out
}

func TestSynonymsOfAQuestion(t *testing.T) {
	t.Parallel()
	s := NewSynonyms([]Synonym{
		{ID: "a", Terms: []string{"heart attack", "infarction"}},
		{ID: "b", Terms: []string{"heart"}, Targets: []string{"cardiac"}},
		{ID: "c", Terms: []string{"herz"}, Targets: []string{"kardial"}, Language: "german"},
		{ID: "d", Terms: []string{"東京"}, Targets: []string{"Tokyo"}},
	})
	for question, want := range map[string][]string{
		"Heart attacks!":          {"heart attack: infarction", "heart: cardiac"},
		"an attack of the heart":  {"heart: cardiac"},
		"infarctions, infarction": {"infarction: heart attack"},
		"cardiac":                 nil,
		"herz":                    nil,
		"東京駅":                     {"東京: Tokyo"},
		"":                        nil,
	} {
		if got := used(s.Of(question, english)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
	both := []string{analyzer.English, "german"}
	if got := s.Of("ein Herz", both); len(got) != 1 || !slices.Equal(got[0].Languages, []string{"german"}) || !slices.Contains(got[0].Terms, "herz") {
		t.Errorf("in two languages: %v", got)
	}
	if got := used(s.Of("herz", english)); got != nil {
		t.Errorf("in one language again: %q", got)
	}
	if got := (*Synonyms)(nil).Of("heart", english); got != nil {
		t.Errorf("without synonyms: %v", got)
	}
}

func TestTheSynonymsOfAQuestionAreLimited(t *testing.T) {
	t.Parallel()
	var entries []Synonym
	var words []string
	for n := range 10 {
		entry := Synonym{ID: fmt.Sprint(n), Terms: []string{fmt.Sprint("word", n)}}
		for m := range MaxTerms {
			entry.Targets = append(entry.Targets, fmt.Sprintf("target%dx%d", n, m))
		}
		entries, words = append(entries, entry), append(words, entry.Terms[0])
	}
	got := NewSynonyms(entries).Of(strings.Join(words, " "), english)
	if len(got) != MaxUsed || got[0].Term != "word0" {
		t.Errorf("%d synonyms, the first of %v", len(got), got[0])
	}
}

func TestCurationsOfAQuestion(t *testing.T) {
	t.Parallel()
	c := NewCurations([]Curation{
		{ID: "a", Question: "leave", Match: Contains, Namespace: "default"},
		{ID: "b", Question: "parental leave", Match: Exact, Namespace: "default"},
		{ID: "c", Question: "Parental LEAVES", Match: Contains, Namespace: "default"},
		{ID: "d", Question: "leave", Match: Contains, Namespace: "other"},
	})
	for question, want := range map[string]string{
		"parental leave?":    "b c a",
		"the parental leave": "c a",
		"leave, leave":       "a",
		"leave of parents":   "a",
		"parental":           "",
		"":                   "",
	} {
		var got []string
		for _, held := range c.Of(question, "default", english) {
			got = append(got, held.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

func TestEntriesGetAnIDOfTheirContents(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, s := range []Synonym{{Terms: []string{"a1", "b1"}}, {Terms: []string{"a1", "b1"}}, {Terms: []string{"b1", "a1"}}} {
		if err := s.Check("synonyms[0]"); err != nil {
			t.Fatal(err)
		}
		ids[s.ID] = true
	}
	c := Curation{Question: "leave", Hides: []Curated{{URI: "x"}}, Namespace: "default"}
	if err := c.Check("curations[0]"); err != nil || c.ID == "" || c.Match != Exact {
		t.Errorf("%v, %v", c, err)
	}
	if len(ids) != 2 {
		t.Errorf("the ids are %v", ids)
	}
	put := Put([]Synonym{{ID: "b"}, {ID: "c"}}, []Synonym{{ID: "a"}, {ID: "b", Language: "german"}}, func(s Synonym) string { return s.ID })
	if len(put) != 3 || put[0].ID != "a" || put[1].Language != "german" {
		t.Errorf("put together: %v", put)
	}
}
