package names

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func written(names []Name) []string {
	var out []string
	for _, name := range names {
		out = append(out, string(name.Kind)+": "+name.Text)
	}
	return out
}

func TestOfDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title, uri, message string
		want                []string
	}{
		{"Lothair II", "2w00001", "", []string{"title: Lothair II"}},
		{"Dark River (2017 film)", "", "", []string{"title: Dark River (2017 film)", "title part: Dark River"}},
		{"John Wallop, 2nd Earl of Portsmouth", "", "", []string{
			"title: John Wallop, 2nd Earl of Portsmouth", "identifier: 2nd", "title part: John Wallop", "title part: 2nd Earl of Portsmouth",
		}},
		{"Maurice, Prince of Orange", "", "", []string{"title: Maurice, Prince of Orange", "title part: Prince of Orange"}},
		{"LD-101: Rope slips", "faults/ld-101.md", "", []string{
			"title: LD-101: Rope slips", "identifier: LD-101", "title part: Rope slips", "path: faults/ld-101.md", "path: ld-101.md",
		}},
		{"Release 4.3 \"Gentian\"", "", "", []string{"title: Release 4.3 \"Gentian\"", "identifier: 4.3", "title part: Release 4.3"}},
		{"alarm.toml", "files/alarm.toml.md", "", []string{"title: alarm.toml", "path: files/alarm.toml.md", "path: alarm.toml.md"}},
		{"Sister", "", "", []string{"title: Sister"}},
		{"Heap-Only Tuples (HOT)", "", "", []string{"title: Heap-Only Tuples (HOT)", "title part: Heap-Only Tuples", "identifier: HOT"}},
		{strings.Repeat("very ", 20) + "long", "", "", nil},
		{"", "", "", nil},
		{"Fees", "", "7.4f3b-11ee-be56-0242-ac12@mail.harbour.example.org", []string{
			"title: Fees", "message: 7.4f3b-11ee-be56-0242-ac12@mail.harbour.example.org",
		}},
		{"日本語の手引き", "", "", []string{"title: 日本語の手引き"}},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, written(OfDocument(c.title, c.uri, c.message))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInText(t *testing.T) {
	t.Parallel()
	text := "# Rope memory #\n\nText with **bold** inside.\n**Gust debt.** What is owed.\n- __Stale lease__: late\n## The\n#hashtag\n"
	want := []string{"heading: Rope memory", "term: Gust debt", "term: Stale lease"}
	if diff := cmp.Diff(want, written(InText(text))); diff != "" {
		t.Error(diff)
	}
}

// known returns a set of the keys of names.
func known(names ...string) func(Key) bool {
	keys := map[Key]bool{}
	for _, name := range names {
		key, _ := KeyOf(name)
		keys[key] = true
	}
	return func(key Key) bool { return keys[key] }
}

func TestMentionsAreFoundAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"Dead berth", "two DEAD BERTHS were", true},
		{"LD-101", "see (ld-101), then", true},
		{"LD-101", "LD-1010", false},
		{"faults/ld-101.md", "see [this](../faults/ld-101.md).", true},
		{"Édith Hervé", "Edith Herve's son", true},
		{"Dark River", "over a dark river", false},
		{"Dark River", "in Dark River she", true},
		{"Lothair II", "by Lothair (II)", true}, // punctuation is not seen
		{"Lothair II", "by Lothair the II", false},
		{"Sister", "his sister said", false},
		{"Sister", "the film Sister was", true},
		{"Yojimbo", "in yojimbo", true},
		{"手引き", "この手引きを読む", true},
		{"", "anything", false},
	} {
		t.Run(c.name+" in "+c.text, func(t *testing.T) {
			t.Parallel()
			if got := len(Mentioned(Keys(Phrases(c.text)), known(c.name))) > 0; got != c.want {
				t.Errorf("found: %v, want %v", got, c.want)
			}
		})
	}
}

func TestReferencesAreSeenBeforeWhatTheyReferTo(t *testing.T) {
	t.Parallel()
	text := "See LD-101, [the file](../files/drive.toml.md#top) and `berths.csv`; not well-known, 12 or etc."
	got := References(text)
	for _, c := range []struct {
		name string
		want bool
	}{
		{"LD-101", true}, {"files/drive.toml.md", true}, {"drive.toml", true}, {"berths.csv", true},
		{"well-known", false}, {"12", false}, {"etc", false}, {"the file", false},
	} {
		key, _ := KeyOf(c.name)
		if slices.Contains(got, key) != c.want {
			t.Errorf("%s: found %v", c.name, !c.want)
		}
	}
}

