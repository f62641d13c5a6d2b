package query

import (
	"fmt"
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/ragdhq/ragd/internal/index"
)

// A landmark is a chunk of a sample, by which a search notices that an index scan has missed a region of the
// vectors. An HNSW scan that ends in the wrong region finds none of the nearest chunks. A landmark that is nearer to
// the question than what the scan found, and is not among it, proves that: the scan is made again, wider.
type landmark struct {
	id     string
	vector blas32.Vector // of length 1 if the metric is the cosine
	square float64       // of its length
	gone   atomic.Bool   // no scan finds it: deleted since the sample was drawn, or changed
}

// landmarkWidening multiplies the search width of a scan that missed a landmark.
const landmarkWidening = 4

// landmarkTolerance is the fraction of a distance by which a landmark must be nearer: PostgreSQL computes with
// other roundings, and half precision in an index of halfvec.
const landmarkTolerance = 0.01

// landmarkSQL returns the embedding of a sampled chunk c for its landmark, as SQL; NULL for most chunks where
// those of all would take more than sampleVectorBytes.
func landmarkSQL(i index.Index) string {
	if i.VectorType != index.Vector && i.VectorType != index.HalfVec {
		return "NULL::vector"
	}
	share := min(1, float64(sampleVectorBytes)/float64(4*i.Dimension*sampleChunks))
	return fmt.Sprintf("CASE WHEN random() < %g THEN %s END", share, i.EmbeddingSQL("c.embedding"))
}

// newLandmark returns the landmark of a chunk; nil for a vector of length 0, which has no direction.
func newLandmark(id string, metric index.Metric, vector []float32) *landmark {
	l := &landmark{id: id, vector: blasVector(vector)}
	norm := float64(blas32.Nrm2(l.vector))
	if norm == 0 || math.IsInf(norm, 0) || math.IsNaN(norm) {
		return nil
	}
	if metric == index.Cosine {
		blas32.Scal(float32(1/norm), l.vector)
		norm = 1
	}
	l.square = norm * norm
	return l
}

func blasVector(v []float32) blas32.Vector { return blas32.Vector{N: len(v), Inc: 1, Data: v} }

// landmarks returns the landmarks of a scope whose conditions are on the metadata alone.
func (s *sample) landmarks(of scope) (in []*landmark) {
	if of.needsDatabase() {
		return nil
	}
	for _, chunk := range s.chunks {
		if chunk.landmark != nil && chunk.namespace == of.namespace && of.filter.MatchChunk(chunk.metadata, chunk.contentKeys) {
			in = append(in, chunk.landmark)
		}
	}
	return in
}

// nearestLandmark returns the landmark that is nearest to a question, and its distance by the metric of the index; nil if there is none.
func nearestLandmark(i index.Index, question []float32, among []*landmark) (nearest *landmark, distance float64) {
	q := blasVector(question)
	norm := float64(blas32.Nrm2(q))
	if norm == 0 {
		return nil, 0
	}
	distance = math.Inf(1)
	for _, l := range among {
		if l.gone.Load() {
			continue
		}
		d := -float64(blas32.Dot(l.vector, q))
		switch i.Metric {
		case index.Cosine:
			d = 1 + d/norm
		case index.Euclidean:
			d = math.Sqrt(max(norm*norm+l.square+2*d, 0))
		}
		if d < distance {
			nearest, distance = l, d
		}
	}
	return nearest, distance
}

// guarded reports whether the search uses an index scan whose width the service chose, and whose results landmarks can be
// compared with: it leaves no chunk of the scope out, which may be a landmark.
func (s search) guarded() bool {
	p := s.request
	whole := len(p.examples.chunks)+len(p.examples.documents)+len(p.curated.hides) == 0
	return s.plan == indexScan && s.estimate.landmarks != nil && whole && p.ef == 0 && p.probes == 0 && (p.mode == Vector || p.mode == Hybrid && p.fusion.Method != RRF)
}

// missed returns a landmark that the sources, which are all that were wanted, would have if the scan had found it; nil if
// there is none.
func (s search) missed(sources []Source) *landmark {
	if !s.guarded() || len(sources) == 0 || len(sources) < s.request.fetch() {
		return nil
	}
	nearest, distance := nearestLandmark(s.index, s.request.vector, s.estimate.landmarks())
	if nearest == nil || !s.better(distance, sources[len(sources)-1].Score) {
		return nil
	}
	for _, source := range sources {
		if source.ID == nearest.id {
			return nil
		}
	}
	return nearest
}

// better reports whether a chunk at a distance, whatever words it has, exceeds a score.
func (s search) better(distance, score float64) bool {
	distance += landmarkTolerance * math.Abs(distance)
	if s.request.mode == Vector {
		return s.index.Score(distance) > score
	}
	e := s.evidence()
	return e.fusedScore(e.fusedVector(s.index.Metric.Stretch(s.index.Score(distance)))) > score
}

// widen makes the search scan wider, and reports whether it can.
func (s *search) widen() bool {
	_, width := s.effort()
	s.scanWidth = min(landmarkWidening*width, maxEf)
	return s.scanWidth > width
}
