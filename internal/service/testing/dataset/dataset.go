// Package dataset measures retrieval on labelled data sets in tests and measurements: it loads a set,
// ranks its documents by BM25, fuses rankings and scores them. It is slow and simple
// on purpose, as a reference.
//
// The sets are folders of corpus.jsonl.gz, queries.jsonl.gz (lines with id,
// title and text) and qrels.tsv.gz (a header, then query id, document id,
// relevance), under the folder named by RAGD_TEST_DATASETS.
package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/query/lexical"
)

// Set is a corpus with questions whose relevant documents are known.
type Set struct {
	Documents []Document
	Texts     []string // title and text of each document
	Questions []Question
}

// Document is one document of a corpus. ContentType is empty if its text is plain.
type Document struct {
	ID, Title, ContentType, Text string
	Metadata                     map[string]any
}

// Question is one labelled question.
type Question struct {
	ID, Text string
	Part     string       // its metadata field part, such as tuning or held-out; empty for none
	Relevant map[int]bool // indices into Set.Texts
}

// Load reads the named set, or skips the test when RAGD_TEST_DATASETS is not set.
func Load(t testing.TB, name string) *Set {
	t.Helper()
	root := os.Getenv("RAGD_TEST_DATASETS")
	if root == "" {
		t.Skip("RAGD_TEST_DATASETS does not name the folder of the labelled sets")
	}
	return LoadFolder(t, filepath.Join(root, name))
}

// LoadFolder reads the set in a folder as Read does.
func LoadFolder(t testing.TB, folder string) *Set {
	t.Helper()
	set, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Read reads the set in a folder. Its files may also be uncompressed, without .gz.
func Read(folder string) (*Set, error) {
	indices := map[string]int{}
	set := &Set{}
	err := readJSON(filepath.Join(folder, "corpus.jsonl"), func(d Document) {
		indices[d.ID] = len(set.Texts)
		set.Documents = append(set.Documents, d)
		set.Texts = append(set.Texts, strings.TrimSpace(d.Title+"\n"+d.Text))
	})
	if err != nil {
		return nil, err
	}
	relevant := map[string]map[int]bool{}
	err = readLines(filepath.Join(folder, "qrels.tsv"), func(text []byte) error {
		fields := strings.Split(string(text), "\t")
		if len(fields) < 3 || fields[0] == "query_id" || fields[2] == "0" {
			return nil
		}
		if relevant[fields[0]] == nil {
			relevant[fields[0]] = map[int]bool{}
		}
		index, ok := indices[fields[1]]
		if !ok {
			return fmt.Errorf("document %s of question %s is not in the corpus", fields[1], fields[0])
		}
		relevant[fields[0]][index] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return set, readJSON(filepath.Join(folder, "queries.jsonl"), func(d Document) {
		part, _ := d.Metadata["part"].(string)
		set.Questions = append(set.Questions, Question{ID: d.ID, Text: d.Text, Part: part, Relevant: relevant[d.ID]})
	})
}

// readJSON calls each for every line of JSON in a file.
func readJSON(path string, each func(Document)) error {
	return readLines(path, func(text []byte) error {
		var d Document
		if err := json.Unmarshal(text, &d); err != nil {
			return err
		}
		each(d)
		return nil
	})
}

// readLines calls each for every line of path, or of path.gz if there is no such file.
func readLines(path string, each func([]byte) error) error {
	file, err := os.Open(path)
	var lines io.Reader = file
	if err != nil {
		if file, err = os.Open(path + ".gz"); err != nil {
			return err
		}
		if lines, err = gzip.NewReader(file); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
		}
	}
	defer file.Close()
	reader := bufio.NewReaderSize(lines, 1<<20)
	for {
		text, err := reader.ReadBytes('\n')
		if len(text) > 1 {
			if err := each(bytes.TrimRight(text, "\n")); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

// Best returns the indices of the k highest scores above 0, best first, ties by index.
func Best(scores []float64, k int) []int {
	var order []int
	for i, s := range scores {
		if s > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return order[:min(k, len(order))]
}

// Fuse returns the score of each of n documents by reciprocal rank fusion of rankings
// (Cormack et al. 2009, k = 60). A ranking is a list of document indices, best first.
func Fuse(n int, rankings ...[]int) (scores []float64) {
	scores = make([]float64, n)
	for _, ranking := range rankings {
		for rank, index := range ranking {
			scores[index] += 1 / float64(60+rank+1)
		}
	}
	return scores
}

// BM25 ranks texts by Okapi BM25 (k1 1.2, b 0.75) over stems without stop words.
type BM25 struct {
	postings map[string][]posting
	lengths  []float64
	mean     float64
}

type posting struct {
	index int
	count float64
}

// NewBM25 indexes the texts.
func NewBM25(texts []string) *BM25 {
	x := &BM25{postings: map[string][]posting{}, lengths: make([]float64, len(texts))}
	for index, text := range texts {
		counts := map[string]float64{}
		for token := range lexical.Tokens(text) {
			if token.Rank() != lexical.Stop {
				counts[string(token.Stem)]++
				x.lengths[index]++
			}
		}
		for stem, count := range counts {
			x.postings[stem] = append(x.postings[stem], posting{index, count})
		}
		x.mean += x.lengths[index] / float64(len(texts))
	}
	return x
}

// Scores returns the score of every text for a question, 0 without a common term.
func (x *BM25) Scores(question string) []float64 {
	const k1, b = 1.2, 0.75
	scores := make([]float64, len(x.lengths))
	for token := range lexical.Tokens(question) {
		found := x.postings[string(token.Stem)]
		n := float64(len(found))
		idf := math.Log(1 + (float64(len(x.lengths))-n+0.5)/(n+0.5))
		for _, p := range found {
			scores[p.index] += idf * p.count * (k1 + 1) / (p.count + k1*(1-b+b*x.lengths[p.index]/x.mean))
		}
	}
	return scores
}

// Quality sums the measures of rankings; Mean returns their averages.
type Quality struct {
	Recall5, Recall10, NDCG10 float64
	n                         float64
}

// Add adds the measures of one ranking, a list of document indices, best first.
func (q *Quality) Add(ranking []int, relevant map[int]bool) {
	var dcg, ideal float64
	for i := range 10 {
		gain := 1 / math.Log2(float64(i)+2)
		if i < len(relevant) {
			ideal += gain
		}
		if i < len(ranking) && relevant[ranking[i]] {
			dcg += gain
			q.Recall10 += 1 / float64(len(relevant))
			if i < 5 {
				q.Recall5 += 1 / float64(len(relevant))
			}
		}
	}
	q.NDCG10 += dcg / ideal
	q.n++
}

// Mean returns the averages over all rankings.
func (q Quality) Mean() Quality {
	return Quality{Recall5: q.Recall5 / q.n, Recall10: q.Recall10 / q.n, NDCG10: q.NDCG10 / q.n, n: 1}
}
