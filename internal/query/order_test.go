package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// answerTo answers a request that is given in JSON.
func answerTo(t *testing.T, c servicetest.Client, request string) (*ragdv1.VectorQueryResponse, error) {
	t.Helper()
	req := &ragdv1.VectorQueryRequest{}
	if err := protojson.Unmarshal([]byte(request), req); err != nil {
		t.Fatal(err)
	}
	return c.VectorQuery(t.Context(), req)
}

// uris returns the uris of an answer, or its error.
func uris(t *testing.T, c servicetest.Client, request string) string {
	t.Helper()
	res, err := answerTo(t, c, request)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, source := range res.GetSources() {
		out = append(out, source.GetUri())
	}
	return strings.Join(out, " ")
}

func TestSourcesAreInTheOrderOfFields(t *testing.T) {
	t.Parallel()
	s, c := shop(t)
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"goods"}}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true}),
	}))
	for _, tc := range []struct {
		client        servicetest.Client
		request, want string
	}{
		{c, `{"indexName": "goods", "orderBy": [{"field": "price"}]}`, "0 1 2 3 4"},
		{c, `{"indexName": "goods", "orderBy": [{"field": "price", "descending": true}], "topK": 3}`, "4 3 2"},
		{c, `{"indexName": "goods", "orderBy": [{"field": "day", "descending": true}, {"field": "price", "descending": true}]}`, "3 1 0 4 2"},
		{c, `{"indexName": "goods", "orderBy": [{"field": "kind"}, {"field": "price", "descending": true}], "filter": {"price": {"$gt": 20}}}`, "2 1 3"},
		{c, `{"indexName": "goods", "queryText": "steel", "searchMode": "keyword", "orderBy": [{"field": "price", "descending": true}]}`, "3 1"},
		{c, `{"indexName": "goods", "queryText": "steel", "orderBy": [{"field": "price"}], "distinct": false}`, "0 1 2 3 4"},
		{c, `{"indexNames": ["goods", "vault"], "orderBy": [{"field": "kind"}], "topK": 2}`, "2 v"},
		{limited, `{"orderBy": [{"field": "price", "descending": true}]}`, "4 2 1 0"},
		{limited, `{"indexName": "goods", "queryText": "steel", "searchMode": "keyword", "orderBy": [{"field": "price", "descending": true}]}`, "1"},
		{s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "bolt", Scopes: []string{"read"}})), `{"indexName": "goods", "orderBy": [{"field": "price"}]}`, "0"},
	} {
		if got := uris(t, tc.client, tc.request); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.request, got, tc.want)
		}
	}
	for request, field := range map[string]string{
		`{"orderBy": [{"field": ""}]}`:                                                                                  "orderBy[0].field",
		`{"orderBy": [{"field": "a"}], "boost": {"field": "a", "halfLife": "1d"}}`:                                      "orderBy",
		`{"orderBy": [{"field": "a"}], "minScore": 0.1}`:                                                                "orderBy",
		`{"orderBy": [{"field": "a"}], "searchMode": "keyword"}`:                                                        "queryText",
		`{"orderBy": [{"field": "a"}], "groupBy": {"field": "b"}, "queryText": "x"}`:                                    "groupBy",
		`{"orderBy": [{"field": "a"}, {"field": "a"}, {"field": "a"}, {"field": "a"}, {"field": "a"}, {"field": "a"}]}`: "orderBy",
	} {
		_, err := answerTo(t, c, `{"indexName": "goods", `+request[1:])
		servicetest.WantCode(t, request, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", request, err)
		}
	}
}

