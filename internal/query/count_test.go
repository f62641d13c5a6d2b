package query_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// countRequest reads a request from its JSON.
func countRequest(t testing.TB, text string) *ragdv1.CountChunksRequest {
	t.Helper()
	req := &ragdv1.CountChunksRequest{}
	if err := protojson.Unmarshal([]byte(text), req); err != nil {
		t.Fatal(err)
	}
	return req
}

// counted returns what a request counts: the chunks and documents, and each facet as "field chunks-missing: value=n ...".
func counted(t *testing.T, c servicetest.Client, request string) []string {
	t.Helper()
	res, err := c.CountChunks(t.Context(), countRequest(t, request))
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	out := []string{fmt.Sprintf("%d/%d", res.GetChunkCount(), res.GetDocumentCount())}
	show := func(v *structpb.Value) string {
		if v == nil {
			return "*"
		}
		return strings.TrimSpace(fmt.Sprint(v.AsInterface()))
	}
	for _, f := range res.GetFacets() {
		line := fmt.Sprintf("%s %d-%d:", f.GetField(), f.GetChunkCount(), f.GetMissingCount())
		for _, v := range f.GetValues() {
			line += fmt.Sprintf(" %s=%d", show(v.GetValue()), v.GetChunkCount())
		}
		for _, r := range f.GetRanges() {
			line += fmt.Sprintf(" %s..%s=%d", show(r.GetFrom()), show(r.GetTo()), r.GetChunkCount())
		}
		out = append(out, line)
	}
	return out
}

func wantCounts(t *testing.T, c servicetest.Client, request string, want ...string) {
	t.Helper()
	for range 2 { // the second time from the cache
		if diff := cmp.Diff(want, counted(t, c, request)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", request, diff)
		}
	}
}

// shop returns the service with tenants that sell different things, each with an index of documents.
func shop(t *testing.T) (*servicetest.Service, servicetest.Client) {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for client, goods := range map[*servicetest.Client][]map[string]any{
		&acme: {
			{"kind": "lamp", "price": 12, "day": "2026-01-30", "tags": []any{"new", "red"}, "open": true},
			{"kind": "lamp", "price": 30, "day": "2026-03-01T00:30:00+01:00", "tags": []any{"red"}, "open": true},
			{"kind": "desk", "price": 250, "tags": "red", "open": true},
			{"kind": "safe", "price": 900, "day": "2026-03-02", "open": false},
			{"kind": nil, "price": "on request", "open": true},
		},
		&bolt: {{"kind": "anchor", "price": 77}},
	} {
		client.Index(t, "goods")
		client.Index(t, "vault")
		for n, metadata := range goods {
			text := "A thing to buy, in wood."
			if n%2 == 1 {
				text = "A thing to buy, in steel."
			}
			client.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "goods", Uri: fmt.Sprint(n), Source: servicetest.Text(text), Metadata: servicetest.Object(t, metadata)})
		}
		client.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "vault", Uri: "v", Source: servicetest.Text("Gold."), Metadata: servicetest.Object(t, map[string]any{"kind": "gold"})})
	}
	return s, acme
}

