package evaluate

import (
	"errors"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

func TestVerdictsThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()
	all := []string{"analysis", "declined", "correctness", "faithfulness"}
	const good = `{"analysis": "fine", "declined": false, "correctness": 0, "faithfulness": 1}`
	if v, err := readVerdict(good, all); err != nil || *v.Correctness != 0 || *v.Faithfulness != 1 || v.Declined {
		t.Errorf("read %+v, %v", v, err)
	}
	if v, err := readVerdict(`{"analysis": "", "declined": true}`, all[:2]); err != nil || !v.Declined || v.Correctness != nil {
		t.Errorf("read %+v, %v", v, err)
	}
	for name, text := range map[string]string{
		"no JSON":           "1.0",
		"a list":            "[" + good + "]",
		"nothing":           "",
		"null":              "null",
		"half of it":        good[:40],
		"two objects":       good + good,
		"text behind it":    good + " as asked",
		"a field too many":  strings.Replace(good, "{", `{"score": 1, `, 1),
		"a field twice":     strings.Replace(good, "{", `{"correctness": 1, `, 1),
		"another case":      strings.Replace(good, "correctness", "Correctness", 1),
		"a missing grade":   `{"analysis": "fine", "declined": false, "correctness": 1}`,
		"a missing reason":  `{"declined": false, "correctness": 1, "faithfulness": 1}`,
		"no decision":       `{"analysis": "fine", "correctness": 1, "faithfulness": 1}`,
		"null as a grade":   strings.Replace(good, "0", "null", 1),
		"a text as a grade": strings.Replace(good, "0", `"1.0"`, 1),
		"too high":          strings.Replace(good, "0", "1.01", 1),
		"too low":           strings.Replace(good, "0", "-0.1", 1),
		"far too high":      strings.Replace(good, "0", "1e999", 1),
		"not a number":      strings.Replace(good, "0", "NaN", 1),
	} {
		var bad *endpoint.BadAnswerError
		if v, err := readVerdict(text, all); !errors.As(err, &bad) || v != (verdict{}) {
			t.Errorf("%s: read %+v, %v", name, v, err)
		}
	}
	if _, err := readVerdict(good, all[:3]); err == nil {
		t.Error("a grade that was not asked for is read")
	}
}

func TestWhatOfAnAnswerIsCompared(t *testing.T) {
	t.Parallel()
	for want, said := range map[string]agent.Answer{
		"Two docks .":      {Text: "Two docks [1, 2]."},
		"two":              {Text: `{"answer": "two"}`, Object: []byte(`{"answer": "two"}`)},
		"2.50":             {Object: []byte(`{"answer": 2.50}`)},
		"true":             {Object: []byte(`{"answer": true}`)},
		`{"docks": 2}`:     {Text: `{"docks": 2}`, Object: []byte(`{"docks": 2}`)},
		`{"answer": null}`: {Text: `{"answer": null}`, Object: []byte(`{"answer": null}`)},
	} {
		if got := short(said); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestErrorsThatMayPass(t *testing.T) {
	t.Parallel()
	status := &endpoint.StatusError{Status: 429}
	for name, tc := range map[string]struct {
		err                     error
		passing, refusesAllOfIt bool
	}{
		"unreachable":        {fault.New(fault.Unavailable, "x"), true, false},
		"rate limit":         {fault.Wrap(fault.Exhausted, status, "x"), true, false},
		"blown fuse":         {fault.Retry(1, "x"), true, false},
		"limit of the agent": {fault.New(fault.Exhausted, "x"), false, false},
		"bad answer":         {fault.Wrap(fault.Unavailable, endpoint.BadAnswer("x"), "x"), false, false},
		"wrong key":          {fault.Wrap(fault.Precondition, &endpoint.StatusError{Status: 401}, "x"), false, true},
		"refused question":   {fault.Wrap(fault.Invalid, &endpoint.StatusError{Status: 400}, "x"), false, false},
		"too slow":           {fault.New(fault.Deadline, "x"), false, false},
		"none":               {nil, false, false},
	} {
		if passing(tc.err) != tc.passing || refused(tc.err) != tc.refusesAllOfIt {
			t.Errorf("%s: passing %v, refused %v", name, passing(tc.err), refused(tc.err))
		}
	}
}

func TestOutagesAreToldFromQuestionsThatFail(t *testing.T) {
	t.Parallel()
	down, answered := Result{Answer: &Answer{outage: errors.New("down")}}, Result{Answer: &Answer{AnswerResult: measure.AnswerResult{Failed: true}}}
	for name, tc := range map[string]struct {
		results []Result
		first   bool
		want    bool
	}{
		"all of a batch":                 {[]Result{down, down, down, down}, false, true},
		"all but one":                    {[]Result{down, down, answered, down}, false, false},
		"a last batch that is too small": {[]Result{down}, false, false},
		"a set that is as small":         {[]Result{down}, true, true},
		"one of it":                      {[]Result{down, answered}, true, false},
	} {
		if got := outage(tc.results, tc.first) != nil; got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
