//go:build !race

package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/graph/names"
	"github.com/ragdhq/ragd/internal/graph/walk"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
)

// design is a variant of building and walking a graph.
type design struct {
	name      string
	without   names.Kind
	noGraph   bool
	restart   float64
	least     float64
	seeds     int
	named     float64 // weight of named seeds
	weak      float64 // factor for headings and paths that the question names
	spread    float64 // part of it for found chunks of the same document
	towards   float64 // further weight of edges to documents that were found
	nested    bool    // names inside of names in the question count too
	mentions  int     // most of a name that is followed
	noCounts  bool    // mentions weigh 1
	backwards float64 // edges from the named to the naming, by this much lighter
	similar   float64 // threshold of similar edges
	fused     bool    // walk and first stage joined by reciprocal rank
	steps     int
	next      float64 // weight of edges between neighbours,
	sections  float64 // from the head of a document to its other chunks,
	heads     float64 // and back
}

// asBuilt is the design of the product, without edges within documents. chunked is the
// same with these edges.
var asBuilt = design{restart: defaultRestart, least: leastWeight, seeds: seedCount, named: namedWeight, weak: weakName, spread: namedSpread, towards: towardsWeight, mentions: maxMentions}

var chunked = func() design {
	d := asBuilt
	d.next, d.sections = nextWeight, nextWeight
	return d
}()

// designs returns the rows of the first table in docs/explanation/graph.md: variants of one
// design.
func designs(built design) []design {
	var all []design
	with := func(name string, change func(*design)) {
		d := built
		d.name = name
		change(&d)
		all = append(all, d)
	}
	with("first stage alone (BM25)", func(d *design) { d.noGraph = true })
	with(builtName, func(*design) {})
	with("100 steps instead of endless", func(d *design) { d.steps = 100 })
	with("mentions weigh 1, however common", func(d *design) { d.noCounts = true })
	with("names followed however common", func(d *design) { d.mentions = math.MaxInt })
	with("names followed up to 20 mentions", func(d *design) { d.mentions = 20 })
	with("no seeds named by the question", func(d *design) { d.named = 0 })
	with("headings and paths weigh as titles there", func(d *design) { d.weak = 1 })
	with("other found chunks of named documents weigh no more", func(d *design) { d.spread = 0 })
	with("edges to found documents weigh no more", func(d *design) { d.towards = 0 })
	with("names inside of names in the question too", func(d *design) { d.nested = true })
	with("named seeds weigh 1", func(d *design) { d.named = 1 })
	with("named seeds weigh 10", func(d *design) { d.named = 10 })
	with("restart 0.15", func(d *design) { d.restart = 0.15 })
	with("restart 0.3", func(d *design) { d.restart = 0.3 })
	with("restart 0.7", func(d *design) { d.restart = 0.7 })
	with("weak edges take all steps", func(d *design) { d.least = 0 })
	with("3 seeds found", func(d *design) { d.seeds = 3 })
	with("5 seeds found", func(d *design) { d.seeds = 5 })
	with("edges backwards too, weight 0.3", func(d *design) { d.backwards = 0.3 })
	with("walk and first stage fused by rank", func(d *design) { d.fused = true })
	with("similar edges over 0.7", func(d *design) { d.similar = 0.7 })
	with("similar edges over 0.5", func(d *design) { d.similar = 0.5 })
	for _, kind := range []names.Kind{names.TitleSegment, names.Identifier, names.Path, names.Heading, names.Term} {
		with("without names of kind "+string(kind), func(d *design) { d.without = kind })
	}
	return all
}

// builtName is the row of the design of the product.
const builtName = "as built"

// sectionDesigns returns the rows of the second table in docs/explanation/graph.md, over
// documents in pieces of which the first is the head.
func sectionDesigns() []design {
	all := []design{
		{name: "mentions alone"},
		{name: "and reading order", next: nextWeight},
		{name: "and from heads to parts, **as built**", next: nextWeight, sections: nextWeight},
		{name: "and from parts to heads", next: nextWeight, heads: nextWeight},
		{name: "and both", next: nextWeight, sections: nextWeight, heads: nextWeight},
	}
	for i, d := range all {
		all[i] = asBuilt
		all[i].name, all[i].next, all[i].sections, all[i].heads = d.name, d.next, d.sections, d.heads
	}
	return all
}

// corpusGraph is the graph of a labelled set, in memory. Its chunks are the
// documents of set.
type corpusGraph struct {
	set      *dataset.Set
	head     []int                      // first chunk of the document, by chunk
	names    map[names.Key][]namedChunk // by chunk
	mentions [][]names.Key              // by chunk
	counts   map[names.Key]int          // chunks that mention the name
	found    [][]int                    // first stage, by question
	similar  []walk.Edge
}

