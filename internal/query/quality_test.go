package query_test

import (
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// How well each mode retrieves, through the API, with the builtin model. Run it
// with
//
//	RAGD_TEST_DATASETS=... go test ./internal/query -run Quality -v
func TestQuality(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		set          string
		recall, ndcg float64 // least recall@5 and nDCG@10 of keyword search
		gain         float64 // least of nDCG@10 by lexical reranking over hybrid search
	}{
		{"squad-xquad-en", 0.955, 0.930, 0.005},
		{"2wikimultihopqa", 0.700, 0.755, 0.008},
	} {
		t.Run(tc.set, func(t *testing.T) {
			set := loadSet(t, tc.set)
			c := servicetest.New(t, service.Config{}).Tenant(t, "quality")
			c.Index(t, "passages")
			set.upload(t, c)
			measured := map[string]measure.Cut{}
			for _, mode := range []string{"vector", "keyword", "hybrid", reranked} {
				summary := set.ask(t, c, mode)
				measured[mode] = measure.Cut{Recall: summary.Cuts[0].Recall, NDCG: summary.Cuts[1].NDCG}
				t.Logf("%-14s recall@5 %.4f nDCG@10 %.4f p50 %v p99 %v", mode, measured[mode].Recall, measured[mode].NDCG, summary.P50, summary.P99)
			}
			if k := measured["keyword"]; k.Recall < tc.recall || k.NDCG < tc.ndcg {
				t.Errorf("keyword search has recall@5 %.4f and nDCG@10 %.4f, want %.3f and %.3f", k.Recall, k.NDCG, tc.recall, tc.ndcg)
			}
			hybrid := measured["hybrid"]
			for _, leg := range []string{"vector", "keyword"} {
				if m := measured[leg]; hybrid.Recall < m.Recall || hybrid.NDCG < m.NDCG {
					t.Errorf("hybrid search %v is worse than its leg %s %v", hybrid, leg, m)
				}
			}
			if gain := measured[reranked].NDCG - hybrid.NDCG; gain < tc.gain {
				t.Errorf("reranking by words gains %.4f of nDCG@10, want %.3f", gain, tc.gain)
			}
		})
	}
}

// reranked is hybrid search with lexical reranking.
const reranked = "hybrid+lexical"

// labelled is a corpus with questions whose answers are known.
type labelled struct {
	documents, questions []dataset.Document
	judged               map[string]measure.Judgements // by question, of documents
}

// loadSet loads a set of the folder RAGD_TEST_DATASETS, or skips the test without it.
func loadSet(t testing.TB, name string) labelled {
	t.Helper()
	return judge(dataset.Load(t, name))
}

// judge returns a set with judgements by the ids of its documents.
func judge(set *dataset.Set) labelled {
	s := labelled{documents: set.Documents, judged: map[string]measure.Judgements{}}
	for _, q := range set.Questions {
		s.questions = append(s.questions, dataset.Document{ID: q.ID, Text: q.Text})
		s.judged[q.ID] = measure.Judgements{}
		for i := range q.Relevant {
			s.judged[q.ID][set.Documents[i].ID] = 1
		}
	}
	return s
}

// upload makes each passage a document of one chunk and waits until all are
// ready.
func (s labelled) upload(t *testing.T, c servicetest.Client) {
	t.Helper()
	s.uploadTo(t, c, "passages")
}

func (s labelled) uploadTo(t *testing.T, c servicetest.Client, index string) {
	t.Helper()
	size := int32(100_000)
	var group errgroup.Group
	group.SetLimit(8)
	for _, p := range s.documents {
		group.Go(func() error {
			_, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{
				IndexName: index, Uri: p.ID, Title: p.Title, ContentType: "text/plain", Chunking: &ragdv1.Chunking{MaxSize: &size},
				Source: &ragdv1.UploadDocumentRequest_Text{Text: p.Text},
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for range wait.Poll(t, "the documents to be ready") {
		d, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: index})
		if err != nil {
			t.Fatal(err)
		}
		if int(d.DocumentCount) == len(s.documents) && d.Status == "ready" {
			return
		}
	}
}

func (s labelled) ask(t *testing.T, c servicetest.Client, mode string) measure.Summary {
	t.Helper()
	var answers []measure.Answer
	var reranker *ragdv1.Reranker
	if mode == reranked {
		mode, reranker = "hybrid", &ragdv1.Reranker{Kind: "lexical"}
	}
	for _, q := range s.questions {
		start := time.Now()
		res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: q.Text, SearchMode: mode, Reranker: reranker})
		if err != nil {
			t.Fatal(err)
		}
		a := measure.Answer{Judged: s.judged[q.ID], Latency: time.Since(start)}
		var uris []string
		for _, source := range res.Sources {
			uris = append(uris, source.Uri)
		}
		a.Ranking = measure.Documents(uris)
		answers = append(answers, a)
	}
	return measure.Summarize(answers, []int{5, 10})
}
