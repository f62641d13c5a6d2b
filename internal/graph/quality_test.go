package graph

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/testset"
)

// design is one way to build and walk a graph; fields say what differs from how
// it is done.
type design struct {
	name      string
	without   NameKind
	noGraph   bool
	restart   float64
	least     float64
	seeds     int
	named     float64 // weight of named seeds
	nested    bool    // names inside of names in the question count too
	mentions  int     // most of a name that is followed
	noCounts  bool    // mentions weigh 1
	backwards float64 // edges from the named to the naming, by this much lighter
	similar   float64 // threshold of similar edges
	fused     bool    // walk and first stage joined by reciprocal rank
	steps     int
}

// designs are the rows of the table in docs/graph.md.
func designs() []design {
	base := design{restart: DefaultRestart, least: leastWeight, seeds: seedCount, named: namedWeight, mentions: mostMentions}
	var all []design
	with := func(name string, change func(*design)) {
		d := base
		d.name = name
		change(&d)
		all = append(all, d)
	}
	with("first stage alone (BM25)", func(d *design) { d.noGraph = true })
	with("as built, mentions alone", func(*design) {})
	with("100 steps instead of endless", func(d *design) { d.steps = 100 })
	with("mentions weigh 1, however common", func(d *design) { d.noCounts = true })
	with("names followed however common", func(d *design) { d.mentions = math.MaxInt })
	with("names followed up to 20 mentions", func(d *design) { d.mentions = 20 })
	with("no seeds named by the question", func(d *design) { d.named = 0 })
	with("names inside of names in the question too", func(d *design) { d.nested = true })
	with("named seeds weigh 1", func(d *design) { d.named = 1 })
	with("named seeds weigh 10", func(d *design) { d.named = 10 })
	with("restart 0.15", func(d *design) { d.restart = 0.15 })
	with("restart 0.3", func(d *design) { d.restart = 0.3 })
	with("restart 0.7", func(d *design) { d.restart = 0.7 })
	with("weak links take all steps", func(d *design) { d.least = 0 })
	with("3 seeds found", func(d *design) { d.seeds = 3 })
	with("5 seeds found", func(d *design) { d.seeds = 5 })
	with("edges backwards too, weight 0.3", func(d *design) { d.backwards = 0.3 })
	with("walk and first stage fused by rank", func(d *design) { d.fused = true })
	with("similar edges over 0.7", func(d *design) { d.similar = 0.7 })
	with("similar edges over 0.5", func(d *design) { d.similar = 0.5 })
	for _, kind := range []NameKind{TitlePart, Identifier, Path, Heading, Term} {
		with("without names of kind "+string(kind), func(d *design) { d.without = kind })
	}
	return all
}

// corpusGraph is the graph of a labelled set, in memory.
type corpusGraph struct {
	set      *testset.Set
	names    map[Key][]definition // by chunk
	mentions [][]Key              // by chunk
	counts   map[Key]int          // chunks that mention the name
	found    [][]int              // first stage, by question
	similar  []Link
}

// definition is a chunk that has a name.
type definition struct {
	chunk int
	kind  NameKind
}

func newCorpusGraph(t *testing.T, set *testset.Set) *corpusGraph {
	t.Helper()
	g := &corpusGraph{set: set, names: map[Key][]definition{}, counts: map[Key]int{}}
	for i, d := range set.Documents {
		for _, name := range slices.Concat(NamesOfDocument(d.Title, d.ID), NamesInText(d.Text)) {
			known := g.names[name.Key]
			if len(known) == 0 || known[len(known)-1].chunk != i {
				g.names[name.Key] = append(known, definition{i, name.Kind})
			}
		}
	}
	known := func(key Key) bool { return g.names[key] != nil }
	for _, d := range set.Documents {
		mentioned := Mentions(Phrases(d.Text), known)
		g.mentions = append(g.mentions, mentioned)
		for _, key := range mentioned {
			g.counts[key]++
		}
	}
	ranker := testset.NewBM25(set.Texts)
	for _, q := range set.Questions {
		g.found = append(g.found, testset.Best(ranker.Scores(q.Text), 50))
	}
	return g
}

// definitions returns the chunks that a name leads to in a design.
func (g *corpusGraph) definitions(key Key, d design) []int {
	var out []int
	for _, n := range g.names[key] {
		if n.kind != d.without {
			out = append(out, n.chunk)
		}
	}
	return out
}

func (g *corpusGraph) adjacency(t *testing.T, d design) *Adjacency {
	var links []Link
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
			for _, to := range definitions {
				if to != from {
					links = append(links, Link{int32(from), int32(to), weight}, Link{int32(to), int32(from), d.backwards * weight})
				}
			}
		}
	}
	if d.similar > 0 {
		if g.similar == nil {
			g.similar = nearest(t, g.set.Texts, 8)
		}
		for _, link := range g.similar {
			if link.Weight >= d.similar {
				links = append(links, Link{link.From, link.To, similarWeight * link.Weight}, Link{link.To, link.From, similarWeight * link.Weight})
			}
		}
	}
	return NewAdjacency(len(g.set.Documents), links, Shape{Least: d.least})
}