// namedChunk is a chunk that has a name.
type namedChunk struct {
	chunk int
	kind  names.Kind
}

// newCorpusGraph cuts the documents of a set into chunks of up to size characters,
// makes one chunk of each if size is 0, or cuts as ingest does by default if it is
// asIngested.
func newCorpusGraph(t *testing.T, whole *dataset.Set, size int) *corpusGraph {
	t.Helper()
	set := &dataset.Set{}
	g := &corpusGraph{set: set, names: map[names.Key][]namedChunk{}, counts: map[names.Key]int{}}
	chunks := map[int]int{} // heads, by document of the whole set
	for i, d := range whole.Documents {
		chunks[i] = len(set.Documents)
		for _, piece := range pieces(t, d.Text, size) {
			g.head = append(g.head, chunks[i])
			set.Documents = append(set.Documents, dataset.Document{ID: d.ID, Title: d.Title, Text: piece})
			set.Texts = append(set.Texts, strings.TrimSpace(d.Title+"\n"+piece))
		}
	}
	for _, q := range whole.Questions {
		relevant := map[int]bool{}
		for document := range q.Relevant {
			relevant[chunks[document]] = true
		}
		set.Questions = append(set.Questions, dataset.Question{Text: q.Text, Relevant: relevant})
	}
	for i, d := range set.Documents {
		found := names.InText(d.Text)
		if g.head[i] == i {
			found = slices.Concat(names.OfDocument(d.Title, d.ID, ""), found)
		}
		for _, name := range found {
			known := g.names[name.Key]
			if len(known) == 0 || known[len(known)-1].chunk != i {
				g.names[name.Key] = append(known, namedChunk{i, name.Kind})
			}
		}
	}
	known := func(key names.Key) bool { return g.names[key] != nil }
	for _, d := range set.Documents {
		mentioned := names.Mentioned(names.Keys(names.Phrases(d.Text)), known)
		g.mentions = append(g.mentions, mentioned)
		for _, key := range mentioned {
			g.counts[key]++
		}
	}
	ranker := dataset.NewBM25(set.Texts)
	for _, q := range set.Questions {
		g.found = append(g.found, dataset.Best(ranker.Scores(q.Text), 50))
	}
	return g
}

// asIngested stands for the chunk size of ingest for Markdown.
const asIngested = -1

// pieces cuts a text as ingest does, into chunks of up to size characters, or not
// at all if size is 0.
func pieces(t *testing.T, text string, size int) (all []string) {
	t.Helper()
	if size == 0 {
		return []string{text}
	}
	options, err := chunk.Settings{MaxSize: &size, Overlap: new(0)}.Options()
	if size == asIngested {
		options, err = chunk.Settings{}.RetrievalOptions("text/markdown", "")
	}
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := chunk.Split(t.Context(), text, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		all = append(all, c.Text)
	}
	return all
}

// definitions returns the chunks that a name leads to in a design.
func (g *corpusGraph) definitions(key names.Key, d design) []namedChunk {
	var out []namedChunk
	for _, n := range g.names[key] {
		if n.kind != d.without {
			out = append(out, n)
		}
	}
	if len(out) > maxDefinitions {
		return nil
	}
	return out
}

func (g *corpusGraph) edges(t *testing.T, d design) []walk.Edge {
	var edges []walk.Edge
	for from, keys := range g.mentions {
		for _, key := range keys {
			definitions := g.definitions(key, d)
			if g.counts[key] > d.mentions {
				continue
			}
			weight := mentionWeight(len(definitions), g.counts[key])
			if d.noCounts {
				weight = 1 / float64(max(len(definitions), 1))
			}
			for _, n := range definitions {
				if to := n.chunk; to != from {
					edges = append(edges, walk.Edge{From: int32(from), To: int32(to), Weight: weight}, walk.Edge{From: int32(to), To: int32(from), Weight: d.backwards * weight})
				}
			}
		}
	}
	edges = append(edges, g.within(d)...)
	if d.similar > 0 {
		if g.similar == nil {
			g.similar = nearest(t, g.set.Texts, 8)
		}
		for _, edge := range g.similar {
			if edge.Weight >= d.similar {
				edges = append(edges, walk.Edge{From: edge.From, To: edge.To, Weight: similarWeight * edge.Weight}, walk.Edge{From: edge.To, To: edge.From, Weight: similarWeight * edge.Weight})
			}
		}
	}
	return edges
}

// within returns the edges between chunks of one document.
func (g *corpusGraph) within(d design) (edges []walk.Edge) {
	for i, head := range g.head {
		chunk, head := int32(i), int32(head)
		if head < chunk {
			edges = append(edges, walk.Edge{From: chunk, To: chunk - 1, Weight: d.next}, walk.Edge{From: chunk - 1, To: chunk, Weight: d.next})
		}
		if head < chunk-1 {
			edges = append(edges, walk.Edge{From: head, To: chunk, Weight: d.sections}, walk.Edge{From: chunk, To: head, Weight: d.heads})
		}
	}
	return edges
}

