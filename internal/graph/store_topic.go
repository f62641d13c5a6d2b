package graph

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"

	"github.com/google/uuid"
)

// topicState says what is known of the topics of an index.
type topicState struct {
	Graph       index.Graph
	Topics      *index.Topics // nil before they were found
	TopicsJobID *string       // of the job that finds them; nil: none
	Chunks      int64
	Written     int64
	Pending     int64
	Edges       int64
	Version     int64 // of the graph
}

// job returns the id of the job that finds topics; empty: none.
func (s topicState) job() string {
	if s.TopicsJobID == nil {
		return ""
	}
	return *s.TopicsJobID
}

// topicsOf reads the state of the topics of an index.
func topicsOf(ctx context.Context, q data.Queryer, indexID int64) (topicState, error) {
	return data.Get[topicState](ctx, q, `
		SELECT i.graph, i.topics, i.topics_job_id::text, c.*
		FROM tenant.indexes AS i CROSS JOIN (
			SELECT coalesce(sum(c.chunks), 0)::bigint AS chunks, coalesce(sum(c.written), 0)::bigint AS written, coalesce(sum(c.pending), 0)::bigint AS pending,
				coalesce(sum(c.names + c.mentions + c.similarities), 0)::bigint AS edges, coalesce(sum(c.graph_version), 0)::bigint AS version
			FROM tenant.index_counts AS c WHERE c.index_id = $1
		) AS c
		WHERE i.index_id = $1`, indexID)
}

// startTopics starts a job that finds the topics of an index and returns its id: that of
// the job under way if there is one, "" if the index does not exist.
func startTopics(ctx context.Context, queue *job.Queue, tx *data.Tx, indexID int64) (jobID string, err error) {
	jobID = uuid.Must(uuid.NewV7()).String()
	claimed, err := data.Select[struct{ IndexName, JobID string }](ctx, tx, `
		UPDATE tenant.indexes SET topics_job_id = coalesce(topics_job_id, $2::uuid) WHERE index_id = $1
		RETURNING index_name, topics_job_id::text AS job_id`, indexID, jobID)
	if err != nil || len(claimed) == 0 {
		return "", err
	}
	if claimed[0].JobID != jobID {
		return claimed[0].JobID, nil
	}
	if err := job.Insert(ctx, tx, job.Start{JobID: jobID, Kind: job.Topics, IndexName: claimed[0].IndexName, Unit: "chunks"}); err != nil {
		return "", err
	}
	return jobID, queue.Enqueue(ctx, tx, job.Topics, indexID, jobID)
}

// topicRow is a stored topic.
type topicRow struct {
	TopicID   int32
	ParentID  int32
	Position  int
	Namespace string
	Chunks    int // when it was found
	Title     string
	Summary   string
	Described string // hash of what the model described; empty: nothing
	Terms     []string
	Documents []string // of the central chunks
	Ordinals  []int    // of the central chunks
}

func (r topicRow) key() int { return r.Position }

// topic returns the topic without its chunks and documents. What a model wrote is left out
// unless all central chunks, from which it wrote, are as they were: there are still central
// of them.
func (r topicRow) topic(central int) Topic {
	t := Topic{TopicID: r.TopicID, ParentID: r.ParentID, Namespace: r.Namespace, Terms: r.Terms}
	t.Title = strings.Join(r.Terms[:min(titleTerms, len(r.Terms))], ", ")
	if r.Title != "" && central == len(r.Documents) {
		t.Title, t.Summary = r.Title, r.Summary
	}
	return t
}

const topicColumns = `t.topic_id, t.parent_id, t.position, t.namespace, t.chunks, t.title, t.summary, t.described, t.terms, t.documents::text[], t.ordinals`

// topicsAfter returns up to limit topics after a position, in order.
func topicsAfter(ctx context.Context, h *data.Handle, after, limit int) ([]topicRow, error) {
	return data.Select[topicRow](ctx, h, `SELECT `+topicColumns+` FROM tenant.topic AS t WHERE t.position > $1 ORDER BY t.position LIMIT $2`, after, limit)
}

// memberCount counts what is in a topic.
type memberCount struct {
	TopicID   int32
	Top       bool // not a subtopic
	Chunks    int
	Documents int
}

// countMembers counts the chunks and documents of all topics, in time linear in chunks.
func countMembers(ctx context.Context, h *data.Handle) (map[int32]memberCount, error) {
	rows, err := data.Select[memberCount](ctx, h, `
		SELECT m.topic_id, true AS top, count(*)::int AS chunks, count(DISTINCT m.document_id)::int AS documents
		FROM tenant.member AS m GROUP BY m.topic_id
		UNION ALL
		SELECT m.subtopic_id, false, count(*)::int, count(DISTINCT m.document_id)::int
		FROM tenant.member AS m WHERE m.subtopic_id <> 0 GROUP BY m.subtopic_id`)
	counts := make(map[int32]memberCount, len(rows))
	for _, row := range rows {
		counts[row.TopicID] = row
	}
	return counts, err
}

