// Command ranking measures how well the service ranks labelled sets: it starts the given ragd, uploads the
// documents of each set, asks its questions in every way, and prints a table of nDCG@10 and recall@10 with
// 95% confidence intervals, beside plain BM25 over the same chunks.
//
//	go build -o bin/ragd ./cmd/ragd
//	go run ./bench/ranking -ragd bin/ragd examples/multihop internal/query/testdata/labelled/english
//	go run ./bench/ranking -models builtin/hash-512,local/all-MiniLM-L6-v2 -models-dir MODELS SET...
//
// A set is a folder of corpus.jsonl, queries.jsonl (lines with id, title, text and contentType) and qrels.tsv
// (a header, then query id, document id, relevance), each also with .gz. A document without a contentType is a
// passage, and one chunk. Found chunks count as their documents. bench/ranking/forum makes such a set.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/bench/internal/harness"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/service/testing/daemon"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
)

// options are the flags of a run.
type options struct {
	ragd      string
	models    string
	modelsDir string
	reranker  string
	language  string
	questions int
	foreign   int
	part      string
	only      string
	runs      string
	legs      string
}

func main() {
	var o options
	harness.ProgramVar(&o.ragd)
	flag.StringVar(&o.models, "models", "builtin/hash-512", "embedding models to measure, with commas between them")
	flag.StringVar(&o.modelsDir, "models-dir", "", "folder with the folders of local models")
	flag.StringVar(&o.reranker, "reranker", "lexical", "what ranks the sources of hybrid search again: lexical, or a cross-encoder such as local/ms-marco-MiniLM-L6-v2")
	flag.StringVar(&o.language, "language", "", "textLanguage of the indexes (default that of the service)")
	flag.IntVar(&o.questions, "questions", 400, "most questions of each set; 0 for all")
	flag.StringVar(&o.part, "part", "", "part of the questions to ask, by their metadata field part; empty for all")
	flag.StringVar(&o.only, "only", "", "ways to ask, with commas between them; empty for all")
	flag.IntVar(&o.foreign, "foreign", 100, "questions of the other sets to ask each set, which it cannot answer")
	flag.StringVar(&o.runs, "runs", "", "file for the rankings, in the format of TREC runs: question, Q0, document, rank, score, and the way")
	flag.StringVar(&o.legs, "evidence", "", "file for the evidence of both legs of hybrid search, a line of JSON for each question; nothing else is measured")
	harness.Main(func(ctx context.Context) error { return run(ctx, o, flag.Args()) })
}

// arena is the service under test with a tenant.
type arena struct {
	options
	documents ragdv1connect.DocumentServiceClient
	queries   ragdv1connect.QueryServiceClient
	indexes   ragdv1connect.IndexServiceClient
	research  ragdv1connect.ResearchServiceClient
	log       io.Writer // of rankings
	evidenced io.Writer // the evidence of both legs
}

// labelled is a set with its name.
type labelled struct {
	*dataset.Set
	name string
}

