package index

import (
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// VectorType is the column type of embeddings.
type VectorType string

// The vector types.
const (
	Vector    VectorType = "vector"    // 32-bit floats
	HalfVec   VectorType = "halfvec"   // 16-bit floats
	Bit       VectorType = "bit"       // zeros and ones
	SparseVec VectorType = "sparsevec" // 32-bit floats, without zeros
)

// vectorTraits are the limits of pgvector for a type, and what it supports.
type vectorTraits struct {
	maxIndexed int // widest vector that an HNSW or IVFFlat index takes
	maxInline  int // widest vector that is stored inside the row
	metrics    []Metric
	types      []Type
}

// bytes returns the size of an embedding in a row that holds it.
func (t VectorType) bytes(dimension int) int {
	const header = 8
	switch t {
	case HalfVec:
		return header + 2*dimension
	case Bit:
		return header + (dimension+7)/8
	}
	return header + 4*dimension
}

// traits has an entry for each type. A row must fit into a page of 8 kB; embeddings of
// up to 6 kB are stored inside it, where an exact scan reads them without TOAST.
var traits = map[VectorType]vectorTraits{
	Vector:    {2_000, 1_536, []Metric{Cosine, Euclidean, DotProduct}, []Type{HNSW, IVFFlat, Flat}},
	HalfVec:   {4_000, 3_072, []Metric{Cosine, Euclidean, DotProduct}, []Type{HNSW, IVFFlat, Flat}},
	Bit:       {MaxBits, 49_152, []Metric{Hamming, Jaccard}, []Type{HNSW, IVFFlat, Flat}},
	SparseVec: {MaxDimension, 0, []Metric{Cosine, Euclidean, DotProduct}, []Type{HNSW, Flat}},
}

// EmbeddingSize returns the size of an embedding in bytes, and whether it is stored inside
// the row of its chunk, where it is read without TOAST.
func (i Index) EmbeddingSize() (bytes int, inline bool) {
	return i.VectorType.bytes(i.Dimension), i.Dimension <= traits[i.VectorType].maxInline
}

// maxIndexedNonZeros is how many values of a sparse vector in an HNSW index may
// differ from zero.
const maxIndexedNonZeros = 1_000

// maxHalf is the largest finite 16-bit float.
const maxHalf = 65_504

// Operator returns the SQL operator of the distance.
func (m Metric) Operator() string { return metrics[m].operator }

// Score converts a distance by Operator into a score, higher for nearer: 1 - distance
// for cosine, jaccard and hamming (as a fraction of the bits), 1/(1 + distance) for
// euclidean, and the inner product for dotproduct.
func (i Index) Score(distance float64) float64 {
	switch i.Metric {
	case Euclidean:
		return 1 / (1 + distance)
	case DotProduct:
		return -distance
	case Hamming:
		return 1 - distance/float64(i.Dimension)
	}
	return 1 - distance
}

// metrics has the names by which pgvector knows each metric.
var metrics = map[Metric]struct{ operator, class string }{
	Cosine:     {"<=>", "cosine"},
	Euclidean:  {"<->", "l2"},
	DotProduct: {"<#>", "ip"},
	Hamming:    {"<~>", "hamming"},
	Jaccard:    {"<%>", "jaccard"},
}

// operatorClass returns the operator class of the metric over the type.
func (i Index) operatorClass() string {
	return fmt.Sprintf("%s_%s_ops", i.VectorType, metrics[i.Metric].class)
}

// CheckVector validates an embedding that is to be stored in the index or searched
// for. Errors: Invalid naming the field.
func (i Index) CheckVector(field string, values []float32) error {
	if len(values) != i.Dimension {
		return fault.Field(field, "has %d dimensions, but index %q has %d", len(values), i.Name, i.Dimension)
	}
	nonZeros := 0
	for n, v := range values {
		switch {
		case math.IsNaN(float64(v)) || math.IsInf(float64(v), 0):
			return fault.Field(field, "has a value that is not a finite number at position %d", n)
		case i.VectorType == Bit && v != 0 && v != 1:
			return fault.Field(field, "has the value %g at position %d, but index %q holds bits: send 0 or 1", v, n, i.Name)
		case i.VectorType == HalfVec && (v > maxHalf || v < -maxHalf):
			return fault.Field(field, "has the value %g at position %d, but index %q holds 16-bit floats up to %d", v, n, i.Name, maxHalf)
		}
		if v != 0 {
			nonZeros++
		}
	}
	if i.VectorType == SparseVec && i.Config.Type == HNSW && nonZeros > maxIndexedNonZeros {
		return fault.Field(field, "has %d values that are not zero, and an hnsw index takes at most %d: choose indexConfig.type flat", nonZeros, maxIndexedNonZeros)
	}
	return nil
}

// Sparse is a vector with Values at Indices, which count from 0, and 0 elsewhere.
type Sparse struct {
	Indices []uint32  `json:"indices"`
	Values  []float32 `json:"values"`
}

// Dense returns all Dimension values of a sparse vector. Errors: Invalid naming the
// field, also for an index of another vector type.
func (i Index) Dense(field string, v Sparse) ([]float32, error) {
	if i.VectorType != SparseVec {
		return nil, fault.Field(field, "index %q holds %s, not sparsevec", i.Name, i.VectorType)
	}
	given, err := v.values(field, i.Dimension)
	if err != nil {
		return nil, err
	}
	out := make([]float32, i.Dimension)
	for at, value := range given {
		out[at] = value
	}
	return out, nil
}

const (
	// sparseDimensions is the number of dimensions of the sparse vectors beside embeddings, the
	// largest that pgvector has.
	sparseDimensions = 1_000_000_000
	// maxSparseNonZeros is how many values of such a vector may differ from zero.
	maxSparseNonZeros = 1_000
)

// Beside returns a sparse vector as a parameter for the column of those beside embeddings.
// Errors: Invalid naming the field, also for an index whose scores an inner product cannot be
// added to.
func (i Index) Beside(field string, v Sparse) (*pgvector.SparseVector, error) {
	switch {
	case i.VectorType != Vector && i.VectorType != HalfVec, i.Metric != Cosine && i.Metric != DotProduct:
		return nil, fault.Field(field, "index %q has %s and the metric %s: sparse values go beside those of vector or halfvec with the metric cosine or dotproduct", i.Name, i.VectorType, i.Metric)
	case len(v.Indices) > maxSparseNonZeros:
		return nil, fault.Field(field, "must have at most %d values, got %d", maxSparseNonZeros, len(v.Indices))
	}
	given, err := v.values(field, sparseDimensions)
	if err != nil {
		return nil, err
	}
	for at, value := range given {
		if x := float64(value); math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fault.Field(field, "has a value that is not a finite number at the index %d", at)
		}
	}
	return new(pgvector.NewSparseVectorFromMap(given, sparseDimensions)), nil
}

