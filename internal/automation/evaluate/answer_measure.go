package evaluate

import (
	"encoding/json"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// kept returns at most so many bytes of what a model said, in a form that can be stored.
func kept(text string, most int) string {
	return textlimit.Cut(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", ""), most)
}

// short returns what of an answer is compared with references: its text without citations, or the
// member answer of an answer in JSON.
func short(said agent.Answer) string {
	var object struct {
		Answer json.RawMessage `json:"answer"`
	}
	if said.Object != nil && json.Unmarshal(said.Object, &object) == nil && object.Answer != nil && string(object.Answer) != "null" {
		var text string
		if json.Unmarshal(object.Answer, &text) == nil {
			return text
		}
		return string(object.Answer)
	}
	return agent.WithoutMarkers(said.Text)
}

// compared returns the exact match and the token F1 of an answer, nil without references.
func compared(q Question, text string) (exact, f1 *float64) {
	references := q.References()
	if len(references) == 0 {
		return nil, nil
	}
	e, f := measure.ExactMatch(text, references), measure.TokenF1(text, references)
	return &e, &f
}

// cited returns the precision of citations, nil without any, and their recall, both nil for an
// unanswerable question.
func cited(q Question, citations []agent.Citation) (precision, recall *float64) {
	if !q.Judged() {
		return nil, nil
	}
	ranking, relevant := q.Rank(hitsOf(citations))
	r := measure.Recall(ranking, q.Judgements(), len(ranking))
	if len(citations) == 0 {
		return nil, &r
	}
	right := 0.0
	for _, yes := range relevant {
		if yes {
			right++
		}
	}
	p := right / float64(len(citations))
	return &p, &r
}

// hitsOf returns the passages of citations.
func hitsOf(citations []agent.Citation) []Hit {
	hits := make([]Hit, len(citations))
	for i, c := range citations {
		hits[i] = Hit{URI: c.URI, Span: Span{int(c.StartByte), int(c.EndByte)}, Text: c.Text}
	}
	return hits
}

// declined reports whether an answer says that the agent does not know, by the pattern, else by the
// judge's verdict, else by the citations. It is nil if none of them can tell.
func (a *asker) declined(said agent.Answer, verdict *bool) *bool {
	var yes bool
	switch {
	case a.declines != nil:
		yes = a.declines.MatchString(kept(strings.TrimSpace(said.Text), maxAnswerKept)) // bounds the work
	case a.evaluation.Settings.Agent.Judge != "":
		return verdict
	case said.Object != nil:
		return nil
	default:
		yes = len(said.Citations) == 0 && said.Usage.RemovedCitations == 0
	}
	return &yes
}

// answeredResult returns the result of a question that an agent was asked.
func answeredResult(q Question, answer Answer, citations []agent.Citation) Result {
	hits := hitsOf(citations)
	ranking, relevant := q.Rank(hits)
	missing := measure.Missing(ranking, q.Judgements(), len(ranking))
	r := Result{
		ID: q.ID, Text: q.Text, Version: q.version(), Answer: &answer, Missing: missing[:min(maxMissing, len(missing))],
		Result: measure.Result{Answerable: q.Judged(), Latency: answer.Latency},
	}
	for i, hit := range hits[:min(maxHits, len(hits))] {
		r.Hits = append(r.Hits, StoredHit{URI: hit.URI, Span: hit.Span, Relevant: relevant[i]})
	}
	return r
}

// answersOf returns the measures of answers.
func answersOf(results []Result) []measure.AnswerResult {
	all := make([]measure.AnswerResult, 0, len(results))
	for _, r := range results {
		if r.Answer != nil {
			all = append(all, r.Answer.AnswerResult)
		}
	}
	return all
}
