package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of Like.
const (
	// MaxExamples bounds the positive examples, and the negative ones.
	MaxExamples = 10
	// MaxExcluded bounds the chunks and documents that are not to be returned.
	MaxExcluded = 100
	// maxExampleChunks bounds the chunks of a document of which its embedding is the mean: the first.
	maxExampleChunks = 512
)

// Combine is how several examples are combined.
type Combine string

// The ways to combine examples.
const (
	Average Combine = "average" // one search for the mean of the examples, away from that of the negative ones
	Best    Combine = "best"    // a search for each example; a source counts as much as for the example that it is most like
)

// Like asks for chunks that are like examples.
type Like struct {
	Positive, Negative []Example
	Combine            Combine   // Average if empty
	Exclude            []Example // not to be returned, beside the examples
}

// Example is a chunk by its ID, a document by its DocumentID or URI, or a text: one of them.
type Example struct{ ID, DocumentID, URI, Text string }

// kinds returns how many of its fields an example has.
func (e Example) kinds() (n int) {
	for _, field := range []string{e.ID, e.DocumentID, e.URI, e.Text} {
		if field != "" {
			n++
		}
	}
	return n
}

// examples are the embeddings of a Like, and what it excludes.
type examples struct {
	positive, negative [][]float32
	excluded
}

// excluded are chunks and documents that a search does not return.
type excluded struct {
	chunks    []string
	documents []string // uuids
}

// sql returns the condition on a chunk c, with AND before it, or nothing.
func (e excluded) sql(args *filter.Args) (where string) {
	if len(e.chunks) > 0 {
		where += " AND c.chunk_id <> ALL(" + args.Add(e.chunks) + "::text[])"
	}
	if len(e.documents) > 0 {
		where += " AND (c.document_id IS NULL OR c.document_id <> ALL(" + args.Add(e.documents) + "::uuid[]))"
	}
	return where
}

// check validates what can be validated without the index. Errors: Invalid.
func (l *Like) check(p prepared) error {
	if l == nil {
		return nil
	}
	switch {
	case len(l.Positive) == 0 || len(l.Positive) > MaxExamples:
		return fault.Field("like.positive", "must be 1 to %d examples, got %d", MaxExamples, len(l.Positive))
	case len(l.Negative) > MaxExamples:
		return fault.Field("like.negative", "must be at most %d examples, got %d", MaxExamples, len(l.Negative))
	case len(l.Exclude) > MaxExcluded:
		return fault.Field("like.exclude", "must be at most %d chunks and documents, got %d", MaxExcluded, len(l.Exclude))
	case !slices.Contains([]Combine{"", Average, Best}, l.Combine):
		return fault.Field("like.combine", "unknown value %q; known are average and best", l.Combine)
	case len(p.vector) > 0 || p.sparse != nil:
		return fault.Field("like", "and queryVector are mutually exclusive: leave one out")
	case p.mode == Keyword:
		return fault.Field("like", "compares embeddings, which searchMode keyword does not: leave searchMode out")
	case p.fields != nil && l.Combine == Best:
		return fault.Field("fieldWeights", "are not for like.combine best, whose sources are of several searches: leave one out")
	case len(p.boosts) > 0 && l.Combine == Best:
		return fault.Field("boost", "is not for like.combine best, whose sources are of several searches: leave one out")
	}
	for _, list := range l.lists() {
		for n, e := range list.examples {
			field := fmt.Sprintf("like.%s[%d]", list.name, n)
			switch {
			case e.kinds() != 1:
				return fault.Field(field, "must have exactly one of id, documentId, uri and text")
			case e.Text != "" && list.name == "exclude":
				return fault.Field(field+".text", "cannot be excluded: give id, documentId or uri")
			case e.Text != "" && strings.TrimSpace(e.Text) == "":
				return fault.Field(field+".text", "must not be blank")
			case len(e.Text) > MaxQueryTextBytes:
				return fault.Field(field+".text", "has %d bytes, over the limit of %d: give its beginning, or upload it and give its documentId", len(e.Text), MaxQueryTextBytes)
			}
			if _, err := uuid.Parse(e.DocumentID); e.DocumentID != "" && err != nil {
				return fault.Field(field+".documentId", "is no id of a document, which is a UUID; a name of a file is its uri")
			}
		}
	}
	return nil
}