func TestTheReferencesOfATextAreLimited(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "LD-%d a%d/b%d.md ", i, i, i)
	}
	if got := len(References(text.String())); got < maxIdentifiers || got > maxIdentifiers+maxPathKeys+2 {
		t.Errorf("%d references", got)
	}
}

func TestAQuestionNamesTheLongest(t *testing.T) {
	t.Parallel()
	names := known("Dark River", "Dark River (2017 film)", "River", "Clio Barnard")
	got := InQuestion("Is dark river (2017 Film) by Clio Barnard about a river?", names)
	var want []Key
	for _, name := range []string{"Dark River (2017 film)", "Clio Barnard", "River"} {
		key, _ := KeyOf(name)
		want = append(want, key)
	}
	if name := "River"; !names(want[2]) {
		t.Fatal(name)
	}
	if !slices.Equal(got, want[:len(got)]) || len(got) < 2 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPhrasesAreLinearInTheText(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		words := make([]string, random.IntN(50))
		for i := range words {
			words[i] = []string{"Alpha", "beta", "the", "41-207", "é"}[random.IntN(5)]
		}
		text := strings.Join(words, " ")
		if n, most := len(Phrases(text)), 2*maxNameWords*len(words); n > most {
			t.Fatalf("%d phrases of %d words", n, len(words))
		}
	}
}

func BenchmarkPhrases(b *testing.B) {
	text := strings.Repeat("The director of Dark River, a film of 2017, was born in Otley. ", 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Phrases(text)
	}
}

func TestReferencesAreWordsOfTheText(t *testing.T) {
	t.Parallel()
	text := "a.b «c/d»—e1 ‘f2’\u00a0g3\xffh4;.5 plain"
	want := []string{"a.b", "c/d", "—e1", "f2", "g3\xffh4", ".5"}
	if got := slices.Collect(references(text)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHeadingsOfOneWordAreNoNamesUnlessIdentifiers(t *testing.T) {
	t.Parallel()
	text := "## Parameters\n## TOAST\n## Index Types\n## `work_mem`\n## maxSize\n## LD-101\n## Free Space Map (FSM)\n"
	want := []string{
		"heading: TOAST", "heading: Index Types", "heading: `work_mem`", "heading: maxSize", "heading: LD-101",
		"heading: Free Space Map (FSM)", "identifier: FSM",
	}
	if diff := cmp.Diff(want, written(InText(text))); diff != "" {
		t.Error(diff)
	}
}

func TestIdentifiersAsCodeAreTerms(t *testing.T) {
	t.Parallel()
	text := "`work_mem` (`integer`)\n\nSets it.\n`pg_cancel_backend` ( `pid` `integer` ) → `boolean`\n- `http.Client`: does\n" +
		"| `BufferPin` | Waiting |\n**max_connections** is\n`parse_url(text)`\n`fsync` (`boolean`)\n`shared_buffers` is used here\nSee `wal_level`\n"
	want := []string{"term: work_mem", "term: pg_cancel_backend", "term: http.Client", "term: BufferPin", "term: max_connections", "term: parse_url"}
	if diff := cmp.Diff(want, written(InText(text))); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCountsAsAMention(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"CLUSTER", "Run CLUSTER again.", true},
		{"CLUSTER", "A cluster of servers.", false},
		{"CREATE INDEX", "How long does create index take?", true},
		{"Lambert", "LAMBERT, a saint", true},
		{"pg_stat", "the view pg_stat_activity", false},
		{"stat_activity", "the view pg_stat_activity", false},
		{"pg_stat_activity", "the view `pg_stat_activity`.", true},
		{"work_mem", "more work mem", true},
		{"Dark River", "_Dark River_ is a film", true},
	} {
		key, _ := KeyOf(c.name)
		if got := slices.Contains(Keys(Phrases(c.text)), key); got != c.want {
			t.Errorf("%q mentions %s: %t, want %t", c.text, c.name, got, c.want)
		}
	}
}
