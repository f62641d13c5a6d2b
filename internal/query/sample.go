package query

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/pgvector/pgvector-go"
	"golang.org/x/sync/singleflight"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of samples.
const (
	// sampleChunks is about the number of chunks of a sample, and samplePages the number of
	// pages of the table that they are drawn from: neighbours in a page are often chunks of
	// one document.
	sampleChunks = 1000
	samplePages  = 2000
	// sampleBytes limits the metadata of a sample, as JSON. A sample of larger metadata has
	// fewer chunks.
	sampleBytes = 2 << 20
	// sampleVectorBytes limits the embeddings of a sample. A sample of longer ones has those of fewer chunks.
	sampleVectorBytes = 1 << 20
	// samplesBytes limits the memory of all samples. Decoded metadata takes about
	// decodedFactor times the memory of its JSON.
	samplesBytes  = 128 << 20
	decodedFactor = 6
	// databaseSample is the number of chunks on which PostgreSQL evaluates conditions that
	// need more than the metadata.
	databaseSample = 300
	// enoughMatches ends the count of matching chunks in a sample: their share is known
	// well enough.
	enoughMatches = 100
	// changedFraction is the fraction of an index, as 1/n, whose change makes a sample
	// outdated.
	changedFraction = 8
	// sampleTimeout limits the time of drawing a sample.
	sampleTimeout = "5s"
)

// contents are counts of an index.
type contents struct {
	Chunks  int64
	Written int64 // ever; grows with every change
}

// contentsSQL returns the contents of index $1.
const contentsSQL = `
	SELECT coalesce(sum(n.chunks), 0)::bigint AS chunks, coalesce(sum(n.written), 0)::bigint AS written
	FROM tenant.index_counts AS n WHERE n.index_id = $1`

// sampledChunk is what a sample has of a chunk.
type sampledChunk struct {
	namespace   string
	metadata    map[string]any
	contentKeys []string
	landmark    *landmark // nil for most chunks if embeddings are long
}

// sample has chunks of an index, drawn at random. It is immutable but for the summaries of
// its fields, which are made when they are first needed.
type sample struct {
	drawn  contents // of the index when it was drawn
	chunks []sampledChunk
	tids   []pgtype.TID // of the first databaseSample chunks; may belong to others by now
	bytes  int          // of memory

	summarize sync.Once
	summaries []fieldSummary
}

// samples draws samples of indexes and keeps them until the index has changed. Safe for
// concurrent use.
type samples struct {
	known   *cache.Cache[sampleKey, *sample]
	drawing singleflight.Group
}

type sampleKey struct {
	tenant     tenant.ID
	index      int64
	generation int
}

func newSamples() *samples {
	return &samples{known: cache.New(cache.Config[sampleKey, *sample]{
		Bytes: samplesBytes, Weigh: func(k sampleKey, s *sample) int { return len(k.tenant) + s.bytes },
	})}
}

// of returns the sample of an index, and draws it if there is none.
func (s *samples) of(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index) (*sample, error) {
	key := sampleKey{id, i.ID, i.Generation}
	if found, ok := s.known.Get(key); ok {
		return found, nil
	}
	// The context of one caller would cancel the others that wait for the same sample.
	flight := s.drawing.DoChan(string(id)+"/"+strconv.FormatInt(i.ID, 10)+"/"+strconv.Itoa(i.Generation), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		drawn, err := draw(ctx, h, i)
		if err == nil {
			s.known.Put(key, drawn)
		}
		return drawn, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-flight:
		drawn, _ := got.Val.(*sample)
		return drawn, got.Err
	}
}

// changed drops the sample of an index that has other contents by now, if they differ much
// from those of the sample.
func (s *samples) changed(id tenant.ID, i index.Index, now contents) {
	key := sampleKey{id, i.ID, i.Generation}
	if found, ok := s.known.Get(key); ok && found.drawn.outdated(now) {
		s.known.Remove(key)
	}
}