// shownText is the length of the text of a TopicChunk in characters.
const shownText = 300

// centralReferences lists the central chunks of topics, most central first within each: their
// topic, document and ordinal at the same position of three slices, as parameters of a statement.
func centralReferences(topics []topicRow) (ids []int32, documents []string, ordinals []int) {
	for _, t := range topics {
		for i := range t.Documents {
			ids, documents, ordinals = append(ids, t.TopicID), append(documents, t.Documents[i]), append(ordinals, t.Ordinals[i])
		}
	}
	return ids, documents, ordinals
}

// centralChunks returns the central chunks of topics that are still in them.
func centralChunks(ctx context.Context, h *data.Handle, topics []topicRow) (map[int32][]TopicChunk, error) {
	ids, documents, ordinals := centralReferences(topics)
	rows, err := data.Select[struct {
		TopicID    int32
		DocumentID string
		Ordinal    int
		URI        string
		Title      string
		Text       string
	}](ctx, h, `
		SELECT r.topic_id, c.document_id::text, c.ordinal, d.uri, c.title, left(c.text, $4) AS text
		FROM unnest($1::int[], $2::uuid[], $3::int[]) WITH ORDINALITY AS r (topic_id, document_id, ordinal, n)
		JOIN tenant.member AS m ON m.document_id = r.document_id AND m.ordinal = r.ordinal AND r.topic_id IN (m.topic_id, m.subtopic_id)
		JOIN tenant.chunk AS c ON c.document_id = r.document_id AND c.ordinal = r.ordinal
		JOIN tenant.documents AS d ON d.document_id = c.document_id
		ORDER BY r.n`, ids, documents, ordinals, shownText)
	found := map[int32][]TopicChunk{}
	for _, row := range rows {
		found[row.TopicID] = append(found[row.TopicID], TopicChunk{ChunkRef{row.DocumentID, row.Ordinal}, row.URI, row.Title, row.Text})
	}
	return found, err
}

// maxLargest is the number of documents that are shown of a topic.
const maxLargest = 5

// largestDocuments returns the documents with most chunks in each topic.
func largestDocuments(ctx context.Context, h *data.Handle, topics []topicRow) (map[int32][]TopicDocument, error) {
	var top, sub []int32
	for _, t := range topics {
		if t.ParentID == 0 {
			top = append(top, t.TopicID)
		} else {
			sub = append(sub, t.TopicID)
		}
	}
	rows, err := data.Select[struct {
		TopicID    int32
		DocumentID string
		URI        string
		Title      string
		Chunks     int
	}](ctx, h, `
		SELECT r.topic_id, r.document_id::text, d.uri, d.title, r.chunks::int
		FROM (
			SELECT n.topic_id, n.document_id, n.chunks, row_number() OVER (PARTITION BY n.topic_id ORDER BY n.chunks DESC, n.rank DESC, n.document_id) AS nth
			FROM (
				SELECT m.topic_id, m.document_id, count(*) AS chunks, max(m.rank) AS rank
				FROM tenant.member AS m WHERE m.topic_id = ANY($1::int[]) GROUP BY 1, 2
				UNION ALL
				SELECT m.subtopic_id, m.document_id, count(*), max(m.rank)
				FROM tenant.member AS m WHERE m.subtopic_id = ANY($2::int[]) GROUP BY 1, 2
			) AS n
		) AS r JOIN tenant.documents AS d ON d.document_id = r.document_id
		WHERE r.nth <= $3 ORDER BY r.topic_id, r.nth`, top, sub, maxLargest)
	found := map[int32][]TopicDocument{}
	for _, row := range rows {
		found[row.TopicID] = append(found[row.TopicID], TopicDocument{row.DocumentID, row.URI, row.Title, row.Chunks})
	}
	return found, err
}

