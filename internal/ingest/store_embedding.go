package ingest

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// storedChunk is a chunk of the stored version of a document: the hash of the text that was
// embedded, and its embedding.
type storedChunk struct {
	Hash      []byte
	Embedding []float32
}

// embeddedText returns the text of a chunk that is embedded for an index, given its metadata from the content. The
// title of its document and the headings above come first, as a chunk in the middle rarely says what it is
// about, then the sentence that situates it. The builtin model, which compares words, gets no headings: each word takes weight from the others.
func embeddedText(into index.Index, title string, metadata map[string]any, text string) string {
	above := title
	if !into.BuiltinModel() {
		above = strings.Trim(title+"\n"+strings.Join(withoutTitle(title, headingsAbove(metadata)), parse.SectionSeparator), "\n")
	}
	if sentence := sentenceOf(metadata); sentence != "" {
		text = sentence + "\n\n" + text
	}
	if above == "" {
		return text
	}
	return above + "\n\n" + text
}

// sentenceOf returns the sentence that situates a chunk in its document, given its metadata from the content; empty if there is none.
func sentenceOf(metadata map[string]any) string {
	sentence, _ := metadata[extract.ContextKey].(string)
	return sentence
}

// EmbeddedText returns the text of a stored chunk that is embedded for an index, as when it is ingested.
func EmbeddedText(into index.Index, s index.StoredText) string {
	return embeddedText(into, s.Title, fromContent(s), s.Text)
}

// textHash is the SHA-256 of what an embedded text is made from: title, headings above, sentence of context and text.
type textHash [sha256.Size]byte

func hashOf(title string, c chunk.Chunk) textHash {
	parts := []string{title}
	if above := headingsAbove(c.Metadata); len(above) > 0 {
		parts = append(parts, strings.Join(above, "\n"))
	}
	if sentence := sentenceOf(c.Metadata); sentence != "" {
		parts = append(parts, sentence)
	}
	return sha256.Sum256([]byte(strings.Join(append(parts, c.Text), "\n\n")))
}

// hashSQL is hashOf in SQL. An uploader may have set the key of the headings or the sentence: then no embedding is found by the hash.
const hashSQL = `sha256(convert_to(concat_ws(E'\n\n', c.title,
	CASE WHEN '` + chunk.HeadingsKey + `' = ANY(c.content_keys) AND jsonb_typeof(c.metadata -> '` + chunk.HeadingsKey + `') = 'array' THEN
		(SELECT string_agg(a.heading, E'\n' ORDER BY a.ordinality) FROM jsonb_array_elements_text(c.metadata -> '` + chunk.HeadingsKey + `') WITH ORDINALITY AS a (heading))
	WHEN '` + positionKey + `' = ANY(c.content_keys) THEN
		replace(c.metadata #>> '{` + positionKey + `,` + string(parse.Section) + `}', '` + parse.SectionSeparator + `', E'\n')
	END, CASE WHEN '` + extract.ContextKey + `' = ANY(c.content_keys) THEN c.metadata ->> '` + extract.ContextKey + `' END, c.text), 'UTF8'))`

// storedEmbeddings returns the embeddings of texts that the present and the new versions
// of the tasks' documents share, by the hash of the embedded text.
func storedEmbeddings(ctx context.Context, h *data.Handle, tasks []*task) (map[textHash][]float32, error) {
	var documents []string
	var hashes [][]byte
	for _, t := range tasks {
		if t.Version == 1 {
			continue
		}
		documents = append(documents, t.DocumentID)
		for _, c := range t.chunks {
			hash := hashOf(t.Title, c)
			hashes = append(hashes, hash[:])
		}
	}
	if len(documents) == 0 {
		return nil, nil
	}
	stored, err := data.Select[storedChunk](ctx, h, `
		SELECT c.hash, (`+tasks[0].into.EmbeddingSQL("c.embedding")+`)::real[] AS embedding
		FROM (
			SELECT c.embedding, `+hashSQL+` AS hash FROM tenant.chunk AS c WHERE c.document_id = ANY($1::uuid[])
		) AS c
		WHERE c.hash = ANY($2::bytea[])`, documents, hashes)
	return byHash(stored), err
}

func byHash(stored []storedChunk) map[textHash][]float32 {
	known := make(map[textHash][]float32, len(stored))
	for _, s := range stored {
		known[textHash(s.Hash)] = s.Embedding
	}
	return known
}

// storedHashes returns the ordinals of the chunks of a document's present version by the
// hash of their embedded text.
func storedHashes(ctx context.Context, h *data.Handle, t *task) (map[textHash]int, error) {
	if t.Version == 1 {
		return nil, nil
	}
	stored, err := data.Select[struct {
		Hash    []byte
		Ordinal int
	}](ctx, h, `SELECT `+hashSQL+` AS hash, c.ordinal FROM tenant.chunk AS c WHERE c.document_id = $1`, t.DocumentID)
	ordinals := make(map[textHash]int, len(stored))
	for _, s := range stored {
		ordinals[textHash(s.Hash)] = s.Ordinal
	}
	return ordinals, err
}

// storedEmbeddingsOf returns the stored embeddings of some of a document's chunks, given
// the result of storedHashes.
func storedEmbeddingsOf(ctx context.Context, h *data.Handle, t *task, chunks []chunk.Chunk, stored map[textHash]int) (map[textHash][]float32, error) {
	var ordinals []int
	if len(stored) > 0 {
		for _, c := range chunks {
			if ordinal, ok := stored[hashOf(t.Title, c)]; ok {
				ordinals = append(ordinals, ordinal)
			}
		}
	}
	if len(ordinals) == 0 {
		return nil, nil
	}
	found, err := data.Select[storedChunk](ctx, h, `
		SELECT `+hashSQL+` AS hash, (`+t.into.EmbeddingSQL("c.embedding")+`)::real[] AS embedding
		FROM tenant.chunk AS c WHERE c.document_id = $1 AND c.ordinal = ANY($2)`, t.DocumentID, ordinals)
	return byHash(found), err
}
