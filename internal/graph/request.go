package graph

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Limits and defaults of a graph query.
const (
	MaxSteps      = 10_000
	MaxCandidates = 1000
	// What comparable libraries walk with, for a graph over candidates.
	candidateRestart = 0.15
	candidateSteps   = 100

	defaultThreshold = 0.7
)

// Options say how a graph is walked. Zero values mean the defaults.
type Options struct {
	Dimension  int      // if given, must be the index's
	Threshold  *float64 // cosine over which chunks are similar; 0.7
	Steps      *int     // of a walk; endless, or 100 over candidates
	Restart    *float64 // probability in (0,1); 0.5, or 0.15 over candidates
	Candidates int      // 0: walk the stored graph; else one over so many chunks found
	EdgeTypes  []EdgeType
}

// Request is a graph query as a caller sends it. Mode says how seeds are found;
// without a Reranker the order of the walk stands.
type Request struct {
	query.Question
	Options Options
}

// Source is one retrieved chunk.
type Source struct {
	query.Source
	// Path says how the walk came to the chunk; empty unless asked for.
	Path string
}

// Response is an answer: sources best first, ties in the order of documents.
type Response struct {
	RelevantContext string
	Sources         []Source
	Warnings        []string
	Explain         *Explain
}

// Explain says how an answer was found.
type Explain struct {
	Mode   query.Mode
	Stages []query.Stage
	Nodes  []Node // those that the walk reached, best first
	Edges  []Edge // between them
	// Reranking says what a second scoring took; nil without one.
	Reranking *rerank.Report
}

// Node is a chunk that the walk saw.
type Node struct {
	ChunkRef
	Title  string
	Score  float64
	Seed   float64 // weight as a seed, 0 if it is none
	Source bool    // whether it is among the sources
}

// Edge is an edge that the walk saw, between two indices of Explain.Nodes.
type Edge struct {
	From, To int
	Type     EdgeType
	Share    float64 // probability that a step from From takes it
	Label    string  // such as: names "X", next to, similar 0.83
}

// walkPlan is a request with everything decided.
type walkPlan struct {
	request   Request
	tenant    tenant.ID
	index     index.Index
	tables    *tenant.Handle
	topK      int
	fetch     int // sources to choose topK from
	seeds     int // of a walk over candidates
	threshold float64
	walk      walk.Options
	types     []EdgeType

	withVectors, withSources bool // whether the answer has them
}

// effective returns the request with the overrides of the request context applied.
func (r Request) effective(c *tenant.Request) (Request, error) {
	var err error
	r.Question, err = r.Question.Effective(c)
	r.Options.Steps = cmp.Or(c.Overrides.RandomWalkSteps, r.Options.Steps)
	r.Options.Restart = cmp.Or(c.Overrides.RestartProb, r.Options.Restart)
	return r, err
}

// plan validates an effective request.
func (r Request) plan(i index.Index) (walkPlan, error) {
	o := r.Options
	restart, steps := defaultRestart, 0
	if o.Candidates > 0 {
		restart, steps = candidateRestart, candidateSteps
	}
	p := walkPlan{
		request: r, index: i, topK: *cmp.Or(r.TopK, new(query.DefaultTopK)), threshold: *cmp.Or(o.Threshold, new(defaultThreshold)),
		walk: walk.Options{Restart: *cmp.Or(o.Restart, &restart), Steps: *cmp.Or(o.Steps, &steps)}, types: o.EdgeTypes,
		withVectors: *cmp.Or(r.IncludeVectors, new(false)), withSources: *cmp.Or(r.IncludeSources, new(true)),
	}
	if len(p.types) == 0 {
		p.types = slices.DeleteFunc(slices.Clone(edgeTypes), func(t EdgeType) bool { return !i.Graph.Keeps(string(t)) })
	}
	var err error
	if p.request.Namespace, err = index.Namespace(r.Namespace); err != nil {
		return p, err
	}
	switch {
	case p.topK < 1 || p.topK > query.MaxTopK:
		return p, fault.Field("topK", "must be between 1 and %d, got %d", query.MaxTopK, p.topK)
	case o.Dimension != 0 && o.Dimension != i.Dimension:
		return p, fault.Field("graphOptions.dimension", "is %d, but index %q has %d; leave it out", o.Dimension, i.Name, i.Dimension)
	case !(p.threshold >= -1 && p.threshold <= 1):
		return p, fault.Field("graphOptions.threshold", "must be between -1 and 1, got %v", p.threshold)
	case o.Steps != nil && (*o.Steps < 1 || *o.Steps > MaxSteps):
		return p, fault.Field("graphOptions.randomWalkSteps", "must be between 1 and %d, got %d", MaxSteps, *o.Steps)
	case !(p.walk.Restart > 0 && p.walk.Restart < 1) || math.IsNaN(p.walk.Restart):
		return p, fault.Field("graphOptions.restartProb", "must be above 0 and below 1, got %v", p.walk.Restart)
	case o.Candidates < 0 || o.Candidates > MaxCandidates:
		return p, fault.Field("graphOptions.candidates", "must be between 0 and %d, got %d", MaxCandidates, o.Candidates)
	}
	if i.Graph.Off && o.Candidates == 0 {
		return p, fault.New(fault.Precondition, "index %q keeps no graph: change its graph by UpdateIndex, or give graphOptions.candidates", i.Name)
	}
	for _, t := range p.types {
		if !slices.Contains(edgeTypes, t) {
			return p, fault.Field("graphOptions.edgeTypes", "unknown type %q; known are mention, next and similar", t)
		}
		if !i.Graph.Keeps(string(t)) && o.Candidates == 0 {
			return p, fault.Field("graphOptions.edgeTypes", "index %q keeps no edges of type %s; leave it out, or change the index's graph", i.Name, t)
		}
	}
	p.fetch, p.seeds = p.topK, p.topK
	if r.Reranker == nil {
		return p, nil
	}
	if strings.TrimSpace(r.QueryText) == "" {
		return p, fault.Field("queryText", "is needed to rerank and must not be blank")
	}
	p.topK, p.fetch, err = r.Reranker.Depth(p.topK)
	return p, err
}
