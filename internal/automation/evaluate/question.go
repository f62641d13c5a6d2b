package evaluate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/lexical"
)

// Question is a question and what answers it: relevant documents or spans of them, the text of
// the answer, or both. A question with none of them must be Unanswerable.
type Question struct {
	ID       string     `json:"id"`
	Text     string     `json:"text"`
	Relevant []Relevant `json:"relevant,omitempty"`
	// Answer is what the answers of agents are compared with. Without Relevant, a chunk that
	// contains it is relevant.
	Answer string `json:"answer,omitempty"`
	// AlternativeAnswers are other texts that are as good as Answer.
	AlternativeAnswers []string `json:"alternativeAnswers,omitempty"`

	Unanswerable bool `json:"unanswerable,omitempty"`
	Drafted      bool `json:"drafted,omitempty"` // made from the corpus and not reviewed
	// Locations says for each relevant uri where its judgement was read, as "file:line".
	Locations map[string]string `json:"-"`
}

// Relevant is a document, or a span of one, that answers a question.
type Relevant struct {
	URI string `json:"uri"`
	// Grade is how relevant it is, above 0; 0 means 1.
	Grade float64 `json:"grade,omitempty"`
	Span  *Span   `json:"span,omitempty"` // nil: the whole document
}

// Span is a range of bytes of a document.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"` // of the byte after the last
}

// Hit is a chunk that a search found.
type Hit struct {
	URI   string
	Span  Span
	Text  string
	Score float64
}

// Limits of a question.
const (
	maxIDBytes     = 255
	maxTextBytes   = 32 << 10 // as of a query
	maxAnswerBytes = 8 << 10
	maxAnswers     = 20 // alternative ones
	maxRelevant    = 1000
	maxURIBytes    = 2048
	maxByte        = math.MaxUint32 // of a span
)