// rank returns the heads of the documents that answer a question, best first.
func (g *corpusGraph) rank(t *testing.T, adjacency *walk.Adjacency, edges []walk.Edge, question int, d design) []int {
	found := g.found[question]
	if d.noGraph {
		return g.documents(found)
	}
	a := adjacency
	if favoured := g.favoured(edges, found, d); favoured != nil {
		a = walk.NewAdjacency(len(g.set.Documents), favoured, d.least)
	}
	scores, err := a.Walk(t.Context(), g.seeds(question, d), walk.Options{Restart: d.restart, Steps: d.steps})
	if err != nil {
		t.Fatal(err)
	}
	walked := dataset.Best(scores, 50)
	if d.fused {
		return g.documents(dataset.Best(dataset.Fuse(len(g.head), walked, found), 50))
	}
	return g.documents(append(walked, found...))
}

// seeds returns the chunks that a question names and the best of the first stage.
func (g *corpusGraph) seeds(question int, d design) (seeds []walk.Seed) {
	named := names.InQuestion
	if d.nested {
		named = func(question string, known func(names.Key) bool) []names.Key {
			return names.Mentioned(names.Keys(names.Phrases(question)), known)
		}
	}
	known := func(key names.Key) bool { return len(g.definitions(key, d)) > 0 }
	documents, chunks := map[int]float64{}, map[int]bool{}
	for _, key := range named(g.set.Questions[question].Text, known) {
		definitions := g.definitions(key, d)
		for _, n := range definitions {
			weight := d.named / namedWeight * namedSeedWeight(n.kind, len(definitions))
			if n.kind == names.Heading || n.kind == names.Path {
				weight *= d.weak / weakName
			}
			seeds = append(seeds, walk.Seed{Node: int32(n.chunk), Weight: weight})
			documents[g.head[n.chunk]] += weight
			chunks[n.chunk] = true
		}
	}
	found := g.found[question]
	for rank, chunk := range found[:min(d.seeds, len(found))] {
		weight := foundSeedWeight(rank)
		if !chunks[chunk] {
			weight *= 1 + d.spread*documents[g.head[chunk]]
		}
		seeds = append(seeds, walk.Seed{Node: int32(chunk), Weight: weight})
	}
	return seeds
}

// favoured returns the edges with more weight for those that lead to found documents, or
// nil if there are none of these.
func (g *corpusGraph) favoured(edges []walk.Edge, found []int, d design) []walk.Edge {
	factors := map[int]float64{}
	for rank, chunk := range found[:min(towardsCount, len(found))] {
		if head := g.head[chunk]; factors[head] == 0 {
			factors[head] = 1 + d.towards/towardsWeight*(towardsFactor(rank)-1)
		}
	}
	var favoured []walk.Edge
	for i, edge := range edges {
		if factor := factors[g.head[edge.To]]; factor > 0 && g.head[edge.From] != g.head[edge.To] {
			if favoured == nil {
				favoured = slices.Clone(edges)
			}
			favoured[i].Weight *= factor
		}
	}
	return favoured
}

// documents returns the heads of the chunks' documents, each once.
func (g *corpusGraph) documents(chunks []int) (heads []int) {
	seen := map[int]bool{}
	for _, chunk := range chunks {
		if head := g.head[chunk]; !seen[head] {
			seen[head] = true
			heads = append(heads, head)
		}
	}
	return heads
}

// measured is the quality of one design on one set.
type measured struct{ recall2, recall5, recall10, all5 float64 }

func (g *corpusGraph) measure(t *testing.T, d design) measured {
	edges := g.edges(t, d)
	adjacency := walk.NewAdjacency(len(g.set.Documents), edges, d.least)
	var m measured
	share := 1 / float64(len(g.set.Questions))
	for i, q := range g.set.Questions {
		ranking := g.rank(t, adjacency, edges, i, d)
		recall := func(k int) float64 {
			hits := 0.0
			for _, chunk := range ranking[:min(k, len(ranking))] {
				if q.Relevant[chunk] {
					hits++
				}
			}
			return hits / float64(len(q.Relevant))
		}
		m.recall2 += share * recall(2)
		m.recall5 += share * recall(5)
		m.recall10 += share * recall(10)
		m.all5 += share * math.Floor(recall(5)+1e-9)
	}
	return m
}

