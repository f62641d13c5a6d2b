//go:build unix

package upload_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// stepTimes is a log handler that sums the durations of the workers' steps.
type stepTimes struct {
	slog.Handler
	mu    sync.Mutex
	total map[string]float64 // milliseconds
}

func (s *stepTimes) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		return s.Handler.Handle(ctx, r)
	}
	if r.Message != "documents ingested" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if strings.HasSuffix(a.Key, "_ms") {
			s.total[a.Key] += a.Value.Float64()
		}
		return true
	})
	return nil
}

func (s *stepTimes) WithAttrs([]slog.Attr) slog.Handler { return s }

// passages returns documents of one passage each, from a data set if there is one, else
// generated.
func passages(b *testing.B) []localfiles.Document {
	b.Helper()
	var docs []localfiles.Document
	if dir := os.Getenv("RAGD_TEST_DATASETS"); dir != "" {
		for doc, err := range localfiles.LineFiles(filepath.Join(dir, "squad-xquad-en", "corpus.jsonl.gz")) {
			if err != nil {
				b.Fatal(err)
			}
			docs = append(docs, doc)
		}
		return docs
	}
	for i := range 5000 {
		var text strings.Builder
		for j := range 120 {
			fmt.Fprintf(&text, "word%d ", (i*7919+j*j*31)%20011)
		}
		docs = append(docs, localfiles.Document{URI: fmt.Sprint("passage/", i), Text: text.String()})
	}
	return docs
}

func all(docs []localfiles.Document) iter.Seq2[localfiles.Document, error] {
	return func(yield func(localfiles.Document, error) bool) {
		for _, doc := range docs {
			if !yield(doc, nil) {
				return
			}
		}
	}
}

// BenchmarkIngest uploads one-passage documents over HTTP, as ragd ingest does, and
// waits until they are searchable. It reports documents per second, the fraction of the
// workers' time in each step, and the rate of a second upload of the same documents.
func BenchmarkIngest(b *testing.B) {
	docs := passages(b)
	var bytes int64
	for _, doc := range docs {
		bytes += int64(len(doc.Text))
	}
	fake := modelserver.New(b)
	fake.Set(modelserver.Fault{Delay: 5 * time.Millisecond})
	fake.Dimension = 512
	models := service.Providers{OpenAI: endpoint.Config{BaseURL: fake.URL + "/v1", APIKey: modelserver.Key}}
	for _, model := range []string{"builtin/hash-512", "openai/some-model"} {
		b.Run("model="+model, func(b *testing.B) {
			times := &stepTimes{Handler: slog.NewTextHandler(b.Output(), nil), total: map[string]float64{}}
			acme := servicetest.New(b, service.Config{Providers: models, Logger: slog.New(times)}).Tenant(b, "acme")
			client := upload.Client{Documents: acme, Indexes: acme}
			i := 0
			var again time.Duration
			for b.Loop() {
				i++
				index := fmt.Sprint("i", i)
				_, err := acme.CreateIndex(b.Context(), &ragdv1.CreateIndexRequest{IndexName: index, EmbeddingModel: model})
				if err != nil {
					b.Fatal(err)
				}
				result, err := upload.Run(b.Context(), client, all(docs), upload.Config{Index: index})
				if err != nil || result.Ready != len(docs) {
					b.Fatalf("%+v, %v", result, err)
				}
				b.StopTimer()
				result, err = upload.Run(b.Context(), client, all(docs), upload.Config{Index: index})
				if err != nil || result.Unchanged != len(docs) {
					b.Fatalf("again: %+v, %v", result, err)
				}
				again += result.Elapsed
				b.StartTimer()
			}
			seconds := b.Elapsed().Seconds()
			b.ReportMetric(float64(i*len(docs))/seconds, "documents/s")
			b.ReportMetric(float64(int64(i)*bytes)/seconds/1e6, "MB/s")
			b.ReportMetric(float64(i*len(docs))/again.Seconds(), "unchanged/s")
			for step, took := range times.total {
				if step != "duration_ms" {
					b.ReportMetric(100*took/times.total["duration_ms"], strings.TrimSuffix(step, "_ms")+"-%")
				}
			}
		})
	}
}
