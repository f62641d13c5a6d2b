//go:build !race

package query_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// sample is a labelled set that stands in the repository.
type sample struct {
	name, folder string
	language     string          // textLanguage of the index
	cut          bool            // documents are cut into chunks as by default; else each is one chunk
	walked       bool            // documents mention each other
	narrow       func(*labelled) // leaves a part of the set; nil for the whole
}

// samples are the sets of TestSampleQuality.
var samples = []sample{
	{name: "multihop", folder: "../../examples/multihop", language: "english", walked: true},
	{name: "manual", folder: "../../examples/postgresql-manual", language: "english", cut: true, walked: true, narrow: firstManualQuestions},
	{name: "english", folder: "testdata/labelled/english", language: "english"},
	{name: "german", folder: "testdata/labelled/languages", language: "german", narrow: inGerman},
	{name: "languages", folder: "testdata/labelled/languages", language: "english", narrow: balanced},
}

// firstManualQuestions leaves the first 40 questions that no weight was chosen with, and the 70 pages
// that they need.
func firstManualQuestions(set *labelled) {
	set.questions = slices.DeleteFunc(set.questions, func(q dataset.Document) bool { return !strings.HasPrefix(q.ID, "test-") })[:40]
	needed := map[string]bool{}
	for _, q := range set.questions {
		for id := range set.judged[q.ID] {
			needed[id] = true
		}
	}
	set.documents = slices.DeleteFunc(set.documents, func(d dataset.Document) bool { return !needed[d.ID] })
}

// inGerman leaves the passages and questions in German.
func inGerman(set *labelled) {
	set.documents = slices.DeleteFunc(set.documents, func(d dataset.Document) bool { return !strings.HasPrefix(d.ID, "de-") })
	set.questions = slices.DeleteFunc(set.questions, func(q dataset.Document) bool { return !strings.HasPrefix(q.ID, "de-") })
}

// balanced leaves the first 20 questions of each language.
func balanced(set *labelled) {
	asked := map[string]int{}
	set.questions = slices.DeleteFunc(set.questions, func(q dataset.Document) bool {
		language, _, _ := strings.Cut(q.ID, "-")
		asked[language]++
		return asked[language] > 20
	})
}

const tenantOfSamples = "quality"

const (
	// floorMargin is by how much a value may be below that in the file of floors.
	floorMargin = 0.01
	// promiseMargin is by how much keyword search may be below BM25, and hybrid search below the
	// better of keyword and vector search.
	promiseMargin = 0.005
	floorsFile    = "testdata/labelled/floors.tsv"
	floorsHeader  = "set\tmode\tnDCG@10\trecall@10\tgap"
)

