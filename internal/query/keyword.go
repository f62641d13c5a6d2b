package query

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
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
	// maxPhrases bounds the quoted phrases of a question.
	maxPhrases = 16
	// maxWordsBeside is how many words a question may have beside its quoted phrases for them to be required.
	maxWordsBeside = 32
)

// queryTerms are the terms of a question, rarest first, and its quoted phrases.
type queryTerms struct {
	calibration index.Calibration

	terms     []term
	phrases   []phrase
	anyPhrase bool // one of the phrases is enough
	pairs     adjacency

	corrections []Correction
	synonyms    []SynonymUse
}

// term is a term that chunks may have of a word of a question.
type term struct {
	Quoted    string // as a tsquery
	Dimension int32  // of the column term_weights
	Chunks    int64  // chunks that have it
	Strong    int64  // of these, those with a weight above index.WeakWeight; 0: not counted
	Total     int64  // chunks of the index
	Visible   bool   // the credential may see a chunk that has it

	// Of the word, which may have other terms too:
	Word     int     // its number
	Factor   float64 `db:"-"` // how much it counts, beside its rarity; 0: 1
	Whole    bool    `db:"-"` // several words written as one
	Frequent int64   `db:"-"` // chunks that have some term of it; 0: Chunks
	Further  bool    `db:"-"` // another term stands for the word in the ideal

	Certainty float64 `db:"-"` // how likely the question means it, for a term of a similar word; 0: 1
	Corrected bool    `db:"-"` // it stands for a word that no chunk has

	Instead     float64 `db:"-"` // of a synonym: the weight of the words that it stands for; 0 for other terms
	Substituted bool    `db:"-"` // a visible chunk has a synonym of it
}

// phrase reports whether the term is several words, a synonym, which have no dimension.
func (t term) phrase() bool { return t.Dimension == 0 }

// phrase is a sequence of adjacent terms.
type phrase struct {
	Text  string // as the question has it
	Query string // as a tsquery
}

// partFactor is how much a word counts of several that are written as one, which is a term too.
const partFactor = 0.7

// factorOf returns how much a word of a question counts: as often as the question has it.
func factorOf(asked analyzer.Asked) float64 {
	factor := float64(asked.Count)
	if asked.Part {
		factor *= partFactor
	}
	return factor
}

// weight returns the inverse document frequency of the word as BM25 defines it, times its factor and how likely
// the question means the term. A synonym weighs as what it stands for.
func (t term) weight() float64 {
	if t.Instead > 0 {
		return t.Instead * t.Certainty
	}
	return cmp.Or(t.Factor, 1) * cmp.Or(t.Certainty, 1) * index.InverseFrequency(cmp.Or(t.Frequent, t.Chunks), t.Total)
}

// most returns what the term adds to the score of a chunk at most.
func (t term) most() float64 {
	if t.phrase() {
		return t.weight() * index.WeakWeight
	}
	return t.weight() * index.MaxTermWeight
}

// idealWeight returns the weight of the term in the ideal that scores are compared with. A word
// that no chunk has weighs as if one had it, and so does one of chunks that the credential may not
// see, so that no score tells of them. Several words written as one count only where they are.
func (t term) idealWeight() float64 {
	if there := t.Visible && t.Chunks > 0; t.Further || t.Whole && !there {
		return 0
	}
	chunks := int64(1)
	if t.Visible || t.Substituted {
		chunks = max(cmp.Or(t.Frequent, t.Chunks), 1)
	}
	return cmp.Or(t.Factor, 1) * index.InverseFrequency(chunks, t.Total)
}

// keywords is the keyword leg of a search. The score of a chunk is the sum over the
// terms of the question of
//
//	weight of the term * weight of the term in the chunk
//
// which is BM25 (Robertson and Zaragoza 2009) without its constant factor k1+1.
// term.weight is the first weight; index.Index.TermsOf computes the second when a chunk is
// written, larger for terms of the title and the headings.
//
// Candidates score for their adjacency, too, which M does not bound. The rest of the score is in [0, M), where M is index.MaxTermWeight * the sum of term.weight.
type keywords struct {
	match    string                // tsquery of the candidates
	required string                // tsquery of all chunks that may be found; empty: any chunk
	weights  pgvector.SparseVector // weights of all terms of the question
	leftOut  float64               // the most that terms outside match can add to a score
	matching int64                 // about how many chunks match
	ideal    float64               // sum of the weights of all words, see term.idealWeight
	rarity   float64               // of the question's terms, in [0, 1]: see queryTerms.rarity
	total    int64                 // chunks of the index
	pairs    adjacency             // adds to the score of candidates
	terms    []term                // of the question

	synonymPhrases []string  // tsqueries of the synonyms of several words
	phraseWeights  []float64 // what each adds to the score of a chunk that has it
}

