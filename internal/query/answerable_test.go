package query_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// How well scores tell a question that a corpus answers from one that it does not, and
// whether a threshold chosen on one set suits another. The questions of each set are asked
// of both corpora; only their own answers them. Run it with
//
//	RAGD_TEST_DATASETS=... RAGD_VECTORS=... go test ./internal/query -run Answerable -v -timeout 60m
//
// Without RAGD_VECTORS it is the builtin model. It names a folder of embeddings by any other, as SET.corpus.npy and
// SET.queries.npy of 32-bit floats, a row for each line of the set's files.
func TestAnswerable(t *testing.T) {
	names := []string{"squad-xquad-en", "2wikimultihopqa"}
	sets := map[string]labelled{}
	for _, name := range names {
		sets[name] = loadSet(t, name)
	}
	dimension := 0
	model, modes := "builtin/hash-512", []string{"keyword", "hybrid"}
	config := service.Config{}
	if folder := os.Getenv("RAGD_VECTORS"); folder != "" {
		server := modelserver.New(t)
		known := map[string][]float32{}
		for _, name := range names {
			addVectors(t, filepath.Join(folder, name+".corpus.npy"), sets[name].documents, known)
			dimension = addVectors(t, filepath.Join(folder, name+".queries.npy"), sets[name].questions, known)
		}
		server.Dimension = dimension
		server.Embed = func(text string) []float32 {
			vector, ok := known[strings.TrimSpace(text)]
			if !ok { // such as the one from which ragd learns the dimension
				t.Logf("there is no vector of %q", text)
				return make([]float32, dimension)
			}
			return vector
		}
		config.Providers.OpenAI.BaseURL, config.Providers.OpenAI.APIKey = server.URL+"/v1", modelserver.Key
		model, modes = "openai/measured", []string{"hybrid"}
	}
	c := servicetest.New(t, config).Tenant(t, "answerable")
	for _, name := range names {
		if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: indexOf(name), EmbeddingModel: model}); err != nil {
			t.Fatal(err)
		}
		sets[name].uploadTo(t, c, indexOf(name))
	}
	for _, mode := range modes {
		asked := map[[2]string][]answerRanking{}
		for _, questions := range names {
			for _, corpus := range names {
				asked[[2]string{questions, corpus}] = sets[questions].rankings(t, c, indexOf(corpus), mode)
			}
		}
		report(t, model+" "+mode, names, sets, asked)
	}
}

// answerRanking has the sources of one answer, best first.
type answerRanking struct {
	uris   []string
	scores []float64
}

func (r answerRanking) top() float64 {
	if len(r.scores) == 0 {
		return 0
	}
	return r.scores[0]
}

func report(t *testing.T, what string, names []string, sets map[string]labelled, asked map[[2]string][]answerRanking) {
	t.Helper()
	tops := func(questions, corpus string) (scores []float64) {
		for _, r := range asked[[2]string{questions, corpus}] {
			scores = append(scores, r.top())
		}
		return scores
	}
	for n, name := range names {
		other := names[1-n]
		var answers []measure.Answer
		for q, r := range asked[[2]string{name, name}] {
			answers = append(answers, measure.Answer{Judged: sets[name].judged[sets[name].questions[q].ID], Ranking: measure.Documents(r.uris)})
		}
		summary := measure.Summarize(answers, []int{5, 10})
		of, to := auc(tops(name, name), tops(other, name)), auc(tops(name, name), tops(name, other))
		t.Logf("%s: %s recall@5 %.4f nDCG@10 %.4f; AUC against the other questions %.3f, of its questions against the other corpus %.3f",
			what, name, summary.Cuts[0].Recall, summary.Cuts[1].NDCG, of, to)
		if of < 0.95 || to < 0.95 {
			t.Errorf("%s: %s: an AUC is below 0.95", what, name)
		}
	}
	for n, name := range names {
		other := names[1-n]
		threshold, chosen := best(pooled(sets[name], asked[[2]string{name, name}], asked[[2]string{other, name}]))
		applied := above(threshold, pooled(sets[other], asked[[2]string{other, other}], asked[[2]string{name, other}]))
		_, ideal := best(pooled(sets[other], asked[[2]string{other, other}], asked[[2]string{name, other}]))
		t.Logf("%s: threshold %.3f chosen on %s (precision %.3f, recall %.3f) has on %s precision %.3f, recall %.3f; best there %.3f, %.3f",
			what, threshold, name, chosen.precision, chosen.recall, other, applied.precision, applied.recall, ideal.precision, ideal.recall)
	}
}

