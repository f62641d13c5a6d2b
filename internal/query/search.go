package query

import (
	"context"
	"math"

	"github.com/pgvector/pgvector-go"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/wording"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// candidateFactor is how many candidates a search fetches for each source wanted,
	// when they are yet to be fused or chosen from. minCandidates and maxCandidates
	// bound them.
	candidateFactor = 5
	minCandidates   = 50
	maxCandidates   = 1000
	// searchTimeout ends a search that runs away, such as one with a regular
	// expression that backtracks without end.
	searchTimeout = "20s"
)

// noTermWarning says why a keyword search finds nothing.
const noTermWarning = "no chunk has a word of the question; words too common to be searched for are left out"

// candidates returns how many chunks each leg fetches.
func (p prepared) candidates() int {
	if p.mode == Vector {
		return p.fetch()
	}
	return max(p.fetch(), p.plenty())
}

// fetch returns how many sources the search returns, to choose topK from.
func (p prepared) fetch() int {
	switch {
	case p.reranker != nil:
		return p.rerankFrom + p.further
	case p.group != nil:
		return p.group.fetch(p.topK) + p.further
	case p.diversity > 0 || p.maxPerDocument > 0:
		return p.plenty() + p.further
	}
	return p.topK + p.further
}

// plenty returns a number of candidates that is enough to choose topK from.
func (p prepared) plenty() int {
	return min(max(minCandidates, candidateFactor*p.topK), max(maxCandidates, p.topK))
}

// keywordCandidates returns about how many chunks the keyword leg scores first.
func (p prepared) keywordCandidates() int64 {
	wanted := p.fetch()
	if p.mode == Hybrid {
		wanted = p.candidates()
	}
	return int64(keywordFactor * max(minKeywordWanted, wanted))
}

// search is one search of an index, ready to run.
type search struct {
	index       index.Index
	calibration index.Calibration // zero for a search by embedding alone, whose scores are similarities
	request     prepared
	plan        plan              // of the vector leg
	estimate    estimate          // of the scope; zero if there is one plan only
	keywords    *keywords         // of the keyword leg; nil without one
	scanWidth   int               // of an index scan; 0: what the request and the index say
	list        *list             // of the scope, nil for none; the plan is exact then
	dropList    func()            // of an outdated list
	spread      bool              // return at most the request's maxPerDocument of a document
	rest        *rest             // to be found beside the sources; nil: not wanted
	pins        []wording.Curated // to be found, instead of what answers best
	complete    bool              // no chunk that was left out can be among the sources
}

// answer is what a search found and how.
type answer struct {
	reranking  *rerank.Report // nil without a second scoring
	sources    []Source
	warnings   []string
	explain    Explain
	scorer     Scorer
	groups     []Group // of a request with GroupBy
	found      int     // sources of which the groups were made
	groupCount *int64
	best       *float64 // the best calibrated score, of a source or not; nil without calibration
}

// search finds the sources of a settled request by terms, by embedding or by both.
func (s *Service) search(ctx context.Context, id tenant.ID, h *data.Handle, i index.Index, p prepared, watch *Stopwatch) (a answer, err error) {
	find := search{index: i, request: p, plan: exact}
	if p.lists() && p.mode != Keyword {
		a.sources, err = find.run(ctx, h)
		a.explain = find.explain(a.sources)
		watch.Lap("search", len(a.sources))
		return a, err
	}
	var asked queryTerms
	if p.mode != Vector {
		if asked, err = lookUp(ctx, h, i, p); err != nil {
			return a, err
		}
		find.calibration = asked.calibration
		watch.Lap("words", 0)
	}
	if p.mode != Keyword && i.Built && len(asked.phrases)+len(p.conditions) == 0 && p.beside == nil {
		if find.estimate, err = s.estimates.of(ctx, id, h, i, p.scope); err != nil {
			return a, err
		}
		find.choose()
		if err := find.useList(ctx, h, s.lists, keyOf(id, i, p.scope)); err != nil {
			return a, err
		}
		watch.Lap("plan", 0)
	}
	if p.mode == Keyword && len(asked.terms) == 0 {
		a.warnings = append(a.warnings, noTermWarning)
		a.explain = Explain{Mode: p.mode, Complete: true, Exact: true, Calibration: asked.calibration.Version}
		return a, nil
	}
	warnings := asked.correctionWarnings()
	if p.lists() {
		find.keywords = asked.keywords()
		a.sources, err = find.run(ctx, h)
		a.explain, a.warnings = find.explain(a.sources), warnings
		a.explain.Exact, a.explain.Synonyms = true, asked.synonyms
		watch.Lap("search", len(a.sources))
		return a, err
	}
	for {
		if a, err = find.widening(ctx, h, asked, watch); err != nil {
			return a, err
		}
		a.warnings = warnings
		if len(a.sources) > 0 || len(asked.phrases) == 0 || asked.anyPhrase {
			return a, nil
		}
		var warning string
		if asked, warning, err = asked.loosened(ctx, h, i, p.scope); err != nil {
			return a, err
		}
		warnings = append(warnings, warning)
		watch.Lap("phrases", len(asked.phrases))
	}
}

