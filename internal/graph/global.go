package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/lexical"
)

const (
	// globalCandidates is the number of chunks that a search finds for each source wanted,
	// to choose topics and their chunks from.
	globalCandidates = 10
	minGlobal        = 100
	// A global answer has chunks of half as many topics as it has sources, at least
	// leastTopics.
	leastTopics = 5
	// voteRank is the rank at which a found chunk counts half as much for its topic as the
	// first.
	voteRank = 10
)

// generic are the stems of words of questions about a whole corpus. They say nothing about
// which of its topics is meant.
var generic = stems("about answer collection content contain corpus cover data database dataset document documents archive " +
	"describe discuss explain file files general give idea ideas index information inside kind knowledge base library list main " +
	"material overview page pages passage passages problem problems present question questions say show " +
	"source sources subject subjects summary summarize summarise summarization talk tell text texts theme themes thing things topic topics important key major whole entire all " +
	"exist find read repository store stored deal treat concern concerns relate")

func stems(words string) map[string]bool {
	all := map[string]bool{}
	for token := range lexical.Tokens(words) {
		all[string(token.Stem)] = true
	}
	return all
}

// isBroad reports whether a question has no word that could choose among topics: only stop
// words and words of questions about a whole corpus.
func isBroad(question string) bool {
	for token := range lexical.Tokens(question) {
		if token.Rank() != lexical.Stop && !generic[string(token.Stem)] {
			return false
		}
	}
	return true
}

// globalTopic is a topic that may be part of an answer.
type globalTopic struct {
	row    topicRow
	score  float64
	reason string
	chunks []ChunkRef // best first
}

// global answers from several topics: it chooses topics, then takes the best chunk of each
// in turn.
func (r *run) global(ctx context.Context) error {
	p, h := r.plan, r.plan.tables
	state, err := r.service.topics(ctx, p.index, h)
	if err != nil {
		return err
	}
	rows, err := topicsAfter(ctx, h, 0, 2*maxTopics)
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	rows = slices.DeleteFunc(rows, func(t topicRow) bool { return t.ParentID != 0 || t.Namespace != p.request.Namespace })
	r.watch.Lap("topics", len(rows))
	most := max(leastTopics, (p.topK+1)/2)
	var topics []globalTopic
	if !isBroad(p.request.QueryText) {
		if topics, err = r.asked(ctx, rows); err != nil {
			return err
		}
	}
	if len(topics) == 0 {
		if topics, err = r.largest(ctx, rows, most); err != nil {
			return err
		}
	}
	topics = topics[:min(most, len(topics))]
	titles, err := r.titles(ctx, state, topics)
	if err != nil {
		return err
	}
	if err := r.fromTopics(ctx, topics, titles); err != nil {
		return err
	}
	fromTopics := slices.Clone(r.sources)
	err = r.distinct(ctx, func(most int) error {
		r.sources = append(r.sources, fromTopics...)
		r.fillGlobal(most)
		return nil
	})
	if err != nil {
		return err
	}
	if r.explain.Repeated > 0 {
		r.explainSources()
	}
	r.watch.Lap("assemble", len(r.sources))
	topic := map[ChunkRef]Source{}
	for _, source := range r.sources {
		topic[chunkOf(source.Source)] = source
	}
	err = r.rerank(ctx)
	for i, source := range r.sources {
		before := topic[chunkOf(source.Source)]
		r.sources[i].Topic, r.sources[i].Path = before.Topic, before.Path
	}
	return err
}

// titles returns the titles of topics. If chunks were deleted since the topics were found,
// it leaves out what only they said.
func (r *run) titles(ctx context.Context, state topicState, topics []globalTopic) (map[int32]string, error) {
	titles := map[int32]string{}
	rows := make([]topicRow, len(topics))
	for i, t := range topics {
		rows[i] = t.row
		titles[t.row.TopicID] = t.row.topic(len(t.row.Documents)).Title
	}
	if state.Chunks == state.Topics.Chunks && state.Written == state.Topics.Written {
		return titles, nil
	}
	counts, err := countMembers(ctx, r.plan.tables)
	if err != nil {
		return nil, fmt.Errorf("count the chunks of topics: %w", err)
	}
	current, err := complete(ctx, r.plan.tables, rows, counts)
	clear(titles)
	for _, t := range current {
		titles[t.TopicID] = t.Title
	}
	return titles, err
}

// fillGlobal appends what the search found beyond the chosen topics, with score 0, up to most sources.
func (r *run) fillGlobal(most int) {
	used := map[ChunkRef]bool{}
	for _, source := range r.sources {
		used[chunkOf(source.Source)] = true
	}
	for _, source := range r.found.Sources {
		if len(r.sources) >= most {
			return
		}
		if !used[chunkOf(source)] {
			source.Score = 0
			r.sources = append(r.sources, Source{Source: source})
		}
	}
}

