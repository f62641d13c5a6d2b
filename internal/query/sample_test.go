package query_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
)

// sampledRows is the number of chunks of the indexes of these tests.
const sampledRows = 6_000

// sampled fills an index of a new tenant by SQL, which takes a second where the API would
// take a minute, and does not analyze it: PostgreSQL has no statistics of the metadata. The
// chunks are points on a circle, chunk n at the angle of n; n is in their metadata, plus
// offset.
func sampled(t *testing.T, s *servicetest.Service, name string, offset int) servicetest.Client {
	t.Helper()
	c := s.Tenant(t, name)
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2}); err != nil {
		t.Fatal(err)
	}
	schema, rows := "tenant_"+name, strconv.Itoa(sampledRows)
	for _, statement := range []string{
		`INSERT INTO ` + schema + `.documents (document_id, index_id, namespace, uri, title, content_type, metadata, chunking, content_hash, content_sha256, version, status, byte_size, job_id)
			SELECT md5('file' || i)::uuid, 1, 'default', 'file' || i, '', '', '{}', '{}', '', '', 1, 'failed', 0, gen_random_uuid() FROM generate_series(0, 1) AS i`,
		`INSERT INTO ` + schema + `.chunk_1 (namespace, chunk_id, embedding, metadata, content_keys, text, document_id, ordinal)
			SELECT CASE WHEN i % 3 = 0 THEN 'third' ELSE 'default' END, i, ARRAY[cos(i * 2 * pi() / ` + rows + `), sin(i * 2 * pi() / ` + rows + `)]::vector,
				jsonb_build_object('n', i + ` + strconv.Itoa(offset) + `, 'read', 1), CASE WHEN i % 4 = 0 THEN '{read}'::text[] END, 'text ' || i % 5,
				md5('file' || i % 2)::uuid, i
			FROM generate_series(0, ` + rows + ` - 1) AS i`,
		`DELETE FROM ` + schema + `.index_counts`,
		`INSERT INTO ` + schema + `.index_counts (index_id, slot, chunks, written) VALUES (1, 0, ` + rows + `, ` + rows + `)`,
	} {
		if _, err := s.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestTheScopeOfAnyFilterIsEstimated(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	sampled(t, s, "acme", 0)
	const inDefault = sampledRows * 2 / 3
	for _, tc := range []struct {
		name, filter, namespace string
		trusted                 bool
		want                    float64
	}{
		{name: "a namespace", namespace: "third", want: sampledRows / 3},
		{name: "all of a namespace", want: inDefault},
		{name: "a range", filter: `{"n": {"$lt": 3000}}`, want: inDefault / 2},
		{name: "a tenth", filter: `{"n": {"$lt": 600}}`, want: inDefault / 10},
		{name: "nothing", filter: `{"n": {"$lt": 0}}`, want: 0},
		{name: "an alternative", filter: `{"$or": [{"n": {"$lt": 1000}}, {"n": {"$gte": 5000}}]}`, want: inDefault / 3},
		{name: "a pattern", filter: `{"n": {"$regex": "^1"}}`, want: inDefault * 1111 / sampledRows},
		{name: "a uri", filter: `{"$uri": "file1"}`, want: inDefault / 2},
		{name: "a key that the content set", filter: `{"read": 1}`, want: inDefault},
		{name: "an access rule on it", filter: `{"read": 1}`, trusted: true, want: inDefault * 3 / 4},
	} {
		f, err := filter.Parse([]byte(tc.filter))
		if tc.filter == "" {
			f, err = filter.Filter{}, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if tc.trusted {
			f = f.Trusted()
		}
		got, total, err := s.Handlers.Queries.Estimate(t.Context(), "acme", query.Question{
			IndexName: "v", Mode: query.Vector, QueryVector: []float32{1, 0}, Filter: f, Namespace: tc.namespace,
		})
		if err != nil {
			t.Fatal(err)
		}
		// Five standard deviations of a sample of 300.
		if tolerance := 0.15 * sampledRows; got < tc.want-tolerance || got > tc.want+tolerance || total != sampledRows {
			t.Errorf("%s: %.0f of %.0f, want %.0f", tc.name, got, total, tc.want)
		}
	}
}

// The sample of one tenant says nothing about another tenant's index with the same id.
func TestSamplesAreOfOneTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	sampled(t, s, "acme", 0)
	sampled(t, s, "bolt", sampledRows)
	f, err := filter.Parse([]byte(`{"n": {"$lt": 6000}}`))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[tenant.ID]bool{"acme": true, "bolt": false} {
		got, _, err := s.Handlers.Queries.Estimate(t.Context(), id, query.Question{IndexName: "v", Mode: query.Vector, QueryVector: []float32{1, 0}, Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		if got > sampledRows/10 != want {
			t.Errorf("%s: %.0f chunks", id, got)
		}
	}
}

// Whatever the chunks of a filter have to do with the question, the nearest are found. A filter
// that most chunks match cannot be tested here: in a circle of points so close to each other an
// index scan comes along one side only.
func TestFiltersCorrelatedWithTheQuestionFindTheNearest(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{ListBytes: -1})
	c := sampled(t, s, "acme", 0)
	if _, err := c.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"}); err != nil {
		t.Fatal(err)
	}
	question := []float32{1, 0} // at the angle of chunk 0
	awaitBuilt(t, c, "v", question)
	for _, tc := range []struct {
		name   string
		filter map[string]any
	}{
		{"near", map[string]any{"n": map[string]any{"$lt": 1200}}},
		{"far", map[string]any{"n": map[string]any{"$gte": 2400, "$lt": 3600}}},
		{"far, few", map[string]any{"n": map[string]any{"$gte": 3000, "$lt": 3060}}},
	} {
		f, err := structpb.NewValue(tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		const topK = 10
		for range 6 { // more often than it takes to learn that index scans find too few
			res, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: "v", QueryVector: question, Filter: f, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			f, err := filter.Parse([]byte(`{"n": ` + jsonOf(t, tc.filter["n"]) + `}`))
			if err != nil {
				t.Fatal(err)
			}
			want := nearestOnCircle(f, topK)
			var got []string
			for _, r := range res.Results {
				got = append(got, r.Id)
			}
			if found := common(got, want); found < topK-1 || len(got) != topK {
				t.Errorf("%s: %d of %v found (%s, search width %d): %v", tc.name, found, want, res.Explain.Plan, res.Explain.SearchWidth, strings.Join(got, " "))
			}
		}
	}
}

// nearestOnCircle returns the ids of the chunks of the default namespace that match the
// filter and are nearest to chunk 0, two at the same distance.
func nearestOnCircle(f filter.Filter, k int) (ids []string) {
	for distance := 0; len(ids) < k && distance <= sampledRows/2; distance++ {
		for _, n := range []int{distance, sampledRows - distance} {
			if n%3 != 0 && n < sampledRows && len(ids) < k && f.Match(map[string]any{"n": n}) {
				ids = append(ids, strconv.Itoa(n))
			}
		}
	}
	return ids
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// common counts the texts that are in both lists.
func common(a, b []string) (n int) {
	for _, text := range a {
		if slices.Contains(b, text) {
			n++
		}
	}
	return n
}

// A re-embedding replaces the tables of an index, and a deletion drops them, while a sample is drawn.
func TestASampleOfATableThatIsDropped(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := sampled(t, s, "acme", 0)
	drop, err := s.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer drop.Rollback(t.Context())
	if _, err := drop.Exec(t.Context(), `DROP TABLE tenant_acme.chunk_1 CASCADE`); err != nil {
		t.Fatal(err)
	}
	described := make(chan error, 1)
	go func() {
		_, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "v"})
		described <- err
	}()
	wait.For(t, "the sample to wait for the table", func() (waits bool) {
		err := s.Pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'tenant_acme.chunk_1'::regclass
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	})
	if err := drop.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-described; connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("%v, want that the index is not found", err)
	}
}
