package graph

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/graph/names"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Document is a stored document whose edges are to be found.
type Document struct {
	DocumentID string
	Namespace  string // of the index
	Title      string
	URI        string
	Texts      []string // of the chunks, by ordinal
	// Contents says which chunks are of tables of contents, or of figures, whose captions other chunks have: they would mention all sections of the
	// document and have the names of all. It may be shorter than Texts.
	Contents []bool
	// Metadata is that of the document's chunks. The field "file" of an email
	// holds the ids of its thread.
	Metadata map[string]any
}

// ChunkRef identifies a chunk of an index by its document and its position in it.
type ChunkRef struct {
	DocumentID string
	Ordinal    int
}

const (
	// similarCount is the number of nearest chunks that a chunk is connected to.
	similarCount = 8
	// maxDefinitions is the number of chunks that may have a name. A name that
	// more chunks have says too little and is not followed.
	maxDefinitions = 50
	// maxMentions is the number of chunks that may mention a name that is
	// followed. All mentions are stored: under a filter fewer may be visible.
	maxMentions = 200
	// maxMentioned is the number of names that a chunk may mention, the first in
	// its text.
	maxMentioned = 256
)

// Types of edges that edgesFrom returns. All but nextRow are values of the SQL type
// edge_type.
const (
	mentionRow = "mention"
	nextRow    = "next"
	sectionRow = "section"
	similarRow = "similar"
)

// connectedTexts and connectedNames are the numbers of texts and of names that
// one statement looks up. They bound the memory of a batch: a text has some 600
// phrases, and a name is searched for in some 200 texts.
const (
	connectedTexts = 500
	connectedNames = 200
)

// textPhrases estimates how many phrases of a text need a lookup. An index with
// fewer names than the phrases of a batch has all its names read instead.
const textPhrases = 200

// Connect stores the edges of documents, of the types that the index keeps: the
// names of their chunks, what they mention, which other chunks mention them, their
// sections, and the chunks similar to them. The chunks must be committed, and the
// edges of an earlier version deleted with its chunks. Connect is idempotent and
// safe for concurrent use: names are committed before texts are searched, so of
// two documents at least the later one sees the other. Many documents in one call
// cost far less than one call for each.
func Connect(ctx context.Context, h *data.Handle, i index.Index, documents ...Document) error {
	if len(documents) == 0 {
		return nil
	}
	settings, hasEdges, err := index.GraphOf(ctx, h, i.ID)
	if err != nil || settings.Off {
		return err
	}
	if !hasEdges {
		if err := index.MakeEdges(ctx, h, i); err != nil {
			return fmt.Errorf("make the edge table: %w", err)
		}
	}
	if settings.Keeps(string(Mention)) {
		if err := connectNames(ctx, h, i, documents); err != nil {
			return err
		}
	}
	if settings.Keeps(string(Next)) {
		for chunks := range slices.Chunk(sectionChunks(documents), connectedTexts) {
			if err := insertSections(ctx, h, documents, chunks); err != nil {
				return fmt.Errorf("store the sections of documents: %w", err)
			}
		}
	}
	return connectSimilar(ctx, h, i, settings, idsOf(documents))
}

// connectSimilar connects the chunks of documents to similar ones. Where finding
// these would mean reading all chunks, it notes instead that a job has to do it
// later.
func connectSimilar(ctx context.Context, h *data.Handle, i index.Index, settings index.Graph, ids []string) error {
	if !settings.Keeps(string(Similar)) || !canSimilar(i) {
		return nil
	}
	early := i.Config.Type != index.HNSW
	if !early {
		var err error
		if early, err = isLoading(ctx, h, i.ID); err != nil {
			return err
		}
	}
	if early {
		return noteMissing(ctx, h, i.ID)
	}
	if err := insertSimilar(ctx, h, ids, settings.Similarity()); err != nil {
		return fmt.Errorf("store the similar chunks of documents: %w", err)
	}
	return nil
}

// connectNames stores the names of documents, what they mention and which other
// chunks mention them.
func connectNames(ctx context.Context, h *data.Handle, i index.Index, documents []Document) error {
	defined, texts := namesOf(documents), textsOf(documents)
	for batch := range slices.Chunk(defined, connectedNames) {
		if err := insertNames(ctx, h, documents, batch); err != nil {
			return fmt.Errorf("store the names of documents: %w", err)
		}
	}
	all, err := namesOfIndex(ctx, h, i.ID, len(texts)*textPhrases)
	if err != nil {
		return fmt.Errorf("read the names of an index: %w", err)
	}
	threads := threadMentions(documents)
	for batch := range slices.Chunk(texts, connectedTexts) {
		mentions, err := mentionsIn(ctx, h, batch, all, threads)
		if err != nil {
			return fmt.Errorf("find what documents mention: %w", err)
		}
		if err := insertMentions(ctx, h, batch, mentions); err != nil {
			return fmt.Errorf("store what documents mention: %w", err)
		}
	}
	for batch := range slices.Chunk(defined, connectedNames) {
		others, err := textsWith(ctx, h, i, batch, documents)
		if err != nil {
			return fmt.Errorf("find chunks that mention documents: %w", err)
		}
		if err := insertMentions(ctx, h, others, mentionsOf(batch, others)); err != nil {
			return fmt.Errorf("store chunks that mention documents: %w", err)
		}
	}
	return nil
}

