package rpc_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// places are points by the names of cities.
var places = map[string][2]float64{"berlin": {52.52, 13.405}, "potsdam": {52.39, 13.065}, "paris": {48.857, 2.352}, "suva": {-18.14, 178.44}, "apia": {-13.83, -171.76}}

// Areas select, count and bound as other conditions do, points are put in order by their distance, and near ones rank higher.
func TestPointsAreSelectedOrderedAndBoosted(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	for _, c := range []servicetest.Client{acme, bolt} {
		need(t)(c.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "cities", Dimension: 2, MetadataIndexes: []string{"at.lat", "at.lon"}}))
	}
	upsert := &ragdv1.UpsertRequest{IndexName: "cities", Entries: []*ragdv1.Entry{{Id: "nowhere", Values: []float32{1, 0}, Metadata: servicetest.Object(t, map[string]any{"at": "Berlin"})}}}
	for name, at := range places {
		upsert.Entries = append(upsert.Entries, &ragdv1.Entry{Id: name, Document: "the city of " + name, Values: []float32{1, 0}, Metadata: servicetest.Object(t, map[string]any{
			"at": map[string]any{"lat": at[0], "lon": at[1]}, "half": map[bool]string{true: "north", false: "south"}[at[0] > 0],
		})})
	}
	need(t)(acme.Upsert(ctx, upsert))
	ids := func(c servicetest.Client, request string) string {
		t.Helper()
		req := &ragdv1.VectorQueryRequest{}
		noError(t, protojson.Unmarshal([]byte(request), req))
		res, err := c.VectorQuery(ctx, req)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, source := range res.Sources {
			out = append(out, source.Id)
		}
		if req.OrderBy == nil && req.Boost == nil {
			slices.Sort(out)
		}
		return strings.Join(out, " ")
	}
	const near = `{"at": {"$geoRadius": {"center": {"lat": 52.5, "lon": 13.4}, "radius": 40000}}}`
	const pacific = `{"at": {"$geoBox": {"topLeft": {"lat": 0, "lon": 170}, "bottomRight": {"lat": -30, "lon": -170}}}}`
	for request, want := range map[string]string{
		`{"queryVector": [1, 0], "filter": ` + near + `}`:                                   "berlin potsdam",
		`{"queryVector": [1, 0], "filter": ` + pacific + `}`:                                "apia suva",
		`{"queryVector": [1, 0], "filter": {"$and": [` + pacific + `, {"half": "north"}]}}`: "",
		`{"queryVector": [1, 0], "filter": {"$not": ` + near + `}}`:                         "apia paris suva",
		`{"queryVector": [1, 0], "filter": {"at": {"$geoPolygon": {"points": [{"lat": 53, "lon": 0}, {"lat": 53, "lon": 13.2}, {"lat": 48, "lon": 13.2}, {"lat": 48, "lon": 0}]}}}}`: "paris potsdam",
		`{"orderBy": [{"field": "at", "origin": {"lat": 48, "lon": 2}}]}`:                                                                         "paris potsdam berlin apia suva nowhere",
		`{"orderBy": [{"field": "at", "origin": {"lat": 48, "lon": 2}, "descending": true}]}`:                                                     "suva apia berlin potsdam paris nowhere",
		`{"orderBy": [{"field": "at", "origin": {"lat": 48, "lon": 2}}], "queryVector": [1, 0], "topK": 6}`:                                       "paris potsdam berlin apia suva nowhere",
		`{"queryVector": [1, 0], "boost": {"field": "at", "origin": {"lat": 48, "lon": 2}, "halfDistance": 500000}}`:                              "paris potsdam berlin apia suva nowhere",
		`{"queryVector": [1, 0], "topK": 1, "boost": {"field": "at", "origin": {"lat": -13, "lon": 179}, "halfDistance": 1e6, "decay": "gauss"}}`: "suva",
	} {
		if got := ids(acme, request); got != want {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
		if got := ids(bolt, request); got != "" {
			t.Errorf("%s: another tenant gets %s", request, got)
		}
	}
	for request, want := range map[string]string{
		`{"orderBy": [{"field": "at", "origin": {"lat": 480, "lon": 2}}]}`:                                          "orderBy[0].origin: must be a point",
		`{"queryVector": [1, 0], "boost": {"field": "at", "origin": {"lat": 48}, "halfDistance": 5}}`:               "boost.origin: must be a point",
		`{"queryVector": [1, 0], "boost": {"field": "at", "origin": {"lat": 48, "lon": 2}}}`:                        "boost.halfDistance: must be a number above 0",
		`{"queryVector": [1, 0], "boost": {"field": "at", "origin": {"lat": 48, "lon": 2}, "halfLife": "1d"}}`:      "boost.halfLife: is for a field with times",
		`{"queryVector": [1, 0], "filter": {"at": {"$geoCircle": {"center": {"lat": 48, "lon": 2}, "radius": 5}}}}`: "Unsupported operator: $geoCircle",
	} {
		if got := ids(acme, request); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", request, got, want)
		}
	}
	count := &ragdv1.CountChunksRequest{}
	noError(t, protojson.Unmarshal([]byte(`{"filter": {"$or": [`+near+`, `+pacific+`]}, "facets": [{"field": "half"}]}`), count))
	if counted := need(t)(acme.CountChunks(ctx, count)).(*ragdv1.CountChunksResponse); counted.ChunkCount != 4 || len(counted.Facets[0].Values) != 2 || counted.Facets[0].Values[0].ChunkCount != 2 {
		t.Errorf("counted %v", counted)
	}
	called := need(t)(acme.CallTool(ctx, &ragdv1.CallToolRequest{ToolName: "vector_query", Arguments: servicetest.Object(t, map[string]any{"queryVector": []any{1, 0}, "filter": near})})).(*ragdv1.CallToolResponse)
	if text := called.String(); !strings.Contains(text, "potsdam") || strings.Contains(text, "paris") {
		t.Errorf("tool: %s", text)
	}
	mandatory := map[string]any{"at": map[string]any{"$geoRadius": map[string]any{"center": map[string]any{"lat": 52.5, "lon": 13.4}, "radius": 40000}}}
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, mandatory)}))
	if got := ids(bound, `{"queryVector": [1, 0]}`); got != "berlin potsdam" {
		t.Errorf("a key for an area gets %s", got)
	}
	if counted := need(t)(bound.CountChunks(ctx, &ragdv1.CountChunksRequest{})).(*ragdv1.CountChunksResponse); counted.ChunkCount != 2 {
		t.Errorf("a key for an area counts %v", counted)
	}
}
