package evaluate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
)

func TestReadQrels(t *testing.T) {
	t.Parallel()
	const header = "query_id\tdoc_id\trelevance\n"
	got, err := ReadQrels("q.tsv", strings.NewReader(header+"q1\td1\t1\r\nq1\td2\t0\n\nq2\td 3\t2.5\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]measure.Judgements{"q1": {"d1": 1, "d2": 0}, "q2": {"d 3": 2.5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for input, problem := range map[string]string{
		header + "q1\td1":                   "q.tsv:2: has 2 columns, want query_id, doc_id and relevance with tabs between them",
		header + "q1\td1\t1\nq1\td1\thigh":  `q.tsv:3: relevance "high" is not a number`,
		header + strings.Repeat("x", 1<<17): "q.tsv:2: bufio.Scanner: token too long",
	} {
		if _, err := ReadQrels("q.tsv", strings.NewReader(input)); err == nil || err.Error() != problem {
			t.Errorf("got %v, want %q", err, problem)
		}
	}
}

func TestQuestionsSurviveAFile(t *testing.T) {
	t.Parallel()
	questions := []Question{
		{ID: "1", Text: "documents?", Relevant: []Relevant{{URI: "a", Grade: 1}, {URI: "b", Grade: 1}}},
		{ID: "2", Text: "grades & <spans>?", Relevant: []Relevant{{URI: "a", Grade: 3}, {URI: "b", Grade: 1, Span: &Span{3, 9}}}, Drafted: true},
		{ID: "3", Text: "an answer?", Answer: "42"},
		{ID: "4", Text: "nothing?", Unanswerable: true},
		{ID: "5", Text: "both?", Relevant: []Relevant{{URI: "a", Grade: 1}}, Answer: "two", AlternativeAnswers: []string{"2", "a pair"}},
	}
	var file strings.Builder
	if err := WriteQuestions(&file, questions); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(file.String(), "\n"); first != `{"id":"1","text":"documents?","uris":["a","b"]}` {
		t.Errorf("wrote %s", first)
	}
	got, err := ReadQuestions("q.jsonl", strings.NewReader(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Locations = nil
		if err := got[i].check(); err != nil {
			t.Errorf("question %s: %v", got[i].ID, err)
		}
	}
	if diff := cmp.Diff(questions, got, cmp.Comparer(func(a, b map[string]string) bool { return len(a) == len(b) })); diff != "" {
		t.Error(diff)
	}
}

func TestCheckNamesTheField(t *testing.T) {
	t.Parallel()
	relevant := []Relevant{{URI: "a"}}
	for _, tc := range []struct {
		q    Question
		want string
	}{
		{Question{Text: "t", Relevant: relevant}, "questionId: is missing"},
		{Question{ID: "1", Relevant: relevant}, "text: is missing"},
		{Question{ID: "1", Text: "t"}, "relevant: is missing"},
		{Question{ID: "1", Text: "t", Answer: "a", Unanswerable: true}, "unanswerable: excludes relevant and answer"},
		{Question{ID: "1", Text: "t", Relevant: relevant, Unanswerable: true}, "unanswerable: excludes relevant and answer"},
		{Question{ID: "1", Text: "t", Relevant: relevant, AlternativeAnswers: []string{"b"}}, "answer: is missing"},
		{Question{ID: "1", Text: "t", Answer: "a", AlternativeAnswers: []string{"b", "."}}, "alternativeAnswers[1]: has no letter"},
		{Question{ID: "1", Text: "t", Answer: "a", AlternativeAnswers: make([]string, maxAnswers+1)}, "alternativeAnswers: must be at most 20"},
		{Question{ID: "1", Text: "t", Answer: "?!"}, "answer: has no letter"},
		{Question{ID: "1", Text: "t", Relevant: []Relevant{{URI: "a"}, {URI: "a", Grade: 2}}}, "relevant[1]: is given twice"},
		{Question{ID: "1", Text: "t", Relevant: []Relevant{{URI: "a", Grade: -1}}}, "relevant[0].grade: must be above 0"},
		{Question{ID: "1", Text: "t", Relevant: []Relevant{{URI: "a", Span: &Span{4, 4}}}}, "relevant[0].endByte: must be greater"},
		{Question{ID: "1", Text: strings.Repeat("x", maxTextBytes+1), Relevant: relevant}, "text: is 32769 bytes, over the limit"},
	} {
		if err := tc.q.check(); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

func TestRank(t *testing.T) {
	t.Parallel()
	hits := []Hit{
		{URI: "a", Span: Span{0, 100}, Text: "The harbour opened in 1921."},
		{URI: "b", Span: Span{0, 50}, Text: "nothing"},
		{URI: "a", Span: Span{100, 200}, Text: "It has two DOCKS, and a crane."},
		{URI: "c", Span: Span{0, 40}, Text: "東京都にあります"},
	}
	for name, tc := range map[string]struct {
		q        Question
		want     measure.Ranking
		relevant []bool
	}{
		"documents": {
			Question{Relevant: []Relevant{{URI: "a"}, {URI: "c"}}},
			measure.Ranking{{"a"}, nil, {"c"}}, []bool{true, false, true, true},
		},
		"spans": {
			Question{Relevant: []Relevant{{URI: "a", Span: &Span{90, 130}}, {URI: "a", Span: &Span{150, 160}}, {URI: "b", Span: &Span{60, 70}}}},
			measure.Ranking{nil, nil, {"a#90-130", "a#150-160"}, nil}, []bool{false, false, true, false},
		},
		"a span longer than the chunks": {
			Question{Relevant: []Relevant{{URI: "a", Span: &Span{0, 1000}}}},
			measure.Ranking{{"a#0-1000"}, nil, {"a#0-1000"}, nil}, []bool{true, false, true, false},
		},
		"an answer": {Question{Answer: "two docks"}, measure.Ranking{nil, nil, {"answer"}, nil}, []bool{false, false, true, false}},
		"an answer with punctuation and case": {
			Question{Answer: "Docks and a  CRANE"}, measure.Ranking{nil, nil, {"answer"}, nil}, []bool{false, false, true, false},
		},
		"a part of a word is no answer": {Question{Answer: "dock"}, measure.Ranking{nil, nil, nil, nil}, make([]bool, 4)},
		"a script without spaces":       {Question{Answer: "東京"}, measure.Ranking{nil, nil, nil, {"answer"}}, []bool{false, false, false, true}},
		"nothing answers":               {Question{Unanswerable: true}, measure.Ranking{nil, nil, nil}, make([]bool, 4)},
	} {
		ranking, relevant := tc.q.Rank(hits)
		if diff := cmp.Diff(tc.want, ranking); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(tc.relevant, relevant); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFirstSentence(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Word and more ", 40)
	for text, want := range map[string]string{
		"The harbour was opened by a mayor. It has two docks.":       "The harbour was opened by a mayor",
		"the rest of one. The harbour was opened by a mayor. It has": "The harbour was opened by a mayor",
		"# Harbour\n\n| a | b |\n\nThe harbour\nwas opened.":         "The harbour was opened",
		"Short one. Another.":     "",
		"":                        "",
		"- a list\n\n```\ncode\n": "",
		"東京都の港は一九二一年に開かれました。二つのドックがあります。": "東京都の港は一九二一年に開かれました",
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := firstSentence(long); len(got) > maxDraftBytes || !strings.HasSuffix(got, "more") && !strings.HasSuffix(got, "and") && !strings.HasSuffix(got, "Word") {
		t.Errorf("cut to %q", got)
	}
}