// lookUp finds the terms of a text in the index and counts the chunks that have
// each, in one round trip. Common terms have been counted in the background; rare
// ones, and all terms of an index that is small or has changed a lot, are counted
// here.
func lookUp(ctx context.Context, h *data.Handle, i index.Index, p prepared) (q queryTerms, err error) {
	for {
		q, err = lookUpIn(ctx, h, i, p, i.Languages)
		if err != nil || i.TextLanguage != analyzer.Auto || slices.Equal(q.calibration.Languages, i.Languages) {
			return q, err
		}
		i.Languages = q.calibration.Languages // of a document that was written since the index was read
	}
}

func lookUpIn(ctx context.Context, h *data.Handle, i index.Index, p prepared, languages []string) (q queryTerms, err error) {
	languages = i.AskedLanguages(languages)
	words, synonyms := synonymsOf(i, p.text, askedOf(p, languages), languages)
	q, err = countWords(ctx, h, i, p, words, synonyms, languages)
	if err != nil {
		return q, err
	}
	near, err := nearWords(ctx, h, i, q, p, words, languages)
	if err != nil || len(near) == 0 {
		return q, err
	}
	with := slices.Clone(words)
	for _, n := range near {
		with[n.word].Terms = append(slices.Clip(with[n.word].Terms), n.terms()...)
	}
	if q, err = countWords(ctx, h, i, p, with, synonyms, languages); err != nil {
		return q, err
	}
	q.choose(words, near)
	err = q.spell(ctx, h, i, p, languages)
	q.describe(words)
	q.substitute(words, synonyms)
	return q, err
}

