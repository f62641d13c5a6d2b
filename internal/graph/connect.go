package graph

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Document is a document as connecting sees it.
type Document struct {
	DocumentID string
	Namespace  string // of the index
	Title      string
	URI        string
	Texts      []string // of the chunks, in their order
	// Metadata are those of its chunks; of an email they tell its thread.
	Metadata map[string]any
}

const (
	// similarCount is how many near chunks a chunk is linked to.
	similarCount = 8
	// mostDefinitions is how many chunks may have a name before it says too
	// little to follow.
	mostDefinitions = 50
	// mostMentions is how many chunks may mention a name for it to be followed.
	// Stored are all: a filter may leave no more than that in sight.
	mostMentions = 200
)

// Types of rows in an edge table. A name is 1, and the first words of one that is
// longer 4.
const (
	mentionRow = 2
	similarRow = 3
	partRow    = 5 // leads back: from a chunk to the head of its section
)

// connectedTexts is how many texts, and connectedNames how many names, are looked for
// with one statement. It bounds what a batch takes in memory: a text has some 600
// phrases, and a name is looked for in some 200 texts.
const (
	connectedTexts = 500
	connectedNames = 200
)

// textPhrases is about how many of a text's phrases would have to be looked up. Where
// an index has fewer names than that, it is the names that are read.
const textPhrases = 200

// Connect brings documents into the graph of their index: the names of their
// chunks, what they mention, who mentions them, their sections, and the chunks near
// them, as far as the index keeps such edges. The chunks must be committed, and edges
// of an earlier version gone with its chunks; to connect again is harmless. Many
// documents at once cost far less than each alone.
//
// Connect may be called for several documents at the same time. Names are
// committed before texts are searched, so that of two documents at least the
// later one sees the other.
func Connect(ctx context.Context, h *tenant.Handle, i index.Index, documents ...Document) error {
	if len(documents) == 0 {
		return nil
	}
	settings, err := index.GraphOf(ctx, h, i.ID)
	if err != nil {
		return err
	}
	if settings.Keeps(string(Mention)) {
		if err := connectNames(ctx, h, i, documents); err != nil {
			return err
		}
	}
	if settings.Keeps(string(Next)) {
		for parts := range slices.Chunk(partsOf(documents), connectedTexts) {
			if err := insertParts(ctx, h, documents, parts); err != nil {
				return fmt.Errorf("store the sections of documents: %w", err)
			}
		}
	}
	return linkSimilar(ctx, h, i, settings, idsOf(documents))
}

// linkSimilar links chunks of documents to those near to them, or notes that this is to
// be done.
func linkSimilar(ctx context.Context, h *tenant.Handle, i index.Index, settings index.Graph, ids []string) error {
	if !settings.Keeps(string(Similar)) || !canSimilar(i) {
		return nil
	}
	early := i.Config.Type != index.HNSW
	if !early {
		var err error
		if early, err = index.Loading(ctx, h, i.ID); err != nil {
			return err
		}
	}
	if early {
		return index.NoteUnlinked(ctx, h, i.ID)
	}
	if err := insertSimilar(ctx, h, ids, settings.Similarity()); err != nil {
		return fmt.Errorf("link documents to what is near: %w", err)
	}
	return nil
}