// choose chooses the plan of the vector leg by the estimate of the scope.
func (s *search) choose() {
	wanted, width := s.effort()
	s.plan = s.estimate.choose(costsOf(s.index), wanted, width)
}

// effort returns the number of chunks that the vector leg looks for, and the search width of
// an index scan.
func (s search) effort() (wanted, width int) {
	wanted, width = s.request.candidates(), s.request.width(s.index, s.estimate)
	if s.scanWidth > 0 {
		width = s.scanWidth
	}
	return wanted, width
}

// widening searches the most likely candidates, then more of them or all chunks of the scope
// if that found too few, then all documents if the sources are of too few documents.
func (s search) widening(ctx context.Context, h *data.Handle, asked queryTerms, watch *Stopwatch) (a answer, err error) {
	run := func(stage string) (err error) {
		if a.sources, err = s.run(ctx, h); err == nil {
			watch.Lap(stage, len(a.sources))
		}
		return err
	}
	s.keywords = asked.pruned(0, s.request.keywordCandidates())
	stage := "search"
	if few := s.few(asked); few != nil {
		if err := few.first(ctx, h, &a, watch); err != nil || few.complete {
			a.explain.Corrections, a.explain.Synonyms = asked.corrections, asked.synonyms
			return a, err
		}
		stage = "search more"
	}
	if err := run(stage); err != nil {
		return a, err
	}
	if s.scansWider(len(a.sources)) {
		s.scanWidth = maxEf
		if err := run("search wider"); err != nil {
			return a, err
		}
	}
	for lost := s.missed(a.sources); lost != nil; lost = s.missed(a.sources) {
		if !s.widen() {
			lost.gone.Store(true)
			break
		}
		if err := run("search wider"); err != nil {
			return a, err
		}
	}
	if s.scoresMore(asked, a.sources) {
		if err := run("search more"); err != nil {
			return a, err
		}
	}
	if len(a.sources) < s.request.fetch() && !s.sure() && !s.cutOff() {
		s.plan, s.keywords = exact, asked.keywords()
		if err := run("search all"); err != nil {
			return a, err
		}
	}
	if s.crowded(a.sources) {
		s.plan, s.keywords, s.spread = exact, asked.keywords(), true
		if err := run("search documents"); err != nil {
			return a, err
		}
	}
	a.explain, a.scorer = s.explain(a.sources), Scorer{s}
	a.explain.Corrections, a.explain.Synonyms = asked.corrections, asked.synonyms
	return a, nil
}

// scansWider counts an index scan that found so many sources, and reports whether to scan
// again, with the largest search width, before all chunks are compared.
func (s search) scansWider(found int) bool {
	if !s.scansOnly() {
		return false
	}
	dry := found < s.request.fetch()
	s.estimate.scans.ended(dry)
	wanted, width := s.effort()
	c := costsOf(s.index)
	return dry && s.index.Config.Type == index.HNSW && width < maxEf && !s.estimate.iterates(c, wanted) && !s.estimate.affordsExact(c, wanted, width)
}

