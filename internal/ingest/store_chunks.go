package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/query/alert"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// copiedChunks and copiedBytes limit one COPY, whose rows are kept in memory.
const (
	copiedChunks = 1024
	copiedBytes  = 1 << 20
)

// chunkRow is a chunk to be stored.
type chunkRow struct {
	*task
	ordinal int
}

// text returns the text of the chunk for keyword search.
func (r chunkRow) text() index.Text {
	c := r.chunks[r.ordinal]
	return searchText(r.Title, c.Text, c.Metadata, wordsOnly(r.ContentType, r.Chunking), r.language)
}

// StoredText returns the text of a stored chunk of a document for keyword search, as when it was ingested.
func StoredText(s index.StoredText) index.Text {
	words, language := func(text string) string { return text }, ""
	if s.ContentType != nil && s.Chunking != nil {
		words = wordsOnly(*s.ContentType, *s.Chunking)
	}
	if s.Language != nil {
		language = *s.Language
	}
	return searchText(s.Title, s.Text, fromContent(s), words, language)
}

// fromContent returns the metadata of a stored chunk that was read from the content.
func fromContent(s index.StoredText) map[string]any {
	read := map[string]any{}
	for _, key := range s.ContentKeys {
		read[key] = s.Metadata[key]
	}
	return read
}

// searchText returns the text of a chunk for keyword search, given its metadata from the content.
func searchText(title, text string, metadata map[string]any, words func(string) string, language string) index.Text {
	above := withoutTitle(title, headingsAbove(metadata))
	body := words(text)
	if sentence := sentenceOf(metadata); sentence != "" {
		body += "\n\n" + sentence
	}
	return index.Text{Title: strings.TrimSpace(title), Headings: strings.TrimSpace(strings.Join(above, "\n")), Body: body, Contents: isContents(metadata), Language: language}
}

// wordsOnly returns a function that leaves out what is shown in a text but is no words: in Markdown the targets
// of links.
func wordsOnly(contentType string, chunking chunk.Settings) func(text string) string {
	format, _ := parse.FormatOf(contentType)
	if made, _ := parse.FormatOf(textType(chunking, format, contentType)); made == parse.Markdown {
		return markdown.WithoutTargets
	}
	return func(text string) string { return text }
}

// isContents reports whether a chunk is of a table of contents.
func isContents(metadata map[string]any) bool {
	position, ok := metadata[positionKey].(map[string]any)
	return ok && position[string(parse.Contents)] == true
}

// headingsAbove returns the headings that enclose the start of a chunk, outermost first,
// as chunk.Locate or the reader of its file found them.
func headingsAbove(metadata map[string]any) (headings []string) {
	if titles, ok := metadata[chunk.HeadingsKey].([]any); ok {
		for _, title := range titles {
			headings = append(headings, fmt.Sprint(title))
		}
		return headings
	}
	if position, ok := metadata[positionKey].(map[string]any); ok {
		if section, ok := position[string(parse.Section)].(string); ok {
			return strings.Split(section, parse.SectionSeparator)
		}
	}
	return nil
}

// withoutTitle returns headings without the title of the document, which stands above them.
func withoutTitle(title string, headings []string) []string {
	if len(headings) > 0 && headings[0] == title {
		return headings[1:]
	}
	return headings
}

// beginningBytes is how much of a document tells its language.
const beginningBytes = 8 << 10

// beginning returns the text of the first chunks.
func (t *task) beginning() string {
	var b strings.Builder
	for _, c := range t.chunks {
		if b.Len() >= beginningBytes {
			break
		}
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// copyChunks writes the chunks of the tasks, which are of one index, and returns which of them match alerts.
func copyChunks(ctx context.Context, tx *data.Tx, watch watch, tasks []*task) (found []alert.Match, err error) {
	languages := make([]string, len(tasks))
	for n, t := range tasks {
		languages[n] = t.language
	}
	if err := tasks[0].into.NoteLanguages(ctx, tx, languages); err != nil {
		return nil, err
	}
	var rows []chunkRow
	bytes := 0
	for _, t := range tasks {
		for n, c := range t.chunks {
			rows, bytes = append(rows, chunkRow{t, n}), bytes+len(c.Text)
			if len(rows) < copiedChunks && bytes < copiedBytes {
				continue
			}
			if found, err = copyRows(ctx, tx, watch, rows, found); err != nil {
				return nil, err
			}
			rows, bytes = rows[:0], 0
		}
	}
	return copyRows(ctx, tx, watch, rows, found)
}

var chunkColumns = []string{
	"namespace", "chunk_id", "document_id", "ordinal", "title", "text", "metadata", "content_keys", "start_byte", "end_byte", "token_count", "embedding",
	"terms", "term_weights",
}

// copyRows writes chunks, and appends those that match alerts to those that were found before.
func copyRows(ctx context.Context, tx *data.Tx, watch watch, rows []chunkRow, found []alert.Match) ([]alert.Match, error) {
	if len(rows) == 0 {
		return found, nil
	}
	into := rows[0].into
	texts := make([]index.Text, len(rows))
	for i, row := range rows {
		texts[i] = row.text()
	}
	terms, err := into.TermsOf(ctx, tx, texts)
	if err != nil {
		return nil, err
	}
	var passages []alert.Passage // that are compared
	_, err = tx.CopyFrom(ctx, chunkColumns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		p, err := rows[i].passage(terms[i])
		if err != nil {
			return nil, err
		}
		if watch.set != nil {
			passages = append(passages, p)
		}
		c := rows[i].chunks[rows[i].ordinal]
		return []any{
			p.Namespace, p.ChunkID, p.DocumentID, rows[i].ordinal, p.Title, p.Text, p.Metadata, p.FromFile,
			c.StartByte, c.EndByte, c.TokenCount, into.Column(p.Embedding), p.Terms.Terms, p.Terms.Weights,
		}, nil
	}))
	if err != nil {
		return nil, err
	}
	if err := into.AddWords(ctx, tx, terms); err != nil {
		return nil, err
	}
	return watch.set.Match(found, passages)
}

// passage returns the chunk with its terms, as alerts are compared with it.
func (r chunkRow) passage(terms index.Terms) (alert.Passage, error) {
	c := r.chunks[r.ordinal]
	embedding, err := r.embeddings.at(r.ordinal)
	all, contentKeys := r.metadataOf(r.ordinal)
	return alert.Passage{
		DocumentID: r.DocumentID, Namespace: r.Namespace, ChunkID: r.DocumentID + ":" + strconv.Itoa(r.ordinal), URI: r.URI, Title: r.Title, Text: c.Text,
		Metadata: all, FromFile: contentKeys, StartByte: c.StartByte, EndByte: c.EndByte, Terms: terms, Embedding: embedding,
	}, err
}

// metadataOf returns the metadata of the task's n-th chunk, and the sorted keys of it that
// were read from the content. The content never overrides the uploader: of several values
// for a key, the uploader's wins, then the chunk's, then the file's. Below metadata.File this holds for each
// property.
func (t *task) metadataOf(n int) (all map[string]any, contentKeys []string) {
	all = maps.Clone(t.fromFile)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, t.chunks[n].Metadata)
	given, merged := withFile(t.Metadata, t.fromFile)
	for key := range all {
		if _, taken := given[key]; !taken || merged && key == metadata.File {
			contentKeys = append(contentKeys, key)
		}
	}
	maps.Copy(all, given)
	slices.Sort(contentKeys)
	return all, contentKeys
}