// Reconnect reads documents and connects them as Connect does. It ignores ids of
// deleted documents.
func Reconnect(ctx context.Context, h *data.Handle, i index.Index, documentIDs ...string) error {
	documents, err := documentsByID(ctx, h, documentIDs)
	if err != nil {
		return fmt.Errorf("read documents to connect them: %w", err)
	}
	return Connect(ctx, h, i, documents...)
}

// Rebuild deletes and finds the edges of every document of an index, in the order
// of their ids. After each batch it calls report with the number of documents
// done, and stops if report returns an error. Queries keep running and see
// fewer edges of the documents in work. A rebuild repairs interrupted
// connections and applies the current rules for names.
func Rebuild(ctx context.Context, h *data.Handle, i index.Index, report func(done int) error) error {
	_, hasEdges, err := index.GraphOf(ctx, h, i.ID)
	if err != nil {
		return err
	}
	return eachBatch(ctx, h, i.ID, report, func(ids []string) error {
		if hasEdges { // else all edges are new
			if err := disconnect(ctx, h, ids); err != nil {
				return fmt.Errorf("delete the edges of documents: %w", err)
			}
		}
		return Reconnect(ctx, h, i, ids...)
	})
}

// eachBatch calls do for all documents of an index in batches, in the order of
// their ids. After each batch it calls report with the number of documents done.
// It stops at the first error of either.
func eachBatch(ctx context.Context, h *data.Handle, indexID int64, report func(done int) error, do func(ids []string) error) error {
	after, done := uuid.Nil.String(), 0
	for {
		ids, err := documentIDs(ctx, h, indexID, after)
		if err != nil {
			return fmt.Errorf("list the documents to connect: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		if err := do(ids); err != nil {
			return err
		}
		done, after = done+len(ids), ids[len(ids)-1]
		if err := report(done); err != nil {
			return err
		}
	}
}

// Relink deletes and finds the similar edges of an index after all its chunks got
// other embeddings. Queries keep running and see fewer edges meanwhile.
func Relink(ctx context.Context, h *data.Handle, i index.Index) error {
	_, hasEdges, err := index.GraphOf(ctx, h, i.ID)
	if err != nil {
		return err
	}
	if hasEdges {
		if err := deleteSimilar(ctx, h); err != nil {
			return fmt.Errorf("delete similar edges: %w", err)
		}
	}
	return link(ctx, h, i, func(int) error { return nil })
}

// link adds the missing similar edges of an index. report is called as by
// Rebuild.
func link(ctx context.Context, h *data.Handle, i index.Index, report func(done int) error) error {
	settings, hasEdges, err := index.GraphOf(ctx, h, i.ID)
	if err != nil || !settings.Keeps(string(Similar)) || !canSimilar(i) {
		return err
	}
	if !hasEdges {
		if err := index.MakeEdges(ctx, h, i); err != nil {
			return fmt.Errorf("make the edge table: %w", err)
		}
	}
	return eachBatch(ctx, h, i.ID, report, func(ids []string) error {
		for some := range slices.Chunk(ids, linkedDocuments) {
			if err := connectSimilar(ctx, h, i, settings, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// linkedDocuments is the number of documents whose similar edges one statement
// finds.
const linkedDocuments = 50

// canSimilar reports whether an index over the embeddings can find similar
// chunks: it has to compare by cosine. Without one every new chunk would be
// compared with all.
func canSimilar(i index.Index) bool {
	return i.Metric == index.Cosine && (i.VectorType == index.Vector || i.VectorType == index.HalfVec)
}

// namespaceOf returns how keys of names are stored for a namespace of an index.
func namespaceOf(namespace string) names.Namespace {
	if namespace == index.DefaultNamespace {
		return names.Namespace{}
	}
	return names.NamespaceOf(namespace)
}

// definition is a name that a chunk has, with the key of its namespace.
type definition struct {
	names.Name
	ChunkRef
	namespace string
}

// mention is a name that a chunk mentions, by the key of its namespace.
type mention struct {
	ChunkRef
	key names.Key
}

// namesOf returns the names of all chunks of the documents.
func namesOf(documents []Document) []definition {
	var all []definition
	for _, d := range documents {
		namespace := namespaceOf(d.Namespace)
		for ordinal, text := range d.Texts {
			var found []names.Name
			if !d.isContents(ordinal) {
				found = names.InText(text)
			}
			if ordinal == d.first() {
				id, _ := emailHeaders(d.Metadata)
				found = slices.Concat(names.OfDocument(d.Title, d.URI, id), found)
			}
			for _, name := range found {
				name.Key, name.Prefix = namespace.Key(name.Key), namespace.Key(name.Prefix)
				all = append(all, definition{name, ChunkRef{d.DocumentID, ordinal}, d.Namespace})
			}
		}
	}
	return all
}

// chunkText is a chunk with its text.
type chunkText struct {
	DocumentID string
	Ordinal    int
	Namespace  string
	Text       string
}

// phrases returns the phrases of the text, with the keys of its namespace.
func (t chunkText) phrases() []names.Phrase {
	return namespaceOf(t.Namespace).Phrases(names.Phrases(t.Text))
}

// isContents reports whether a chunk is of a table of contents.
func (d Document) isContents(ordinal int) bool {
	return ordinal < len(d.Contents) && d.Contents[ordinal]
}

// first returns the chunk that has the names of the document: the first that is not of a table of
// contents.
func (d Document) first() int {
	for ordinal := range d.Texts {
		if !d.isContents(ordinal) {
			return ordinal
		}
	}
	return 0
}

// textsOf returns the texts of all chunks of the documents but of tables of contents.
func textsOf(documents []Document) []chunkText {
	var texts []chunkText
	for _, d := range documents {
		for ordinal, text := range d.Texts {
			if d.isContents(ordinal) {
				continue
			}
			texts = append(texts, chunkText{d.DocumentID, ordinal, d.Namespace, text})
		}
	}
	return texts
}

// textsAt returns the texts of the chunks, each once. It sorts chunks.
func textsAt(chunks []ChunkRef, documents []Document) []chunkText {
	byID := make(map[string]Document, len(documents))
	for _, d := range documents {
		byID[d.DocumentID] = d
	}
	slices.SortFunc(chunks, compareChunks)
	var texts []chunkText
	for _, chunk := range slices.Compact(chunks) {
		d := byID[chunk.DocumentID]
		texts = append(texts, chunkText{chunk.DocumentID, chunk.Ordinal, d.Namespace, d.Texts[chunk.Ordinal]})
	}
	return texts
}

// mentionsIn returns what the texts mention: known names, whatever looks like an
// identifier or a path (it may become a name later), and the messages of threads.
// all are the names of the index, or nil to look phrases up.
func mentionsIn(ctx context.Context, h *data.Handle, texts []chunkText, all map[names.Key]bool, threads map[ChunkRef][]names.Key) ([]mention, error) {
	phrases := make([][]names.Phrase, len(texts))
	known := all
	if known == nil || len(known) > 0 {
		for i, text := range texts {
			phrases[i] = text.phrases()
		}
	}
	if known == nil {
		var err error
		if known, err = namesAmong(ctx, h, slices.Concat(phrases...)); err != nil {
			return nil, err
		}
	}
	var found []mention
	seen := map[names.Key]bool{}
	for i, text := range texts {
		clear(seen)
		chunk := ChunkRef{text.DocumentID, text.Ordinal}
		keys := namespaceOf(text.Namespace).Keys(append(names.References(text.Text), threads[chunk]...))
		for _, p := range phrases[i] {
			if known[p.Key] && !seen[p.Key] && len(seen) < maxMentioned {
				seen[p.Key] = true
				keys = append(keys, p.Key)
			}
		}
		for _, key := range distinct(keys) {
			found = append(found, mention{chunk, key})
		}
	}
	return found, nil
}

// namesAmong returns which phrases are names. It looks up short phrases first,
// then those long ones that begin as a name does.
func namesAmong(ctx context.Context, h *data.Handle, phrases []names.Phrase) (map[names.Key]bool, error) {
	var short, prefixes, long []names.Key
	for _, p := range phrases {
		if p.Prefix == 0 {
			short = append(short, p.Key)
		} else {
			prefixes = append(prefixes, p.Prefix)
		}
	}
	known, begun, err := knownKeys(ctx, h, distinct(short), distinct(prefixes))
	if err != nil {
		return nil, err
	}
	for _, p := range phrases {
		if begun[p.Prefix] {
			long = append(long, p.Key)
		}
	}
	more, _, err := knownKeys(ctx, h, distinct(long), nil)
	maps.Copy(known, more)
	return known, err
}

// mentionsOf returns which texts mention which names. The texts come from a
// full-text search, which also finds texts that do not mention a name.
func mentionsOf(defined []definition, texts []chunkText) []mention {
	wanted := map[names.Key]bool{}
	for _, name := range defined {
		wanted[name.Key] = true
	}
	var found []mention
	for _, text := range texts {
		for _, key := range names.Mentioned(names.Keys(text.phrases()), func(key names.Key) bool { return wanted[key] }) {
			found = append(found, mention{ChunkRef{text.DocumentID, text.Ordinal}, key})
		}
	}
	return found
}

// distinct sorts the keys and returns each once.
func distinct(keys []names.Key) []names.Key {
	slices.Sort(keys)
	return slices.Compact(keys)
}