// namedExamples are the examples of a field.
type namedExamples struct {
	name     string
	examples []Example
}

func (l *Like) lists() []namedExamples {
	return []namedExamples{{"positive", l.Positive}, {"negative", l.Negative}, {"exclude", l.Exclude}}
}

// checkAcross validates examples for several indexes, where an id or a uri says nothing. Errors: Invalid.
func (l *Like) checkAcross() error {
	if l == nil {
		return nil
	}
	for _, list := range l.lists() {
		for n, e := range list.examples {
			if e.Text == "" {
				return fault.Field(fmt.Sprintf("like.%s[%d]", list.name, n), "names a chunk or document of one index, and several are searched: give indexName, or a text as example")
			}
		}
	}
	return nil
}

// exampleRow is a chunk of an example.
type exampleRow struct {
	DocumentID *string
	Embedding  *pgvector.Vector
}

// load returns the embeddings of the examples and what is not to be returned. The caller sees of an index, as examples too, what
// the credential and the filter of the request context select. Errors: Invalid naming the example; NotFound.
func (s *Service) load(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, p prepared) (loaded examples, err error) {
	if p.like.Combine != Best && i.VectorType == index.Bit {
		return loaded, fault.Field("like.combine", "must be best: index %q holds bits, which have no mean", i.Name)
	}
	for _, list := range p.like.lists() {
		for n, e := range list.examples {
			field := fmt.Sprintf("like.%s[%d]", list.name, n)
			var embedding []float32
			switch {
			case e.Text != "" && i.EmbeddingModel == "":
				err = fault.Field(field+".text", "cannot be embedded: index %q takes ready-made vectors only; give the id of one", i.Name)
			case e.Text != "":
				embedding, err = s.EmbedQuestion(ctx, id, i, e.Text)
			default:
				embedding, err = loaded.read(ctx, h, i, p, e, field)
			}
			if err != nil {
				return loaded, err
			}
			switch list.name {
			case "positive":
				loaded.positive = append(loaded.positive, embedding)
			case "negative":
				loaded.negative = append(loaded.negative, embedding)
			}
		}
	}
	return loaded, nil
}

// read returns the embedding of a chunk or document, which is excluded from now on. Errors: NotFound.
func (x *examples) read(ctx context.Context, h *data.Handle, i index.Index, p prepared, e Example, field string) ([]float32, error) {
	args := filter.NewArgs(p.scope.namespace)
	rows, err := data.Select[exampleRow](ctx, h, exampleSQL(args, i, p.within, e), args.Values()...)
	if err != nil {
		return nil, fmt.Errorf("read an example: %w", err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFound, "%s: there is no such chunk or document in the namespace %q of index %q that can be compared", field, p.scope.namespace, i.Name)
	}
	if e.ID != "" {
		x.chunks = append(x.chunks, e.ID)
	} else if rows[0].DocumentID != nil {
		x.documents = append(x.documents, *rows[0].DocumentID)
	}
	vectors := make([][]float32, len(rows))
	for n, row := range rows {
		vectors[n] = row.Embedding.Slice()
	}
	if len(vectors) > 1 && i.VectorType == index.Bit {
		return nil, fault.Field(field, "has several chunks, and index %q holds bits, which have no mean: give the id of a chunk", i.Name)
	}
	return mean(i.Metric, vectors), nil
}

// exampleSQL returns the statement of the chunks of an example, in their order.
func exampleSQL(args *filter.Args, i index.Index, within filter.Filter, e Example) string {
	var which string
	switch {
	case e.ID != "":
		which = "c.chunk_id = " + args.Add(e.ID)
	case e.DocumentID != "":
		which = "c.document_id = " + args.Add(e.DocumentID) + "::uuid"
	default:
		which = "c.document_id = (SELECT d.document_id FROM tenant.documents AS d WHERE d.index_id = " + args.Add(i.ID) + " AND d.namespace = $1 AND d.uri = " + args.Add(e.URI) + ")"
	}
	where := "c.namespace = $1 AND c.embedding IS NOT NULL AND " + which
	if !within.IsZero() {
		where += " AND " + within.SQL(filter.ChunkMetadata, args)
	}
	return "SELECT c.document_id::text, " + i.EmbeddingSQL("c.embedding") + " AS embedding\nFROM tenant.chunk AS c\nWHERE " + where + "\nORDER BY c.ordinal, c.chunk_id\n" + limitTo(maxExampleChunks)
}

