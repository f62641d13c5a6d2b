package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

const (
	// queriesArgument is the argument of vector_query with several questions.
	queriesArgument = "queries"
	// answersField is the field of its result with what was found for each.
	answersField = "answers"
)

// severalAnswers is the result for several questions. The response has the passages of all, each once.
type severalAnswers struct {
	*ragdv1.VectorQueryResponse

	answers []questionAnswer
}

// questionAnswer is what was found for one of several questions.
type questionAnswer struct {
	QueryText string           `json:"queryText"`
	Sources   []numberedSource `json:"sources"` // best first
	Warnings  []string         `json:"warnings,omitempty"`
	QueryID   string           `json:"queryId,omitempty"`
	Error     *questionError   `json:"error,omitempty"`
}

// numberedSource is a passage by its number among those of all questions, from 1.
type numberedSource struct {
	Number int     `json:"number"`
	Score  float64 `json:"score"`
}

type questionError struct {
	Code              string  `json:"code"`
	Message           string  `json:"message"`
	Field             string  `json:"field,omitempty"`
	RetryDelaySeconds float64 `json:"retryDelaySeconds,omitempty"`
}

// splitQueries removes queriesArgument from a call's arguments and returns its value, nil if there is
// none: the API has a method of its own for several questions.
func splitQueries(arguments accepted) (rest accepted, questions []string, err error) {
	if !bytes.Contains(arguments.json, []byte(`"`+queriesArgument+`"`)) {
		return arguments, nil, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments.json, &given); err != nil {
		return rest, nil, fmt.Errorf("read the arguments: %w", err)
	}
	if err := json.Unmarshal(given[queriesArgument], &questions); given[queriesArgument] != nil && err != nil {
		return rest, nil, fault.Field(queriesArgument, "must be a list of questions")
	}
	delete(given, queriesArgument)
	rest.vectors = arguments.vectors
	rest.json, err = json.Marshal(given)
	return rest, questions, err
}

// askSeveral answers several questions, all with the settings of req. The budget holds for all passages together.
func (s *Set) askSeveral(ctx context.Context, req *ragdv1.VectorQueryRequest, questions []string) (proto.Message, string, error) {
	switch {
	case req.GetQueryText() != "":
		return nil, "", fault.Field(queriesArgument, "and queryText are mutually exclusive: put all questions into %s", queriesArgument)
	case len(req.GetQueryVector()) > 0:
		return nil, "", fault.Field(queriesArgument, "and queryVector are mutually exclusive: leave one out")
	case req.GetExplain():
		return nil, "", fault.Field("explain", "is for one question: leave it out, or ask with queryText")
	case req.GroupBy != nil:
		return nil, "", fault.Field("groupBy", "is for one question: leave it out, or ask with queryText")
	case req.PageSize != nil || req.GetPageToken() != "":
		return nil, "", fault.Field("pageSize", "is for one question, and so is pageToken: leave both out, or ask with queryText")
	case req.IncludeSources != nil && !req.GetIncludeSources():
		return nil, "", fault.Field("includeSources", "must be true with %s, whose answers name passages by number", queriesArgument)
	}
	b, err := newBudget(req.MaxTokens, req.GetEncodingName())
	if err != nil {
		return nil, "", err
	}
	req.MaxTokens, req.EncodingName, req.IncludeSources = nil, "", nil
	batch := &ragdv1.BatchQueryRequest{Queries: make([]*ragdv1.VectorQueryRequest, len(questions))}
	for n, question := range questions {
		batch.Queries[n] = shallowCopy(req).(*ragdv1.VectorQueryRequest)
		batch.Queries[n].QueryText = question
	}
	res, err := s.api.BatchQuery(ctx, batch)
	if err != nil {
		return nil, "", err
	}
	found, err := answersOf(questions, res.GetAnswers())
	if err != nil {
		return nil, "", err
	}
	all := byRank(found)
	assemble := func(p parts) (proto.Message, string, error) {
		if p.budget == nil && b != nil { // the size of a passage alone
			alone := &ragdv1.VectorQueryResponse{Sources: p.sources}
			return alone, answerText(req, alone), nil
		}
		answer := numbered(found, p)
		return answer, severalText(answer, req.GetFilter() != nil), nil
	}
	if b == nil {
		return assemble(parts{sources: all})
	}
	f := fitting{meter: meterOf(ctx, b), assemble: assemble}
	least := f.shorten(found)
	switch {
	case f.err != nil:
		return nil, "", f.err
	case least > b.Max*3/4: // the rest is for a passage, or the names of what is left out
		return nil, "", fault.Field("maxTokens", "must be at least %d for these %d questions, got %d: raise it, or ask fewer", least*4/3+1, len(questions), b.Max)
	}
	return fitted(ctx, b, all, assemble, nil)
}

// foundAnswer is an answer before its passages have numbers.
type foundAnswer struct {
	questionAnswer

	found []*ragdv1.Source
}

