package measure

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// NormalizeAnswer returns a short answer as the evaluation script of SQuAD 2.0 compares it
// (Rajpurkar et al. 2016, section 6.1): in lower case, without the punctuation of ASCII, without
// the words a, an and the, and with single spaces.
func NormalizeAnswer(text string) string {
	text = cases.Lower(language.Und).String(text)
	text = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.FieldsFunc(withoutArticles(text), isSpace), " ")
}

// withoutArticles replaces the words a, an and the with spaces. A word is a run of letters and
// numbers, which underscores cannot be part of any more.
func withoutArticles(text string) string {
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(text)
		}
		switch text[:end] {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(text[:end])
		}
		text = text[end:]
		next := strings.IndexFunc(text, inWord)
		if next < 0 {
			next = len(text)
		}
		b.WriteString(text[:next])
		text = text[next:]
	}
	return b.String()
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// isSpace also reports the separators of ASCII, as Python does.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// ExactMatch returns 1 if an answer and one of the references are the same once normalised, else
// 0. References of which nothing is left are ignored unless there is no other.
func ExactMatch(answer string, references []string) float64 {
	return best(answer, references, func(given, wanted string) float64 {
		return *share(given == wanted)
	})
}

// TokenF1 returns the harmonic mean of the fraction of the answer's tokens that a reference has and
// the fraction of the reference's tokens that the answer has, for the best of the references, in
// [0,1]. Tokens are what white space separates once the texts are normalised, and count as often as
// they occur. References of which nothing is left are ignored unless there is no other, which an
// answer matches of which nothing is left either.
func TokenF1(answer string, references []string) float64 {
	return best(answer, references, func(given, wanted string) float64 {
		a, b := strings.Fields(given), strings.Fields(wanted)
		if len(a) == 0 || len(b) == 0 {
			return *share(len(a) == len(b))
		}
		left := make(map[string]int, len(b))
		for _, token := range b {
			left[token]++
		}
		same := 0
		for _, token := range a {
			if left[token] > 0 {
				left[token]--
				same++
			}
		}
		if same == 0 {
			return 0
		}
		precision, recall := float64(same)/float64(len(a)), float64(same)/float64(len(b))
		return 2 * precision * recall / (precision + recall)
	})
}

// best returns the largest score of a normalised answer against normalised references.
func best(answer string, references []string, score func(given, wanted string) float64) float64 {
	var wanted []string
	for _, reference := range references {
		if normalized := NormalizeAnswer(reference); normalized != "" {
			wanted = append(wanted, normalized)
		}
	}
	if wanted == nil {
		wanted = []string{""}
	}
	given, most := NormalizeAnswer(answer), 0.0
	for _, w := range wanted {
		most = max(most, score(given, w))
	}
	return most
}

// AnswerResult holds the measures of the answer that an agent gave to one question. A measure that
// is nil does not count for the question.
type AnswerResult struct {
	Answerable bool `json:"answerable"`
	Failed     bool `json:"failed,omitempty"` // there is no answer
	// Declined is whether the agent said that it does not know; nil if that is not known.
	Declined          *bool    `json:"declined,omitempty"`
	ExactMatch        *float64 `json:"exactMatch,omitempty"`
	F1                *float64 `json:"f1,omitempty"`
	CitationPrecision *float64 `json:"citationPrecision,omitempty"`
	CitationRecall    *float64 `json:"citationRecall,omitempty"`

	Judged       bool     `json:"judged,omitempty"`      // a judge was asked
	JudgeFailed  bool     `json:"judgeFailed,omitempty"` // and its verdict cannot be used
	Correctness  *float64 `json:"correctness,omitempty"`
	Faithfulness *float64 `json:"faithfulness,omitempty"`

	Tokens  int64         `json:"tokens,omitempty"` // of input and output, without those of the judge
	Cost    float64       `json:"cost,omitempty"`
	Latency time.Duration `json:"latency"`
}

// Names of measures of answers.
const (
	Exact                = "exactMatch"
	F1                   = "f1"
	CitationPrecision    = "citationPrecision"    // fraction of the cited passages that are relevant
	CitationRecall       = "citationRecall"       // fraction of the relevant items that are cited
	Correctness          = "correctness"          // by a judge
	Faithfulness         = "faithfulness"         // by a judge
	DeclinedAnswerable   = "declinedAnswerable"   // fraction of the answerable questions
	DeclinedUnanswerable = "declinedUnanswerable" // fraction of the unanswerable questions
	Failed               = "failed"               // fraction of all questions
	JudgeFailed          = "judgeFailed"          // fraction of the answers that a judge was asked about
	Tokens               = "tokens"               // mean of all questions
	Cost                 = "cost"                 // mean of all questions
)

// answerStatistics returns the statistics of answers.
func answerStatistics(results []AnswerResult) []statistic {
	of := func(name string, value func(AnswerResult) *float64) statistic {
		each := make([]float64, len(results))
		for i, r := range results {
			each[i] = math.NaN()
			if v := value(r); v != nil {
				each[i] = *v
			}
		}
		return meanOf(name, each)
	}
	declined := func(answerable bool) func(AnswerResult) *float64 {
		return func(r AnswerResult) *float64 {
			if r.Declined == nil || r.Answerable != answerable {
				return nil
			}
			return share(*r.Declined)
		}
	}
	priced := slices.ContainsFunc(results, func(r AnswerResult) bool { return r.Cost != 0 })
	all := []statistic{
		of(Correctness, func(r AnswerResult) *float64 { return r.Correctness }),
		of(Exact, func(r AnswerResult) *float64 { return r.ExactMatch }),
		of(F1, func(r AnswerResult) *float64 { return r.F1 }),
		of(Faithfulness, func(r AnswerResult) *float64 { return r.Faithfulness }),
		of(CitationPrecision, func(r AnswerResult) *float64 { return r.CitationPrecision }),
		of(CitationRecall, func(r AnswerResult) *float64 { return r.CitationRecall }),
		of(DeclinedAnswerable, declined(true)),
		of(DeclinedUnanswerable, declined(false)),
		of(Failed, func(r AnswerResult) *float64 { return share(r.Failed) }),
		of(JudgeFailed, func(r AnswerResult) *float64 {
			if !r.Judged {
				return nil
			}
			return share(r.JudgeFailed)
		}),
		of(Tokens, func(r AnswerResult) *float64 { tokens := float64(r.Tokens); return &tokens }),
		of(Cost, func(r AnswerResult) *float64 {
			if !priced {
				return nil
			}
			return &r.Cost
		}),
	}
	latencies := make([]time.Duration, len(results))
	for i, r := range results {
		if latencies[i] = r.Latency; r.Failed {
			latencies[i] = notMeasured
		}
	}
	return append(all, latencyOf(P50, latencies, 0.5), latencyOf(P99, latencies, 0.99))
}

// share returns 1 for true, of which the mean is a fraction.
func share(yes bool) *float64 {
	value := 0.0
	if yes {
		value = 1
	}
	return &value
}
