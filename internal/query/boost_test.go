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
		"boost.decay: unknown decay":                                 {Field: "when", HalfLife: "1d", Decay: "sigmoid"},
		"boost.origin: must be a time":                               {Field: "when", HalfLife: "1d", Origin: structpb.NewStringValue("soon")},
		"boost.origin: must be a number":                             {Field: "price", HalfDistance: new(1.0)},
		"boost.halfDistance: must be a number above 0":               {Field: "price", Origin: structpb.NewNumberValue(1)},
		"boost.halfLife: is for a field with times":                  {Field: "price", Origin: structpb.NewNumberValue(1), HalfDistance: new(1.0), HalfLife: "1d"},
		"boost.offset: must be a number with a unit":                 {Field: "when", HalfLife: "1d", Offset: structpb.NewNumberValue(1)},
		"boost.offset: must be a number that is":                     {Field: "price", Origin: structpb.NewNumberValue(1), HalfDistance: new(1.0), Offset: structpb.NewNumberValue(-1)},
		"boost.filter: stands beside weight alone":                   {Field: "when", Filter: structpb.NewStringValue(`{"a": 1}`)},
		"boost.filter: must state a condition":                       {Filter: structpb.NewStringValue(`{}`)},
		"boost.filter: must not test $uri":                           {Filter: structpb.NewStringValue(`{"$uri": "a"}`)},
		"boost.filter.a.$gt":                                         {Filter: structpb.NewStringValue(`{"a": {"$gt": true}}`)},
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

// Boosts by numbers, by times around an origin, by conditions, and several together lose no source either.
func TestBoostsOfAllKindsLoseNoSource(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 4}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 9))
	origin := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	type chunk struct {
		price, days float64
		team        string
	}
	chunks, req := map[string]chunk{}, &ragdv1.UpsertRequest{IndexName: "v"}
	for i := range 900 {
		id, values := fmt.Sprintf("%04d", i), make([]float32, 4)
		for k := range values {
			values[k] = random.Float32()
		}
		one := chunk{price: math.Round(random.Float64()*1e5) / 100, days: math.Round((random.Float64() - 0.5) * 2000), team: []string{"red", "blue", "green"}[random.IntN(3)]}
		metadata := map[string]any{"team": one.team, "when": origin.Add(time.Duration(one.days*24) * time.Hour).Format(time.RFC3339)}
		if i%10 == 0 {
			one.price = math.Inf(1)
			metadata["price"] = "free"
		} else {
			metadata["price"] = one.price
		}
		chunks[id] = one
		req.Entries = append(req.Entries, &ragdv1.Entry{Id: id, Values: values, Metadata: servicetest.Object(t, metadata)})
	}
	if _, err := c.Upsert(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	value := func(v any) *structpb.Value {
		t.Helper()
		made, err := structpb.NewValue(v)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	decays := map[string]func(float64) float64{
		"": func(d float64) float64 { return math.Exp2(-d) }, "gauss": func(d float64) float64 { return math.Exp2(-d * d) }, "linear": func(d float64) float64 { return max(0, 1-d/2) },
	}
	var price, when []*ragdv1.Boost
	for decay := range decays {
		price = append(price, &ragdv1.Boost{Field: "price", Origin: value(400), HalfDistance: new(5.0), Offset: value(2.5), Decay: decay, Weight: new(0.9)})
		when = append(when, &ragdv1.Boost{Field: "when", Origin: value("2024-05-01"), HalfLife: "20d", Offset: value("3d"), Decay: decay, Weight: new(0.7)})
	}
	red := &ragdv1.Boost{Filter: value(map[string]any{"team": "red"}), Weight: new(0.2)}
	cases := [][]*ragdv1.Boost{{red}, {price[0], red}, {price[1], when[1], red}, {when[2], {Filter: value(map[string]any{"team": map[string]any{"$ne": "blue"}})}}}
	for n := range price {
		cases = append(cases, []*ragdv1.Boost{price[n]}, []*ragdv1.Boost{when[n]})
	}
	factorOf := func(b *ragdv1.Boost, of chunk) float64 {
		weight, d := 0.5, 0.0
		if b.Weight != nil {
			weight = *b.Weight
		}
		switch {
		case b.Field == "price":
			d = max(0, math.Abs(of.price-400)-2.5) / 5
		case b.Field == "when":
			d = max(0, math.Abs(of.days)-3) / 20
		case b == red && of.team != "red", b != red && of.team == "blue":
			return 1 - weight
		}
		if b.Field == "price" && math.IsInf(d, 1) {
			return 1 - weight
		}
		return 1 - weight + weight*decays[b.Decay](d)
	}
	query := func(topK int32, boosts []*ragdv1.Boost) []*ragdv1.Source {
		return ask(t, c, &ragdv1.VectorQueryRequest{QueryVector: []float32{1, 0.1, 0.1, 0.2}, TopK: &topK, Distinct: new(false), Boosts: boosts})
	}
	all := query(1000, nil)
	for _, boosts := range cases {
		factor := func(id string) float64 {
			f := 1.0
			for _, b := range boosts {
				f *= factorOf(b, chunks[id])
			}
			return f
		}
		want := slices.Clone(all)
		slices.SortFunc(want, func(a, b *ragdv1.Source) int {
			return cmp.Or(cmp.Compare(b.Score*factor(b.Id), a.Score*factor(a.Id)), cmp.Compare(a.Id, b.Id))
		})
		for n, source := range query(5, boosts) {
			if expected := want[n].Score * factor(want[n].Id); math.Abs(source.Score-expected) > 1e-6 {
				t.Errorf("%v: source %d is %s with %g, want %s with %g", boosts, n, source.Id, source.Score, want[n].Id, expected)
			}
			if r := source.Recency; math.Abs(r.GetFactor()-factor(source.Id)) > 1e-6 || len(boosts) > 1 && len(r.GetFactors()) != len(boosts) {
				t.Errorf("%v: %s has recency %v, want the factor %g", boosts, source.Id, r, factor(source.Id))
			}
		}
	}
}
