package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Graph says which edges an index keeps between its chunks. The zero value keeps
// all types.
type Graph struct {
	Off       bool     `json:"off,omitempty"`
	EdgeTypes []string `json:"edgeTypes,omitempty"` // in the order of edgeTypes; empty: all
	// Threshold is the lowest cosine of similar edges, in [0,1]; nil:
	// DefaultSimilarity.
	Threshold *float64 `json:"threshold,omitempty"`
	// TopicModel is the chat model that writes titles and summaries of topics; empty:
	// none.
	TopicModel string `json:"topicModel,omitempty"`
}

// DefaultSimilarity is the lowest cosine of similar edges, unless the index has
// its own.
const DefaultSimilarity = 0.5

var edgeTypes = []string{"mention", "next", "similar"}

// check validates the settings and normalizes them, so that equal settings compare equal.
func (g *Graph) check() error {
	var kept []string
	for _, t := range edgeTypes {
		if slices.Contains(g.EdgeTypes, t) {
			kept = append(kept, t)
		}
	}
	for _, t := range g.EdgeTypes {
		if !slices.Contains(edgeTypes, t) {
			return fault.Field("graph.edgeTypes", "unknown type %q; known are mention, next and similar", t)
		}
	}
	if provider, model, ok := strings.Cut(g.TopicModel, "/"); g.TopicModel != "" && (!ok || provider == "" || model == "") {
		return fault.Field("graph.topicModel", "must be provider/model, such as openai/gpt-5-mini, got %q", g.TopicModel)
	}
	if g.Off && (len(kept) > 0 || g.Threshold != nil) {
		return fault.Field("graph.off", "cannot be combined with edgeTypes or threshold: without a graph they have no meaning")
	}
	if len(kept) == len(edgeTypes) {
		kept = nil
	}
	g.EdgeTypes = kept
	if t := g.Threshold; t != nil && !(*t >= 0 && *t <= 1) {
		return fault.Field("graph.threshold", "must be between 0 and 1, got %v", *t)
	}
	return nil
}

// String describes the settings on which edges depend. Equal ones have equal descriptions.
func (g Graph) String() string {
	if g.Off {
		return "off"
	}
	kept := g.EdgeTypes
	if len(kept) == 0 {
		kept = edgeTypes
	}
	return fmt.Sprintf("%s from %v", strings.Join(kept, ", "), g.Similarity())
}

// Keeps reports whether the index keeps edges of a type.
func (g Graph) Keeps(edgeType string) bool {
	return !g.Off && (len(g.EdgeTypes) == 0 || slices.Contains(g.EdgeTypes, edgeType))
}

// Similarity returns the lowest cosine of similar edges.
func (g Graph) Similarity() float64 {
	if g.Threshold == nil {
		return DefaultSimilarity
	}
	return *g.Threshold
}

// GraphOf reads the graph settings of an index, as those of a cached index may be
// outdated, and reports whether it has an edge table. Errors: NotFound.
func GraphOf(ctx context.Context, h *data.Handle, indexID int64) (g Graph, hasEdges bool, err error) {
	found, err := data.Get[struct {
		Graph    Graph
		HasEdges bool
	}](ctx, h, `SELECT i.graph, to_regclass('tenant.edge') IS NOT NULL AS has_edges FROM tenant.indexes AS i WHERE i.index_id = $1`, indexID)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errDeleted
	}
	return found.Graph, found.HasEdges, err
}

// makeEdgesTrigger returns the statement that creates the trigger that deletes
// the edges of deleted chunks.
func (i Index) makeEdgesTrigger() string {
	return fmt.Sprintf(`CREATE TRIGGER delete_edges AFTER DELETE ON tenant.chunk REFERENCING OLD TABLE AS deleted
		FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.delete_edges('%d')`, i.ID)
}

// noEdges stands for the edge table of an index that has none yet.
const noEdges = `(SELECT NULL::uuid AS document_id, NULL::int AS ordinal, NULL::ragd_shared.edge_type AS type, NULL::bigint AS key,
	NULL::text COLLATE "C" AS kind, NULL::text COLLATE "C" AS name, NULL::uuid AS to_document_id, NULL::int AS to_ordinal, NULL::real AS cosine WHERE false)`

// WithoutEdges returns a handle for reading the graph of an index that has no edge table
// yet.
func WithoutEdges(h *data.Handle) *data.Handle { return h.Without("edge", noEdges) }

// MakeEdges creates the edge table of an index unless it exists. Most indexes of
// ready-made vectors never need one. Errors: NotFound.
func MakeEdges(ctx context.Context, h *data.Handle, i Index) error {
	return makeOnce(ctx, h, i, "edge", makeEdges(i.ID))
}

// makeEdges returns the statements that create the edge table of an index. A chunk
// is identified by document and ordinal. That one chunk follows another in a
// document needs no row.
func makeEdges(indexID int64) []string { return append(makeBareEdges(), indexEdges(indexID)...) }

// makeBareEdges returns the statement that creates the edge table without its Postgres indexes and
// triggers.
func makeBareEdges() []string {
	return []string{
		`CREATE TABLE tenant.edge (
			document_id    uuid NOT NULL,
			ordinal        int NOT NULL,
			type           ragd_shared.edge_type NOT NULL,
			key            bigint,           -- hash of a name
			kind           text COLLATE "C", -- of a name
			name           text COLLATE "C", -- as it is written
			to_document_id uuid,
			to_ordinal     int,
			cosine         real
		)`,
	}
}

// indexEdges returns the statements that create the Postgres indexes and triggers of the edge table.
func indexEdges(indexID int64) []string {
	call := fmt.Sprintf(`FOR EACH STATEMENT EXECUTE FUNCTION ragd_shared.edges_changed('%d')`, indexID)
	return []string{
		`CREATE INDEX ON tenant.edge (document_id, ordinal)`,
		// The type comes first, so that all names of an index can be read, to
		// compare a batch of texts with them when they are few.
		`CREATE UNIQUE INDEX ON tenant.edge (type, key, document_id, ordinal) WHERE key IS NOT NULL`,
		`CREATE UNIQUE INDEX ON tenant.edge (to_document_id, to_ordinal, document_id, ordinal) WHERE to_document_id IS NOT NULL`,
		`CREATE TRIGGER inserted AFTER INSERT ON tenant.edge REFERENCING NEW TABLE AS changed ` + call,
		`CREATE TRIGGER deleted AFTER DELETE ON tenant.edge REFERENCING OLD TABLE AS changed ` + call,
	}
}
