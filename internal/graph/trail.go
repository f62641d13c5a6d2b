package graph

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/graph/names"
	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Trail follows the stored graph of one index edge by edge, over the chunks that a question may see. It is for one question
// and not safe for concurrent use with itself changed; its methods may be called concurrently.
type Trail struct {
	service *Service
	plan    walkPlan
	version int64
}

// Link leads to a chunk from one that mentions a name of it, or whose section it continues.
type Link struct {
	From, To ChunkRef
	// Name is what To is called; empty between chunks of one document.
	Name string
}

// Trail returns the Trail of an effective question over an index whose tables are given.
func (s *Service) Trail(ctx context.Context, id tenant.ID, i index.Index, tables *data.Handle, q query.Question) (*Trail, error) {
	counts, err := countsOf(ctx, tables, i.ID)
	if err != nil {
		return nil, fmt.Errorf("read the version of the graph: %w", err)
	}
	q.Namespace = cmp.Or(q.Namespace, index.DefaultNamespace)
	plan := walkPlan{request: Request{Question: q}, tenant: id, index: i, tables: counts.reader(tables), walk: walk.Options{Restart: defaultRestart}}
	return &Trail{s, plan, counts.Version}, nil
}

// Named returns the chunks that a text names, in its order; of names inside of others the longest.
func (t *Trail) Named(ctx context.Context, text string) ([]Link, error) {
	namespace := namespaceOf(t.plan.request.Namespace)
	rows, err := namedBy(ctx, t.plan.tables, distinct(namespace.Keys(names.Keys(names.Phrases(text)))), t.plan.request.Filter)
	if err != nil {
		return nil, fmt.Errorf("find what a text names: %w", err)
	}
	byKey := map[names.Key][]Link{}
	for _, row := range rows {
		if row.Kind != names.Heading && row.Kind != names.Path {
			byKey[row.Key] = append(byKey[row.Key], Link{To: ChunkRef{row.DocumentID, row.Ordinal}, Name: row.Name})
		}
	}
	var links []Link
	for _, key := range names.InQuestion(text, func(key names.Key) bool { return len(byKey[namespace.Key(key)]) > 0 }) {
		links = append(links, byKey[namespace.Key(key)]...)
	}
	return links, nil
}

// Follow returns the links that leave the chunks, in the order of the chunks. Errors: Deadline.
func (t *Trail) Follow(ctx context.Context, from []ChunkRef) (links []Link, err error) {
	edges, _, err := t.service.loader(t.plan, t.version).edgesFrom(ctx, from)
	for _, edge := range edges {
		switch edge.kind {
		case Mention:
			links = append(links, Link{edge.from, edge.to, edge.name})
		case Next:
			links = append(links, Link{From: edge.from, To: edge.to})
		}
	}
	return links, err
}

// Sources returns the chunks that the question may see, without scores.
func (t *Trail) Sources(ctx context.Context, chunks []ChunkRef) (map[ChunkRef]query.Source, error) {
	found, err := sourcesOf(ctx, t.plan.tables, t.plan.index, chunks, t.plan.request.Filter, false)
	if err != nil {
		return nil, fmt.Errorf("read the chunks of a trail: %w", err)
	}
	return found, nil
}
