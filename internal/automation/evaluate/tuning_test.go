package evaluate

import (
	"fmt"
	"testing"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
)

// tried returns results of questions of which each half got the nDCG that is given for the values.
func tried(questions int, choosing, comparing []float64) (all []Result) {
	for n := range questions {
		r := Result{Text: fmt.Sprint("question ", n), Result: measure.Result{Answerable: true}, Tried: comparing}
		if chooses(r.Text) {
			r.Tried = choosing
		}
		all = append(all, r)
	}
	return all
}

func TestTheValueOfATuningIsCheckedOnOtherQuestions(t *testing.T) {
	t.Parallel()
	settings := TuningSettings{Adopt: true, Present: 0, Tried: []float64{-1, 0, 1, 2}}
	for name, tc := range map[string]struct {
		choosing, comparing []float64
		chosen              float64
		wins                bool
	}{
		"better on both halves":      {[]float64{0.1, 0.5, 0.9, 0.6}, []float64{0.1, 0.5, 0.8, 0.9}, 1, true},
		"better on one half alone":   {[]float64{0.1, 0.5, 0.9, 0.6}, []float64{0.1, 0.5, 0.4, 0.9}, 1, false},
		"the same on the other half": {[]float64{0.1, 0.5, 0.9, 0.6}, []float64{0.1, 0.5, 0.5, 0.9}, 1, false},
		"the present one is best":    {[]float64{0.5, 0.9, 0.5, 0.9}, []float64{0.9, 0.1, 0.9, 0.9}, 0, false},
		"of two the nearer one":      {[]float64{0.1, 0.5, 0.9, 0.9}, []float64{0.1, 0.5, 0.8, 0.9}, 1, true},
	} {
		o, err := settings.outcome(t.Context(), "set", tried(80, tc.choosing, tc.comparing))
		if err != nil || o.Chosen != tc.chosen || o.wins(settings) != tc.wins || o.Choosing+o.Comparing != 80 {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
	if _, err := settings.outcome(t.Context(), "set", tried(39, settings.Tried, settings.Tried)); err == nil {
		t.Error("39 questions are enough")
	}
}

func TestTheHalvesOfQuestionsStay(t *testing.T) {
	t.Parallel()
	chosen := 0
	for n := range 1000 {
		text := fmt.Sprintf("How is part %d mended?", n)
		if chooses(text) != chooses("  how IS part  "+fmt.Sprint(n)+" mended? ") {
			t.Errorf("%q is in another half than the same in other letters", text)
		}
		if chooses(text) {
			chosen++
		}
	}
	if chosen < 450 || chosen > 550 {
		t.Errorf("%d of 1000 questions are in one half", chosen)
	}
}