// TestSampleQuality measures each way to search, through the API with the builtin model, on the sets
// of the repository, and compares it with testdata/labelled/floors.tsv. The README.md beside it tells
// what the floors and gaps are.
func TestSampleQuality(t *testing.T) {
	t.Parallel()
	running := servicetest.New(t, service.Config{})
	c := running.Tenant(t, tenantOfSamples)
	floors, rows := readFloors(t), floorsHeader+"\n"
	for _, s := range samples {
		set := judge(dataset.LoadFolder(t, s.folder))
		if s.narrow != nil {
			s.narrow(&set)
		}
		chunks := s.chunks(t, set)
		t.Logf("%-10s %d questions, %d documents, %d chunks", s.name, len(set.questions), len(set.documents), len(chunks))
		s.create(t, running, c)
		s.upload(t, c, set, len(chunks))
		s.analyze(t, running)
		measured := map[string]measure.Cut{"bm25": bm25(set, chunks)}
		for _, mode := range s.modes() {
			if mode != "bm25" {
				measured[mode] = s.ask(t, c, set, mode)
			}
			row := newRow(mode, measured)
			t.Logf("%-10s %-14s %s", s.name, mode, row)
			rows += fmt.Sprintf("%s\t%s\t%s\n", s.name, mode, row)
			row.compare(t, s.name+" "+mode, floors[s.name+" "+mode])
		}
	}
	if *query.Update {
		if err := os.WriteFile(floorsFile, []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// modes returns what is measured on the sample: plain BM25 first, with which the others are compared.
func (s sample) modes() []string {
	modes := []string{"bm25", "keyword", "vector", "hybrid", reranked}
	if s.walked {
		modes = append(modes, "walk")
	}
	return modes
}

// row is what was measured for one mode on one set.
type row struct {
	ndcg, recall float64
	gap          float64 // by how much the mode is below what it is never to be below; 0 if it is not
}

// newRow returns the row of a mode. Those that it is compared with are measured.
func newRow(mode string, measured map[string]measure.Cut) row {
	m := measured[mode]
	r := row{ndcg: m.NDCG, recall: m.Recall}
	for _, other := range map[string][]string{"keyword": {"bm25"}, "hybrid": {"keyword", "vector"}}[mode] {
		r.gap = max(r.gap, measured[other].NDCG-m.NDCG, measured[other].Recall-m.Recall)
	}
	return r
}

// String returns the row as the file of floors has it.
func (r row) String() string { return fmt.Sprintf("%.4f\t%.4f\t%.4f", r.ndcg, r.recall, r.gap) }

// compare fails the test if the row is worse than the one in the file of floors.
func (r row) compare(t *testing.T, name string, floor row) {
	t.Helper()
	if *query.Update {
		return
	}
	if r.ndcg < floor.ndcg-floorMargin || r.recall < floor.recall-floorMargin {
		t.Errorf("%s: nDCG@10 %.4f and recall@10 %.4f are more than %.3f below %.4f and %.4f", name, r.ndcg, r.recall, floorMargin, floor.ndcg, floor.recall)
	}
	if r.ndcg > floor.ndcg+floorMargin || r.recall > floor.recall+floorMargin {
		t.Logf("%s is better than in %s: -update raises the floor", name, floorsFile)
	}
	switch known := floor.gap > promiseMargin; {
	case r.gap <= promiseMargin:
	case known && r.gap <= floor.gap+promiseMargin:
		t.Logf("%s is %.4f below what it is promised not to be below, as is known", name, r.gap)
	default:
		t.Errorf("%s is %.4f below what it is promised not to be below: BM25 for keyword search, the better of keyword and vector search for hybrid search", name, r.gap)
	}
}

// readFloors reads the file of floors, by set and mode.
func readFloors(t *testing.T) map[string]row {
	t.Helper()
	content, err := os.ReadFile(floorsFile)
	if err != nil {
		t.Fatal(err)
	}
	floors := map[string]row{}
	for line := range bytes.Lines(content) {
		fields := strings.Fields(string(line))
		if strings.Join(fields, "\t") == floorsHeader {
			continue
		}
		var r row
		if _, err := fmt.Sscan(strings.Join(fields[2:], " "), &r.ndcg, &r.recall, &r.gap); err != nil {
			t.Fatalf("%s: %q: %v", floorsFile, line, err)
		}
		floors[fields[0]+" "+fields[1]] = r
	}
	return floors
}

// create creates the index of the sample. Its scores keep the scale of an index that is too small to
// measure one: a measured one depends on when a service does that and on the random ids of
// documents, so that two runs would differ.
func (s sample) create(t *testing.T, running *servicetest.Service, c servicetest.Client) {
	t.Helper()
	request := &ragdv1.CreateIndexRequest{IndexName: s.name, TextLanguage: s.language, Graph: &ragdv1.GraphSettings{Off: !s.walked}}
	if _, err := c.CreateIndex(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	never := index.Scale{Chunks: math.MaxInt32} // it is measured again when the index is twice as large
	if _, err := running.DB.Handle(tenantOfSamples).Exec(t.Context(), `UPDATE tenant.indexes SET scale = $2 WHERE index_name = $1`, s.name, never); err != nil {
		t.Fatal(err)
	}
}

// analyze updates the statistics of the index as autovacuum does after a while: without them
// PostgreSQL takes several times as long for a question.
func (s sample) analyze(t *testing.T, running *servicetest.Service) {
	t.Helper()
	i, err := running.Handlers.Indexes.Resolve(t.Context(), tenantOfSamples, s.name)
	if err != nil {
		t.Fatal(err)
	}
	b := running.DB.Handle(tenantOfSamples).OfIndex(i.ID, i.Generation).Batch()
	index.FlushTerms(b)
	b.Exec(`ANALYZE tenant.chunk`)
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// upload uploads the documents and waits until all are ready, in as many chunks.
func (s sample) upload(t *testing.T, c servicetest.Client, set labelled, chunks int) {
	t.Helper()
	var documents []*ragdv1.UploadDocumentRequest
	for _, d := range set.documents {
		r := &ragdv1.UploadDocumentRequest{
			IndexName: s.name, Uri: d.ID, Title: d.Title, ContentType: d.ContentType,
			Source: &ragdv1.UploadDocumentRequest_Text{Text: d.Text},
		}
		if !s.cut {
			r.Chunking = &ragdv1.Chunking{MaxSize: new(int32(100_000))}
		}
		documents = append(documents, r)
	}
	c.UploadAll(t, documents)
	if i := c.AwaitAll(t, s.name); int(i.DocumentCount) != len(documents) || int(i.Count) != chunks {
		t.Fatalf("%d documents of %d chunks were uploaded to %v", len(documents), chunks, i)
	}
}

// chunks returns the chunks that ingest makes of the documents, which have the ids of these.
func (s sample) chunks(t *testing.T, set labelled) (chunks []dataset.Document) {
	t.Helper()
	for _, d := range set.documents {
		if !s.cut {
			chunks = append(chunks, d)
			continue
		}
		options, err := chunk.Settings{}.RetrievalOptions(d.ContentType, "")
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := chunk.Split(t.Context(), d.Text, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range pieces {
			chunks = append(chunks, dataset.Document{ID: d.ID, Title: d.Title, Text: piece.Text})
		}
	}
	return chunks
}

// bm25 measures plain BM25 over the titles and texts of chunks.
func bm25(set labelled, chunks []dataset.Document) measure.Cut {
	var texts []string
	for _, c := range chunks {
		texts = append(texts, strings.TrimSpace(c.Title+"\n"+c.Text))
	}
	ranker := dataset.NewBM25(texts)
	return set.measure(func(q dataset.Document) (found []string) {
		for _, i := range dataset.Best(ranker.Scores(q.Text), 10) {
			found = append(found, chunks[i].ID)
		}
		return found
	})
}

// ask measures a mode.
func (s sample) ask(t *testing.T, c servicetest.Client, set labelled, mode string) measure.Cut {
	t.Helper()
	return set.measure(func(q dataset.Document) (found []string) {
		sources, err := s.search(t, c, q.Text, mode)
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sources {
			found = append(found, source.Uri)
		}
		return found
	})
}

// search returns the ten best sources of a question.
func (s sample) search(t *testing.T, c servicetest.Client, question, mode string) ([]*ragdv1.Source, error) {
	t.Helper()
	if mode == "walk" {
		res, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: s.name, QueryText: question})
		return res.GetSources(), err
	}
	request := &ragdv1.VectorQueryRequest{IndexName: s.name, QueryText: question, SearchMode: mode}
	if mode == reranked {
		request.SearchMode, request.Reranker = "hybrid", &ragdv1.Reranker{Kind: "lexical"}
	}
	res, err := c.VectorQuery(t.Context(), request)
	return res.GetSources(), err
}

// measure returns the means over all questions of the documents that search finds, best first.
func (s labelled) measure(search func(dataset.Document) []string) measure.Cut {
	var answers []measure.Answer
	for _, q := range s.questions {
		answers = append(answers, measure.Answer{Judged: s.judged[q.ID], Ranking: measure.Documents(search(q))})
	}
	return measure.Summarize(answers, []int{10}).Cuts[0]
}