// mean returns the mean of embeddings; of their directions if the metric compares directions.
func mean(metric index.Metric, vectors [][]float32) []float32 {
	if len(vectors) == 1 {
		return vectors[0]
	}
	sum := make([]float64, len(vectors[0]))
	for _, v := range vectors {
		weight := 1.0
		if length := norm(v); metric == index.Cosine && length > 0 {
			weight = 1 / length
		}
		for n, x := range v {
			sum[n] += weight * float64(x)
		}
	}
	out := make([]float32, len(sum))
	for n, x := range sum {
		out[n] = float32(x / float64(len(vectors)))
	}
	return out
}

func norm(v []float32) float64 {
	squares := 0.0
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	return math.Sqrt(squares)
}

// average returns the vector to search for: the mean of the positive examples, and as far again from the mean of the
// negative ones.
func (x examples) average(metric index.Metric) []float32 {
	target := mean(metric, x.positive)
	if len(x.negative) == 0 {
		return target
	}
	away := mean(metric, x.negative)
	scale := func(v []float32) float64 {
		if length := norm(v); metric == index.Cosine && length > 0 {
			return 1 / length
		}
		return 1
	}
	near, far := scale(target), scale(away)
	out := make([]float32, len(target))
	for n := range target {
		out[n] = float32(2*near*float64(target[n]) - far*float64(away[n]))
	}
	return out
}

// searchLike searches for what is like the best of several examples: one search for each, of which a source keeps its best score.
// What is more like a negative example is left out.
func (s *Service) searchLike(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, p prepared, watch *Stopwatch) (a answer, err error) {
	wanted, withVectors := p.fetch(), p.includeVectors
	each := p
	each.further += max(0, p.plenty()-wanted)
	each.includeVectors = true
	at := map[string]int{}
	complete, exact := true, true
	for n, example := range p.examples.positive {
		each.vector = example
		part, err := s.search(ctx, id, h, i, each, watch)
		if err != nil {
			return a, err
		}
		if n == 0 {
			a = part
			a.sources = nil
		}
		complete, exact = complete && len(part.sources) < each.fetch(), exact && part.explain.Exact
		for _, source := range part.sources {
			known, ok := at[source.ID]
			switch {
			case !ok:
				at[source.ID] = len(a.sources)
				a.sources = append(a.sources, source)
			case source.Score > a.sources[known].Score:
				a.sources[known] = source
			}
		}
	}
	a.sources = slices.DeleteFunc(a.sources, func(source Source) bool {
		return likest(i, p.examples.negative, source.Vector) > likest(i, p.examples.positive, source.Vector)
	})
	slices.SortFunc(a.sources, func(a, b Source) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	a.explain.Complete, a.explain.Exact = complete || len(a.sources) >= p.topK, exact && (complete || len(p.examples.negative) == 0)
	a.sources = a.sources[:min(wanted, len(a.sources))]
	if !withVectors && p.diversity == 0 {
		for n := range a.sources {
			a.sources[n].Vector = nil
		}
	}
	return a, nil
}

// likest returns the similarity of a vector with the example that is most like it, as index.Index.Score returns it; -Inf for no example.
func likest(i index.Index, examples [][]float32, vector []float32) float64 {
	best := math.Inf(-1)
	for _, example := range examples {
		best = max(best, i.Score(distance(i.Metric, example, vector)))
	}
	return best
}

// distance returns the distance of two vectors as the operator of the metric does.
func distance(metric index.Metric, a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	if metric == index.Cosine {
		return 1 - cosine(a, b)
	}
	var dot, apart float64
	both, either, differ := 0, 0, 0
	for n := range a {
		x, y := float64(a[n]), float64(b[n])
		dot += x * y
		apart += (x - y) * (x - y)
		switch {
		case x != 0 && y != 0:
			both, either = both+1, either+1
		case x != 0 || y != 0:
			either, differ = either+1, differ+1
		}
	}
	switch metric {
	case index.Euclidean:
		return math.Sqrt(apart)
	case index.DotProduct:
		return -dot
	case index.Hamming:
		return float64(differ)
	}
	return 1 - float64(both)/math.Max(1, float64(either)) // index.Jaccard
}
