package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/embed"
	"github.com/ragdhq/ragd/internal/testing/dataset"
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
	next      float64 // weight of edges between neighbours,
	parts     float64 // from the head of a document to its other chunks
	heads     float64 // and back
}

// asBuilt is how it is done, but for edges within documents.
var asBuilt = design{restart: DefaultRestart, least: leastWeight, seeds: seedCount, named: namedWeight, mentions: mostMentions}

// designs are the rows of the first table in docs/graph.md.
func designs() []design {
	var all []design
	with := func(name string, change func(*design)) {
		d := asBuilt
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

// sectionDesigns are the rows of the second: of documents in pieces, of which the first
// is the head.
func sectionDesigns() []design {
	all := []design{
		{name: "mentions alone"},
		{name: "and reading order", next: nextWeight},
		{name: "and from heads to parts, **as built**", next: nextWeight, parts: nextWeight},
		{name: "and from parts to heads", next: nextWeight, heads: nextWeight},
		{name: "and both", next: nextWeight, parts: nextWeight, heads: nextWeight},
	}
	for i, d := range all {
		all[i] = asBuilt
		all[i].name, all[i].next, all[i].parts, all[i].heads = d.name, d.next, d.parts, d.heads
	}
	return all
}

// corpusGraph is the graph of a labelled set, in memory. The documents of the set are
// the chunks.
type corpusGraph struct {
	set      *dataset.Set
	head     []int                // first chunk of the document, by chunk
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

// newCorpusGraph makes chunks of up to so many characters of the set's documents, or
// one of each if size is 0.
func newCorpusGraph(t *testing.T, whole *dataset.Set, size int) *corpusGraph {
	t.Helper()
	set := &dataset.Set{}
	g := &corpusGraph{set: set, names: map[Key][]definition{}, counts: map[Key]int{}}
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
		names := NamesInText(d.Text)
		if g.head[i] == i {
			names = slices.Concat(NamesOfDocument(d.Title, d.ID, ""), names)
		}
		for _, name := range names {
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
	ranker := dataset.NewBM25(set.Texts)
	for _, q := range set.Questions {
		g.found = append(g.found, dataset.Best(ranker.Scores(q.Text), 50))
	}
	return g
}

// pieces cuts a text as ingest does, into chunks of up to so many characters, or not at
// all if size is 0.
func pieces(t *testing.T, text string, size int) (all []string) {
	t.Helper()
	if size == 0 {
		return []string{text}
	}
	options, err := chunk.Settings{MaxSize: &size, Overlap: new(0)}.Options()
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := chunk.Split(text, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		all = append(all, c.Text)
	}
	return all
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
	links = append(links, g.within(d)...)
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

// within returns the links between chunks of one document.
func (g *corpusGraph) within(d design) (links []Link) {
	for i, head := range g.head {
		chunk, head := int32(i), int32(head)
		if head < chunk {
			links = append(links, Link{chunk, chunk - 1, d.next}, Link{chunk - 1, chunk, d.next})
		}
		if head < chunk-1 {
			links = append(links, Link{head, chunk, d.parts}, Link{chunk, head, d.heads})
		}
	}
	return links
}

// rank returns the heads of the documents that answer a question, best first.
func (g *corpusGraph) rank(a *Adjacency, question int, d design) []int {
	found := g.found[question]
	if d.noGraph {
		return g.documents(found)
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
	walked := dataset.Best(a.Walk(seeds, Walk{Restart: d.restart, Steps: d.steps}), 50)
	if d.fused {
		return g.documents(dataset.Best(dataset.Fuse(a.Nodes(), walked, found), 50))
	}
	return g.documents(append(walked, found...))
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

// labelled are the sets to measure on, and what the graph is held to on each. They need
// RAGD_DATASETS but for that of the examples.
var labelled = []struct {
	name         string
	whole, piece measured
	load         func(t *testing.T) *dataset.Set
}{
	{"2wikimultihopqa", measured{0.75, 0.96, 0.98, 0.90}, measured{0.75, 0.92, 0.95, 0.82}, func(t *testing.T) *dataset.Set { return dataset.Load(t, "2wikimultihopqa") }},
	{"examples/multihop", measured{0.62, 0.87, 0.95, 0.71}, measured{0.62, 0.88, 0.92, 0.73}, func(t *testing.T) *dataset.Set { return dataset.LoadFolder(t, "../../examples/multihop") }},
	{"squad-xquad-en", measured{0.915, 0.945, 0.96, 0.945}, measured{0.86, 0.93, 0.94, 0.93}, func(t *testing.T) *dataset.Set { return dataset.Load(t, "squad-xquad-en") }},
}

// TestQualityOnLabelledSets prints the tables of docs/graph.md and holds what they
// promise.
func TestQualityOnLabelledSets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, s := range labelled {
		t.Run(s.name, func(t *testing.T) {
			whole := newCorpusGraph(t, s.load(t), 0)
			t.Log(whole.table(t, designs(), "as built, mentions alone", s.whole))
		})
		t.Run(s.name+" in pieces", func(t *testing.T) {
			cut := newCorpusGraph(t, s.load(t), 100)
			t.Log(cut.table(t, sectionDesigns(), "and from heads to parts, **as built**", s.piece))
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
