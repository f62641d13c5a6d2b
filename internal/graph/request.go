package graph

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/budget"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits and defaults of a graph query.
const (
	MaxSteps      = 10_000
	MaxCandidates = 1000
	MaxExplained  = 2000
	// Values of comparable libraries, for the candidate graph.
	candidateRestart = 0.15
	candidateSteps   = 100

	defaultThreshold = 0.7
	defaultExplained = 100
)

// Options says how a graph is walked. Zero values mean the defaults.
type Options struct {
	Dimension  int        // if given, must be the index's
	Threshold  *float64   // lowest cosine of similar edges, in [-1,1]; 0.7
	Steps      *int       // nodes that a walk visits; no limit, or 100 over candidates
	Restart    *float64   // probability of returning to the seeds, in (0,1); 0.5, or 0.15 over candidates
	Candidates int        // size of the candidate graph; 0: walk the stored graph
	EdgeTypes  []EdgeType // of the stored graph; all that the index keeps
}

// Request is a graph query as a caller sends it. Mode says how seeds are found;
// without a Reranker the order of the walk stands.
type Request struct {
	query.Question
	IndexNames   []string            // as in query.Request
	IndexWeights []query.IndexWeight // as in query.Request
	Options      Options
	Scope        Scope
	// ExplainNodes is the number of nodes that an explanation has at most; 100.
	ExplainNodes *int

	several  bool     // one of several indexes is asked, whose sources are reranked together
	crossing crossing // into this index, from the others
}

// Scope says which chunks can answer a question.
type Scope string

// The scopes. The values are those of the API; empty means Local.
const (
	Local  Scope = "local"  // what a walk reaches from the question's seeds
	Global Scope = "global" // the best chunks of several topics
)

// Source is one retrieved chunk.
type Source struct {
	query.Source
	// Path describes how the walk reached the chunk; empty unless the request
	// asks for an explanation.
	Path string
	// Topic is the title of the chunk's topic; empty unless the scope is Global.
	Topic string
}

// Response is the answer to a Request: sources best first, ties by document and
// ordinal.
type Response struct {
	RelevantContext string
	Sources         []Source
	Warnings        []string
	Explain         *Explain       // nil unless asked for
	Reranking       *rerank.Report // nil without a second scoring
	Budget          *budget.Report // nil without MaxTokens
	ID              string         // names the answer, see query.AnswerID; may be empty

	found query.Found // the seeds and what else the search found
	best  float64     // the score of the best seed that the search found, or that passages of other indexes name
}

// Explain describes how an answer was found.
type Explain struct {
	Mode   query.Mode
	Stages []query.Stage
	Nodes  []Node        // that the walk reached, best first; at most Request.ExplainNodes
	Edges  []Edge        // between them
	Topics []ChosenTopic // of a Global answer, best first
	// Repeated is the number of passages that are no sources because they repeat one.
	Repeated int
	// Context is the effective request context.
	Context []access.ContextValue
	// FilterNotes and Profiles are as in query.Explain.
	FilterNotes []string
	Profiles    []query.AppliedProfile
}

// ChosenTopic is a topic of which an answer has chunks.
type ChosenTopic struct {
	TopicID int32
	Title   string
	Reason  string // in English
	Sources int
}

// Node is a chunk that the walk reached.
type Node struct {
	ChunkRef
	IndexName string // of several indexes, else empty
	Title     string
	Score     float64
	Seed      float64 // weight as a seed, 0 for other chunks
	Source    bool    // whether it is among the sources

	Path      string // likeliest path of a walk to it, as Source.Path
	ReachedBy int    // index into Explain.Edges of the last edge of that path; -1 for none
	TopicID   int32  // 0 for none, and where the caller may not see topics

	URI                string
	StartByte, EndByte int // of the chunk in the text of its document
}

// Edge connects two nodes, given as indices of Explain.Nodes.
type Edge struct {
	From, To int
	Type     EdgeType
	Share    float64 // probability that a step from From takes it, if it does not restart
	Label    string  // names "X", next to, similar 0.83
}

// walkPlan is a validated request for one index, with all defaults applied.
type walkPlan struct {
	request   Request
	tenant    tenant.ID
	index     index.Index
	tables    *data.Handle
	topK      int
	fetch     int // sources that a reranker chooses topK from
	seeds     int // of a walk on the candidate graph
	threshold float64
	walk      walk.Options
	types     []EdgeType
	explained int // most nodes of an explanation
	budget    *budget.Budget
	expansion query.Expansion
	boosts    query.Boosters

	withVectors, withSources bool // whether the answer has them
}

// effective returns the request with the overrides of the request context applied.
func (r Request) effective(c *access.Request) (Request, error) {
	var err error
	r.Question, err = r.Effective(c)
	r.Options.Steps = cmp.Or(c.Overrides.RandomWalkSteps, r.Options.Steps)
	r.Options.Restart = cmp.Or(c.Overrides.RestartProb, r.Options.Restart)
	return r, err
}

// profiled returns the request with the parameters of its ranking profile, and which one that is; none with Global, which ranks topics.
func (r Request) profiled(i index.Index) (Request, []query.AppliedProfile, error) {
	if r.Scope == Global {
		return r, nil, nil
	}
	question, applied, err := r.Profiled(i)
	r.Question = question
	if r.several {
		r.Reranker = nil
	}
	return r, applied, err
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
		explained:   *cmp.Or(r.ExplainNodes, new(defaultExplained)),
		withVectors: *cmp.Or(r.IncludeVectors, new(false)), withSources: *cmp.Or(r.IncludeSources, new(true)),
	}
	if len(p.types) == 0 {
		p.types = slices.DeleteFunc(slices.Clone(edgeTypes), func(t EdgeType) bool { return !i.Graph.Keeps(string(t)) })
	}
	var err error
	if p.budget, err = budget.New(r.MaxTokens, r.EncodingName); err != nil {
		return p, err
	}
	if p.expansion, err = r.Expansion(0); err != nil {
		return p, err
	}
	if p.boosts, err = r.Boosters(); err != nil {
		return p, err
	}
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
	case r.Scope != "" && r.Scope != Local && r.Scope != Global:
		return p, fault.Field("scope", "unknown scope %q; known are local and global", r.Scope)
	case r.Scope == Global && (len(o.EdgeTypes) > 0 || o.Candidates > 0 || o.Steps != nil || o.Restart != nil || o.Threshold != nil):
		return p, fault.Field("graphOptions", "cannot be combined with scope global, which does not walk")
	case r.Scope == Global && len(p.boosts) > 0:
		return p, fault.Field("boost", "cannot be combined with scope global, which ranks topics and not chunks; leave it out, or filter instead")
	case r.Scope == Global && strings.TrimSpace(r.QueryText) == "":
		return p, fault.Field("queryText", "is needed for scope global and must not be blank")
	case p.explained < 1 || p.explained > MaxExplained:
		return p, fault.Field("explainNodes", "must be between 1 and %d, got %d", MaxExplained, p.explained)
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
