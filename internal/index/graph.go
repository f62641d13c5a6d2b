package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/job"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Graph says which edges an index keeps between its chunks. The zero value keeps
// all.
type Graph struct {
	Off       bool     `json:"off,omitempty"`
	EdgeTypes []string `json:"edgeTypes,omitempty"` // in the order of edgeTypes; empty: all
	// Threshold is the cosine from which chunks are linked; nil:
	// DefaultSimilarity.
	Threshold *float64 `json:"threshold,omitempty"`
}

// DefaultSimilarity is the cosine from which chunks are linked as similar.
const DefaultSimilarity = 0.5

var edgeTypes = []string{"mention", "next", "similar"}

// check validates the settings and writes them in one way.
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
	if g.Off && (len(kept) > 0 || g.Threshold != nil) {
		return fault.Field("graph.off", "leaves nothing for edgeTypes and threshold to say: leave them out")
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

// String says the settings in words; equal settings are equal in words.
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

// Keeps reports whether edges of a type are kept.
func (g Graph) Keeps(edgeType string) bool {
	return !g.Off && (len(g.EdgeTypes) == 0 || slices.Contains(g.EdgeTypes, edgeType))
}

// Similarity is the cosine from which chunks are linked as similar.
func (g Graph) Similarity() float64 {
	if g.Threshold == nil {
		return DefaultSimilarity
	}
	return *g.Threshold
}

// GraphOf returns which edges the index keeps now, which what Resolve remembers
// may be too old to tell. Errors: NotFound.
func GraphOf(ctx context.Context, q tenant.Queryer, indexID int64) (Graph, error) {
	g, err := tenant.Value[Graph](ctx, q, `SELECT i.graph FROM tenant.indexes AS i WHERE i.index_id = $1`, indexID)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, errDeleted
	}
	return g, err
}

// GraphCounts are what the graph of an index holds.
type GraphCounts struct {
	Version      int64 // grows with every change
	Names        int64 // names that chunks have
	Mentions     int64 // names that chunks mention
	Similarities int64 // pairs of chunks that are near by embedding
	Components   int64 // parts that no edge connects, as of CountedAt; 0: not counted
	CountedAt    *time.Time
}

// GraphCountsOf returns what the graph of an index holds, in constant time.
func GraphCountsOf(ctx context.Context, q tenant.Queryer, indexID int64) (GraphCounts, error) {
	return tenant.Get[GraphCounts](ctx, q, `
		SELECT g.*, coalesce(i.graph_components, 0) AS components, i.graph_counted_at AS counted_at
		FROM (
			SELECT coalesce(sum(g.version), 0)::bigint AS version, coalesce(sum(g.names), 0)::bigint AS names,
				coalesce(sum(g.mentions), 0)::bigint AS mentions, coalesce(sum(g.similarities), 0)::bigint AS similarities
			FROM tenant.graph_counts AS g WHERE g.index_id = $1
		) AS g LEFT JOIN tenant.indexes AS i ON i.index_id = $1`, indexID)
}

// loadDocuments is how many documents on their way into an index make a load.
const loadDocuments = 200

// Loading reports whether a large index is loaded and its Postgres index not built: to
// find what is near to each new chunk would take reading all others. A load is seen by
// the new documents on their way, before there is much; those that are only changed make
// no index large enough to be built.
func Loading(ctx context.Context, q tenant.Queryer, indexID int64) (bool, error) {
	return tenant.Value[bool](ctx, q, `
		SELECT CASE
			WHEN i.built THEN false
			WHEN n.chunks >= $2 THEN true -- looking at documents takes time that grows with them
			WHEN n.pending < $3 THEN false
			ELSE n.chunks + (
				SELECT count(*) FROM (
					SELECT FROM tenant.documents AS w
					WHERE w.index_id = $1 AND w.status IN ('pending', 'processing') AND w.chunk_count = 0 LIMIT $2
				) AS w
			) >= $2 END
		FROM tenant.indexes AS i CROSS JOIN (
			SELECT coalesce(sum(n.chunks), 0) AS chunks, coalesce(sum(n.pending), 0) AS pending
			FROM tenant.index_counts AS n WHERE n.index_id = $1
		) AS n
		WHERE i.index_id = $1`, indexID, BuildThreshold, loadDocuments)
}

// NoteUnlinked notes that chunks were stored which nothing could link to what is near.
func NoteUnlinked(ctx context.Context, h *tenant.Handle, indexID int64) error {
	_, err := h.Exec(ctx, `UPDATE tenant.indexes SET similar_edges_missing = true WHERE index_id = $1 AND NOT similar_edges_missing`, indexID)
	return err
}

