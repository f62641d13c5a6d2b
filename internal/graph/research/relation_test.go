package research

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/query"
)

func TestRelationsAreInTheOrderOfAChain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, name string
		want       []string
	}{
		{"Where was the teacher of the captain of the brig Osk buried?", "Osk", []string{"captain", "teacher", "buried"}},
		{"In which county is the abbey that the builder of the mill Kalo endowed?", "Kalo", []string{"builder", "abbey endowed", "county"}},
		{"Which school did Kalo's first owner attend?", "Kalo", []string{"first owner", "school attend"}},
		{"Who drew Kalo?", "Kalo", []string{"drew"}},
		{"Which town is twinned with the birthplace of Kalo?", "Kalo", []string{"birthplace", "town twinned"}},
		{"Where is the abbey that Kalo endowed?", "Kalo", []string{"abbey endowed", "where"}},
	} {
		p := part{text: test.text, names: spansOf(test.text, []string{test.name})}
		var got []string
		for _, r := range relationsOf(p, termsOf(p, []string{"english"})) {
			got = append(got, r.text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.text, diff)
		}
	}
}

func TestStatedIsWhatIsSaidOfTheThing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		question, name, text string
		want                 []string // values; nil if nothing is stated
	}{
		{"Where was Una Brill born?", "Una Brill", "Una Brill was born in Torva.", []string{"Torva"}},
		{"Where was Una Brill born?", "Una Brill", "Una Brill wrote songs. She was born in Torva.", []string{"Torva"}},
		{"Where was Una Brill born?", "Una Brill", "Una Brill wrote songs. Born in Torva, she moved to Ekk.", []string{"Torva"}},
		{"Where was Una Brill born?", "Una Brill", "Una Brill wrote songs. Her cousin was born in Torva.", nil},
		{"Where was Una Brill born?", "Una Brill", "Una Brill married Karl Osk. He was born in Torva.", nil},
		{"Where was Una Brill born?", "Una Brill", "Una Brill had a rival. Jana Osk was born in Torva.", nil},
		{"Where was Una Brill born?", "Una Brill", "Una Brill sang with Jana Osk, who was born in Torva.", nil},
		{"Where was Una Brill born?", "Una Brill", "Una Brill, who sang with Jana Osk, was born in Torva.", []string{"Torva"}},
		{"Where was Una Brill born?", "Una Brill", "Was Una Brill born in Torva?", nil},
		{"Where was Una Brill born?", "Una Brill", "Where was Una Brill born? She was born in Torva.", []string{"Torva"}},
		{"Where is Ekk Mill?", "Ekk Mill", "Is Ekk Mill in Torva?", nil},
		{"Who taught Una Brill?", "Una Brill", "Una Brill taught Jana Osk.", nil},
		{"Who taught Una Brill?", "Una Brill", "Una Brill was taught by Jana Osk.", []string{"Jana Osk"}},
		{"Who was the master of Una Brill?", "Una Brill", "Una Brill was apprenticed to Jana Osk.", []string{"Jana Osk"}},
		{"Who was the teacher of Una Brill?", "Una Brill", "Una Brill was a pupil of Jana Osk.", []string{"Jana Osk"}},
		{"Who was the teacher of Una Brill?", "Una Brill", "Una Brill sang. Her pupil was Jana Osk.", nil},
		{"Who is the owner of Ekk Mill?", "Ekk Mill", "Ekk Mill grinds rye. Jana Osk owns it.", []string{"Jana Osk"}},
		{"Who is the owner of Ekk Mill?", "Ekk Mill", "Ekk Mill grinds rye. Jana Osk is its owner.", []string{"Jana Osk"}},
		{"Who is the owner of Ekk Mill?", "Ekk Mill", "Ekk Mill grinds rye. Jana Osk owns Torva Mill.", nil},
		{"Where is Ekk Mill?", "Ekk Mill", "The mill is in Torva.", nil},
	} {
		p := part{text: test.question, names: spansOf(test.question, []string{test.name})}
		terms := termsOf(p, []string{"english"})
		relations := relationsOf(p, terms)
		if len(relations) != 1 {
			if test.want != nil {
				t.Errorf("%s: the relations are %v", test.question, relations)
			}
			continue
		}
		one := newPassage(query.Source{Title: test.name, Text: test.text}, len(terms), newFinder(terms, []string{"english"}))
		var got []string
		for _, s := range readAbout(one, []string{test.name}, false).statements(relations[0], terms) {
			got = append(got, s.values...)
		}
		if !slices.Equal(got[:min(len(got), 1)], test.want) {
			t.Errorf("%s %s: it states %v, want %v", test.question, test.text, got, test.want)
		}
	}
}
