package measure

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testdata/answers.py is the reference computation.
func TestShortAnswersScoreAsInSQuAD(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c struct {
			Answer, Normalized string
			References         []string
			ExactMatch, F1     float64
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if got := NormalizeAnswer(c.Answer); got != c.Normalized {
			t.Errorf("%q is normalised to %q, want %q", c.Answer, got, c.Normalized)
		}
		exact, f1 := ExactMatch(c.Answer, c.References), TokenF1(c.Answer, c.References)
		if exact != c.ExactMatch || math.Abs(f1-c.F1) > 1e-12 {
			t.Errorf("%q against %q: %v and %v, want %v and %v", c.Answer, c.References, exact, f1, c.ExactMatch, c.F1)
		}
	}
	if n < 30 {
		t.Errorf("%d cases", n)
	}
}

func number(v float64) *float64 { return &v }

// The expected values are computed by hand.
func TestMeasuresOfAnswers(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	results := []AnswerResult{
		{Answerable: true, Declined: &no, ExactMatch: number(1), F1: number(1), CitationPrecision: number(0.5), CitationRecall: number(1),
			Judged: true, Correctness: number(1), Faithfulness: number(0.8), Tokens: 100, Cost: 2, Latency: 10 * time.Millisecond},
		{Answerable: true, Declined: &yes, ExactMatch: number(0), F1: number(0.5), CitationRecall: number(0), Judged: true, JudgeFailed: true,
			Tokens: 50, Cost: 1, Latency: 20 * time.Millisecond},
		{Answerable: true, Failed: true, Declined: &no, ExactMatch: number(0), F1: number(0), CitationRecall: number(0), Correctness: number(0), Tokens: 30},
		{Declined: &yes, Judged: true, Tokens: 20, Cost: 1, Latency: 30 * time.Millisecond},
		{Declined: &no, Judged: true, Faithfulness: number(0), Latency: 40 * time.Millisecond},
		{Judged: true, JudgeFailed: true, Latency: 50 * time.Millisecond},
	}
	estimates, err := AnswerEstimates(t.Context(), results)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, e := range estimates {
		got[e.Name] = math.Round(e.Value*1e6) / 1e6
		if !(e.Low <= e.Value && e.Value <= e.High) {
			t.Errorf("%s: %v is not in [%v, %v]", e.Name, e.Value, e.Low, e.High)
		}
	}
	want := map[string]float64{
		Correctness: 0.5, Exact: 0.333333, F1: 0.5, Faithfulness: 0.4, CitationPrecision: 0.5, CitationRecall: 0.333333,
		DeclinedAnswerable: 0.333333, DeclinedUnanswerable: 0.5, Failed: 0.166667, JudgeFailed: 0.4, Tokens: 33.333333, Cost: 0.666667, P50: 30, P99: 50,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	better := append([]AnswerResult(nil), results...)
	better[1].F1, better[2].F1 = number(1), number(0.2)
	better[0].CitationPrecision = nil
	better[4].Faithfulness, better[2].Faithfulness = nil, number(1)
	differences, err := CompareAnswers(t.Context(), results, better)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		switch d.Name {
		case F1:
			if !near(d.Difference, 0.7/3) || d.Wins != 2 || d.Losses != 0 || d.Ties != 1 {
				t.Errorf("f1: %+v", d)
			}
		case CitationPrecision:
			t.Errorf("a measure that only one has is compared: %+v", d)
		default:
			if d.Difference != 0 {
				t.Errorf("%+v", d)
			}
		}
	}
}

func TestMeasuresOfAnswersThatNoQuestionHasAreLeftOut(t *testing.T) {
	t.Parallel()
	estimates, err := AnswerEstimates(t.Context(), []AnswerResult{{Failed: true}, {Failed: true}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range estimates {
		got = append(got, e.Name)
	}
	if diff := cmp.Diff([]string{Failed, Tokens}, got); diff != "" {
		t.Error(diff)
	}
}