// groupsOf returns the groups of an answer as "value(count): uris".
func groupsOf(t *testing.T, c servicetest.Client, request string) (lines []string) {
	t.Helper()
	res, err := answerTo(t, c, request)
	if err != nil {
		return []string{err.Error()}
	}
	for n, group := range res.GetGroups() {
		line := fmt.Sprint(group.GetValue().AsInterface())
		if group.ChunkCount != nil {
			line += fmt.Sprintf("(%d)", group.GetChunkCount())
		}
		members := 0
		for _, source := range res.GetSources() {
			if source.Group == nil {
				t.Errorf("%s: a source has no group", request)
			} else if int(source.GetGroup()) == n {
				members++
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %d", line, members))
	}
	if res.GroupCount != nil {
		lines = append(lines, fmt.Sprint(res.GetGroupCount(), " in all"))
	}
	return lines
}

func TestSourcesAreGroupedByAField(t *testing.T) {
	t.Parallel()
	s, c := shop(t)
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"open": true})}))
	for _, tc := range []struct {
		client  servicetest.Client
		request string
		want    []string
	}{
		{c, `{"indexName": "goods", "queryText": "wood", "searchMode": "keyword", "groupBy": {"field": "tags", "size": 1}, "distinct": false}`, []string{"new(1): 1", "red(1): 1", "<nil>(1): 1", "3 in all"}},
		{c, `{"indexName": "goods", "queryText": "thing", "searchMode": "keyword", "groupBy": {"field": "open", "size": 2}, "distinct": false}`, []string{"true(4): 2", "false(1): 1", "2 in all"}},
		{limited, `{"indexName": "goods", "queryText": "thing", "searchMode": "keyword", "groupBy": {"field": "open", "size": 2}, "distinct": false}`, []string{"true(4): 2", "1 in all"}},
		{c, `{"indexName": "goods", "queryText": "thing", "groupBy": {"field": "open", "size": 9}, "topK": 1, "filter": {"open": true}, "distinct": false}`, []string{"true: 4"}},
		{c, `{"indexName": "goods", "queryText": "thing -steel", "querySyntax": "web", "searchMode": "keyword", "groupBy": {"field": "open", "size": 2}, "distinct": false}`, []string{"true(3): 2", "1 in all"}},
		{limited, `{"indexName": "goods", "queryText": "stee* OR wood", "querySyntax": "web", "searchMode": "keyword", "groupBy": {"field": "open", "size": 2}, "distinct": false}`, []string{"true(4): 2", "1 in all"}},
	} {
		got := groupsOf(t, tc.client, tc.request)
		slices.Sort(got) // scores are equal, so that the groups are in the order of ids
		slices.Sort(tc.want)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.request, diff)
		}
	}
	for request, field := range map[string]string{
		`"indexName": "goods", "groupBy": {"field": "$uri"}`:                "groupBy.field",
		`"indexName": "goods", "groupBy": {"field": "a", "size": 0}`:        "groupBy.size",
		`"indexName": "goods", "groupBy": {"field": "a", "size": 101}`:      "groupBy.size",
		`"indexName": "goods", "groupBy": {"field": "a"}, "diversity": 0.5`: "groupBy",
		`"indexNames": ["goods", "vault"], "groupBy": {"field": "a"}`:       "groupBy",
	} {
		_, err := answerTo(t, c, `{"queryText": "x", `+request+"}")
		servicetest.WantCode(t, request, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", request, err)
		}
	}
}

