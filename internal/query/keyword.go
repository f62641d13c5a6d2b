package query

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/query/lexical"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// keywordFactor is about how many chunks a search scores first for each that is wanted,
	// of which it assumes minKeywordWanted at least. moreKeywordCandidates is about how many
	// it scores at most to make sure that there are no better ones.
	keywordFactor         = 60
	minKeywordWanted      = 10
	moreKeywordCandidates = 20_000
	// maxTerms bounds the terms of a question that are searched for, rarest first.
	maxTerms = 256
	// maxPhrases bounds the quoted phrases of a question, and its compound terms.
	maxPhrases = 16
)

// queryTerms are the terms of a question, rarest first, its quoted phrases and its
// compound terms.
type queryTerms struct {
	calibration index.Calibration

	terms     []term
	phrases   []phrase
	anyPhrase bool // one of the phrases is enough
	compounds []phrase
}

// term is a stemmed word of a question.
type term struct {
	Quoted    string // as a tsquery
	Dimension int32  // of the column term_weights
	Chunks    int64  // chunks that have it
	Strong    int64  // of these, those with a weight above index.WeakWeight; 0: not counted
	Total     int64  // chunks of the index
	Framing   bool   // it only says what kind of answer is wanted; see lexical.Unframed
	Visible   bool   // the credential may see a chunk that has it
}

// phrase is a sequence of adjacent terms.
type phrase struct {
	Text  string // as the question has it
	Query string // as a tsquery
}

// framingWeight is the weight of a framing term relative to others.
const framingWeight = 0.25

// weight returns the inverse document frequency of the term as BM25 defines it, less for
// a framing term.
func (t term) weight() float64 {
	return t.framed(index.InverseFrequency(t.Chunks, t.Total))
}

// idealWeight returns the weight of the term in the ideal that scores are compared with. A
// term that no chunk has weighs as if one had it, and so does a term of chunks that the
// credential may not see, so that no score tells of them.
func (t term) idealWeight() float64 {
	chunks := int64(1)
	if t.Visible {
		chunks = max(t.Chunks, 1)
	}
	return t.framed(index.InverseFrequency(chunks, t.Total))
}

// framed returns the weight, less for a framing term.
func (t term) framed(weight float64) float64 {
	if t.Framing {
		weight *= framingWeight
	}
	return weight
}

// keywords is the keyword leg of a search. The score of a chunk is the sum over the
// terms of the question of
//
//	weight of the term * weight of the term in the chunk
//
// which is BM25 (Robertson and Zaragoza 2009) without its constant factor k1+1.
// term.weight is the first weight; index.TermsOf computes the second when a chunk is
// written, larger for terms of the title and the headings. A chunk that has a compound term of
// the question, such as an identifier or a part number, in one piece gets a bonus.
//
// The score is in [0, M), where M is index.MaxTermWeight * the sum of term.weight, plus bonus for
// each compound term.
type keywords struct {
	match     string                // tsquery of the candidates
	required  string                // tsquery of all chunks that may be found; empty: any chunk
	weights   pgvector.SparseVector // weights of all terms of the question
	compounds []string              // tsqueries
	bonus     float64
	leftOut   float64 // the most that terms outside match can add to a score
	matching  int64   // about how many chunks match
	ideal     float64 // sum of the weights of all terms, see term.idealWeight
	total     int64   // chunks of the index
}