// values returns the values of a sparse vector by their indices. Errors: Invalid.
func (v Sparse) values(field string, dimension int) (map[int32]float32, error) {
	if len(v.Indices) != len(v.Values) {
		return nil, fault.Field(field, "has %d indices but %d values", len(v.Indices), len(v.Values))
	}
	given := make(map[int32]float32, len(v.Indices))
	for n, at := range v.Indices {
		if int64(at) >= int64(dimension) {
			return nil, fault.Field(field, "has the index %d, but there are %d dimensions", at, dimension)
		}
		if _, twice := given[int32(at)]; twice {
			return nil, fault.Field(field, "has the index %d twice", at)
		}
		given[int32(at)] = v.Values[n]
	}
	return given, nil
}

// Column returns a valid embedding as a parameter for the column type.
func (i Index) Column(values []float32) any {
	switch i.VectorType {
	case HalfVec:
		return pgvector.NewHalfVector(values)
	case SparseVec:
		return pgvector.NewSparseVector(values)
	case Bit:
		return bitsOf(values)
	}
	return pgvector.NewVector(values)
}

func bitsOf(values []float32) pgtype.Bits {
	bits := pgtype.Bits{Bytes: make([]byte, (len(values)+7)/8), Len: int32(len(values)), Valid: true}
	for n, v := range values {
		if v != 0 {
			bits.Bytes[n/8] |= 1 << (7 - n%8)
		}
	}
	return bits
}

// EmbeddingSQL returns an expression of type vector for the embeddings in a column,
// which becomes part of the SQL and must be a constant.
func (i Index) EmbeddingSQL(column string) string {
	switch i.VectorType {
	case HalfVec, SparseVec:
		return column + "::vector"
	case Bit:
		return "string_to_array(" + column + "::text, NULL)::real[]::vector"
	}
	return column
}

// checkTypes validates that metric, vector type, index type and dimension go together,
// and fills in those that are empty. Errors: Invalid.
func (s *Spec) checkTypes() error {
	given, ok := traits[s.VectorType]
	switch {
	case s.VectorType == "":
		s.VectorType = Vector
		if s.Config.Type != Flat && s.Dimension > traits[Vector].maxIndexed {
			s.VectorType = HalfVec
		}
		given = traits[s.VectorType]
	case !ok:
		return fault.Field("vectorType", "unknown type %q; known are vector, halfvec, bit and sparsevec", s.VectorType)
	}
	if s.EmbeddingModel != "" && (s.VectorType == Bit || s.VectorType == SparseVec) {
		return fault.Field("vectorType", "%s is for ready-made vectors: embedding models make vector or halfvec", s.VectorType)
	}
	if s.Metric == "" {
		s.Metric = given.metrics[0]
	}
	if !slices.Contains(given.metrics, s.Metric) {
		return fault.Field("metric", "%q does not go with vectorType %s, which has %v", s.Metric, s.VectorType, given.metrics)
	}
	if !slices.Contains(given.types, s.Config.Type) || s.Config.Type == IVFFlat && s.Metric == Jaccard {
		return fault.Field("indexConfig.type", "%s does not go with vectorType %s and metric %s", s.Config.Type, s.VectorType, s.Metric)
	}
	if s.Config.Type != Flat && s.Dimension > given.maxIndexed {
		return fault.Field("dimension", "is %d, and an %s index over %s takes at most %d: choose indexConfig.type flat, vectorType halfvec (up to %d) or a smaller dimension",
			s.Dimension, s.Config.Type, s.VectorType, given.maxIndexed, traits[HalfVec].maxIndexed)
	}
	return nil
}
