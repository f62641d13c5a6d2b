package query_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A filter that is asked with often has codes of its embeddings. Its answers have the nearest chunks of this moment, whatever
// was written or deleted since, and only those of its tenant.
func TestCodesOfAFilterAreNeverOutdated(t *testing.T) {
	t.Parallel()
	if !kernel.Best().HasInt8() {
		t.Skip("this processor has no instructions for products of 8-bit integers")
	}
	s := servicetest.New(t, service.Config{})
	c, other := sampled(t, s, "acme", 0), sampled(t, s, "bolt", 0)
	for _, client := range []servicetest.Client{c, other} {
		if _, err := client.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"}); err != nil {
			t.Fatal(err)
		}
		awaitBuilt(t, client, "v", []float32{1, 0})
	}
	entry := func(id string, angle int, n float64) *ragdv1.UpsertRequest {
		metadata, err := structpb.NewStruct(map[string]any{"n": n})
		if err != nil {
			t.Fatal(err)
		}
		at := float64(angle) * 2 * math.Pi / sampledRows
		return &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{{Id: id, Values: []float32{float32(math.Cos(at)), float32(math.Sin(at))}, Metadata: metadata}}}
	}
	// The nearest chunks to chunk 0 are those of the least number, as the multiples of 3 are in another namespace.
	nearest := func(with string) (ids []string) {
		if with != "" {
			ids = append(ids, with)
		}
		for n := 1; len(ids) < 20; n++ {
			if n%3 != 0 {
				ids = append(ids, strconv.Itoa(n))
			}
		}
		return ids
	}
	upsert := func(n float64) func() error {
		return func() error {
			_, err := c.Upsert(t.Context(), entry("new", 0, n))
			return err
		}
	}
	for n, change := range []struct {
		name, with string
		make       func() error
	}{
		{name: "nothing", make: func() error { return nil }},
		{name: "a chunk is written", with: "new", make: upsert(7)},
		{name: "it leaves the filter", make: upsert(sampledRows)},
		{name: "it comes back", with: "new", make: upsert(8)},
		{name: "it is deleted", make: func() error {
			_, err := c.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "v", Ids: []string{"new"}})
			return err
		}},
		{name: "the rows are moved", make: func() error {
			_, err := s.Pool.Exec(t.Context(), `VACUUM FULL tenant_acme.chunk_1`)
			return err
		}},
	} {
		least := float64(3000 + n) // of another list for each change
		made := s.Handlers.Queries.Coded()
		for range 40 {
			below(t, c, least)
		}
		if coded := s.Handlers.Queries.Coded() - made; coded != 1 {
			t.Errorf("before %s: codes were made %d times", change.name, coded)
		}
		if err := change.make(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, want := below(t, c, least), nearest(change.with)
			slices.Sort(got) // some are equally near
			slices.Sort(want)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v\nwant %v", change.name, got, want)
			}
		}
	}
	if got := below(t, other, 3001); !slices.Contains(got, "1") || slices.Contains(got, "new") {
		t.Errorf("the other tenant: %v", got)
	}
}