// lookUp finds the terms of a text in the index and counts the chunks that have
// each, in one round trip. Common terms have been counted in the background; rare
// ones, and all terms of an index that is small or has changed a lot, are counted
// here.
func lookUp(ctx context.Context, h *data.Handle, i index.Index, text string, access filter.Filter) (q queryTerms, err error) {
	phrases, rest := quoted(text)
	compounds := compoundTerm.FindAllString(rest, maxPhrases)
	unframed := text
	if i.TextLanguage == "english" {
		unframed = lexical.Unframed(text)
	}
	args := filter.NewArgs(i.ID, i.TextLanguage, text, maxTerms, unframed, index.StrongMark)
	visible := "true"
	if !access.IsZero() {
		visible = `EXISTS (SELECT FROM tenant.chunk AS c WHERE c.terms @@ asked.quoted::tsquery AND ` + access.SQL(filter.ChunkMetadata, args, i.MetadataIndexes...) + `)`
	}
	b := i.Terms(h).Batch()
	b.Set("statement_timeout", searchTimeout)
	i.Calibrate(b, &q.calibration)
	b.Query(data.Rows(&q.terms), `
		WITH size AS (
			SELECT i.counted_chunks, (
				SELECT coalesce(sum(c.chunks), 0)::bigint FROM tenant.index_counts AS c WHERE c.index_id = i.index_id
			) AS chunks
			FROM tenant.indexes AS i WHERE i.index_id = $1
		), asked AS (
			SELECT lexeme COLLATE "C" AS lexeme, '''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''' AS quoted
			FROM unnest(to_tsvector($2::text::regconfig, $3))
		)
		SELECT asked.quoted, ragd_shared.term_dimension(asked.lexeme)::int AS dimension, size.chunks AS total,
			asked.lexeme <> ALL (tsvector_to_array(to_tsvector($2::text::regconfig, $5))) AS framing, coalesce(
			(SELECT t.chunks * size.chunks / size.counted_chunks FROM tenant.term AS t
				WHERE t.lexeme = asked.lexeme AND abs(size.chunks - size.counted_chunks) * 2 <= size.chunks),
			(SELECT count(*) FROM tenant.chunk AS c WHERE c.terms @@ asked.quoted::tsquery)
		) AS chunks, coalesce((SELECT t.chunks * size.chunks / size.counted_chunks FROM tenant.term AS t
			WHERE t.lexeme = asked.lexeme || $6), 0) AS strong, `+visible+` AS visible
		FROM asked, size
		ORDER BY chunks, asked.lexeme LIMIT $4`, args.Values()...)
	for _, list := range []struct {
		texts []string
		into  *[]phrase
		least int // terms of a phrase
	}{{phrases, &q.phrases, 1}, {compounds, &q.compounds, 2}} {
		if len(list.texts) > 0 {
			b.Query(data.Rows(list.into), `
				SELECT text, phrase::text AS query FROM unnest($2::text[]) AS text, phraseto_tsquery($1::text::regconfig, text) AS phrase
				WHERE numnode(phrase) >= $3`, i.TextLanguage, list.texts, list.least)
		}
	}
	err = b.Run(ctx)
	return q, err
}

// queries returns the tsqueries of phrases.
func queries(phrases []phrase) []string {
	out := make([]string, len(phrases))
	for n, p := range phrases {
		out[n] = p.Query
	}
	return out
}

// keywords returns the keyword leg of a search for all chunks with a quoted phrase or,
// without phrases, with a term of the question. It is nil if there are no terms.
func (q queryTerms) keywords() *keywords {
	if len(q.terms) == 0 {
		return nil
	}
	// The bonus is the weight of a term that no chunk has, and not the most that a term
	// of the question weighs: that would tell whether a term is in chunks that the
	// caller may not see.
	k := &keywords{compounds: queries(q.compounds), bonus: term{Total: q.terms[0].Total}.weight(), total: q.terms[0].Total}
	k.ideal = k.bonus * float64(len(k.compounds))
	weights := make(map[int32]float32, len(q.terms))
	any := make([]string, len(q.terms))
	for n, t := range q.terms {
		k.ideal += t.idealWeight()
		weights[t.Dimension-1] = max(weights[t.Dimension-1], float32(t.weight()))
		any[n] = t.Quoted
		k.matching += t.Chunks
	}
	k.matching = min(k.matching, max(q.terms[0].Total, q.terms[len(q.terms)-1].Chunks))
	k.weights = pgvector.NewSparseVectorFromMap(weights, index.TermDimensions)
	k.match = strings.Join(any, " | ")
	if len(q.phrases) > 0 {
		operator := " & "
		if q.anyPhrase {
			operator = " | "
		}
		k.required = "(" + strings.Join(queries(q.phrases), ")"+operator+"(") + ")"
		k.match = k.required
	}
	return k
}