// connectNames does so for names and who mentions them.
func connectNames(ctx context.Context, h *tenant.Handle, i index.Index, documents []Document) error {
	names, texts := namesOf(documents), textsOf(documents)
	for part := range slices.Chunk(names, connectedNames) {
		if err := insertNames(ctx, h, documents, part); err != nil {
			return fmt.Errorf("store the names of documents: %w", err)
		}
	}
	all, err := namesOfIndex(ctx, h, i.ID, len(texts)*textPhrases)
	if err != nil {
		return fmt.Errorf("read the names that an index has: %w", err)
	}
	threads := threadMentions(documents)
	for part := range slices.Chunk(texts, connectedTexts) {
		mentions, err := mentionsIn(ctx, h, part, all, threads)
		if err != nil {
			return fmt.Errorf("find what documents mention: %w", err)
		}
		if err := insertMentions(ctx, h, part, mentions); err != nil {
			return fmt.Errorf("store what documents mention: %w", err)
		}
	}
	for part := range slices.Chunk(names, connectedNames) {
		others, err := textsWith(ctx, h, i.TextLanguage, part, documents)
		if err != nil {
			return fmt.Errorf("find what mentions documents: %w", err)
		}
		if err := insertMentions(ctx, h, others, mentionsOf(part, others)); err != nil {
			return fmt.Errorf("store what mentions documents: %w", err)
		}
	}
	return nil
}

// Reconnect does the same for documents whose texts are not at hand. Those that
// were deleted are left out.
func Reconnect(ctx context.Context, h *tenant.Handle, i index.Index, documentIDs ...string) error {
	documents, err := documentsByID(ctx, h, documentIDs)
	if err != nil {
		return fmt.Errorf("read documents to connect them: %w", err)
	}
	return Connect(ctx, h, i, documents...)
}

// Rebuild connects every document of an index anew, in the order of their ids,
// and calls report after each batch, which ends it by an error. Queries go on
// meanwhile and see each document's edges come and go. It mends what an
// interrupted connection left behind and takes up how names are found now.
func Rebuild(ctx context.Context, h *tenant.Handle, i index.Index, report func(done int) error) error {
	return eachDocuments(ctx, h, i.ID, report, func(ids []string) error {
		if err := disconnect(ctx, h, ids); err != nil {
			return fmt.Errorf("drop the edges of documents: %w", err)
		}
		return Reconnect(ctx, h, i, ids...)
	})
}