func TestChunksAreCountedByTheirMetadata(t *testing.T) {
	t.Parallel()
	_, c := shop(t)
	wantCounts(t, c, `{"indexName": "goods"}`, "5/5")
	wantCounts(t, c, `{"indexName": "goods", "namespace": "other", "facets": [{"field": "kind"}]}`, "0/0", "kind 0-0:")
	wantCounts(t, c, `{"indexName": "goods", "facets": [{"field": "kind"}, {"field": "tags"}, {"field": "open", "limit": 1}, {"field": "none"}]}`,
		"5/5", "kind 5-1: lamp=2 desk=1 safe=1", "tags 5-2: red=3 new=1", "open 5-0: true=4", "none 5-5:")
	wantCounts(t, c, `{"indexName": "goods", "filter": {"price": {"$lt": 100}}, "facets": [{"field": "price", "rangeCount": 2}, {"field": "day", "interval": "month", "timeZone": "Europe/Paris"}]}`,
		"2/2", "price 2-0: 10..20=1 20..30=1",
		"day 2-0: 2026-01-01T00:00:00+01:00..2026-02-01T00:00:00+01:00=1 2026-02-01T00:00:00+01:00..2026-03-01T00:00:00+01:00=0 2026-03-01T00:00:00+01:00..2026-04-01T00:00:00+02:00=1")
	wantCounts(t, c, `{"indexName": "goods", "facets": [{"field": "price", "ranges": [{"to": 30}, {"from": 30, "to": 900}, {"from": 900}]}, {"field": "day", "ranges": [{"from": "2026-02-01"}]}]}`,
		"5/5", "price 5-0: *..30=1 30..900=2 900..*=1", "day 5-2: 2026-02-01..*=2")

	// A page shows what else could be chosen of a field, within what is chosen of the others.
	wantCounts(t, c, `{"indexName": "goods", "filter": {"kind": "lamp", "price": {"$gt": 20}}, "facets": [{"field": "kind", "withoutOwnFilter": true}, {"field": "kind"}, {"field": "price", "withoutOwnFilter": true}]}`,
		"1/1", "kind 3-0: desk=1 lamp=1 safe=1", "kind 1-0: lamp=1", "price 2-0: 12=1 30=1")

	// Those that keyword search matches.
	wantCounts(t, c, `{"indexName": "goods", "queryText": "steel", "facets": [{"field": "kind"}]}`, "2/2", "kind 2-0: lamp=1 safe=1")
	wantCounts(t, c, `{"indexName": "goods", "queryText": "\"in wood\"", "filter": {"kind": "lamp"}}`, "1/1")
	wantCounts(t, c, `{"indexName": "goods", "queryText": "zeppelin", "facets": [{"field": "kind"}]}`, "0/0", "kind 0-0:")

	// Those that a search finds first.
	wantCounts(t, c, `{"indexName": "goods", "queryText": "steel", "searchMode": "keyword", "nearest": 1}`, "1/1")
	wantCounts(t, c, `{"indexName": "goods", "queryText": "steel", "nearest": 4, "facets": [{"field": "open"}]}`, "4/4", counted(t, c, `{"indexName": "goods", "queryText": "steel", "nearest": 4, "facets": [{"field": "open"}]}`)[1])

	for request, field := range map[string]string{
		`{"nearest": 3}`:                                     "nearest",
		`{"nearest": 1001, "queryText": "x"}`:                "nearest",
		`{"queryVector": [1]}`:                               "queryVector",
		`{"queryText": "x", "searchMode": "hybrid"}`:         "searchMode",
		`{"searchMode": "keyword"}`:                          "queryText",
		`{"queryText": " "}`:                                 "queryText",
		`{"facets": [{"field": "a"}, {"field": "$uri"}]}`:    "facets[1].field",
		`{"filter": {"a": {"$near": 1}}, "facets": []}`:      "filter",
		`{"facets": [{"field": "a", "interval": "decade"}]}`: "facets[0].interval",
	} {
		req := countRequest(t, request)
		req.IndexName = "goods"
		_, err := c.CountChunks(t.Context(), req)
		servicetest.WantCode(t, request, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", request, err)
		}
	}
	_, err := c.CountChunks(t.Context(), &ragdv1.CountChunksRequest{IndexName: "nothing"})
	servicetest.WantCode(t, "no index", err, connect.CodeNotFound)
}