// pruned returns the keyword leg of a search for the chunks whose score can be least or
// more, or for about limit chunks if these are fewer: those that can score most. leftOut
// says what others score at most. It is nil if there are no terms.
func (q queryTerms) pruned(least float64, limit int64) *keywords {
	k := q.keywords()
	if k == nil || k.required != "" {
		return k
	}
	bound := q.threshold(limit)
	bonus := k.bonus * float64(len(k.compounds))
	if bound = max(bound, (least-bonus)*rounding); bound <= 0 {
		return k
	}
	if match, others, ok := q.atLeast(bound); ok {
		k.match, k.matching, k.leftOut = match, q.matching(bound), others+bonus
		return k
	}
	return q.rarest(k)
}

// rounding makes up for the rounding of scores, which PostgreSQL adds up in single
// precision.
const rounding = 1 - 1e-5

// rarestCandidates bounds the chunks that are scored for a long question: those with its
// rarest terms.
const rarestCandidates = 3_000

// rarest limits the keyword leg to the chunks with the rarest terms.
func (q queryTerms) rarest(k *keywords) *keywords {
	var any []string
	k.matching = 0
	for n, t := range q.terms {
		if n == 0 || k.matching+t.Chunks <= rarestCandidates {
			any = append(any, t.Quoted)
			k.matching += t.Chunks
		} else {
			k.leftOut += t.weight() * index.MaxTermWeight
		}
	}
	if k.leftOut > 0 {
		k.leftOut += k.bonus * float64(len(k.compounds))
	}
	k.match = strings.Join(any, " | ")
	return k
}

// loosened asks less of phrases that no chunk of the scope has all together, and
// returns a warning that says so. Phrases that no chunk has become plain terms; if
// each is in some chunk, any of them is enough.
func (q queryTerms) loosened(ctx context.Context, h *data.Handle, i index.Index, within scope) (queryTerms, string, error) {
	asked := q.phrases
	found, err := foundPhrases(ctx, h, i, within, asked)
	if err != nil {
		return q, "", err
	}
	q.phrases = nil
	var missing []string
	for n, p := range asked {
		if slices.Contains(found, int64(n+1)) {
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

// foundPhrases returns the numbers, from 1, of the phrases that some chunk of the
// scope has.
func foundPhrases(ctx context.Context, h *data.Handle, i index.Index, within scope, phrases []phrase) (found []int64, err error) {
	args := filter.NewArgs(queries(phrases))
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	b.Query(data.Column(&found), `
		SELECT p.n FROM unnest($1::text[]) WITH ORDINALITY AS p (query, n)
		WHERE EXISTS (SELECT FROM tenant.chunk AS c WHERE c.terms @@ p.query::tsquery AND `+within.sql(i, args)+`)`, args.Values()...)
	err = b.Run(ctx)
	return found, err
}

var (
	quotedPhrase = regexp.MustCompile(`"([^"]+)"|“([^”]+)”`)
	// compoundTerm is a word with punctuation inside at which PostgreSQL's parser
	// splits it, such as ERR_1042. The parser keeps words with hyphens, file names and
	// addresses whole, beside their segments.
	compoundTerm = regexp.MustCompile(`[\pL\pN]+(?:[_:#+=$]+[\pL\pN]+)+`)
)

// quoted returns the quoted phrases of a question and the rest of it.
func quoted(text string) (phrases []string, rest string) {
	for _, m := range quotedPhrase.FindAllStringSubmatch(text, maxPhrases) {
		phrases = append(phrases, m[1]+m[2])
	}
	return phrases, quotedPhrase.ReplaceAllString(text, " ")
}