// rank returns the ranking of a question.
func (g *corpusGraph) rank(a *Adjacency, question int, d design) []int {
	found := g.found[question]
	if d.noGraph {
		return found
	}
	var seeds []Seed
	for rank, chunk := range found[:min(d.seeds, len(found))] {
		seeds = append(seeds, Seed{int32(chunk), foundSeedWeight(rank)})
	}
	known := func(key Key) bool { return len(g.definitions(key, d)) > 0 }
	named := Named
	if d.nested {
		named = func(question string, known func(Key) bool) []Key { return Mentions(Phrases(question), known) }
	}
	for _, key := range named(g.set.Questions[question].Text, known) {
		definitions := g.definitions(key, d)
		for _, chunk := range definitions {
			seeds = append(seeds, Seed{int32(chunk), d.named / namedWeight * namedSeedWeight(len(definitions))})
		}
	}
	walked := testset.Best(a.Walk(seeds, Walk{Restart: d.restart, Steps: d.steps}), 50)
	if d.fused {
		return testset.Best(testset.Fuse(a.Nodes(), walked, found), 50)
	}
	return unique(append(walked, found...))
}

func unique(ranking []int) []int {
	seen := map[int]bool{}
	return slices.DeleteFunc(ranking, func(v int) bool {
		before := seen[v]
		seen[v] = true
		return before
	})
}

// measured is the quality of one design on one set.
type measured struct{ recall2, recall5, recall10, all5 float64 }

func (g *corpusGraph) measure(t *testing.T, d design) measured {
	a := g.adjacency(t, d)
	var m measured
	share := 1 / float64(len(g.set.Questions))
	for i, q := range g.set.Questions {
		ranking := g.rank(a, i, d)
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

// nearest returns links from each text to the k nearest by the builtin model.
func nearest(t *testing.T, texts []string, k int) []Link {
	t.Helper()
	model, err := embed.NewRegistry(embed.Config{}).Model("builtin/hash-512")
	if err != nil {
		t.Fatal(err)
	}
	var vectors [][]float32
	for batch := range slices.Chunk(texts, 256) {
		made, err := model.Embed(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, made...)
	}
	near := make([][]Scored, len(vectors))
	for i, a := range vectors {
		for j, b := range vectors[:i] {
			var cosine float32
			for x := range a {
				cosine += a[x] * b[x]
			}
			if cosine >= 0.5 {
				near[i] = append(near[i], Scored{int32(j), float64(cosine)})
				near[j] = append(near[j], Scored{int32(i), float64(cosine)})
			}
		}
	}
	var links []Link
	for i := range near {
		sortScored(near[i])
		for _, s := range near[i][:min(k, len(near[i]))] {
			links = append(links, Link{int32(i), s.Node, s.Score})
		}
	}
	return links
}

// TestQualityOnLabelledSets prints the table of docs/graph.md and holds what it
// promises. It needs RAGD_DATASETS but for the set of the examples.
func TestQualityOnLabelledSets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, s := range []struct {
		name  string
		floor measured
		load  func(t *testing.T) *testset.Set
	}{
		{"2wikimultihopqa", measured{0.75, 0.96, 0.98, 0.90}, func(t *testing.T) *testset.Set { return testset.Load(t, "2wikimultihopqa") }},
		{"examples/multihop", measured{0.62, 0.87, 0.95, 0.71}, func(t *testing.T) *testset.Set { return testset.LoadFolder(t, "../../examples/multihop") }},
		{"squad-xquad-en", measured{0.915, 0.945, 0.96, 0.945}, func(t *testing.T) *testset.Set { return testset.Load(t, "squad-xquad-en") }},
	} {
		t.Run(s.name, func(t *testing.T) {
			g := newCorpusGraph(t, s.load(t))
			table := "\n| design | recall@2 | recall@5 | recall@10 | all in 5 |\n|---|---|---|---|---|\n"
			for _, d := range designs() {
				m := g.measure(t, d)
				table += fmt.Sprintf("| %s | %.3f | %.3f | %.3f | %.3f |\n", d.name, m.recall2, m.recall5, m.recall10, m.all5)
				if d.name == "as built, mentions alone" && (m.recall2 < s.floor.recall2 || m.recall5 < s.floor.recall5 || m.recall10 < s.floor.recall10 || m.all5 < s.floor.all5) {
					t.Errorf("got %+v, want at least %+v", m, s.floor)
				}
			}
			t.Log(table)
		})
	}
}
