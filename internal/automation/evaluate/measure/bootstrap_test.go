package measure

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample returns 60 answerable questions, whose recall is given, and 20 unanswerable ones.
func sample(recall func(i int) float64) []Result {
	var all []Result
	for i := range 60 {
		score := float64(i*7%13)/13 + 0.3
		all = append(all, Result{
			Answerable: true, Cuts: []Cut{{K: 5, Recall: recall(i)}}, TopScore: &score, Above: 4, Right: i % 3,
			Latency: time.Duration(i+1) * time.Millisecond,
		})
	}
	for i := range 20 {
		score := float64(i*5%11) / 11
		all = append(all, Result{Cuts: []Cut{{K: 5}}, TopScore: &score, Above: i % 2, Latency: time.Second})
	}
	return all
}

func pattern(values ...float64) func(int) float64 {
	return func(i int) float64 { return values[i%len(values)] }
}

// The expected values come from another implementation, with another random generator and
// 20,000 resamples (4,000 for the AUC).
func TestEstimatesAgreeWithAnotherImplementation(t *testing.T) {
	t.Parallel()
	results := sample(pattern(1, 1, 0, 0.5, 1, 0))
	got, err := Estimates(t.Context(), results, []int{5}, true)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Estimate{}
	for _, e := range got {
		byName[e.Name] = e
		if !(e.Low <= e.Value && e.Value <= e.High) {
			t.Errorf("%s: %v is not in [%v, %v]", e.Name, e.Value, e.Low, e.High)
		}
	}
	for _, want := range []Estimate{
		{At(RecallAt, 5), 0.5833333, 0.4667, 0.6917},
		{AUC, 0.7483333, 0.62, 0.86},
	} {
		g := byName[want.Name]
		if math.Abs(g.Value-want.Value) > 1e-6 || math.Abs(g.Low-want.Low) > 0.015 || math.Abs(g.High-want.High) > 0.015 {
			t.Errorf("got %+v, want %+v", g, want)
		}
	}
	if g := byName[Precision]; math.Abs(g.Value-60.0/250) > 1e-9 { // 20*(0+1+2) right of 60*4 + 10
		t.Errorf("precision %v", g.Value)
	}
	if p50, p99 := byName[P50].Value, byName[P99].Value; p50 != 40 || p99 != 1000 {
		t.Errorf("latencies %v, %v", p50, p99)
	}
	again, _ := Estimates(t.Context(), results, []int{5}, true)
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("a second time: %s", diff)
	}
}

func TestMeasuresWithoutQuestionsAreLeftOut(t *testing.T) {
	t.Parallel()
	names := func(results []Result) (all []string) {
		estimates, err := Estimates(t.Context(), results, []int{5}, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range estimates {
			all = append(all, e.Name)
		}
		if _, err := json.Marshal(estimates); err != nil {
			t.Error(err)
		}
		return all
	}
	answerable := []Result{{Answerable: true, Cuts: []Cut{{K: 5}}}, {Answerable: true, Cuts: []Cut{{K: 5}}}}
	for _, tc := range []struct {
		results []Result
		want    []string
	}{
		{nil, nil},
		{answerable, []string{"recall@5", "ndcg@5", "all@5", "mrr", "p50Ms", "p99Ms"}},
		{[]Result{{Cuts: []Cut{{K: 5}}, Above: 1}}, []string{"precision", "p50Ms", "p99Ms"}},
	} {
		if diff := cmp.Diff(tc.want, names(tc.results)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestEstimatesEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Estimates(ctx, sample(pattern(1)), []int{5}, false); err == nil {
		t.Error("no error")
	}
}

// The AUC by ranks is the fraction of pairs in the right order.
func TestAUCCountsPairs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		results := make([]Result, 2+random.IntN(30))
		for i := range results {
			results[i].Answerable = i%2 == 0
			if s := float64(random.IntN(6)); s > 0 { // others found nothing
				results[i].TopScore = &s
			}
		}
		right, pairs := 0.0, 0.0
		for _, a := range results {
			for _, b := range results {
				if !a.Answerable || b.Answerable {
					continue
				}
				x, y := -1.0, -1.0
				if a.TopScore != nil {
					x = *a.TopScore
				}
				if b.TopScore != nil {
					y = *b.TopScore
				}
				pairs++
				if x > y {
					right++
				} else if x == y {
					right += 0.5
				}
			}
		}
		if got := aucOf(results).of(once(len(results))); !near(got, right/pairs) {
			t.Fatalf("got %v, want %v", got, right/pairs)
		}
	}
}

// Nineteen of twenty intervals of samples contain the true mean.
func TestIntervalsCoverTheTruth(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	const trials, truth = 60, 0.7
	covered := 0
	for range trials {
		results := make([]Result, 100)
		for i := range results {
			results[i] = Result{Answerable: true}
			if random.Float64() < truth {
				results[i].Reciprocal = 1
			}
		}
		estimates, err := Estimates(t.Context(), results, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if e := estimates[0]; e.Low <= truth && truth <= e.High {
			covered++
		}
	}
	if covered < 51 {
		t.Errorf("%d of %d intervals contain the truth", covered, trials)
	}
}

func TestCompareAgreesWithAnotherImplementation(t *testing.T) {
	t.Parallel()
	before := sample(pattern(1, 1, 0, 0.5, 1, 0))
	worse, better := pattern(0, 1, 1, 0.5, 1, 0), pattern(1, 1, 0.5, 0.5, 1, 0)
	after := sample(func(i int) float64 {
		if i%4 == 0 {
			return worse(i)
		}
		return better(i)
	})
	all, err := Compare(t.Context(), before, after, []int{5}, false)
	if err != nil {
		t.Fatal(err)
	}
	d := all[0]
	if d.Name != "recall@5" || !near(d.Difference, 1.0/24) || d.Wins != 10 || d.Losses != 5 || d.Ties != 45 {
		t.Errorf("got %+v", d)
	}
	if math.Abs(d.Low+0.0667) > 0.015 || math.Abs(d.High-0.15) > 0.015 || math.Abs(d.P-0.4963) > 0.05 {
		t.Errorf("got the interval [%v, %v] and p %v", d.Low, d.High, d.P)
	}
	same, err := Compare(t.Context(), before, before, []int{5}, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range same {
		if d.Difference != 0 || d.Low != 0 || d.High != 0 || d.P != 1 || d.Wins+d.Losses != 0 {
			t.Errorf("a run differs from itself: %+v", d)
		}
	}
}

func TestSignTest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		wins, losses int
		want         float64
	}{{8, 2, 0.109375}, {15, 4, 0.0192108154296875}, {4, 15, 0.0192108154296875}, {3, 3, 1}, {0, 0, 1}, {1, 0, 1}, {40, 22, 0.030015864349067292}} {
		if got := signTest(tc.wins, tc.losses); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("signTest(%d, %d) = %v, want %v", tc.wins, tc.losses, got, tc.want)
		}
	}
}

func TestFindMeasuresOfAQuestion(t *testing.T) {
	t.Parallel()
	r := Result{Answerable: true, Cuts: []Cut{{K: 1, Recall: 0.25}, {K: 5, Recall: 0.5, NDCG: 0.75}}, Reciprocal: 0.2}
	for name, want := range map[string]float64{"recall@1": 0.25, "recall@5": 0.5, "ndcg@5": 0.75, "mrr": 0.2} {
		if got, ok := Find(Values(r), name); got != want || !ok {
			t.Errorf("%s is %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"recall@2", AUC, P50, ""} {
		if _, ok := Find(Values(r), name); ok {
			t.Errorf("a question has %s", name)
		}
	}
}
