package research

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuestionsAreCutIntoClauses(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][]string{
		"Who runs the ferry?":                                     {"Who runs the ferry?"},
		"Who runs the ferry, and in which year did it sink?":      {"Who runs the ferry", "in which year did it sink?"},
		"Who built the mill? When did the mill burn?":             {"Who built the mill?", "When did the mill burn?"},
		"Which of bread and salt is taxed?":                       {"Which of bread and salt is taxed?"},
		"Where is the mill, which the Abbot gave to the village?": {"Where is the mill, which the Abbot gave to the village?"},
	} {
		if diff := cmp.Diff(want, clauses(question)); diff != "" {
			t.Errorf("%s: %s", question, diff)
		}
	}
}

func TestAPartForEachItemOfAList(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		clause string
		names  []string
		want   []string
	}{
		{"Is Kalo older than Mirt?", []string{"Kalo", "Mirt"}, []string{"Is Kalo older than Mirt?"}},
		{"Who is older, Kalo or Mirt?", []string{"Kalo", "Mirt"}, []string{"Who is older, Kalo?", "Who is older, Mirt?"}},
		{"Which of Kalo, Mirt and the Osk is deepest?", []string{"Kalo", "Mirt", "Osk"}, []string{"Which of Kalo is deepest?", "Which of Mirt is deepest?", "Which of Osk is deepest?"}},
		{"Does Kalo flow into Mirt?", []string{"Kalo", "Mirt"}, []string{"Does Kalo flow into Mirt?"}},
	} {
		var got []string
		for _, p := range parts(test.clause, spansOf(test.clause, test.names)) {
			got = append(got, p.text)
			for _, s := range p.names {
				if !slices.Contains(test.names, p.text[s.Start:s.End]) {
					t.Errorf("%s: %q is at no name", p.text, p.text[s.Start:s.End])
				}
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.clause, diff)
		}
	}
}

func TestAPronounCarriesTheNamesBefore(t *testing.T) {
	t.Parallel()
	all := []part{{text: "Who built Kalo?", names: []span{{name: "Kalo"}}}, {text: "when was it sold?"}, {text: "what is rain?"}}
	carry(all)
	if !slices.Equal(all[1].carried, []string{"Kalo"}) || all[2].carried != nil {
		t.Errorf("carried are %q and %q", all[1].carried, all[2].carried)
	}
}

func TestTermsAreInTheOrderOfAChain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, name string
		want       []string
	}{
		{"Where was the teacher of the captain of the brig Osk buried?", "Osk", []string{"captain", "teacher", "buried"}},
		{"In which county is the abbey that the builder of the mill Kalo endowed?", "Kalo", []string{"builder", "endowed", "abbey", "county"}},
		{"Which brig is the one the teacher of whose captain drowned, Osk?", "Osk", []string{"captain", "teacher", "drowned"}},
	} {
		p := part{text: test.text, names: spansOf(test.text, []string{test.name})}
		var got []string
		for _, term := range termsOf(p, []string{"english"}) {
			got = append(got, term.word)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.text, diff)
		}
	}
}

func TestWrittenNames(t *testing.T) {
	t.Parallel()
	got := written(`Where did Anna Kalo read "the long tide" in 1890? The ferry of Mirt left.`)
	if diff := cmp.Diff([]string{"the long tide", "Anna Kalo", "Mirt"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDatesBecomeAFilter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]any{
		"What sank in 1896?":      {"$gte": "1896-01-01", "$lt": "1897-01-01"},
		"What sank in 1896-12?":   {"$gte": "1896-12-01", "$lt": "1897-01-01"},
		"What sank on 2024-02-29": {"$gte": "2024-02-29", "$lt": "2024-03-01"},
	} {
		_, shown := dates(text, nil, []string{"day"})
		if diff := cmp.Diff(map[string]any{"$or": []any{map[string]any{"day": want}}}, shown); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	if _, shown := dates("What sank in 1896?", nil, nil); shown != nil {
		t.Errorf("without date fields the filter is %v", shown)
	}
	if _, shown := dates("What does form 1896 say?", []span{{}, spansOf("What does form 1896 say?", []string{"form 1896"})[0]}, []string{"day"}); shown != nil {
		t.Errorf("of a name the filter is %v", shown)
	}
}