// judgedScore is the score of a source, and whether the source answers the question.
type judgedScore struct {
	score    float64
	relevant bool
}

// pooled returns the scores of the sources of answerable questions and of as many
// unanswerable ones.
func pooled(set labelled, answerable, unanswerable []answerRanking) (scores []judgedScore) {
	for q, r := range answerable {
		judged := set.judged[set.questions[q].ID]
		for n, uri := range r.uris {
			scores = append(scores, judgedScore{r.scores[n], judged[uri] > 0})
		}
		for _, score := range unanswerable[q*len(unanswerable)/len(answerable)].scores {
			scores = append(scores, judgedScore{score: score})
		}
	}
	return scores
}

type quality struct{ precision, recall float64 }

// best returns the threshold with the highest F1, and the quality there.
func best(scores []judgedScore) (threshold float64, at quality) {
	highest := 0.0
	for _, s := range scores {
		if !s.relevant || s.score == threshold {
			continue
		}
		q := above(s.score, scores)
		if f := 2 * q.precision * q.recall / (q.precision + q.recall); f > highest {
			highest, threshold, at = f, s.score, q
		}
	}
	return threshold, at
}

func above(threshold float64, scores []judgedScore) quality {
	var found, right, all float64
	for _, s := range scores {
		if s.relevant {
			all++
		}
		if s.score >= threshold {
			found++
			if s.relevant {
				right++
			}
		}
	}
	return quality{right / max(found, 1), right / all}
}

// rankings asks all questions, four at a time.
func (s labelled) rankings(t *testing.T, c servicetest.Client, index, mode string) []answerRanking {
	t.Helper()
	out := make([]answerRanking, len(s.questions))
	var group errgroup.Group
	group.SetLimit(4)
	for n, q := range s.questions {
		group.Go(func() error {
			res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: q.Text, SearchMode: mode, IndexName: index})
			if err != nil {
				return err
			}
			for _, source := range res.Sources {
				out[n].uris, out[n].scores = append(out[n].uris, source.Uri), append(out[n].scores, source.Score)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return out
}

// addVectors adds the rows of a .npy file of 32-bit floats by the texts of passages, and
// returns their dimension.
func addVectors(t *testing.T, file string, passages []dataset.Document, into map[string][]float32) int {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	header := bytes.IndexByte(raw, '\n')
	if header < 0 || !bytes.HasPrefix(raw, []byte("\x93NUMPY")) || !bytes.Contains(raw[:header], []byte("'<f4'")) {
		t.Fatalf("%s has no array of 32-bit floats", file)
	}
	values := raw[header+1:]
	dimension := len(values) / 4 / len(passages)
	for n, p := range passages {
		row := make([]float32, dimension)
		for d := range row {
			row[d] = math.Float32frombits(binary.LittleEndian.Uint32(values[4*(n*dimension+d):]))
		}
		into[strings.TrimSpace(p.Text)] = row
		into[strings.TrimSpace(p.Title+"\n\n"+p.Text)] = row
	}
	return dimension
}

// auc returns the area under the ROC curve: the probability that a score of one group is
// higher than one of another. Ties count half.
func auc(positive, negative []float64) float64 {
	sorted := slices.Sorted(slices.Values(negative))
	sum := 0.0
	for _, score := range positive {
		below, _ := slices.BinarySearch(sorted, score)
		equal := 0
		for below+equal < len(sorted) && sorted[below+equal] == score {
			equal++
		}
		sum += float64(below) + float64(equal)/2
	}
	return sum / float64(len(positive)) / float64(len(negative))
}

// indexOf returns the name of the index of a set. Names of indexes begin with a letter.
func indexOf(set string) string { return "set-" + set }