// nearest returns edges from each text to the k nearest by the builtin model.
func nearest(t *testing.T, texts []string, k int) []walk.Edge {
	t.Helper()
	model, err := embed.NewRegistry(embed.Config{}).Model(t.Context(), "", "builtin/hash-512")
	if err != nil {
		t.Fatal(err)
	}
	var vectors [][]float32
	for batch := range slices.Chunk(texts, 256) {
		made, err := model.Embed(t.Context(), "acme", batch)
		if err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, made...)
	}
	near := make([][]walk.Scored, len(vectors))
	for i, a := range vectors {
		for j, b := range vectors[:i] {
			var cosine float32
			for x := range a {
				cosine += a[x] * b[x]
			}
			if cosine >= 0.5 {
				near[i] = append(near[i], walk.Scored{Node: int32(j), Score: float64(cosine)})
				near[j] = append(near[j], walk.Scored{Node: int32(i), Score: float64(cosine)})
			}
		}
	}
	var edges []walk.Edge
	for i := range near {
		slices.SortFunc(near[i], func(a, b walk.Scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Node, b.Node)) })
		for _, s := range near[i][:min(k, len(near[i]))] {
			edges = append(edges, walk.Edge{From: int32(i), To: s.Node, Weight: s.Score})
		}
	}
	return edges
}

// labelled are the sets to measure on, and what the graph is held to on each. They need
// RAGD_TEST_DATASETS but for those of the examples.
var labelled = []struct {
	name         string
	whole, piece measured
	load         func(t *testing.T) *dataset.Set
}{
	{"2wikimultihopqa", measured{0.75, 0.96, 0.98, 0.90}, measured{0.75, 0.92, 0.95, 0.82}, func(t *testing.T) *dataset.Set { return dataset.Load(t, "2wikimultihopqa") }},
	{"examples/multihop", measured{0.62, 0.87, 0.95, 0.71}, measured{0.62, 0.88, 0.92, 0.70}, func(t *testing.T) *dataset.Set { return dataset.LoadFolder(t, "../../examples/multihop") }},
	{"squad-xquad-en", measured{0.915, 0.945, 0.96, 0.945}, measured{0.86, 0.93, 0.94, 0.93}, func(t *testing.T) *dataset.Set { return dataset.Load(t, "squad-xquad-en") }},
}

// TestQualityOnLabelledSets prints the tables of docs/explanation/graph.md and holds what they
// promise.
func TestQualityOnLabelledSets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	for _, s := range labelled {
		t.Run(s.name, func(t *testing.T) {
			whole := newCorpusGraph(t, s.load(t), 0)
			t.Log(whole.table(t, designs(asBuilt), builtName, s.whole))
		})
		t.Run(s.name+" in pieces", func(t *testing.T) {
			cut := newCorpusGraph(t, s.load(t), 100)
			t.Log(cut.table(t, sectionDesigns(), "and from heads to parts, **as built**", s.piece))
		})
	}
}

// manualDesigns are the rows for a manual, whose pages have many chunks.
var manualDesigns = []string{
	"first stage alone (BM25)", builtName, "no seeds named by the question", "headings and paths weigh as titles there",
	"other found chunks of named documents weigh no more", "edges to found documents weigh no more", "without names of kind term",
}

// TestQualityOnAManual holds what docs/explanation/graph.md promises for a manual, which
// names pages by identifiers. Weights were chosen on the half dev.
func TestQualityOnAManual(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for half, floor := range map[string]measured{"dev": {0.66, 0.85, 0.92, 0.74}, "test": {0.68, 0.88, 0.93, 0.80}} {
		t.Run(half, func(t *testing.T) {
			set := dataset.LoadFolder(t, "../../examples/postgresql-manual")
			set.Questions = slices.DeleteFunc(set.Questions, func(q dataset.Question) bool { return !strings.HasPrefix(q.ID, half) })
			few := slices.DeleteFunc(designs(chunked), func(d design) bool { return !slices.Contains(manualDesigns, d.name) })
			t.Log(newCorpusGraph(t, set, asIngested).table(t, few, builtName, floor))
		})
	}
}

// table measures the designs, and fails when the named one is not as good as that.
func (g *corpusGraph) table(t *testing.T, designs []design, held string, floor measured) string {
	t.Helper()
	table := fmt.Sprintf("\n| design, %d chunks | recall@2 | recall@5 | recall@10 | all in 5 |\n|---|---|---|---|---|\n", len(g.head))
	for _, d := range designs {
		m := g.measure(t, d)
		table += fmt.Sprintf("| %s | %.3f | %.3f | %.3f | %.3f |\n", d.name, m.recall2, m.recall5, m.recall10, m.all5)
		if d.name == held && (m.recall2 < floor.recall2 || m.recall5 < floor.recall5 || m.recall10 < floor.recall10 || m.all5 < floor.all5) {
			t.Errorf("got %+v, want at least %+v", m, floor)
		}
	}
	return table
}