// eachDocuments does something with all documents of an index, some at a time in the
// order of their ids, and calls report after each time, which ends it by an error.
func eachDocuments(ctx context.Context, h *tenant.Handle, indexID int64, report func(done int) error, do func(ids []string) error) error {
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

// Relink finds anew which chunks of an index are near to each other, after all of them
// have got other embeddings. Queries go on meanwhile, with fewer edges.
func Relink(ctx context.Context, h *tenant.Handle, i index.Index) error {
	if err := dropSimilar(ctx, h); err != nil {
		return fmt.Errorf("drop what was near: %w", err)
	}
	return link(ctx, h, i, func(int) error { return nil })
}

// link finds which chunks of an index are near to each other, beside what was found
// before, and calls report after each batch of documents, which ends it by an error.
func link(ctx context.Context, h *tenant.Handle, i index.Index, report func(done int) error) error {
	settings, err := index.GraphOf(ctx, h, i.ID)
	if err != nil || !settings.Keeps(string(Similar)) || !canSimilar(i) {
		return err
	}
	return eachDocuments(ctx, h, i.ID, report, func(ids []string) error {
		for some := range slices.Chunk(ids, relinkDocuments) {
			if err := linkSimilar(ctx, h, i, settings, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// relinkDocuments is how many documents are linked by one statement.
const relinkDocuments = 50

// canSimilar reports whether the chunks near to another can be found once there is a
// Postgres index: one that compares by cosine, without which every new chunk would be
// compared with all.
func canSimilar(i index.Index) bool {
	return i.Metric == index.Cosine && (i.VectorType == index.Vector || i.VectorType == index.HalfVec)
}

// Place tells a chunk: its document and its position there.
type Place struct {
	DocumentID string
	Ordinal    int
}

// placedName is a name of the chunk at a place.
type placedName struct {
	Name
	Place
	namespace string
}

// mention is a name that a chunk mentions.
type mention struct {
	Place
	key Key
}

func namesOf(documents []Document) []placedName {
	var all []placedName
	for _, d := range documents {
		space := spaceOf(d.Namespace)
		for ordinal, text := range d.Texts {
			names := NamesInText(text)
			if ordinal == 0 {
				id, _ := threadOf(d.Metadata)
				names = slices.Concat(NamesOfDocument(d.Title, d.URI, id), names)
			}
			for _, name := range names {
				name.Key, name.Prefix = space.key(name.Key), space.key(name.Prefix)
				all = append(all, placedName{name, Place{d.DocumentID, ordinal}, d.Namespace})
			}
		}
	}
	return all
}

// textsAt returns the texts at the places, each once.
func textsAt(places []Place, documents []Document) []placedText {
	byID := make(map[string]Document, len(documents))
	for _, d := range documents {
		byID[d.DocumentID] = d
	}
	slices.SortFunc(places, comparePlaces)
	var texts []placedText
	for _, place := range slices.Compact(places) {
		d := byID[place.DocumentID]
		texts = append(texts, placedText{place.DocumentID, place.Ordinal, d.Namespace, d.Texts[place.Ordinal]})
	}
	return texts
}

// textsOf are the documents' chunks as statements tell them.
func textsOf(documents []Document) []placedText {
	var texts []placedText
	for _, d := range documents {
		for ordinal, text := range d.Texts {
			texts = append(texts, placedText{d.DocumentID, ordinal, d.Namespace, text})
		}
	}
	return texts
}

// mentionsIn returns what the texts mention: names that are known, and whatever
// looks like an identifier or a path, should it become a name, as well as what threads
// say of them. all are the names that the index has, or nil to look phrases up.
func mentionsIn(ctx context.Context, h *tenant.Handle, texts []placedText, all map[Key]bool, threads map[Place][]Key) ([]mention, error) {
	phrases := make([][]phrase, len(texts))
	for i, text := range texts {
		phrases[i] = text.phrases()
	}
	known := all
	if known == nil {
		var err error
		if known, err = namesAmong(ctx, h, slices.Concat(phrases...)); err != nil {
			return nil, err
		}
	}
	var found []mention
	for i, text := range texts {
		place := Place{text.DocumentID, text.Ordinal}
		keys := spaceOf(text.Namespace).keys(append(References(text.Text), threads[place]...))
		for _, p := range phrases[i] {
			if known[p.key] {
				keys = append(keys, p.key)
			}
		}
		for _, key := range distinct(keys) {
			found = append(found, mention{place, key})
		}
	}
	return found, nil
}

// namesAmong returns which of the phrases are names: the short ones first, then
// those of the long ones that begin as a name does.
func namesAmong(ctx context.Context, h *tenant.Handle, phrases []phrase) (map[Key]bool, error) {
	var short, beginnings, long []Key
	for _, p := range phrases {
		if p.prefix == 0 {
			short = append(short, p.key)
		} else {
			beginnings = append(beginnings, p.prefix)
		}
	}
	known, begun, err := knownKeys(ctx, h, distinct(short), distinct(beginnings))
	if err != nil {
		return nil, err
	}
	for _, p := range phrases {
		if begun[p.prefix] {
			long = append(long, p.key)
		}
	}
	more, _, err := knownKeys(ctx, h, distinct(long), nil)
	maps.Copy(known, more)
	return known, err
}

// mentionsOf returns which of the texts mention which of the names. That a text
// search proposed them is not enough: the words decide.
func mentionsOf(names []placedName, texts []placedText) []mention {
	wanted := map[Key]bool{}
	for _, name := range names {
		wanted[name.Key] = true
	}
	var found []mention
	for _, text := range texts {
		var keys []Key
		for _, p := range text.phrases() {
			keys = append(keys, p.key)
		}
		for _, key := range Mentions(keys, func(key Key) bool { return wanted[key] }) {
			found = append(found, mention{Place{text.DocumentID, text.Ordinal}, key})
		}
	}
	return found
}

// distinct sorts the keys and returns each once.
func distinct(keys []Key) []Key {
	slices.Sort(keys)
	return slices.Compact(keys)
}
