package alert_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// prose returns words of a vocabulary in which some are frequent, as in texts of people.
func prose(random *rand.Rand, words int) string {
	zipf := rand.NewZipf(random, 1.2, 20, 20_000)
	var b strings.Builder
	for n := range words {
		fmt.Fprintf(&b, "w%dx ", zipf.Uint64())
		if n%14 == 13 {
			b.WriteString(".\n")
		}
	}
	return b.String()
}

// BenchmarkIngest ingests the same documents into two indexes by turns, of which one has 1,000 alerts, half of them hybrid
// and half by similarity alone.
func BenchmarkIngest(b *testing.B) {
	const alerts, documents = 1_000, 60
	s := servicetest.New(b, service.Config{})
	acme := s.Tenant(b, "acme")
	indexes := []string{"plain", "watched"}
	for _, name := range indexes {
		acme.Index(b, name)
	}
	random := rand.New(rand.NewPCG(7, 7))
	for n := range alerts {
		req := &ragdv1.CreateAlertRequest{IndexName: "watched", QueryText: prose(random, 6), MinScore: new(0.55), SearchMode: []string{"hybrid", "vector"}[n%2]}
		if _, err := acme.CreateAlert(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
	took := map[string]float64{}
	rounds := 0
	for b.Loop() {
		rounds++
		texts := make([]string, documents)
		for n := range texts {
			texts[n] = prose(random, 900)
		}
		for turn := range indexes {
			name := indexes[(turn+rounds)%2]
			uploads := make([]*ragdv1.UploadDocumentRequest, documents)
			for n, text := range texts {
				uploads[n] = &ragdv1.UploadDocumentRequest{IndexName: name, Uri: fmt.Sprintf("%d/%d", rounds, n), Source: servicetest.Text(text)}
			}
			before := b.Elapsed()
			acme.UploadAll(b, uploads)
			acme.AwaitAll(b, name)
			took[name] += (b.Elapsed() - before).Seconds()
		}
	}
	for _, name := range indexes {
		b.ReportMetric(took[name]/float64(rounds)*1000, name+"-ms/round")
	}
	b.ReportMetric(100*(took["watched"]/took["plain"]-1), "%more")
	index, err := acme.DescribeIndex(b.Context(), &ragdv1.DescribeIndexRequest{IndexName: "watched"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(index.Count)/float64(rounds), "passages/round")
	var matches int
	if err := s.Pool.QueryRow(b.Context(), `SELECT count(*) FROM ragd_shared.alert_matches`).Scan(&matches); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(matches)/float64(rounds), "matches/round")
}
