package query

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/budget"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// MaxNeighbours bounds the chunks added before and after each source.
const MaxNeighbours = 10

// Request is a vector query as a caller sends it.
type Request struct {
	Question
	IndexNames     []string      // names or patterns of several indexes, instead of IndexName
	IndexWeights   []IndexWeight // of indexes among them; 1 for those that are not named
	Fusion         Fusion
	FieldWeights   *FieldWeights // of terms in keyword and hybrid search; nil: 1 each
	SparseVector   *index.Sparse // instead of QueryVector, or beside it
	DatabaseConfig DatabaseConfig
	Neighbours     int     // chunks to add before and after each source, see Question.Expand
	Diversity      float64 // 0: by score alone, to 1: as unlike each other as can be
	MaxPerDocument int     // sources from one document; 0: any number
	Like           *Like   // nil: none; else instead of QueryVector
	Syntax         Syntax  // of QueryText
	Prefix         bool    // the last word of QueryText may be the beginning of one
	// OrderBy puts the sources in the order of fields. Without a question all chunks that the filter selects are put in order, with
	// Keyword all that match, else the best.
	OrderBy   []filter.Order
	GroupBy   *GroupBy // TopK is the number of groups then; nil: none
	PageSize  *int     // instead of TopK, for pages; nil: none
	PageToken string   // of the page before; empty for the first
}

// Source is one retrieved chunk.
type Source struct {
	ID         string
	IndexName  string // with Request.IndexNames, else empty
	DocumentID string // empty for a ready-made vector
	URI        string
	Title      string
	Ordinal    int // number in the document, from 0
	Text       string
	Metadata   string          // the JSON of an object
	Score      float64         // higher is better; never NaN
	Vector     []float32       // nil unless asked for
	StartByte  int             // position in the document
	EndByte    int             // of the byte after the last
	Details    *rerank.Details // of a reranked score, else nil
	Highlight  *Highlight      // nil unless asked for
	// AlsoIn are other places of the same passage, best first, at most MaxPlaces of AlsoInCount.
	AlsoIn      []Place
	AlsoInCount int
	Chunk       *Span // the part of Text that is the chunk itself; nil if it was not expanded
	Hits        []Hit // the chunks that were found in Text, best first; nil if it was not expanded
	// Similarity is the metric's score of the embedding, as index.Index.Score returns it; nil
	// if the question has no embedding, or the distance is not defined.
	Similarity *float64
	// KeywordScore is the calibrated score of the keywords, above 0 and below 1; nil without a
	// keyword search, and if no term of the question matches.
	KeywordScore *float64
	// KeywordFactor is what field weights multiplied the BM25 score with; nil without them.
	KeywordFactor *float64
	Recency       *Recency // nil without boosts
	BM25          float64  // of which the KeywordScore is made, with what adjacent words add
	Adjacent      float64
	Reweighed     *Reweighed // nil without field weights
	Pin           int        // its place among those that curations of the index put first, from 1; 0: none
	Group         *int       // number in Response.Groups, from 0; nil without Request.GroupBy
}

// fields returns the metadata, with numbers as they are written.
func (s Source) fields() (metadata map[string]any, err error) {
	decoder := json.NewDecoder(strings.NewReader(s.Metadata))
	decoder.UseNumber()
	err = decoder.Decode(&metadata)
	return metadata, err
}

// Response is an answer. Its sources are best first, ties by id.
type Response struct {
	RelevantContext string
	Sources         []Source
	Warnings        []string
	Explain         *Explain       // nil unless asked for
	Reranking       *rerank.Report // nil without a second scoring
	Budget          *budget.Report // nil without MaxTokens
	ID              string         // names the answer, see AnswerID; may be empty
	Groups          []Group        // with GroupBy, in the order of their sources
	GroupCount      *int64         // of all chunks that match; nil where this cannot be counted
	DidYouMean      string         // the question with corrections; empty without any
	NextPageToken   string         // with PageSize; empty if there is no further page
}

