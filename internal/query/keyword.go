package query

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/textlimit"
)

const (
	// keywordCandidates bounds the chunks that are scored: those with the rarest
	// of the question's words. What only has its common words rarely scores high
	// (measured over 100,000 passages: 3,000 candidates have 98 % of the best
	// 10, in a quarter of the time of all).
	keywordCandidates = 3000
	// maxWords is how many words of a question are looked for, rarest first.
	maxWords = 256
	// maxPhrases bounds quoted phrases and compound terms, each.
	maxPhrases = 16
)

// word is one of the question's, stemmed.
type word struct {
	Quoted    string // as a tsquery
	Dimension int32  // of the column term_weights
	Chunks    int64  // that have it
	Total     int64  // chunks of the index
}

// weight is the word's inverse document frequency as BM25 has it.
func (w word) weight() float64 {
	n, total := float64(w.Chunks), float64(max(w.Total, w.Chunks))
	return math.Log(1 + (total-n+0.5)/(n+0.5))
}

// keywords is what keyword search asks for. A chunk's score is the sum over the
// question's words of
//
//	weight of the word * weight of the word in the chunk
//
// which is BM25 (Robertson and Zaragoza 2009) without its constant factor k1+1:
// the first is word.weight, the second weigh_terms makes for each chunk as it is
// written. A chunk that has a compound term of the question, such as an
// identifier or a part number, in one piece gets a bonus.
type keywords struct {
	match     string                // tsquery of the candidates
	required  string                // tsquery of all that may be found; empty: anything may
	weights   pgvector.SparseVector // weights of all words of the question
	compounds []string              // tsqueries
	bonus     float64
	leftOut   float64 // the most that words outside match can add to a score
	matching  int64   // about how many chunks match
}

// lookUp finds the question's words in the index and how common they are, in one
// round trip. Common words have been counted in the background; rare ones, and all
// those of an index that is small or has changed a lot, are counted here.
func lookUp(ctx context.Context, h *tenant.Handle, i index.Index, text string) (q question, err error) {
	phrases, rest := quoted(text)
	terms := compoundTerm.FindAllString(rest, maxPhrases)
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	b.Query(tenant.Rows(&q.words), `
		WITH held AS (
			SELECT i.counted_chunks, (
				SELECT coalesce(sum(c.chunks), 0)::bigint FROM tenant.index_counts AS c WHERE c.index_id = i.index_id
			) AS chunks
			FROM tenant.indexes AS i WHERE i.index_id = $1
		), asked AS (
			SELECT lexeme COLLATE "C" AS lexeme, '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''' AS quoted
			FROM unnest(to_tsvector($2::text::regconfig, $3))
		)
		SELECT asked.quoted, tenant.term_dimension(asked.lexeme)::int AS dimension, held.chunks AS total, coalesce(
			(SELECT t.chunks * held.chunks / held.counted_chunks FROM tenant.term AS t
				WHERE t.lexeme = asked.lexeme AND abs(held.chunks - held.counted_chunks) * 2 <= held.chunks),
			(SELECT count(*) FROM tenant.chunk AS c WHERE c.terms @@ asked.quoted::tsquery)
		) AS chunks
		FROM asked, held
		ORDER BY chunks, asked.lexeme LIMIT $4`, i.ID, i.TextLanguage, text, maxWords)
	for _, list := range []struct {
		texts []string
		into  *[]phrase
		least int // words of one
	}{{phrases, &q.phrases, 1}, {terms, &q.compounds, 2}} {
		if len(list.texts) > 0 {
			b.Query(tenant.Rows(list.into), `
				SELECT text, phrase::text AS query FROM unnest($2::text[]) AS text, phraseto_tsquery($1::text::regconfig, text) AS phrase
				WHERE numnode(phrase) >= $3`, i.TextLanguage, list.texts, list.least)
		}
	}
	err = b.Run(ctx)
	return q, err
}

// question is a question's words, rarest first, with its quoted phrases and
// compound terms.
type question struct {
	words     []word
	phrases   []phrase
	anyPhrase bool // one of the phrases is enough
	compounds []phrase
}

// phrase is words that stand next to each other.
type phrase struct {
	Text  string // as the question has them
	Query string // as a tsquery
}

