package query_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
)

var draw = flag.String("draw", "", "draw the sets in testdata/labelled from this clone of google-deepmind/xquad and from RAGD_TEST_DATASETS")

// TestDrawSamples writes the sets in testdata/labelled, as its README.md describes. The same sources
// give the same files.
func TestDrawSamples(t *testing.T) {
	if *draw == "" {
		t.Skip("writes files, with -draw only")
	}
	drawEnglish(t)
	drawLanguages(t)
}

// drawn is a set to be written.
type drawn struct{ corpus, queries, qrels bytes.Buffer }

func (d *drawn) passage(t *testing.T, id, text string)  { line(t, &d.corpus, id, text) }
func (d *drawn) question(t *testing.T, id, text string) { line(t, &d.queries, id, text) }

func (d *drawn) judgement(question, passage string) {
	if d.qrels.Len() == 0 {
		d.qrels.WriteString("query_id\tdoc_id\trelevance\n")
	}
	fmt.Fprintf(&d.qrels, "%s\t%s\t1\n", question, passage)
}

func line(t *testing.T, to *bytes.Buffer, id, text string) {
	t.Helper()
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}{id, text}); err != nil {
		t.Fatal(err)
	}
}

func (d *drawn) write(t *testing.T, name string) {
	t.Helper()
	folder := filepath.Join("testdata/labelled", name)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(d.corpus.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{"corpus.jsonl.gz": zipped.Bytes(), "queries.jsonl": d.queries.Bytes(), "qrels.tsv": d.qrels.Bytes()} {
		if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// drawEnglish draws 80 questions, and for each the passage that answers it and those that are hardest
// to tell from it: the eight best by BM25 and the four best by the builtin model of all passages.
func drawEnglish(t *testing.T) {
	t.Helper()
	set := dataset.Load(t, "squad-xquad-en")
	questions := shuffled(set.Questions, func(q dataset.Question) string { return q.ID })[:80]
	model, err := embed.NewRegistry(embed.Config{}).Model(t.Context(), "", "builtin/hash-512")
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := model.Embed(t.Context(), "acme", set.Texts)
	if err != nil {
		t.Fatal(err)
	}
	bm25, kept := dataset.NewBM25(set.Texts), map[int]bool{}
	var out drawn
	for _, q := range questions {
		asked, err := model.Embed(t.Context(), "acme", []string{q.Text})
		if err != nil {
			t.Fatal(err)
		}
		cosines := make([]float64, len(vectors))
		for i, v := range vectors {
			for d := range v {
				cosines[i] += float64(v[d]) * float64(asked[0][d])
			}
		}
		for _, i := range slices.Concat(dataset.Best(bm25.Scores(q.Text), 8), dataset.Best(cosines, 4)) {
			kept[i] = true
		}
		out.question(t, q.ID, q.Text)
		for i := range q.Relevant {
			kept[i] = true
			out.judgement(q.ID, set.Documents[i].ID)
		}
	}
	for i, d := range set.Documents {
		if kept[i] {
			out.passage(t, d.ID, d.Text)
		}
	}
	out.write(t, "english")
}

// drawLanguages takes all 240 passages in each of four languages. It draws 40 questions in German and
// 20 in each of the others, none in two languages.
func drawLanguages(t *testing.T) {
	t.Helper()
	var out drawn
	from := 0
	for _, l := range []struct {
		language  string
		questions int
	}{{"de", 40}, {"es", 20}, {"ru", 20}, {"zh", 20}} {
		var source struct {
			Data []struct {
				Paragraphs []struct {
					Context string
					QAs     []struct{ ID, Question string }
				}
			}
		}
		content, err := os.ReadFile(filepath.Join(*draw, "xquad."+l.language+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, &source); err != nil {
			t.Fatal(err)
		}
		type question struct{ id, text, passage string }
		var all []question
		passages := 0
		for _, article := range source.Data {
			for _, p := range article.Paragraphs {
				id := fmt.Sprintf("%s-%03d", l.language, passages)
				passages++
				out.passage(t, id, p.Context)
				for _, q := range p.QAs {
					all = append(all, question{q.ID, q.Question, id})
				}
			}
		}
		for _, q := range shuffled(all, func(q question) string { return q.id })[from : from+l.questions] {
			id := l.language + "-" + q.id
			out.question(t, id, q.text)
			out.judgement(id, q.passage)
		}
		from += l.questions
	}
	out.write(t, "languages")
}

// shuffled returns the items in the order of the hashes of their ids.
func shuffled[T any](items []T, id func(T) string) []T {
	return slices.SortedFunc(slices.Values(items), func(a, b T) int {
		x, y := sha256.Sum256([]byte(id(a))), sha256.Sum256([]byte(id(b)))
		return cmp.Or(bytes.Compare(x[:], y[:]), cmp.Compare(id(a), id(b)))
	})
}
