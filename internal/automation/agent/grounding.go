package agent

import (
	"context"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/grounding"
)

// Grounding is what is done about sentences of an answer that nothing supports that the tools have found.
type Grounding string

// The values.
const (
	GroundingOff    Grounding = "off"
	GroundingMark   Grounding = "mark"   // they are listed
	GroundingRemove Grounding = "remove" // they are removed
)

// Grounded says how far an answer rests on what the tools have found.
type Grounded struct {
	Score       float64 `json:"score"` // in [0,1], see grounding.Report
	Supported   int     `json:"supported"`
	Partly      int     `json:"partly"`
	Unsupported int     `json:"unsupported"`
	Removed     int     `json:"removed"`
	// Sentences are those that are unsupported or supported in part, with their bytes in the text; none with GroundingRemove.
	Sentences []GroundedSentence `json:"sentences,omitempty"`
}

// GroundedSentence is a sentence of an answer.
type GroundedSentence struct {
	StartByte int             `json:"startByte"`
	EndByte   int             `json:"endByte"`
	State     grounding.State `json:"state"`
	Score     float64         `json:"score"`
	Missing   []Missing       `json:"missing,omitempty"`
}

// Missing is what a sentence has and its sources lack.
type Missing struct {
	StartByte int            `json:"startByte"`
	EndByte   int            `json:"endByte"`
	Kind      grounding.Kind `json:"kind"`
	Elsewhere bool           `json:"elsewhere,omitempty"`
}

// nothingSupported is the answer of which no sentence is left.
const nothingSupported = "No sentence of the answer is supported by what was found."

func (a *Agent) checkGrounding() error {
	switch a.Grounding {
	case "", GroundingOff:
		return nil
	case GroundingMark, GroundingRemove:
		if a.OutputSchema != nil {
			return fault.Field("grounding", "compares sentences, and answers with outputSchema are JSON: leave one out")
		}
		return nil
	}
	return fault.Field("grounding", "must be off, mark or remove, got %q", a.Grounding)
}

// ground checks an answer against what the tools have found, if the agent says so. With GroundingRemove the text is told now. Errors:
// Exhausted for an answer that is too long to be checked; that of Question.OnEvent.
func (r *run) ground(ctx context.Context, answer *Answer) error {
	if r.agent.Grounding != GroundingMark && r.agent.Grounding != GroundingRemove {
		return nil
	}
	if len(answer.Text) > grounding.MaxAnswerBytes || grounding.CountSentences(answer.Text) > grounding.MaxSentences {
		return fault.New(fault.Exhausted, "the answer of agent %q has more than the %d bytes or %d sentences that can be checked: lower sampling.maxTokens, or set grounding to off",
			r.agent.Name, grounding.MaxAnswerBytes, grounding.MaxSentences)
	}
	report, err := r.checked(ctx, answer)
	if err != nil {
		return err
	}
	answer.Grounding = groundedOf(report)
	if r.agent.Grounding == GroundingMark {
		return nil
	}
	var unsupported []grounding.Span
	for _, s := range report.Sentences {
		if s.State == grounding.Unsupported {
			unsupported = append(unsupported, s.Span)
		}
	}
	answer.Grounding.Removed, answer.Grounding.Sentences = len(unsupported), nil
	if len(unsupported) > 0 {
		answer.Text = grounding.Without(answer.Text, unsupported)
		if answer.Text == "" && len(answer.Calls) == 0 {
			answer.Text = nothingSupported
		}
		answer.Citations = slices.DeleteFunc(answer.Citations, func(c Citation) bool {
			return !slices.ContainsFunc(Markers(answer.Text), func(m Marker) bool { return slices.Contains(m.Numbers, c.Number) })
		})
	}
	if answer.Text == "" {
		return nil
	}
	return r.tell(Event{Kind: TextPiece, Text: answer.Text})
}

// checked compares an answer with the passages, those that it cites first, and with what other tools have answered.
func (r *run) checked(ctx context.Context, answer *Answer) (grounding.Report, error) {
	var sources []grounding.Source
	left := grounding.MaxSourceBytes
	add := func(s grounding.Source) {
		if size := len(s.Title) + len(s.Text); size <= left {
			sources, left = append(sources, s), left-size
		}
	}
	for _, c := range slices.Concat(answer.Citations, r.passages) {
		if s := (grounding.Source{Title: c.Title, Text: c.Text}); !slices.Contains(sources, s) {
			add(s)
		}
	}
	for _, text := range r.results {
		add(grounding.Source{Text: text})
	}
	if r.service.Enter != nil {
		leave, err := r.service.Enter(ctx)
		if err != nil {
			return grounding.Report{}, err
		}
		defer leave()
	}
	return grounding.Check(ctx, answer.Text, sources)
}

func groundedOf(report grounding.Report) *Grounded {
	g := &Grounded{
		Score: report.Score, Supported: report.Count(grounding.Supported), Partly: report.Count(grounding.Partly), Unsupported: report.Count(grounding.Unsupported),
	}
	for _, s := range report.Sentences {
		if s.State != grounding.Partly && s.State != grounding.Unsupported {
			continue
		}
		one := GroundedSentence{StartByte: s.Start, EndByte: s.End, State: s.State, Score: s.Score}
		for _, m := range s.Missing {
			one.Missing = append(one.Missing, Missing{m.Start, m.End, m.Kind, m.Elsewhere})
		}
		g.Sentences = append(g.Sentences, one)
	}
	return g
}