// queries returns the phrases' tsqueries.
func queries(phrases []phrase) []string {
	out := make([]string, len(phrases))
	for n, p := range phrases {
		out[n] = p.Query
	}
	return out
}

// keywords chooses the candidates: chunks with the quoted phrases if there are
// any, else those with the rarest words, of which there are at most limit.
func (q question) keywords(limit int64) *keywords {
	if len(q.words) == 0 {
		return nil
	}
	// The bonus is what a word in no chunk would weigh, and not the most that one of
	// the question's does: with that, a score would tell whether a word is in chunks
	// that the caller may not see.
	k := &keywords{compounds: queries(q.compounds), bonus: word{Total: q.words[0].Total}.weight()}
	weights := make(map[int32]float32, len(q.words))
	var any []string
	for n, w := range q.words {
		weights[w.Dimension-1] = max(weights[w.Dimension-1], float32(w.weight()))
		if n == 0 || k.matching+w.Chunks <= limit {
			any = append(any, w.Quoted)
			k.matching += w.Chunks
		} else {
			k.leftOut += w.weight()
		}
	}
	k.matching = min(k.matching, max(q.words[0].Total, q.words[len(q.words)-1].Chunks))
	if k.leftOut > 0 {
		k.leftOut += k.bonus * float64(len(k.compounds))
	}
	k.weights = pgvector.NewSparseVectorFromMap(weights, index.TermDimensions)
	k.match = strings.Join(any, " | ")
	if len(q.phrases) > 0 {
		operator := " & "
		if q.anyPhrase {
			operator = " | "
		}
		k.required = "(" + strings.Join(queries(q.phrases), ")"+operator+"(") + ")"
		k.match, k.leftOut = k.required, 0
	}
	return k
}

// loosened returns a question of which no chunk of the scope has all phrases
// together with what it asks less, and a warning that says so. Phrases that no chunk
// has are taken as words; if every one is in some chunk, any of them is enough.
func (q question) loosened(ctx context.Context, h *tenant.Handle, i index.Index, within scope) (question, string, error) {
	asked := q.phrases
	held, err := heldPhrases(ctx, h, i, within, asked)
	if err != nil {
		return q, "", err
	}
	q.phrases = nil
	var missing []string
	for n, p := range asked {
		if slices.Contains(held, int64(n+1)) {
			q.phrases = append(q.phrases, p)
		} else {
			missing = append(missing, `"`+textlimit.Cut(p.Text, maxShownPhrase)+`"`)
		}
	}
	if len(missing) == 0 {
		q.anyPhrase = true
		return q, "no chunk has all the quoted phrases together: chunks with any of them were taken", nil
	}
	return q, "no chunk has what is quoted in " + strings.Join(missing, ", ") + ": it was taken as words", nil
}

// maxShownPhrase is how many bytes of a phrase a warning repeats.
const maxShownPhrase = 100

// heldPhrases returns the numbers, from 1, of the phrases that a chunk of the scope
// has.
func heldPhrases(ctx context.Context, h *tenant.Handle, i index.Index, within scope, phrases []phrase) (held []int64, err error) {
	args := filter.NewArgs(queries(phrases))
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	b.Query(tenant.Column(&held), `
		SELECT p.n FROM unnest($1::text[]) WITH ORDINALITY AS p (query, n)
		WHERE EXISTS (SELECT FROM tenant.chunk AS c WHERE c.terms @@ p.query::tsquery AND `+within.sql(i, args)+`)`, args.Values()...)
	err = b.Run(ctx)
	return held, err
}

var (
	quotedPhrase = regexp.MustCompile(`"([^"]+)"|“([^”]+)”`)
	// compoundTerm is a word with punctuation inside at which PostgreSQL's parser
	// cuts it, such as ERR_1042. Words with hyphens, file names and addresses it
	// keeps whole besides their parts.
	compoundTerm = regexp.MustCompile(`[\pL\pN]+(?:[_:#+=$]+[\pL\pN]+)+`)
)

// quoted returns the quoted phrases of a question and the rest of it.
func quoted(text string) (phrases []string, rest string) {
	for _, m := range quotedPhrase.FindAllStringSubmatch(text, maxPhrases) {
		phrases = append(phrases, m[1]+m[2])
	}
	return phrases, quotedPhrase.ReplaceAllString(text, " ")
}
