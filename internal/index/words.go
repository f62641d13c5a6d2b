package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// The words of an index are those of its terms to which a misspelt word or the beginning of one leads. They are in a
// table of their own, as the Postgres index on terms cannot be asked for its terms. Writers of chunks add words that are
// new, without a lock that others would wait for, so that a word may be there twice. Words of deleted chunks stay until the
// terms are counted twice: queries count the chunks of the words that they find.

// makeWords returns the statements that make the table of words. The row of the empty word says that the words of
// all chunks are there.
func makeWords() []string {
	return append(makeBareWords(), indexWords)
}

func makeBareWords() []string {
	return []string{`CREATE TABLE tenant.word (
		word   text COLLATE "C" NOT NULL,
		chunks int NOT NULL -- that had it at the last count; 0: it is newer; -1: none had
	)`}
}

const (
	indexWords = `CREATE INDEX ON tenant.word (word)`
	allWords   = `INSERT INTO tenant.word (word, chunks) VALUES ('', 0)`
)

// lockWriters waits for transactions that write chunks, and lets none begin until the transaction ends.
var lockWriters = []string{`SET LOCAL lock_timeout = '2s'`, `LOCK TABLE tenant.chunk IN SHARE MODE`}

// AddWords adds the words of terms that the transaction has written. Called before the chunks are
// written, it could miss a table that is made meanwhile.
func (i Index) AddWords(ctx context.Context, tx *data.Tx, terms []Terms) error {
	words := wordsOf(terms)
	if len(words) == 0 {
		return nil
	}
	there, err := data.Value[bool](ctx, tx, `SELECT to_regclass('tenant.word') IS NOT NULL`)
	if err != nil || !there {
		return err
	}
	// The limit lets PostgreSQL look each word up: a join would read all words for those of a large batch.
	_, err = tx.Exec(ctx, `
		INSERT INTO tenant.word (word, chunks) SELECT n.word, 0 FROM unnest($1::text[]) AS n (word)
		LEFT JOIN LATERAL (SELECT true AS there FROM tenant.word AS w WHERE w.word = n.word COLLATE "C" AND w.chunks >= 0 LIMIT 1) AS known ON true
		WHERE known.there IS NULL`, words)
	return err
}

// All yields the terms in the order of the tsvector, without marks of weight. A term is valid until the next one.
func (t Terms) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(t.Terms) < 4 {
			return
		}
		rest := t.Terms[4:]
		for range binary.BigEndian.Uint32(t.Terms) {
			end := bytes.IndexByte(rest, 0)
			if end < 0 || len(rest) < end+3 {
				return
			}
			if term := rest[:end]; !bytes.HasSuffix(term, []byte(StrongMark)) && !yield(term) {
				return
			}
			rest = rest[min(len(rest), end+3+2*int(binary.BigEndian.Uint16(rest[end+1:]))):]
		}
	}
}

// wordsOf returns the words of terms, in order.
func wordsOf(terms []Terms) []string {
	seen := map[string]bool{}
	for _, t := range terms {
		for term := range t.All() {
			if !seen[string(term)] && analyzer.Storable(string(term)) {
				seen[string(term)] = true
			}
		}
	}
	words := make([]string, 0, len(seen))
	for word := range seen {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// hasWords reports whether the table of words has those of all chunks.
func hasWords(ctx context.Context, q data.Queryer) (bool, error) {
	there, err := HasWords(ctx, q)
	if err != nil || !there {
		return false, err
	}
	return data.Value[bool](ctx, q, `SELECT EXISTS (SELECT FROM tenant.word AS w WHERE w.word = '')`)
}

// HasWords reports whether an index has a table of words. That of an index that an earlier version of ragd made is
// made in the background.
func HasWords(ctx context.Context, q data.Queryer) (bool, error) {
	return data.Value[bool](ctx, q, `SELECT to_regclass('tenant.word') IS NOT NULL`)
}

// findWords makes the table of words of an index that has none, and fills it.
func findWords(ctx context.Context, h *data.Handle, i Index) error {
	if err := makeOnce(ctx, h, i, "word", append(slices.Clone(lockWriters), makeWords()...)); err != nil {
		return err
	}
	b := h.Batch()
	b.Exec(`WITH counted AS MATERIALIZED (` + countedTerms + `)` + countWords)
	b.Exec(allWords)
	b.Exec(`ANALYZE tenant.word`)
	return b.Run(ctx)
}

// forgetWords deletes the words of deleted chunks.
func forgetWords(ctx context.Context, h *data.Handle, indexID int64, now state) error {
	b := h.Batch()
	b.Exec(onceEach)
	b.Exec(`WITH counted AS MATERIALIZED (` + countedTerms + `)` + countWords)
	b.Exec(`UPDATE tenant.indexes SET counted_written = $2 WHERE index_id = $1`, indexID, now.Written)
	return b.Run(ctx)
}

// countedTerms is the query of all terms and how many chunks have each.
const countedTerms = `SELECT s.word, s.ndoc FROM ts_stat('SELECT terms FROM tenant.chunk') AS s`

// countWords is the rest of a statement whose CTE counted has the rows of countedTerms. It counts the chunks of the
// words, adds those that are missing, marks those that no chunk has and deletes those that were marked before: a
// writer may have seen a word that is being marked, and has its chunk by the next count.
const countWords = `
	, gone AS (
		DELETE FROM tenant.word AS w WHERE w.chunks < 0 AND NOT EXISTS (SELECT FROM counted AS c WHERE c.word = w.word)
	), unused AS (
		UPDATE tenant.word AS w SET chunks = -1
		WHERE w.chunks >= 0 AND w.word <> '' AND NOT EXISTS (SELECT FROM counted AS c WHERE c.word = w.word)
	), changed AS (
		UPDATE tenant.word AS w SET chunks = c.ndoc FROM counted AS c WHERE c.word = w.word AND c.ndoc <> w.chunks
	)
	INSERT INTO tenant.word (word, chunks)
	SELECT c.word, c.ndoc FROM counted AS c
	WHERE c.word ~ '` + analyzer.StorablePattern + `' AND NOT EXISTS (SELECT FROM tenant.word AS w WHERE w.word = c.word COLLATE "C")`

// onceEach deletes words that are in the table more than once.
const onceEach = `
	DELETE FROM tenant.word AS w USING (SELECT d.word, min(d.ctid) AS kept FROM tenant.word AS d GROUP BY d.word HAVING count(*) > 1) AS d
	WHERE w.word = d.word AND w.ctid <> d.kept`