func run(ctx context.Context, o options, folders []string) error {
	var sets []labelled
	for _, folder := range folders {
		set, err := dataset.Read(folder)
		if err != nil {
			return err
		}
		if o.part != "" {
			set.Questions = slices.DeleteFunc(set.Questions, func(q dataset.Question) bool { return q.Part != o.part })
		}
		if o.questions > 0 {
			set.Questions = set.Questions[:min(o.questions, len(set.Questions))]
		}
		sets = append(sets, labelled{set, filepath.Base(filepath.Clean(folder))})
	}
	if len(sets) == 0 {
		return fmt.Errorf("name the folders of one or more labelled sets")
	}
	config := daemon.Config{Program: o.ragd}
	if o.modelsDir != "" {
		config.Env = append(config.Env, "RAGD_MODELS_DIR="+o.modelsDir)
	}
	d, err := harness.Start(ctx, config)
	if err != nil {
		return err
	}
	defer d.Stop()
	key, err := harness.Tenant(ctx, d, "bench")
	if err != nil {
		return err
	}
	runs, err := output(o.runs)
	if err != nil {
		return err
	}
	defer runs.Close()
	legs, err := output(o.legs)
	if err != nil {
		return err
	}
	defer legs.Close()
	as := harness.WithKey(key)
	a := &arena{
		options:   o,
		documents: ragdv1connect.NewDocumentServiceClient(http.DefaultClient, d.URL(), as),
		queries:   ragdv1connect.NewQueryServiceClient(http.DefaultClient, d.URL(), as),
		indexes:   ragdv1connect.NewIndexServiceClient(http.DefaultClient, d.URL(), as),
		research:  ragdv1connect.NewResearchServiceClient(http.DefaultClient, d.URL(), as),
		log:       runs,
		evidenced: legs,
	}
	fmt.Println("| set | way | nDCG@10 | recall@2 | recall@10 | all in 8 | MRR | AUC | p50 ms |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for i, s := range sets {
		if err := a.measureSet(ctx, s, foreignQuestions(sets, i, o.foreign)); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// output creates a file; without a name what is written to it is dropped.
func output(name string) (io.WriteCloser, error) {
	if name == "" {
		name = os.DevNull
	}
	return os.Create(name)
}

// foreignQuestions returns so many questions of the sets other than number own, evenly of each.
func foreignQuestions(sets []labelled, own, count int) []dataset.Question {
	var foreign []dataset.Question
	for i, s := range sets {
		if i == own || len(foreign) >= count {
			continue
		}
		for j := range min(count/(len(sets)-1)+1, len(s.Questions)) {
			foreign = append(foreign, dataset.Question{Text: s.Questions[j].Text})
		}
	}
	return foreign
}

// measureSet measures plain BM25 and each way to ask an index of each model.
func (a *arena) measureSet(ctx context.Context, s labelled, foreign []dataset.Question) error {
	questions := append(append([]dataset.Question(nil), s.Questions...), foreign...)
	for i, model := range strings.Split(a.models, ",") {
		name := fmt.Sprintf("set-%s-%d", strings.ToLower(s.name), i)
		started := time.Now()
		if err := a.load(ctx, s, name, model); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s, %s: %d documents, %d questions, %d foreign ones; loaded in %.0f s\n", s.name, model, len(s.Documents), len(s.Questions), len(foreign), time.Since(started).Seconds())
		if a.legs != "" {
			if err := a.writeEvidence(ctx, a.evidenced, s, name, model); err != nil {
				return err
			}
			continue
		}
		if i == 0 && a.asks("BM25") {
			chunks, err := a.chunks(ctx, name)
			if err != nil {
				return err
			}
			if err := a.report(ctx, s, "BM25", questions, plain(chunks)); err != nil {
				return err
			}
		}
		for _, w := range ways(a.reranker) {
			if i > 0 && w.name == "keyword" || !a.asks(w.name) {
				continue // keywords do not depend on the model
			}
			label := w.name
			if w.name != "keyword" {
				label += ", " + model
			}
			if err := a.report(ctx, s, label, questions, a.service(name, w)); err != nil {
				return err
			}
		}
	}
	return nil
}

// asks reports whether a way is to be measured.
func (a *arena) asks(way string) bool {
	return a.only == "" || slices.Contains(strings.Split(a.only, ","), way)
}

// found is what a question got: the documents of the chunks with their scores, best first.
type found struct {
	documents []string
	scores    []float64
	walked    bool // the scores are probabilities of a walk, which say nothing about other questions
}

// top returns the score of the first; nil if nothing was found, or if it cannot be compared.
func (f found) top() *float64 {
	if f.walked || len(f.scores) == 0 {
		return nil
	}
	return &f.scores[0]
}

// report asks all questions and prints a row of the table.
func (a *arena) report(ctx context.Context, s labelled, way string, questions []dataset.Question, ask func(context.Context, string) (found, error)) error {
	ks := []int{2, 8, 10}
	var results []measure.Result
	comparable := false // the scores of different questions
	for _, q := range questions {
		judged := measure.Judgements{}
		for i := range q.Relevant {
			judged[s.Documents[i].ID] = 1
		}
		started := time.Now()
		f, err := ask(ctx, q.Text)
		if err != nil {
			return fmt.Errorf("%q: %w", q.Text, err)
		}
		r := measure.Of(measure.Answer{Judged: judged, Ranking: measure.Documents(f.documents), Latency: time.Since(started)}, ks)
		if r.TopScore = f.top(); r.TopScore != nil {
			comparable = true
		}
		for rank, document := range f.documents {
			fmt.Fprintf(a.log, "%s Q0 %s %d %g %s\n", cmp.Or(q.ID, "foreign"), document, rank+1, f.scores[rank], strings.ReplaceAll(s.name+", "+way, " ", "_"))
		}
		results = append(results, r)
	}
	estimates, err := measure.Estimates(ctx, results, ks, false)
	if err != nil {
		return err
	}
	row := []string{s.name, way}
	for _, name := range []string{measure.At(measure.NDCGAt, 10), measure.At(measure.RecallAt, 2), measure.At(measure.RecallAt, 10), measure.At(measure.AllAt, 8), measure.MRR} {
		row = append(row, cell(estimates, name))
	}
	auc := ""
	if comparable {
		auc = cell(estimates, measure.AUC)
	}
	row = append(row, auc)
	p50, _ := measure.Find(estimates, measure.P50)
	fmt.Printf("| %s | %.1f |\n", strings.Join(row, " | "), p50)
	return nil
}

// cell returns a measure with its interval, or nothing if no question counts for it.
func cell(estimates []measure.Estimate, name string) string {
	for _, e := range estimates {
		if e.Name == name {
			return fmt.Sprintf("%.3f [%.3f, %.3f]", e.Value, e.Low, e.High)
		}
	}
	return ""
}