// keptTerms returns the terms that chunks of their topics still have, for topics of which
// chunks were deleted: a term must not outlive the documents with it.
func keptTerms(ctx context.Context, h *data.Handle, topics []topicRow) (map[int32][]string, error) {
	if len(topics) == 0 {
		return nil, nil
	}
	var ids, parents []int32
	var terms []string
	for _, t := range topics {
		for _, term := range t.Terms {
			parent := t.ParentID
			if parent == 0 {
				parent = t.TopicID
			}
			ids, parents, terms = append(ids, t.TopicID), append(parents, parent), append(terms, term)
		}
	}
	rows, err := data.Select[struct {
		TopicID int32
		Term    string
	}](ctx, h, `
		SELECT r.topic_id, r.term FROM unnest($1::int[], $2::int[], $3::text[]) AS r (topic_id, parent_id, term)
		WHERE EXISTS (
			SELECT FROM tenant.member AS m JOIN tenant.chunk AS c USING (document_id, ordinal)
			WHERE m.topic_id = r.parent_id AND r.topic_id IN (m.topic_id, m.subtopic_id) AND position(lower(r.term) IN lower(c.text)) > 0
		)`, ids, parents, terms)
	kept := map[int32][]string{}
	for _, row := range rows {
		kept[row.TopicID] = append(kept[row.TopicID], row.Term)
	}
	return kept, err
}

// nodeRow is a chunk with its topic, 0 for none, -1 for one that is new.
type nodeRow struct {
	id        [16]byte // of the document
	ordinal   int32
	namespace string
	topic     int32
	subtopic  int32
	rank      float32
}

// readNodes returns all chunks of an index in their order.
func readNodes(ctx context.Context, h *data.Handle, chunks int64) ([]nodeRow, error) {
	nodes := make([]nodeRow, 0, chunks)
	namespaces := map[string]string{} // one copy of each
	b := h.Batch()
	b.Query(func(rows pgx.Rows) error {
		var n nodeRow
		_, err := pgx.ForEachRow(rows, []any{&n.id, &n.ordinal, &n.namespace, &n.topic, &n.subtopic, &n.rank}, func() error {
			if _, ok := namespaces[n.namespace]; !ok {
				namespaces[n.namespace] = n.namespace
			}
			n.namespace = namespaces[n.namespace]
			nodes = append(nodes, n)
			return nil
		})
		return err
	}, `
		SELECT c.document_id, c.ordinal, c.namespace, coalesce(m.topic_id, -1), coalesce(m.subtopic_id, -1), coalesce(m.rank, -1)::real
		FROM tenant.chunk AS c LEFT JOIN tenant.member AS m USING (document_id, ordinal)
		WHERE c.document_id IS NOT NULL ORDER BY c.document_id, c.ordinal`)
	return nodes, b.Run(ctx)
}

// linkRow is an edge between two chunks.
type linkRow struct {
	from, to               [16]byte
	fromOrdinal, toOrdinal int32
	weight                 float32
}

// readLinks calls add for the stored edges of an index that walks follow, except for the
// reading order.
func readLinks(ctx context.Context, h *data.Handle, add func(linkRow)) error {
	b := h.Batch()
	b.Query(func(rows pgx.Rows) error {
		var r linkRow
		_, err := pgx.ForEachRow(rows, []any{&r.from, &r.fromOrdinal, &r.to, &r.toOrdinal, &r.weight}, func() error {
			add(r)
			return nil
		})
		return err
	}, `
		WITH followed AS (
			SELECT e.key, (1 / (count(*) FILTER (WHERE e.type = 'name') * sqrt(count(*) FILTER (WHERE e.type = 'mention'))))::real AS weight
			FROM tenant.edge AS e WHERE e.type IN ('name', 'mention') GROUP BY e.key
			HAVING count(*) FILTER (WHERE e.type = 'name') BETWEEN 1 AND $1 AND count(*) FILTER (WHERE e.type = 'mention') BETWEEN 1 AND $2
		)
		SELECT m.document_id, m.ordinal, n.document_id, n.ordinal, followed.weight
		FROM followed JOIN tenant.edge AS m USING (key) JOIN tenant.edge AS n USING (key) WHERE m.type = 'mention' AND n.type = 'name'
		UNION ALL
		SELECT e.document_id, e.ordinal, e.to_document_id, e.to_ordinal, CASE e.type WHEN 'similar' THEN ($3 * e.cosine)::real ELSE $4::real END
		FROM tenant.edge AS e WHERE e.type IN ('similar', 'section')`, maxDefinitions, maxMentions, similarWeight, nextWeight)
	return b.Run(ctx)
}

// sampledText is the number of characters of a chunk that are read for terms.
const sampledText = 4000

// textsOfNodes returns the texts of chunks, in any order.
func textsOfNodes(ctx context.Context, h *data.Handle, nodes []nodeRow) ([]string, error) {
	ids, ordinals := make([][16]byte, len(nodes)), make([]int32, len(nodes))
	for i, n := range nodes {
		ids[i], ordinals[i] = n.id, n.ordinal
	}
	return data.Values[string](ctx, h, `
		SELECT left(c.title || E'\n' || c.text, $3) FROM unnest($1::uuid[], $2::int[]) WITH ORDINALITY AS r (document_id, ordinal, n)
		JOIN tenant.chunk AS c USING (document_id, ordinal) ORDER BY r.n`, ids, ordinals, sampledText)
}