// asked returns the topics of the chunks that a search finds, best first. A chunk counts for
// its topic by its rank.
func (r *run) asked(ctx context.Context, rows []topicRow) ([]globalTopic, error) {
	p := r.plan
	if err := r.search(ctx, p.request.Mode, min(max(minGlobal, globalCandidates*p.fetch), query.MaxTopK), p.withVectors); err != nil {
		return nil, err
	}
	r.watch.Lap("search", len(r.found.Sources))
	chunks := make([]ChunkRef, len(r.found.Sources))
	for i, source := range r.found.Sources {
		chunks[i] = chunkOf(source)
	}
	of, err := topicsOfChunks(ctx, p.tables, chunks)
	if err != nil {
		return nil, fmt.Errorf("read the topics of chunks: %w", err)
	}
	byID := map[int32]*globalTopic{}
	for _, row := range rows {
		byID[row.TopicID] = &globalTopic{row: row}
	}
	for rank, chunk := range chunks {
		if t := byID[of[chunk]]; t != nil {
			t.score += 1 / (1 + float64(rank)/voteRank)
			t.chunks = append(t.chunks, chunk)
		}
	}
	var topics []globalTopic
	for _, row := range rows {
		if t := byID[row.TopicID]; len(t.chunks) > 0 {
			t.reason = fmt.Sprintf("%d of %d found", len(t.chunks), len(chunks))
			topics = append(topics, *t)
		}
	}
	slices.SortStableFunc(topics, func(a, b globalTopic) int { return cmp.Compare(b.score, a.score) })
	return topics, nil
}

// largest returns the largest topics with chunks that the request's filter admits, and their
// central chunks.
func (r *run) largest(ctx context.Context, rows []topicRow, most int) ([]globalTopic, error) {
	p := r.plan
	var topics []globalTopic
	for _, row := range rows {
		if len(topics) == most {
			break
		}
		chunks, err := centralOf(ctx, p.tables, row.TopicID, p.request.Filter, p.fetch)
		if err != nil {
			return nil, fmt.Errorf("read the chunks of a topic: %w", err)
		}
		if len(chunks) > 0 {
			topics = append(topics, globalTopic{row: row, score: float64(row.Chunks), reason: fmt.Sprintf("%d chunks", row.Chunks), chunks: chunks})
		}
	}
	return topics, nil
}

// fromTopics makes the sources: the best chunk of each topic, then the second of each, and
// so on, in the order of topics. A document comes once while others are left.
func (r *run) fromTopics(ctx context.Context, topics []globalTopic, titles map[int32]string) error {
	p := r.plan
	known := map[ChunkRef]query.Source{}
	for _, source := range r.found.Sources {
		known[chunkOf(source)] = source
	}
	taken := inTurns(topics, p.fetch)
	var missing []ChunkRef
	for _, from := range taken {
		for _, chunk := range from {
			if _, ok := known[chunk]; !ok {
				missing = append(missing, chunk)
			}
		}
	}
	more, err := sourcesOf(ctx, p.tables, p.index, missing, p.request.Filter, p.withVectors)
	if err != nil {
		return fmt.Errorf("read the sources: %w", err)
	}
	best := 0.0
	for _, t := range topics {
		best = max(best, t.score)
	}
	for i, t := range topics {
		title := titles[t.row.TopicID]
		chosen := ChosenTopic{TopicID: t.row.TopicID, Title: title, Reason: t.reason}
		for nth, chunk := range taken[i] {
			source, ok := known[chunk]
			if !ok {
				source, ok = more[chunk]
			}
			if !ok { // deleted meanwhile
				continue
			}
			source.Score = t.score / best / float64(nth+1)
			s := Source{Source: source, Topic: title}
			if p.request.Explain {
				s.Path = fmt.Sprintf("topic %q (%s): chunk %d", title, t.reason, nth+1)
			}
			r.sources = append(r.sources, s)
			chosen.Sources++
		}
		if chosen.Sources > 0 {
			r.explain.Topics = append(r.explain.Topics, chosen)
		}
	}
	return nil
}

// inTurns returns at most most chunks: in each turn the next chunk of each topic, first of
// documents that have none yet.
func inTurns(topics []globalTopic, most int) [][]ChunkRef {
	taken := make([][]ChunkRef, len(topics))
	used, documents := map[ChunkRef]bool{}, map[string]bool{}
	next := func(t globalTopic, distinct bool) (ChunkRef, bool) {
		for _, chunk := range t.chunks {
			if !used[chunk] && (!distinct || !documents[chunk.DocumentID]) {
				return chunk, true
			}
		}
		return ChunkRef{}, false
	}
	for count, progress := 0, true; progress && count < most; {
		progress = false
		for i, t := range topics {
			if count == most {
				break
			}
			chunk, ok := next(t, true)
			if !ok {
				chunk, ok = next(t, false)
			}
			if ok {
				taken[i] = append(taken[i], chunk)
				used[chunk], documents[chunk.DocumentID] = true, true
				count, progress = count+1, true
			}
		}
	}
	return taken
}

// relevantContext returns the texts of the sources for a prompt: those of a topic under its
// title.
func relevantContext(sources []Source) string {
	var b strings.Builder
	for i, source := range sources {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(beforeText(sources, i))
		b.WriteString(source.Text)
	}
	return b.String()
}

// beforeText returns what a relevant context has before the text of a source.
func beforeText(sources []Source, i int) string {
	before := sources[i].BeforeText(i + 1)
	if topic := sources[i].Topic; topic != "" && (i == 0 || topic != sources[i-1].Topic) {
		before = "# " + topic + "\n\n" + before
	}
	return before
}