// countWords finds the terms of words and synonyms, and counts the chunks that have each.
func countWords(ctx context.Context, h *data.Handle, i index.Index, p prepared, words []analyzer.Asked, synonyms []synonym, languages []string) (q queryTerms, err error) {
	text := p.text
	var terms []string
	var numbers []int
	var dimensions []int64
	for n, word := range words {
		for _, t := range word.Terms {
			terms, numbers, dimensions = append(terms, t), append(numbers, n), append(dimensions, index.TermDimension(t))
		}
	}
	parser, parsed := "simple", ""
	if i.Parsed() {
		parser, parsed = i.TextLanguage, text
	}
	args := filter.NewArgs(i.ID, terms, numbers, dimensions, maxTerms, index.StrongMark, parsed, parser, len(words))
	visible := "true"
	if !p.access.IsZero() {
		visible = `EXISTS (SELECT FROM tenant.chunk AS c WHERE c.terms @@ asked.quoted::tsquery AND ` + visibleSQL(p, i, args) + `)`
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
			SELECT t.lexeme COLLATE "C" AS lexeme, '''' || replace(replace(t.lexeme, '\', '\\'), '''', '''''') || '''' AS quoted, t.word, t.dimension
			FROM (
				SELECT lexeme, word, dimension FROM unnest($2::text[], $3::int[], $4::bigint[]) AS t (lexeme, word, dimension)
				UNION ALL
				SELECT lexeme, ($9::int + row_number() OVER ())::int, ragd_shared.term_dimension(lexeme)
				FROM unnest(to_tsvector($8::text::regconfig, $7)) WHERE $7 <> '' AND lexeme <> ALL ($2::text[])
			) AS t
		)
		SELECT asked.quoted, asked.word, asked.dimension::int AS dimension, size.chunks AS total, coalesce(
			(SELECT t.chunks * size.chunks / size.counted_chunks FROM tenant.term AS t
				WHERE t.lexeme = asked.lexeme AND abs(size.chunks - size.counted_chunks) * 2 <= size.chunks),
			(SELECT count(*) FROM tenant.chunk AS c WHERE c.terms @@ asked.quoted::tsquery)
		) AS chunks, coalesce((SELECT t.chunks * size.chunks / size.counted_chunks FROM tenant.term AS t
			WHERE t.lexeme = asked.lexeme || $6), 0) AS strong, `+visible+` AS visible
		FROM asked, size
		ORDER BY chunks, asked.lexeme LIMIT $5`, args.Values()...)
	if phrases := quoted(text); len(phrases) > 0 {
		made := make([]string, len(phrases))
		for n, phrase := range phrases {
			made[n] = analyzer.Phrase(phrase, languages)
		}
		b.Query(data.Rows(&q.phrases), `
			SELECT text, query::text AS query
			FROM unnest($1::text[], $2::text[]) AS p (text, made) CROSS JOIN LATERAL (SELECT `+i.PhraseSQL("p.text", "p.made")+` AS query) AS q
			WHERE numnode(query) > 0`, phrases, made)
	}
	var several []term
	countPhrases(b, i, p, synonyms, &several)
	err = b.Run(ctx)
	if len(several) > 0 {
		q.terms = append(q.terms, several...)
		q.sort()
	}
	q.describe(words)
	q.substitute(words, synonyms)
	q.pairs = q.pairsOf(text, words, languages)
	return q, err
}

// describe adds to the terms what is known of their words. Terms of PostgreSQL's parser are words of
// their own, which count as wholes do where the analyzer has terms too.
func (q *queryTerms) describe(words []analyzer.Asked) {
	type key struct {
		word      int
		corrected bool
	}
	frequent, leading := map[key]int64{}, map[int]int{}
	for n, t := range q.terms {
		frequent[key{t.Word, t.Corrected}] += t.Chunks
		if t.Corrected { // the word that no chunk has stands in the ideal
			continue
		}
		if best, ok := leading[t.Word]; !ok || t.Visible && t.Chunks > q.terms[best].Chunks || t.Visible && !q.terms[best].Visible {
			leading[t.Word] = n
		}
	}
	for n := range q.terms {
		t := &q.terms[n]
		t.Frequent, t.Further = min(frequent[key{t.Word, t.Corrected}], t.Total), t.Corrected || leading[t.Word] != n
		if t.Word < len(words) {
			t.Factor, t.Whole = factorOf(words[t.Word]), words[t.Word].Whole
		} else {
			t.Whole = len(words) > 0
		}
	}
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
	k := &keywords{total: q.terms[0].Total, rarity: q.rarity(), pairs: q.pairs, terms: q.terms}
	weights := make(map[int32]float32, len(q.terms))
	any := make([]string, len(q.terms))
	for n, t := range q.terms {
		k.ideal += t.idealWeight()
		if t.phrase() {
			k.synonymPhrases, k.phraseWeights = append(k.synonymPhrases, t.Quoted), append(k.phraseWeights, t.weight()*index.WeakWeight)
		} else {
			weights[t.Dimension-1] = max(weights[t.Dimension-1], float32(t.weight()))
		}
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

// rarity returns how rare the terms of the question are that chunks have: the mean of their inverse document
// frequencies, each counted by how much it adds to the ideal, relative to that of a term of one chunk. It is 0
// if there are none.
func (q queryTerms) rarity() float64 {
	sum, ideal := 0.0, 0.0
	for _, t := range q.terms {
		if !t.Visible || t.Chunks == 0 {
			continue
		}
		weight := t.idealWeight()
		if t.Corrected {
			weight = t.weight()
		}
		if t.Instead > 0 { // of words that chunks may have or not
			sum, ideal = sum+t.weight()*index.InverseFrequency(t.Chunks, t.Total), ideal+t.weight()
			continue
		}
		sum, ideal = sum+weight*weight/cmp.Or(t.Factor, 1), ideal+weight
	}
	rarest := index.InverseFrequency(1, q.terms[0].Total)
	if ideal == 0 || rarest == 0 {
		return 0
	}
	return min(sum/ideal/rarest, 1)
}

// pruned returns the keyword leg of a search for the chunks whose score can be least or
// more, or for about limit chunks if these are fewer: those that can score most. leftOut
// says what others score at most. It is nil if there are no terms.
func (q queryTerms) pruned(least float64, limit int64) *keywords {
	k := q.keywords()
	if k == nil || k.required != "" {
		return k
	}
	bound := max(q.threshold(limit), least*rounding)
	if bound <= 0 {
		return k
	}
	if match, others, ok := q.atLeast(bound); ok {
		k.match, k.matching, k.leftOut = match, q.matching(bound), others
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
			k.leftOut += t.most()
		}
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

var quotedPhrase = regexp.MustCompile(`"([^"]+)"|“([^”]+)”`)

// quoted returns the phrases that a question requires: what it quotes, unless it is a paragraph of more than
// maxWordsBeside words besides, which quotes as texts do.
func quoted(text string) (phrases []string) {
	if len(strings.Fields(quotedPhrase.ReplaceAllString(text, " "))) > maxWordsBeside {
		return nil
	}
	for _, m := range quotedPhrase.FindAllStringSubmatch(text, maxPhrases) {
		phrases = append(phrases, m[1]+m[2])
	}
	return phrases
}