// prepared is a validated request with its defaults filled in. Until settle, its
// mode may be open and its vector missing.
type prepared struct {
	text           string
	vector         []float32
	topK           int
	scope          scope
	mode           Mode
	fusion         Fusion
	fields         *index.FieldWeights // nil: 1 each
	minScore       *float64
	minSimilarity  *float64
	ef, probes     int           // 0: the index's own
	recallTarget   *float64      // nil: the index's own
	sparse         *index.Sparse // instead of vector, or beside it
	sparseField    string        // of the request
	beside         any           // sparse as a parameter, beside vector; nil for none
	includeVectors bool
	distinct       bool
	further        int // sources to fetch beyond those wanted, in place of passages that repeat others
	expansion      Expansion
	diversity      float64
	maxPerDocument int
	prefix         bool
	order          []filter.Order
	group          *groupBy // nil: none
	page           *page    // nil: none
	boosts         Boosters
	reranker       *Reranker     // nil: none
	rerankFrom     int           // candidates of the reranker
	access         filter.Filter // mandatory, part of scope.filter
	asked          filter.Filter // the rest of scope.filter
	absent         []string      // paths of references in asked that have no value
	within         filter.Filter // of examples
	like           *Like         // nil: none
	examples       examples      // of like, once they are loaded
	conditions     []condition   // of the syntax web
	unknown        *unknownWords // of a question to several indexes; nil for one
	curates        bool          // follows the curations of the index
	curated        curated       // once the index is known
	resolve        func(filter.Filter) (filter.Filter, error)
	plain          bool // of ready-made vectors: documents are not read, and a filter is enough without a vector
	warnings       []string
}

// effective returns the request with the overrides of the request context applied.
func (r Request) effective(c *access.Request) (Request, error) {
	var err error
	if r.Question, err = r.Effective(c); err != nil {
		return r, err
	}
	if raw := c.Overrides.DatabaseConfig; raw != nil {
		r.DatabaseConfig, err = parseDatabaseConfig(raw)
		if p := r.DatabaseConfig.PGVector; p != nil && c.Overrides.MinScore == nil {
			r.MinScore = cmp.Or(p.MinScore, r.MinScore)
		}
	}
	return r, err
}