// All pages together are the sources of one answer, each once, also if chunks are written in between.
func TestPagesHaveEachSourceOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c, other := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, client := range []servicetest.Client{c, other} {
		if _, err := client.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(id string, x float32) {
		t.Helper()
		_, err := c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{{Id: id, Values: []float32{x, 1}, Metadata: servicetest.Object(t, map[string]any{"x": x, "text": "entry " + id})}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for n := range 11 {
		put(fmt.Sprintf("e%02d", n), float32(n))
		want = append(want, fmt.Sprintf("e%02d", n))
	}
	for _, request := range []string{
		`"queryVector": [0, 1], "distinct": false`, `"orderBy": [{"field": "x"}]`, `"queryText": "entry", "searchMode": "keyword", "orderBy": [{"field": "x"}]`,
	} {
		var got []string
		pages := 0
		for token := ""; ; {
			res, err := answerTo(t, c, `{"indexName": "v", "pageSize": 4, `+request+`, "pageToken": "`+token+`"}`)
			if err != nil {
				t.Fatal(request, err)
			}
			for _, source := range res.GetSources() {
				got = append(got, source.GetId())
			}
			pages++
			last := token
			if token = res.GetNextPageToken(); token == "" {
				break
			}
			if pages == 1 { // before all others
				put("new", -1)
				_, err := answerTo(t, other, `{"indexName": "v", "pageSize": 4, `+request+`, "pageToken": "`+token+`"}`)
				servicetest.WantCode(t, "the token of another tenant", err, connect.CodeInvalidArgument)
				_, err = answerTo(t, c, `{"indexName": "v", "pageSize": 5, `+request+`, "pageToken": "`+token+`"}`)
				servicetest.WantCode(t, "the token of another request", err, connect.CodeInvalidArgument)
				_, err = answerTo(t, c, `{"indexName": "v", "pageSize": 4, `+request+`, "filter": {"x": {"$gt": 1}}, "pageToken": "`+token+`"}`)
				servicetest.WantCode(t, "the token of another filter", err, connect.CodeInvalidArgument)
			}
			if token == last {
				t.Fatal("the same page again")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
			t.Errorf("%s: %d pages (-want +got)\n%s", request, pages, diff)
		}
		if _, err := c.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "v", Ids: []string{"new"}}); err != nil {
			t.Fatal(err)
		}
	}
	for request, field := range map[string]string{
		`"pageSize": 1001`: "pageSize", `"pageToken": "x"`: "pageSize", `"pageSize": 3, "topK": 3`: "pageSize", `"pageSize": 3, "pageToken": "x"`: "pageToken",
		`"pageSize": 3, "diversity": 0.2`: "pageSize", `"pageSize": 3, "orderBy": [{"field": "a"}]`: "orderBy", `"pageSize": 3, "includeVectors": true`: "pageSize",
	} {
		_, err := answerTo(t, c, `{"indexName": "v", "queryVector": [0, 1], `+request+`}`)
		servicetest.WantCode(t, request, err, connect.CodeInvalidArgument)
		if err != nil && !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", request, err)
		}
	}
}

func TestPagesEndAtALimit(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pool.Exec(t.Context(), `INSERT INTO tenant_acme.chunk_1 (chunk_id, embedding, metadata, text, terms, term_weights)
		SELECT i, '[1]', jsonb_build_object('n', i), '', '', '{}/1000000000' FROM generate_series(1, 10005) AS i`); err != nil {
		t.Fatal(err)
	}
	seen, token := map[string]bool{}, ""
	for range 10 {
		res, err := answerTo(t, c, `{"indexName": "v", "pageSize": 1000, "orderBy": [{"field": "n"}], "pageToken": "`+token+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range res.GetSources() {
			seen[source.GetId()] = true
		}
		if token = res.GetNextPageToken(); (token == "") != (len(res.GetWarnings()) > 0) {
			t.Errorf("after %d sources: %q, %v", len(seen), token, res.GetWarnings())
		}
	}
	if len(seen) != 10_000 || token != "" {
		t.Errorf("%d sources, and then %q", len(seen), token)
	}
}

// The pages of a question are the answer with as many sources, in its order, in every mode and from several indexes.
func TestPagesAreTheWholeAnswer(t *testing.T) {
	t.Parallel()
	_, c := shop(t)
	for _, request := range []string{
		`"indexName": "goods", "queryText": "a thing of steel"`, `"indexName": "goods", "queryText": "a thing of steel", "searchMode": "vector"`,
		`"indexName": "goods", "queryText": "a thing of steel", "searchMode": "keyword"`, `"queryText": "a thing of steel"`,
		`"indexName": "goods", "queryText": "a thing of steel", "searchMode": "keyword", "filter": {"open": true}, "orderBy": [{"field": "price"}]`,
	} {
		want := uris(t, c, `{"distinct": false, "topK": 10, `+request+`}`)
		var got []string
		for token := ""; ; {
			res, err := answerTo(t, c, `{"distinct": false, "pageSize": 2, `+request+`, "pageToken": "`+token+`"}`)
			if err != nil {
				t.Fatal(request, err)
			}
			for _, source := range res.GetSources() {
				got = append(got, source.GetUri())
			}
			if token = res.GetNextPageToken(); token == "" {
				break
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s in pages, %s at once", request, strings.Join(got, " "), want)
		}
	}
}