// Counts tell nothing of what a key may not see: not of documents that its filter hides, nor of indexes outside its bounds. A
// facet without its own filter keeps that of the key.
func TestCountsKeepWalls(t *testing.T) {
	t.Parallel()
	s, c := shop(t)
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"goods"}}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true}),
	}))
	all := `{"indexName": "goods", "facets": [{"field": "kind"}, {"field": "open"}]}`
	for n := range 4 { // what is counted again is counted in memory after a while
		wantCounts(t, c, all, "5/5", "kind 5-1: lamp=2 desk=1 safe=1", "open 5-0: true=4 false=1")
		wantCounts(t, limited, all, "4/4", "kind 4-1: lamp=2 desk=1", "open 4-0: true=4")
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "goods", Uri: "3", Source: servicetest.Text("A thing to buy, in steel."), Metadata: servicetest.Object(t, map[string]any{"kind": "safe", "price": 900 + n, "open": false})})
	}
	wantCounts(t, limited, `{"indexName": "goods", "filter": {"open": false}, "facets": [{"field": "open", "withoutOwnFilter": true}]}`, "0/0", "open 4-0: true=4")
	wantCounts(t, limited, `{"indexName": "goods", "queryText": "steel", "facets": [{"field": "kind"}]}`, "1/1", "kind 1-0: lamp=1")
	wantCounts(t, limited, `{"indexName": "goods", "queryText": "steel", "nearest": 10, "facets": [{"field": "kind"}]}`, "4/4", "kind 4-1: lamp=2 desk=1")
	for _, index := range []string{"vault", "nothing"} {
		_, err := limited.CountChunks(t.Context(), &ragdv1.CountChunksRequest{IndexName: index})
		servicetest.WantCode(t, index, err, connect.CodeNotFound)
	}
	wantCounts(t, s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "bolt", Scopes: []string{"read"}})), all, "1/1", "kind 1-0: anchor=1", "open 1-1:")
}

// Every count has what was written before, also where an earlier one is kept.
func TestCountsAreNeverOutdated(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 1})
	do(err)
	put := func(id, kind string) {
		t.Helper()
		_, err := c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{{Id: id, Values: []float32{1}, Metadata: servicetest.Object(t, map[string]any{"kind": kind})}}})
		do(err)
	}
	const request = `{"facets": [{"field": "kind"}]}`
	put("a", "x")
	wantCounts(t, c, request, "1/0", "kind 1-0: x=1")
	put("b", "y")
	wantCounts(t, c, request, "2/0", "kind 2-0: x=1 y=1")
	put("b", "x")
	wantCounts(t, c, request, "2/0", "kind 2-0: x=2")
	_, err = c.Update(t.Context(), &ragdv1.UpdateRequest{IndexName: "v", Id: "a", Metadata: servicetest.Object(t, map[string]any{"kind": "z"})})
	do(err)
	wantCounts(t, c, request, "2/0", "kind 2-0: x=1 z=1")
	_, err = c.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "v", Ids: []string{"b"}})
	do(err)
	wantCounts(t, c, request, "1/0", "kind 1-0: z=1")
	_, err = c.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "v"})
	do(err)
	put("a", "after")
	wantCounts(t, c, request, "1/0", "kind 1-0: after=1")
	_, err = c.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "v"})
	do(err)
	put("a", "again")
	wantCounts(t, c, request, "1/0", "kind 1-0: again=1")
}

// A count that costs too much ends with an error that says what to do.
func TestCountsHaveACostLimit(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pool.Exec(t.Context(), `INSERT INTO tenant_acme.chunk_1 (chunk_id, embedding, metadata, text, terms, term_weights)
		SELECT i, '[1]', jsonb_build_object('long', lpad(i::text, 1900, 'x'), 'longer', repeat('y', 3000)), '', '', '{}/1000000000' FROM generate_series(1, 18000) AS i`); err != nil {
		t.Fatal(err)
	}
	_, err := c.CountChunks(t.Context(), countRequest(t, `{"facets": [{"field": "long", "limit": 1}]}`))
	servicetest.WantCode(t, "too many bytes", err, connect.CodeResourceExhausted)
	if err != nil && !strings.Contains(err.Error(), "32 MB") {
		t.Error(err)
	}
	wantCounts(t, c, `{"facets": [{"field": "longer"}]}`, "18000/0", "longer 18000-0:")

	tx, err := s.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // after what it holds up
	if _, err := tx.Exec(t.Context(), `LOCK TABLE tenant_acme.chunk_1`); err != nil {
		t.Fatal(err)
	}
	_, err = c.CountChunks(t.Context(), countRequest(t, `{"facets": [{"field": "other"}]}`))
	servicetest.WantCode(t, "too slow", err, connect.CodeResourceExhausted)
	if err != nil && !strings.Contains(err.Error(), "filter for fewer chunks") {
		t.Error(err)
	}
}