// crowded reports whether so many sources are of the same documents that sources of
// other documents, which the search did not reach, may be wanted.
func (s search) crowded(sources []Source) bool {
	p := s.request
	if p.maxPerDocument == 0 || len(sources) < p.fetch() || len(above(p.minScore, sources)) < len(sources) {
		return false
	}
	return len(perDocument(sources, p.maxPerDocument)) < p.topK
}

// cutOff reports whether a least similarity is the reason for few sources: the nearest
// chunks were found, and further ones are not wanted.
func (s search) cutOff() bool {
	return s.request.mode == Hybrid && s.request.minSimilarity != nil && !s.request.scope.filtered()
}

// sure reports whether the search compares all chunks of the scope that can score.
func (s search) sure() bool {
	return s.plan == exact && (s.keywords == nil || s.keywords.leftOut == 0 || s.complete)
}

// explain describes how the sources were found.
func (s search) explain(sources []Source) Explain {
	e := Explain{Mode: s.request.mode, Complete: true, Exact: s.sure(), Calibration: s.calibration.Version}
	if s.request.mode == Hybrid {
		weight := s.evidence().vector
		e.VectorWeight, e.VectorLogOdds = &weight, s.fusion().logOdds()
	}
	if s.request.mode != Keyword {
		e.Plan = string(s.plan)
		e.Candidates = int(s.estimate.matching)
		if s.plan == indexScan {
			_, e.SearchWidth = s.effort()
			e.Candidates = e.SearchWidth
			e.MeasuredRecall = s.index.MeasuredRecall(e.SearchWidth)
			if s.request.ef == 0 && s.request.probes == 0 {
				e.RecallTarget = s.index.RecallTarget
			}
		}
	}
	// How many chunks have the terms is not counted by scope.
	if s.keywords != nil && !s.request.scope.filtered() {
		e.Candidates += int(s.keywords.matching)
	}
	if !s.request.access.IsZero() { // statistics of the whole index would tell how much is hidden
		e.Candidates = 0
	}
	if s.request.mode == Keyword && s.keywords != nil {
		e.Exact = s.scored(sources)
	}
	return e
}

// scoresMore makes a keyword search score also the chunks that the search so far left out
// and that can be among its sources. It reports whether there may be such chunks.
func (s *search) scoresMore(asked queryTerms, found []Source) bool {
	if s.request.mode != Keyword || s.scored(found) {
		return false
	}
	before := s.keywords.match
	s.keywords = asked.pruned(s.least(found), moreKeywordCandidates)
	return s.keywords.match != before
}

// scored reports whether a keyword search has scored all chunks that can be among the
// sources.
func (s search) scored(sources []Source) bool {
	return s.keywords.leftOut == 0 || s.least(sources) >= s.keywords.leftOut
}

// least returns the BM25 score of the last source that is wanted, which a better one has to
// exceed; 0 if there are fewer.
func (s search) least(sources []Source) float64 {
	if n := len(sources); n > 0 && n == s.request.fetch() {
		return sources[n-1].BM25
	}
	return 0
}

// run searches, in one round trip unless a list is outdated, and returns the sources best
// first.
func (s search) run(ctx context.Context, h *data.Handle) ([]Source, error) {
	if s.list != nil {
		sources, current, err := s.execute(ctx, h)
		if err != nil || current {
			return sources, err
		}
		s.dropList()
		s.list = nil
	}
	sources, _, err := s.execute(ctx, h)
	return sources, err
}

// execute sends the statement of the search. current is false if it used an outdated list.
func (s search) execute(ctx context.Context, h *data.Handle) (sources []Source, current bool, err error) {
	args := filter.NewArgs()
	statement := s.sql(args)
	b := h.Batch()
	for _, setting := range s.settings(len(args.Values())) {
		b.Set(setting.name, setting.value)
	}
	b.Query(func(rows pgx.Rows) (err error) {
		sources, err = s.read(rows)
		return err
	}, statement, args.Values()...)
	current = true
	if s.list != nil { // after the search: what is written before this is seen
		b.Query(func(rows pgx.Rows) error {
			var now version
			err := now.read(rows)
			current = s.holds(now)
			return err
		}, versionSQL, s.index.ID)
	}
	err = b.Run(ctx)
	s.setScores(sources)
	return sources, current, err
}

