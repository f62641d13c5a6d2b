package index

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Topics records what an index was like when its topics were found.
type Topics struct {
	FoundAt    time.Time `json:"foundAt"`
	Chunks     int64     `json:"chunks"`
	Written    int64     `json:"written"` // chunks ever written
	Edges      int64     `json:"edges"`
	Whole      int64     `json:"whole"` // Written when all communities were last found anew
	LastID     int32     `json:"lastId"`
	Modularity float64   `json:"modularity"`
}

const (
	// Topics are found again when 1/topicsFraction of the chunks have changed, or
	// 1/topicsEdges of the edges.
	topicsFraction = 10
	topicsEdges    = 4
)

// Outdated reports whether topics should be found again for an index of so many chunks,
// chunks ever written, and edges.
func (t Topics) Outdated(chunks, written, edges int64) bool {
	changed := max(written-t.Written, t.Chunks-chunks)
	if changed > 0 && changed*topicsFraction >= chunks {
		return true
	}
	difference := max(edges-t.Edges, t.Edges-edges)
	return difference > 0 && difference*topicsEdges >= edges
}

// The subqueries that stand for the tables of topics of an index that has none.
const (
	noTopics = `(SELECT NULL::int AS topic_id, NULL::int AS parent_id, NULL::int AS position, NULL::text COLLATE "C" AS namespace, NULL::int AS chunks,
		NULL::text AS title, NULL::text AS summary, NULL::text COLLATE "C" AS described, NULL::text[] AS terms,
		NULL::uuid[] AS documents, NULL::int[] AS ordinals WHERE false)`
	noMembers = `(SELECT NULL::uuid AS document_id, NULL::int AS ordinal, NULL::int AS topic_id, NULL::int AS subtopic_id, NULL::real AS rank WHERE false)`
)

// WithoutTopics returns a handle for reading the topics of an index whose tables of topics
// do not exist yet.
func WithoutTopics(h *data.Handle) *data.Handle {
	return h.Without("topic", noTopics).Without("member", noMembers)
}

// MakeTopics creates the tables of the topics of an index unless they exist. Errors:
// NotFound.
func MakeTopics(ctx context.Context, h *data.Handle, i Index) error {
	return makeOnce(ctx, h, i, "topic", append(makeBareTopics(), indexTopics))
}

// makeBareTopics returns the statements that create the tables of topics without the Postgres index
// of indexTopics.
func makeBareTopics() []string {
	return []string{
		`CREATE TABLE tenant.topic (
			topic_id  int PRIMARY KEY,
			parent_id int NOT NULL,              -- of a subtopic; 0 for others
			position  int NOT NULL,              -- in lists
			namespace text COLLATE "C" NOT NULL,
			chunks    int NOT NULL,              -- when the topic was found
			title     text NOT NULL,             -- by a language model; empty: none
			summary   text NOT NULL,
			described text COLLATE "C" NOT NULL, -- hash of what the model described
			terms     text[] NOT NULL,
			documents uuid[] NOT NULL,           -- of the central chunks
			ordinals  int[] NOT NULL             -- of the central chunks
		)`,
		`CREATE TABLE tenant.member (
			document_id uuid NOT NULL,
			ordinal     int NOT NULL,
			topic_id    int NOT NULL, -- 0: none
			subtopic_id int NOT NULL, -- 0: none
			rank        real NOT NULL, -- PageRank within the topic
			PRIMARY KEY (document_id, ordinal)
		)`,
	}
}

const indexTopics = `CREATE INDEX ON tenant.member (topic_id)`
