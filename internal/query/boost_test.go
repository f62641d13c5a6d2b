package query_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// aged returns a client of a tenant whose index has n ready-made vectors with words and times at random. A tenth has no time,
// and a few are of the last days.
func aged(t *testing.T, n int) servicetest.Client {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	c, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	random := rand.New(rand.NewPCG(7, 1))
	words := strings.Fields("harbour ships gates rope anchor storm tide crew cargo dock signal lamp")
	for _, client := range []servicetest.Client{c, other} {
		if _, err := client.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 4, MetadataIndexes: []string{"dates.out"}}); err != nil {
			t.Fatal(err)
		}
		req := &ragdv1.UpsertRequest{IndexName: "v"}
		for i := range n {
			text := make([]string, 3+random.IntN(6))
			for k := range text {
				text[k] = words[random.IntN(len(words))]
			}
			metadata := map[string]any{"even": i%2 == 0}
			if i%10 != 0 {
				days := math.Pow(random.Float64(), 0.3) * 2000
				metadata["dates"] = map[string]any{"out": time.Now().Add(-time.Duration(days * 24 * float64(time.Hour))).In(time.FixedZone("", -5*3600)).Format(time.RFC3339)}
			}
			values := make([]float32, 4)
			for k := range values {
				values[k] = random.Float32()
			}
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: fmt.Sprintf("%04d", i), Document: strings.Join(text, " "), Values: values, Metadata: servicetest.Object(t, metadata)})
		}
		if _, err := client.Upsert(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// With a boost, the best sources are those that have the best boosted scores of all chunks.
func TestBoostLosesNoSource(t *testing.T) {
	t.Parallel()
	c := aged(t, 900)
	even, err := structpb.NewValue(map[string]any{"even": true})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"vector", "keyword", "hybrid"} {
		for _, filter := range []*structpb.Value{nil, even} {
			for _, boost := range []*ragdv1.Boost{
				{Field: "dates.out", HalfLife: "10d"}, {Field: "dates.out", HalfLife: "1y", Weight: new(0.2)}, {Field: "dates.out", HalfLife: "36h", Weight: new(1.0)},
			} {
				req := &ragdv1.VectorQueryRequest{
					QueryText: "anchor rope", QueryVector: []float32{1, 0.1, 0.1, 0.2}, SearchMode: mode, Filter: filter, TopK: new(int32(1000)), Distinct: new(false),
				}
				want := ask(t, c, req)
				factor := map[string]float64{}
				for _, source := range want {
					factor[source.Id] = 1 - cmp.Or(boost.GetWeight(), 0.5)
					if out := source.GetMetadata().GetFields()["dates"].GetStructValue().GetFields()["out"].GetStringValue(); out != "" {
						at, err := time.Parse(time.RFC3339, out)
						if err != nil {
							t.Fatal(err)
						}
						halfLife := map[string]float64{"10d": 240, "1y": 365.25 * 24, "36h": 36}[boost.HalfLife]
						factor[source.Id] += cmp.Or(boost.GetWeight(), 0.5) * math.Exp2(-time.Since(at).Hours()/halfLife)
					}
				}
				slices.SortFunc(want, func(a, b *ragdv1.Source) int {
					return cmp.Or(cmp.Compare(b.Score*factor[b.Id], a.Score*factor[a.Id]), cmp.Compare(a.Id, b.Id))
				})
				req.TopK, req.Boost = new(int32(10)), boost
				got := ask(t, c, req)
				for n, source := range got {
					if expected := want[n].Score * factor[want[n].Id]; math.Abs(source.Score-expected) > 1e-6 {
						t.Errorf("%s, %v, filter %v: source %d is %s with %g, want %s with %g", mode, boost, filter, n, source.Id, source.Score, want[n].Id, expected)
					}
					r := source.GetRecency()
					if math.Abs(r.GetFactor()-factor[source.Id]) > 1e-6 || math.Abs(r.GetScore()*r.GetFactor()-source.Score) > 1e-9 || (r.GetTime() == nil) != (source.Id[3] == '0') {
						t.Errorf("%s: %s has recency %v, want the factor %g", mode, source.Id, r, factor[source.Id])
					}
				}
				if len(got) != 10 {
					t.Errorf("%s, %v: %d sources", mode, boost, len(got))
				}
			}
		}
	}
}

func TestBoostRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	c := vectors(t, "ships at sea")
	for want, boost := range map[string]*ragdv1.Boost{
		"boost.field: is required":                                   {HalfLife: "1d"},
		"boost.field: must be a metadata field":                      {Field: "$uri", HalfLife: "1d"},
		"boost.halfLife: must be a number with a unit":               {Field: "when", HalfLife: "30"},
		"boost.halfLife: must be a number with a unit (s, m, h":      {Field: "when", HalfLife: "2000y"},
		"boost.weight: must be above 0 and at most 1, got 2":         {Field: "when", HalfLife: "1d", Weight: new(2.0)},
		"boost: needs scores that do not depend on ranks: leave out": {Field: "when", HalfLife: "1d"},
	} {
		req := &ragdv1.VectorQueryRequest{QueryText: "ships", QueryVector: []float32{1, 0}, Boost: boost}
		if strings.HasPrefix(want, "boost:") {
			req.Hybrid = &ragdv1.Hybrid{Fusion: "rrf"}
		}
		if _, err := c.VectorQuery(t.Context(), req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", boost, err, want)
		}
	}
}