// setScores replaces the values by which the statement ranked by scores, in their order.
func (s search) setScores(sources []Source) {
	switch {
	case s.request.lists():
		for n := range sources {
			sources[n].Score = 0
		}
		return
	case s.request.mode == Hybrid && s.request.fusion.Method == RRF:
		return
	case s.request.mode != Vector:
		score := s.evidence().fusedScore
		if s.request.mode == Keyword {
			score = s.evidence().keywordScore
		}
		for n := range sources {
			sources[n].Score = score(sources[n].Score)
		}
		return
	}
	for n := range sources {
		score := s.index.Score(sources[n].Score)
		sources[n].Score = score
		if !math.IsNaN(score) {
			sources[n].Similarity = &score
		}
	}
	withoutDirection(sources)
}

// withoutDirection scores vectors of length 0, which have no distance, with 0, or
// like the worst of the others if that is less: they come last.
func withoutDirection(sources []Source) {
	least := 0.0
	for n := range sources {
		if math.IsNaN(sources[n].Score) {
			sources[n].Score = least
		}
		least = min(least, sources[n].Score)
	}
}

// Similar returns the sources whose similarity is greater than least, all for nil.
func Similar(least *float64, sources []Source) []Source {
	if least == nil {
		return sources
	}
	kept := sources[:0:0]
	for _, source := range sources {
		if source.Similarity != nil && *source.Similarity > *least {
			kept = append(kept, source)
		}
	}
	return kept
}

// above returns the sources that score more than least. They are best first.
func above(least *float64, sources []Source) []Source {
	if least == nil {
		return sources
	}
	for n, source := range sources {
		if source.Score <= *least {
			return sources[:n]
		}
	}
	return sources
}

// read returns the rows of the statement as sources, scanned by position.
func (s search) read(rows pgx.Rows) ([]Source, error) {
	var r SourceRow
	var raw rawScores
	into := []any{&r.ChunkID, &r.Text, &r.Metadata}
	if !s.request.plain {
		into = append(into, &r.DocumentID, &r.URI, &r.Title, &r.Ordinal, &r.StartByte, &r.EndByte)
	}
	if s.vectors() {
		into = append(into, &r.Embedding)
	}
	if s.scores() {
		into = append(into, &raw.Keyword, &raw.Adjacent, &raw.Distance)
	}
	var terms index.Terms
	var termsOf [][]byte
	if s.reweighs() {
		into = append(into, &terms.Terms)
	}
	if s.rest != nil {
		into = append(into, &s.rest.Evidence, &s.rest.Keyword)
	}
	sources := make([]Source, 0, s.request.fetch())
	_, err := pgx.ForEachRow(rows, append(into, &r.RankValue), func() error {
		source := r.Source()
		if source.Text == "" && source.DocumentID == "" && !s.request.plain {
			source.Text = metadataText(source.Metadata)
		}
		if s.scores() {
			source.BM25, source.Adjacent = raw.Keyword, raw.Adjacent
			source.Similarity, source.KeywordScore = s.scoresOf(raw)
		}
		if s.reweighs() {
			termsOf = append(termsOf, terms.Terms)
		}
		sources = append(sources, source)
		return nil
	})
	if err == nil && s.reweighs() {
		err = s.reweigh(sources, termsOf)
	}
	return sources, err
}

// SourceRow is a chunk as a statement returns it. Columns that were not asked for
// are zero.
type SourceRow struct {
	ChunkID    string
	DocumentID *string
	URI        *string
	Title      string
	Ordinal    int
	Text       string
	Metadata   string // the JSON of an object
	StartByte  int
	EndByte    int
	Embedding  *pgvector.Vector
	RankValue  float64 // a distance in vector mode, else a value that grows with the score
}

// Source returns the row as a source, whose score is its RankValue.
func (r SourceRow) Source() Source {
	s := Source{
		ID: r.ChunkID, DocumentID: valueOr(r.DocumentID, ""), URI: valueOr(r.URI, ""), Title: r.Title, Ordinal: r.Ordinal,
		Text: r.Text, Metadata: r.Metadata, Score: r.RankValue, StartByte: r.StartByte, EndByte: r.EndByte,
	}
	if r.Embedding != nil {
		s.Vector = r.Embedding.Slice()
	}
	return s
}