func valueOr[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// prepare validates what can be validated without knowing the index. Errors:
// Invalid.
func (r Request) prepare() (prepared, error) {
	p := prepared{
		text: r.QueryText, vector: r.QueryVector, mode: r.Mode, fusion: r.Fusion,
		scope:          scope{namespace: r.Namespace, filter: r.Filter},
		topK:           valueOr(r.TopK, DefaultTopK),
		includeVectors: valueOr(r.IncludeVectors, false), distinct: valueOr(r.Distinct, true),
		minScore: r.MinScore, minSimilarity: r.MinSimilarity, recallTarget: r.RecallTarget, access: r.access, asked: r.asked, absent: r.absent, resolve: r.resolve,
		within: r.within, like: r.Like,
		diversity: r.Diversity, maxPerDocument: r.MaxPerDocument, prefix: r.Prefix, order: r.OrderBy,
	}
	if !slices.Contains([]Mode{"", Vector, Keyword, Hybrid}, p.mode) {
		return p, fault.Field("searchMode", "unknown mode %q; known are vector, keyword and hybrid", p.mode)
	}
	if err := p.checkNumbers(); err != nil {
		return p, err
	}
	var err error
	if p.expansion, err = r.Expansion(r.Neighbours); err != nil {
		return p, err
	}
	if err := p.fusion.check(); err != nil {
		return p, err
	}
	if p.boosts, err = r.Boosters(); err != nil {
		return p, err
	}
	if len(p.boosts) > 0 && p.fusion.Method == RRF {
		return p, fault.Field("boost", "needs scores that do not depend on ranks: leave out hybrid.fusion rrf")
	}
	if p.fields, err = r.FieldWeights.check(); err != nil {
		return p, err
	}
	if p.fields != nil && p.fusion.Method == RRF {
		return p, fault.Field("fieldWeights", "need scores that do not depend on ranks: leave out hybrid.fusion rrf")
	}
	p.sparse, p.sparseField = r.SparseVector, "sparseVector"
	if err := p.checkOrder(r); err != nil {
		return p, err
	}
	if p.group, err = p.checkGroup(r); err != nil {
		return p, err
	}
	if err := p.configure(r.VectorStoreName, r.stores, r.DatabaseConfig); err != nil {
		return p, err
	}
	if err := p.checkRecallTarget(); err != nil {
		return p, err
	}
	if err := p.scope.check(); err != nil {
		return p, err
	}
	if err := p.like.check(p); err != nil {
		return p, err
	}
	if err := p.readSyntax(r.Syntax); err != nil {
		return p, err
	}
	if err := p.checkText(); err != nil || r.Reranker == nil {
		return p, err
	}
	return p, p.prepareReranker(*r.Reranker)
}

func (p prepared) checkNumbers() error {
	switch {
	case p.topK < 1 || p.topK > MaxTopK:
		return fault.Field("topK", "must be between 1 and %d, got %d", MaxTopK, p.topK)
	case p.minScore != nil && !finite(*p.minScore):
		return fault.Field("minScore", "must be a finite number")
	case p.minSimilarity != nil && !finite(*p.minSimilarity):
		return fault.Field("minSimilarity", "must be a finite number")
	case !(p.diversity >= 0 && p.diversity <= 1):
		return fault.Field("diversity", "must be between 0 and 1, got %g", p.diversity)
	case p.maxPerDocument < 0:
		return fault.Field("maxPerDocument", "must not be negative, got %d", p.maxPerDocument)
	}
	return nil
}

// checkRecallTarget checks the recall target of the request, which a search width has no place beside. Errors: Invalid.
func (p prepared) checkRecallTarget() error {
	if p.recallTarget == nil {
		return nil
	}
	if p.ef > 0 || p.probes > 0 {
		return fault.Field("recallTarget", "chooses the search width, which databaseConfig.pgvector.ef or probes gives: leave out one of them")
	}
	return index.CheckRecallTarget(*p.recallTarget)
}

func (p prepared) checkText() error {
	return textlimit.Check("queryText", p.text, MaxQueryTextBytes)
}

// settle decides the mode and checks the question against the index. Errors:
// Invalid.
func (p *prepared) settle(i index.Index) error {
	if err := p.settleSparse(i); err != nil {
		return err
	}
	hasText := strings.TrimSpace(p.text) != ""
	hasVector := len(p.vector) > 0 || hasText && i.EmbeddingModel != ""
	if p.mode == "" {
		p.mode = Vector
		if hasText && hasVector {
			p.mode = Hybrid
		}
	}
	if p.mode != Vector && !hasText {
		return fault.Field("queryText", "is needed for %s search and must not be blank", p.mode)
	}
	if p.lists() && !p.plain {
		return nil
	}
	if p.plain {
		if p.lists() && !p.scope.filtered() {
			return fault.Field("queryVector", "Either queryVector or filter must be provided")
		}
	} else if p.mode == Keyword && p.minSimilarity != nil && !hasVector {
		return fault.Field("minSimilarity", "needs a queryVector: index %q has no embedding model that could embed queryText", i.Name)
	} else if p.mode != Keyword && !hasVector {
		if hasText {
			return fault.Field("queryVector", "is needed: index %q has no embedding model that could embed queryText, and takes ready-made vectors only", i.Name)
		}
		return fault.Field("queryText", "must not be blank: give a question, or a queryVector")
	}
	if len(p.vector) > 0 {
		return i.CheckVector("queryVector", p.vector)
	}
	return nil
}

// compares reports whether the search compares embeddings with one of the question.
func (p prepared) compares() bool {
	return !p.lists() && (p.mode != Keyword || len(p.vector) > 0 || p.minSimilarity != nil)
}

// lists reports whether the request is for what the scope selects, in the order of
// ids or fields, and not for what is near to a vector.
func (p prepared) lists() bool { return p.plain && len(p.vector) == 0 || p.ordersAll() }

// settleSparse replaces a sparse query vector by its dense form, or by a parameter beside the
// query vector.
func (p *prepared) settleSparse(i index.Index) (err error) {
	switch {
	case p.sparse == nil:
		return nil
	case i.VectorType != index.SparseVec:
		return p.settleBeside(i)
	case len(p.vector) > 0:
		return fault.Field(p.sparseField, "and queryVector are mutually exclusive")
	}
	if p.vector, err = i.Dense(p.sparseField, *p.sparse); err != nil {
		return err
	}
	return i.CheckVector(p.sparseField, p.vector)
}

// settleBeside checks a sparse vector beside a query vector.
func (p *prepared) settleBeside(i index.Index) error {
	if p.mode = cmp.Or(p.mode, Vector); p.mode != Vector {
		return fault.Field(p.sparseField, "is for searchMode vector, not %s", p.mode)
	}
	if p.plain && len(p.vector) == 0 {
		return fault.Field(p.sparseField, "needs a queryVector beside it: index %q has embeddings of type %s", i.Name, i.VectorType)
	}
	beside, err := i.Beside(p.sparseField, *p.sparse)
	p.beside = beside
	return err
}

// other is a field of a request, and whether it was given.
type other struct {
	field string
	given bool
}

// exclusive returns an error for the first of others that was given beside a field. Errors: Invalid.
func exclusive(field string, others ...other) error {
	for _, o := range others {
		if o.given {
			return fault.Field(field, "and %s are mutually exclusive: leave one out", o.field)
		}
	}
	return nil
}

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