// check returns an error for a question that cannot be stored. Errors: Invalid.
func (q Question) check() error {
	if strings.TrimSpace(q.ID) == "" {
		return fault.Field("questionId", "is missing: give each question of the set an id of its own")
	}
	if err := textlimit.Check("questionId", q.ID, maxIDBytes); err != nil {
		return err
	}
	if strings.TrimSpace(q.Text) == "" {
		return fault.Field("text", "is missing: it is the question")
	}
	if err := textlimit.Check("text", q.Text, maxTextBytes); err != nil {
		return err
	}
	if err := q.checkAnswers(); err != nil {
		return err
	}
	if err := q.checkKind(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, r := range q.Relevant {
		if err := r.check(); err != nil {
			return fault.Under(fmt.Sprintf("relevant[%d]", i), err)
		}
		if seen[r.item()] {
			return fault.Field(fmt.Sprintf("relevant[%d]", i), "is given twice")
		}
		seen[r.item()] = true
	}
	return nil
}

func (q Question) checkAnswers() error {
	if len(q.AlternativeAnswers) > maxAnswers {
		return fault.Field("alternativeAnswers", "must be at most %d, got %d", maxAnswers, len(q.AlternativeAnswers))
	}
	if q.Answer == "" && len(q.AlternativeAnswers) > 0 {
		return fault.Field("answer", "is missing: alternativeAnswers are given beside it")
	}
	for i, answer := range q.References() {
		field := "answer"
		if i > 0 {
			field = fmt.Sprintf("alternativeAnswers[%d]", i-1)
		}
		if err := textlimit.Check(field, answer, maxAnswerBytes); err != nil {
			return err
		}
		if normalized(answer) == "" {
			return fault.Field(field, "has no letter and no digit: it could not be found in a text")
		}
	}
	return nil
}

// checkKind returns an error unless the question either has judgements or is unanswerable.
func (q Question) checkKind() error {
	switch {
	case !q.Judged() && !q.Unanswerable:
		return fault.Field("relevant", "is missing: say which documents or spans are relevant, or give an answer, or set unanswerable")
	case q.Judged() && q.Unanswerable:
		return fault.Field("unanswerable", "excludes relevant and answer")
	case len(q.Relevant) > maxRelevant:
		return fault.Field("relevant", "has %d entries, over the limit of %d", len(q.Relevant), maxRelevant)
	}
	return nil
}

func (r Relevant) check() error {
	if r.URI == "" {
		return fault.Field("uri", "is missing")
	}
	if err := textlimit.Check("uri", r.URI, maxURIBytes); err != nil {
		return err
	}
	if !(r.Grade >= 0) || math.IsInf(r.Grade, 0) {
		return fault.Field("grade", "must be above 0, got %v: leave out what is not relevant", r.Grade)
	}
	if s := r.Span; s != nil && (s.Start < 0 || s.End <= s.Start || s.End > maxByte) {
		return fault.Field("endByte", "must be greater than startByte, got %d and %d", s.End, s.Start)
	}
	return nil
}

// item returns the id of the entry as an item of a ranking.
func (r Relevant) item() string {
	if r.Span == nil {
		return r.URI
	}
	return fmt.Sprintf("%s#%d-%d", r.URI, r.Span.Start, r.Span.End)
}

// answerItem is the item of an answer.
const answerItem = "answer"

// References returns the texts that answer the question, none if they are not known.
func (q Question) References() []string {
	if q.Answer == "" {
		return nil
	}
	return append([]string{q.Answer}, q.AlternativeAnswers...)
}

// byAnswer reports whether chunks are relevant that contain the answer.
func (q Question) byAnswer() bool { return q.Answer != "" && len(q.Relevant) == 0 }

// Judged reports whether something is relevant to the question.
func (q Question) Judged() bool { return len(q.Relevant) > 0 || q.Answer != "" }

// Judgements returns the relevant items of the question: uris, spans as uri#start-end, or
// "answer".
func (q Question) Judgements() measure.Judgements {
	j := measure.Judgements{}
	if q.byAnswer() {
		j[answerItem] = 1
	}
	for _, r := range q.Relevant {
		j[r.item()] = grade(r)
	}
	return j
}

func grade(r Relevant) float64 {
	if r.Grade == 0 {
		return 1
	}
	return r.Grade
}

// Rank returns the ranking of the question's items in a list of hits, and whether each hit
// is relevant. If only whole documents are relevant, a position is a document, at its first
// chunk; else it is a chunk.
func (q Question) Rank(hits []Hit) (ranking measure.Ranking, relevant []bool) {
	relevant = make([]bool, len(hits))
	byDocument := !q.byAnswer() && !slices.ContainsFunc(q.Relevant, func(r Relevant) bool { return r.Span != nil })
	seen := map[string]bool{}
	for i, hit := range hits {
		items := q.items(hit)
		relevant[i] = len(items) > 0
		if byDocument && seen[hit.URI] {
			continue
		}
		seen[hit.URI] = true
		ranking = append(ranking, items)
	}
	return ranking, relevant
}

// items returns the relevant items that a hit contains.
func (q Question) items(hit Hit) (items []string) {
	if q.byAnswer() && slices.ContainsFunc(q.References(), func(answer string) bool { return contains(hit.Text, answer) }) {
		items = append(items, answerItem)
	}
	for _, r := range q.Relevant {
		if r.URI == hit.URI && (r.Span == nil || r.Span.found(hit.Span)) {
			items = append(items, r.item())
		}
	}
	return items
}

// found reports whether a chunk has the span: they overlap by at least half of the shorter
// one.
func (s Span) found(chunk Span) bool {
	overlap := min(s.End, chunk.End) - max(s.Start, chunk.Start)
	shorter := min(s.End-s.Start, chunk.End-chunk.Start)
	return overlap > 0 && 2*overlap >= shorter
}

// contains reports whether a text has the tokens of an answer, one after the other.
func contains(text, answer string) bool {
	wanted := normalized(answer)
	return wanted != "" && strings.Contains(normalized(text), wanted)
}

// normalized returns the tokens of a text in lower case without accents and punctuation,
// each between spaces.
func normalized(text string) string {
	var b strings.Builder
	for token := range lexical.Tokens(text) {
		if token.Form == lexical.Pair { // its runes are tokens themselves
			continue
		}
		if b.Len() == 0 {
			b.WriteByte(' ')
		}
		b.Write(token.Folded)
		b.WriteByte(' ')
	}
	return b.String()
}

// Documents returns the uris of the documents that are relevant as a whole or in part,
// sorted.
func (q Question) Documents() []string {
	uris := map[string]bool{}
	for _, r := range q.Relevant {
		uris[r.URI] = true
	}
	return slices.Sorted(maps.Keys(uris))
}
