package query

import (
	"slices"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// synonymCertainty is how likely the question means a synonym, beside 1 of what it has.
	synonymCertainty = 0.7
	// maxPhraseChunks is how many chunks with a synonym of several words are counted at most.
	maxPhraseChunks = 10_000
)

// SynonymUse is a term of a question and the synonyms of it that were searched for.
type SynonymUse struct {
	Term     string
	Searched []string
}

// synonym is a synonym of a term of a question.
type synonym struct {
	wording.Use

	word   int    // its number, behind those of the question
	stands []int  // the numbers of the words of the question that it stands for
	phrase string // a tsquery, of several words
}

// synonymsOf returns the synonyms of a question, and the words of the question with those of the synonyms that are one word after them.
func synonymsOf(i index.Index, text string, words []analyzer.Asked, languages []string) ([]analyzer.Asked, []synonym) {
	if len(languages) == 0 { // of a language that only PostgreSQL knows
		languages = []string{analyzer.Simple}
	}
	uses := i.Synonyms().Of(text, languages)
	if len(uses) == 0 {
		return words, nil
	}
	asked := slices.Clone(words)
	synonyms := make([]synonym, 0, len(uses))
	for _, use := range uses {
		s := synonym{Use: use, word: len(asked)}
		for n, word := range words {
			if slices.ContainsFunc(word.Terms, func(term string) bool { return slices.Contains(use.Terms, term) }) {
				s.stands = append(s.stands, n)
			}
		}
		one := slices.DeleteFunc(analyzer.Question(use.Synonym, use.Languages), func(a analyzer.Asked) bool { return a.Part })
		add := analyzer.Asked{Count: 1}
		if len(one) == 1 && one[0].Count == 1 && !i.Parsed() {
			add.Terms = one[0].Terms
		} else {
			s.phrase = analyzer.Phrase(use.Synonym, use.Languages)
		}
		asked, synonyms = append(asked, add), append(synonyms, s)
	}
	return asked, synonyms
}

// countPhrases adds to a batch the query of the chunks that have the synonyms of several words, as terms of a dimension of 0.
func countPhrases(b *data.Batch, i index.Index, p prepared, synonyms []synonym, into *[]term) {
	var texts, made []string
	var numbers []int
	for _, s := range synonyms {
		if s.phrase != "" {
			texts, made, numbers = append(texts, s.Synonym), append(made, s.phrase), append(numbers, s.word)
		}
	}
	if len(texts) == 0 {
		return
	}
	args := filter.NewArgs(texts, made, numbers, maxPhraseChunks, i.ID)
	b.Query(data.Rows(into), `
		SELECT '(' || q.query::text || ')' AS quoted, p.word, 0 AS dimension, (
			SELECT count(*) FROM (SELECT FROM tenant.chunk AS c WHERE c.terms @@ q.query LIMIT $4) AS c
		) AS chunks, 0::bigint AS strong, (
			SELECT coalesce(sum(c.chunks), 0)::bigint FROM tenant.index_counts AS c WHERE c.index_id = $5
		) AS total, EXISTS (SELECT FROM tenant.chunk AS c WHERE c.terms @@ q.query AND `+visibleSQL(p, i, args)+`) AS visible
		FROM unnest($1::text[], $2::text[], $3::int[]) AS p (text, made, word) CROSS JOIN LATERAL (SELECT `+i.PhraseSQL("p.text", "p.made")+` AS query) AS q
		WHERE numnode(q.query) > 0`, args.Values()...)
}

// visibleSQL returns the condition that the credential may see a chunk c.
func visibleSQL(p prepared, i index.Index, args *filter.Args) string {
	if p.access.IsZero() {
		return "true"
	}
	return p.access.SQL(filter.ChunkMetadata, args, i.MetadataIndexes...)
}

// substitute makes the terms of synonyms count as what they stand for, less likely than it, and drops those that no visible chunk has. A
// word of the question is as frequent as it and its synonyms are.
func (q *queryTerms) substitute(words []analyzer.Asked, synonyms []synonym) {
	if len(synonyms) == 0 {
		return
	}
	first := synonyms[0].word
	q.terms = slices.DeleteFunc(q.terms, func(t term) bool { return t.Word >= first && t.Word < len(words) && (!t.Visible || t.Chunks == 0) })
	chunks := map[int]int64{} // of each synonym
	for _, t := range q.terms {
		chunks[t.Word] += t.Chunks
	}
	added := map[int]int64{} // to each word
	for _, s := range synonyms {
		for _, word := range s.stands {
			added[word] += chunks[s.word]
		}
	}
	weights := map[int]float64{}
	for n := range q.terms {
		t := &q.terms[n]
		if t.Word >= first || t.Corrected || added[t.Word] == 0 {
			continue
		}
		if !t.Visible { // hidden chunks must not show in a score
			t.Frequent = 0
		}
		t.Frequent, t.Substituted = min(t.Frequent+added[t.Word], t.Total), true
		if !t.Further {
			weights[t.Word] = t.weight()
		}
	}
	q.synonyms = nil
	for _, s := range synonyms {
		if chunks[s.word] == 0 {
			continue
		}
		weight := 0.0
		for _, word := range s.stands {
			weight += weights[word]
		}
		for n := range q.terms {
			if t := &q.terms[n]; t.Word == s.word {
				t.Further, t.Certainty, t.Instead = true, synonymCertainty, weight
				if len(s.stands) == 0 { // of words that say little
					t.Instead = index.InverseFrequency(chunks[s.word], t.Total)
				}
			}
		}
		at := slices.IndexFunc(q.synonyms, func(u SynonymUse) bool { return u.Term == s.Term })
		if at < 0 {
			at = len(q.synonyms)
			q.synonyms = append(q.synonyms, SynonymUse{Term: s.Term})
		}
		q.synonyms[at].Searched = append(q.synonyms[at].Searched, s.Synonym)
	}
}

// phrasesIn returns the weight of the synonyms of several words that a chunk c has, as SQL with minus before each, nothing without any.
func (k *keywords) phrasesIn(q *statement) (sql string) {
	for n, phrase := range k.synonymPhrases {
		sql += " - CASE WHEN c.terms @@ " + q.args.Add(phrase) + "::text::tsquery THEN " + q.args.Add(k.phraseWeights[n]) + "::float8 ELSE 0 END"
	}
	return sql
}