// answersOf returns the answers to questions. Errors: Invalid if the request context leaves sources out.
func answersOf(questions []string, answers []*ragdv1.BatchAnswer) ([]foundAnswer, error) {
	all := make([]foundAnswer, len(questions))
	for n, one := range answers {
		res := one.GetAnswer()
		if len(res.GetSources()) == 0 && res.GetRelevantContext() != "" {
			return nil, fault.Field("includeSources", "is false in the request context: change it there, or ask one question with queryText")
		}
		all[n].questionAnswer = questionAnswer{QueryText: questions[n], Warnings: res.GetWarnings(), QueryID: res.GetQueryId()}
		if e := one.GetError(); e != nil {
			all[n].Error = &questionError{e.GetCode(), e.GetMessage(), e.GetField(), e.GetRetryDelaySeconds()}
		}
		all[n].found = res.GetSources()
	}
	return all, nil
}

// shorten leaves names of answers and warnings out of answers if they take more than an eighth of the budget each. It returns
// the tokens of the result without passages.
func (f *fitting) shorten(answers []foundAnswer) int {
	names, warnings := 0, 0
	for _, a := range answers {
		names += f.Count(a.QueryID)
		warnings += f.Count(strings.Join(a.Warnings, "\n"))
	}
	for n := range answers {
		a := &answers[n]
		if names > f.Max/namedShare {
			a.QueryID = ""
		}
		if left := len(a.Warnings); left > 0 && warnings > f.Max/namedShare {
			a.Warnings = []string{fmt.Sprintf("%d notices do not fit into maxTokens", left)}
		}
	}
	return f.total(parts{budget: &ragdv1.Budget{MaxTokens: int32(f.Max), UsedTokens: int32(f.Max), EncodingName: f.Encoding, OmittedCount: 1}})
}

// byRank returns the passages of several answers, each once: the first of each answer, then the second of
// each, and so on, so that a budget leaves out those that are worst for their question. Of a passage that answers
// show with more or less around it, the longest is returned.
func byRank(answers []foundAnswer) (all []*ragdv1.Source) {
	at := map[string]int{}
	for rank, more := 0, true; more; rank++ {
		more = false
		for _, a := range answers {
			if rank >= len(a.found) {
				continue
			}
			more = true
			source := a.found[rank]
			key := keyOf(source)
			if n, ok := at[key]; !ok {
				at[key] = len(all)
				all = append(all, source)
			} else if len(source.GetDocument()) > len(all[n].GetDocument()) {
				all[n] = source
			}
		}
	}
	return all
}

// keyOf returns what tells passages apart.
func keyOf(source *ragdv1.Source) string { return source.GetIndexName() + "/" + source.GetId() }

// numbered returns the result that shows these passages, in the order of the questions.
func numbered(answers []foundAnswer, p parts) severalAnswers {
	shown := map[string]*ragdv1.Source{}
	for _, source := range p.sources {
		shown[keyOf(source)] = source
	}
	several := severalAnswers{&ragdv1.VectorQueryResponse{Warnings: p.warnings, Budget: p.budget}, make([]questionAnswer, len(answers))}
	numbers := map[string]int{}
	for n, one := range answers {
		a := one.questionAnswer
		a.Sources = []numberedSource{}
		for _, source := range one.found {
			key := keyOf(source)
			if shown[key] == nil {
				continue // over the budget
			}
			if numbers[key] == 0 {
				several.Sources = append(several.Sources, shown[key])
				numbers[key] = len(several.Sources)
			}
			a.Sources = append(a.Sources, numberedSource{numbers[key], source.GetScore()})
		}
		several.answers[n] = a
	}
	return several
}

// severalText returns the text of a result: each question with its passages. One that stands above is named by its number.
func severalText(several severalAnswers, filtered bool) string {
	var b strings.Builder
	writeWarnings(&b, several.GetWarnings())
	written := 0
	for n, a := range several.answers {
		if n > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "Question %d: %s\n", n+1, oneLine(a.QueryText))
		writeWarnings(&b, a.Warnings)
		var above []string
		fresh := written
		for _, source := range a.Sources {
			if source.Number <= written {
				above = append(above, "["+strconv.Itoa(source.Number)+"]")
			}
			fresh = max(fresh, source.Number)
		}
		switch {
		case a.Error != nil:
			fmt.Fprintf(&b, "Error: %s", a.Error.Message)
		case len(a.Sources) == 0 && several.GetBudget().GetOmittedCount() > 0:
			b.WriteString("Nothing was found, or nothing fits into the budget.")
		case len(a.Sources) == 0:
			b.WriteString("Nothing was found.")
			if filtered {
				b.WriteString(" The filter may be too strict.")
			}
		}
		if len(above) > 0 {
			fmt.Fprintf(&b, "See above: %s", strings.Join(above, ", "))
			if fresh > written {
				b.WriteString("\n")
			}
		}
		writeSources(&b, several.Sources[written:fresh], written)
		written = fresh
	}
	writeBudget(&b, several.GetBudget())
	return b.String()
}

// structured returns the JSON of the result.
func (several severalAnswers) structured() (json.RawMessage, error) {
	whole, err := structuredAnswer(several.VectorQueryResponse, several.Sources)
	if err != nil {
		return nil, err
	}
	answers, err := json.Marshal(several.answers)
	if err != nil {
		return nil, err
	}
	whole = append(whole[:len(whole)-1], `,"`+answersField+`":`...)
	return append(append(whole, answers...), '}'), nil
}