// outdated reports whether much of the index has changed.
func (c contents) outdated(now contents) bool {
	changed := max(now.Written-c.Written, c.Written-now.Written, now.Chunks-c.Chunks, c.Chunks-now.Chunks)
	return changed*changedFraction > c.Chunks
}

// draw draws a sample: chunks at random, of pages at random.
func draw(ctx context.Context, h *data.Handle, i index.Index) (*sample, error) {
	s := &sample{}
	var pages int64
	b := h.Batch()
	b.Query(func(rows pgx.Rows) (err error) {
		s.drawn, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[contents])
		return err
	}, contentsSQL, i.ID)
	b.Query(func(rows pgx.Rows) (err error) {
		pages, err = pgx.CollectOneRow(rows, pgx.RowTo[int64])
		return err
	}, `SELECT coalesce(ragd_shared.relation_bytes('tenant.chunk'), 0) / current_setting('block_size')::bigint`) // NULL if the table is dropped meanwhile; the next statement then fails
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	ofPages := min(1, samplePages/float64(max(pages, 1)))
	ofChunks := min(1, sampleChunks/max(float64(s.drawn.Chunks)*ofPages, 1))
	b = h.Batch()
	b.Set("statement_timeout", sampleTimeout)
	b.Query(s.read(i), `
		SELECT c.ctid, c.namespace, c.metadata::text, c.content_keys, c.chunk_id, `+landmarkSQL(i)+`
		FROM tenant.chunk AS c TABLESAMPLE SYSTEM ($1::float8::real) WHERE random() < $2 AND $1 > 0 -- Citus passes on no parameter that is in TABLESAMPLE alone
		`, 100*ofPages, ofChunks)
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	s.shuffle()
	return s, nil
}

// read returns a reader of the rows of a sample of an index, as far as their metadata is within sampleBytes.
func (s *sample) read(i index.Index) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var tid pgtype.TID
		var metadata []byte
		var chunk sampledChunk
		var id string
		var embedding *pgvector.Vector
		jsonBytes, vectorBytes := 0, 0
		s.chunks, s.tids = nil, nil // of a run that failed
		_, err := pgx.ForEachRow(rows, []any{&tid, &chunk.namespace, &metadata, &chunk.contentKeys, &id, &embedding}, func() error {
			if jsonBytes += len(metadata); jsonBytes > sampleBytes {
				return nil
			}
			chunk.metadata, chunk.landmark = nil, nil
			if err := json.Unmarshal(metadata, &chunk.metadata); err != nil {
				return err
			}
			if embedding != nil {
				chunk.landmark = newLandmark(id, i.Metric, embedding.Slice())
				vectorBytes += 4 * i.Dimension
			}
			s.chunks, s.tids = append(s.chunks, chunk), append(s.tids, tid)
			return nil
		})
		s.bytes = decodedFactor*min(jsonBytes, sampleBytes) + len(s.chunks)*chunkOverhead + vectorBytes
		return err
	}
}

// chunkOverhead is about the memory of a sampled chunk besides its metadata.
const chunkOverhead = 128

// shuffle puts the chunks, which were read in the order of the table, into a random order.
func (s *sample) shuffle() {
	rand.Shuffle(len(s.chunks), func(a, b int) {
		s.chunks[a], s.chunks[b] = s.chunks[b], s.chunks[a]
		s.tids[a], s.tids[b] = s.tids[b], s.tids[a]
	})
	s.tids = slices.Clone(s.tids[:min(len(s.tids), databaseSample)])
}

// count returns how many chunks of the sample are in a scope whose conditions are on the
// metadata alone. It stops when it has seen enough.
func (s *sample) count(of scope) (n seen) {
	for _, chunk := range s.chunks {
		n.of++
		if chunk.namespace != of.namespace || !of.filter.MatchChunk(chunk.metadata, chunk.contentKeys) {
			continue
		}
		if n.matching++; n.matching == enoughMatches {
			break
		}
	}
	return n
}