// LinkIfDue queues a job that links such chunks, unless nothing can find what is near
// yet, or a job is on its way after which this is called again.
func LinkIfDue(ctx context.Context, queue *job.Queue, tx *tenant.Tx, indexID int64) error {
	name, err := tenant.Value[string](ctx, tx, `
		SELECT i.index_name FROM tenant.indexes AS i
		WHERE i.index_id = $1 AND i.similar_edges_missing AND i.index_config->>'type' = $2 AND i.build_job_id IS NULL AND i.graph_job_id IS NULL`,
		indexID, HNSW)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if loading, err := Loading(ctx, tx, indexID); err != nil || loading {
		return err
	}
	_, err = queueRebuild(ctx, queue, tx, Index{ID: indexID, Name: name}, job.Link)
	return err
}

// makeEdgesTrigger has the edges of chunks go with them, as create_edge_table does.
func (i Index) makeEdgesTrigger() string {
	return fmt.Sprintf(`CREATE TRIGGER delete_edges AFTER DELETE ON tenant.chunk REFERENCING OLD TABLE AS deleted
		FOR EACH STATEMENT EXECUTE FUNCTION tenant.delete_edges('%d')`, i.ID)
}

// makeEdges makes the edge table beside the chunk table.
func makeEdges(ctx context.Context, tx *tenant.Tx, i Index) error {
	_, err := tx.Exec(ctx, `SELECT tenant.create_edge_table($1, 'tenant.chunk'::regclass)`, i.ID)
	return err
}

// RebuildGraph starts a job that finds the edges of all documents anew, and returns its
// id, or the id of the one that is under way. Errors: NotFound.
func (s *Service) RebuildGraph(ctx context.Context, name string) (jobID string, err error) {
	r, err := tenant.RequireWhole(ctx, tenant.Write)
	if err != nil {
		return "", err
	}
	found, err := byName(ctx, s.db.Handle(r.Tenant), name)
	if err != nil {
		return "", err
	}
	return s.startRebuild(ctx, r.Tenant, found)
}

func (s *Service) startRebuild(ctx context.Context, id tenant.ID, i Index) (jobID string, err error) {
	err = s.db.Handle(id).Tx(ctx, func(tx *tenant.Tx) error {
		jobID, err = queueRebuild(ctx, s.queue, tx, i, job.Graph)
		return err
	})
	return jobID, err
}

// queueRebuild queues a task, job.Graph or job.Link, unless a job on the graph is under
// way, and returns the id of the job.
func queueRebuild(ctx context.Context, queue *job.Queue, tx *tenant.Tx, i Index, task job.Kind) (jobID string, err error) {
	jobID, claimed, err := claimRebuild(ctx, tx, i)
	if err != nil || !claimed {
		return jobID, err
	}
	return jobID, queue.Enqueue(ctx, tx, task, i.ID, jobID)
}

// claimRebuild adds the job of a rebuild, unless one is under way.
func claimRebuild(ctx context.Context, tx *tenant.Tx, i Index) (jobID string, claimed bool, err error) {
	asked := uuid.Must(uuid.NewV7()).String()
	jobID, err = tenant.Value[string](ctx, tx, `
		UPDATE tenant.indexes SET graph_job_id = coalesce(graph_job_id, $2::uuid) WHERE index_id = $1
		RETURNING graph_job_id::text`, i.ID, asked)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, notFound(i.Name)
	}
	if err != nil || jobID != asked {
		return jobID, false, err
	}
	return jobID, true, job.Insert(ctx, tx, job.Start{JobID: jobID, Kind: job.Graph, IndexName: i.Name, Unit: "documents"})
}

// CancelRebuild ends a job on a graph, which notices before its next documents: their
// edges and those of all later documents stay as they were. Errors: Precondition when it
// has ended.
func (s *Service) CancelRebuild(ctx context.Context, id tenant.ID, j job.Job) error {
	return s.db.Handle(id).Tx(ctx, func(tx *tenant.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE tenant.indexes SET graph_job_id = NULL WHERE graph_job_id = $1`, j.JobID)
		if err != nil {
			return err
		}
		if n == 0 {
			return justEnded(j)
		}
		return job.Cancel(ctx, tx, j.JobID, job.CancelledOnRequest)
	})
}

// RetryRebuild starts a job that finds all edges anew and returns its id.
func (s *Service) RetryRebuild(ctx context.Context, _ tenant.ID, failed job.Job) (jobID string, err error) {
	return s.RebuildGraph(ctx, failed.IndexName)
}
