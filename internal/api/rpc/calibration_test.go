package rpc_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// largestJump is how much a score may change when statistics are measured for the first time.
const largestJump = 0.05

// withTexts returns a client of a tenant with an index for upsertTexts.
func withTexts(t *testing.T, s *servicetest.Service) servicetest.Client {
	t.Helper()
	acme := s.Tenant(t, "acme")
	_, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 8})
	noError(t, err)
	return acme
}

// upsertTexts adds texts to an index, each with a vector.
func upsertTexts(t *testing.T, c servicetest.Client, indexName string, from, to int) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(from), 2)) // no groups of vectors that are alike, which HNSW may miss as a whole
	for from < to {
		n := min(500, to-from)
		entries := make([]*ragdv1.Entry, n)
		for i := range entries {
			at := from + i
			vector := make([]float32, 8)
			for d := range vector {
				vector[d] = random.Float32() * 2
			}
			entries[i] = &ragdv1.Entry{Id: fmt.Sprint("v", at), Values: vector, Document: fmt.Sprintf("Harbour %d has trees and %d stones.", at, at%7)}
		}
		_, err := c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: indexName, Entries: entries})
		noError(t, err)
		from += n
	}
}

// scoresOf returns the scores of a search by id, and the calibration that they rest on.
func scoresOf(t *testing.T, c servicetest.Client, indexName, mode string) (scores map[string]float64, calibration string) {
	t.Helper()
	found, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
		IndexName: indexName, SearchMode: mode, QueryText: "stones of harbour 123", QueryVector: []float32{5, 4, 3, 2, 1, 7, 8, 9}, TopK: new(int32(10)), Explain: true,
	})
	noError(t, err)
	scores = map[string]float64{}
	for _, source := range found.Sources {
		scores[source.Id] = source.Score
	}
	return scores, found.Explain.Calibration
}

// wantSimilar fails the test unless the scores of both searches are nearly the same.
func wantSimilar(t *testing.T, what string, before, after map[string]float64) {
	t.Helper()
	both := 0
	for id, score := range before {
		now, ok := after[id]
		if !ok {
			continue // of several that are alike
		}
		both++
		if math.Abs(now-score) > largestJump {
			t.Errorf("%s: the score of %s was %.3f and is %.3f", what, id, score, now)
		}
	}
	if both == 0 {
		t.Errorf("%s: no source of %v is among %v", what, before, after)
	}
}

// Scores hardly depend on whether a job that measures statistics has run, and searches name the version
// of the statistics.
func TestScoresDoNotDependOnWhenAJobRuns(t *testing.T) {
	t.Parallel()
	held := servicetest.New(t, service.Config{NoWorkers: true})
	acme := withTexts(t, held)
	upsertTexts(t, acme, "docs", 0, 2500)
	modes := []string{"keyword", "vector", "hybrid"}
	before, versions := map[string]map[string]float64{}, map[string]string{}
	for _, mode := range modes {
		before[mode], versions[mode] = scoresOf(t, acme, "docs", mode)
	}
	servicetest.New(t, service.Config{AdminPool: held.Pool}) // does the jobs
	wait.For(t, "the index to be maintained", func() (done bool) {
		noError(t, held.Pool.QueryRow(t.Context(), `SELECT built AND search_width > 0 AND counted_chunks = 2500 AND scale->>'chunks' = '2500' FROM `+pgx.Identifier{"tenant_acme", "indexes"}.Sanitize()).Scan(&done))
		return done
	})
	for _, mode := range modes {
		after, version := scoresOf(t, acme, "docs", mode)
		wantSimilar(t, mode, before[mode], after)
		if scored := mode != "vector"; (version != "") != scored || scored && version == versions[mode] {
			t.Errorf("%s: calibration %q, before the jobs %q", mode, version, versions[mode])
		}
	}
}

// The first calibration comes without a jump, with the write that makes the index large enough for one.
func TestTheFirstCalibrationIsNoJump(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := withTexts(t, s)
	upsertTexts(t, acme, "docs", 0, 199)
	before, version := scoresOf(t, acme, "docs", "hybrid")
	if version != "default" {
		t.Errorf("a small index has the calibration %q", version)
	}
	upsertTexts(t, acme, "docs", 199, 200)
	after, measured := scoresOf(t, acme, "docs", "hybrid")
	if measured == version || measured == "" {
		t.Errorf("the calibration of 200 chunks is %q", measured)
	}
	wantSimilar(t, "at 200 chunks", before, after)
	again, same := scoresOf(t, acme, "docs", "hybrid")
	if same != measured || fmt.Sprint(again) != fmt.Sprint(after) {
		t.Errorf("the same question: %v of %s, then %v of %s", after, measured, again, same)
	}
}