// storedMembers is the number of members that one statement stores.
const storedMembers = 5000

// storeMembers stores the topics of chunks that still exist. Members are given in the order
// of their chunks, in which the trigger of deleted chunks locks them too.
func storeMembers(ctx context.Context, h *data.Handle, nodes []nodeRow) error {
	ids, ordinals, ranks := make([][16]byte, len(nodes)), make([]int32, len(nodes)), make([]float32, len(nodes))
	topics, subtopics := make([]int32, len(nodes)), make([]int32, len(nodes))
	for i, n := range nodes {
		ids[i], ordinals[i], ranks[i], topics[i], subtopics[i] = n.id, n.ordinal, n.rank, n.topic, n.subtopic
	}
	_, err := h.Exec(ctx, `
		INSERT INTO tenant.member AS m (document_id, ordinal, topic_id, subtopic_id, rank)
		SELECT r.document_id, r.ordinal, r.topic_id, r.subtopic_id, r.rank
		FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::real[]) AS r (document_id, ordinal, topic_id, subtopic_id, rank)
		JOIN tenant.chunk AS c USING (document_id, ordinal)
		ORDER BY r.document_id, r.ordinal
		ON CONFLICT (document_id, ordinal) DO UPDATE SET topic_id = excluded.topic_id, subtopic_id = excluded.subtopic_id, rank = excluded.rank`,
		ids, ordinals, topics, subtopics, ranks)
	return err
}

// replaceTopics replaces all topics of an index and marks the job succeeded. Errors:
// job.ErrEnded.
func replaceTopics(ctx context.Context, h *data.Handle, task job.Task, topics []topicRow, state index.Topics) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE tenant.indexes SET topics = $2, topics_job_id = NULL WHERE index_id = $1 AND topics_job_id = $3`, task.IndexID, state, task.JobID)
		if err != nil {
			return err
		}
		if n == 0 { // cancelled
			return job.ErrEnded
		}
		if _, err := tx.Exec(ctx, `DELETE FROM tenant.topic`); err != nil {
			return err
		}
		for _, t := range topics {
			if _, err := tx.Exec(ctx, `
				INSERT INTO tenant.topic (topic_id, parent_id, position, namespace, chunks, title, summary, described, terms, documents, ordinals)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::uuid[], $11)`,
				t.TopicID, t.ParentID, t.Position, t.Namespace, t.Chunks, t.Title, t.Summary, t.Described, t.Terms, t.Documents, t.Ordinals); err != nil {
				return err
			}
		}
		return job.Succeed(ctx, tx, task.JobID)
	})
}

// topicsOfChunks returns the topics of chunks, without those in none.
func topicsOfChunks(ctx context.Context, h *data.Handle, chunks []ChunkRef) (map[ChunkRef]int32, error) {
	documents, ordinals := make([]string, 0, len(chunks)), make([]int, 0, len(chunks))
	for _, chunk := range chunks {
		if chunk.DocumentID != "" {
			documents, ordinals = append(documents, chunk.DocumentID), append(ordinals, chunk.Ordinal)
		}
	}
	rows, err := data.Select[struct {
		DocumentID string
		Ordinal    int
		TopicID    int32
	}](ctx, h, `
		SELECT m.document_id::text, m.ordinal, m.topic_id
		FROM unnest($1::uuid[], $2::int[]) AS r (document_id, ordinal) JOIN tenant.member AS m USING (document_id, ordinal)
		WHERE m.topic_id <> 0`, documents, ordinals)
	found := make(map[ChunkRef]int32, len(rows))
	for _, row := range rows {
		found[ChunkRef{row.DocumentID, row.Ordinal}] = row.TopicID
	}
	return found, err
}

// centralOf returns the most central chunks of a topic that the filter admits, best first.
func centralOf(ctx context.Context, h *data.Handle, topicID int32, visible filter.Filter, limit int) ([]ChunkRef, error) {
	args := filter.NewArgs(topicID, limit)
	return bounded[ChunkRef](ctx, h, loadTimeout, `
		SELECT m.document_id::text, m.ordinal FROM tenant.member AS m JOIN tenant.chunk AS c USING (document_id, ordinal)
		WHERE m.topic_id = $1 AND `+visible.SQL(filter.ChunkMetadata, args)+`
		ORDER BY m.rank DESC, m.document_id, m.ordinal LIMIT $2`, args.Values())
}
