package rpc_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// found runs a query and returns the uris of its sources and the response.
func found(t *testing.T, c servicetest.Client, req *ragdv1.VectorQueryRequest) ([]string, *ragdv1.VectorQueryResponse) {
	t.Helper()
	res, err := c.VectorQuery(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	uris := []string{}
	for _, s := range res.Sources {
		uris = append(uris, s.Uri)
	}
	return uris, res
}

func TestKeywordSearch(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	for uri, body := range map[string]string{
		"harbour":  "The harbour master opens the sea gates before high water.",
		"gates":    "Gates, gates and more gates: a catalogue of garden gates.",
		"water":    "High prices for water. The council meets on Monday.",
		"error":    "The pump reports ERR_1042 when it runs dry.",
		"parts":    "An ERR lamp is fitted in 1042 of the pumps.",
		"quotes":   `O'Reilly's \ "backslash" & | ! ( ) <-> pumps`,
		"stopping": "It is what it is.",
	} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(body)})
	}
	ask := func(question string) *ragdv1.VectorQueryRequest {
		return &ragdv1.VectorQueryRequest{QueryText: question, SearchMode: "keyword", Explain: true}
	}
	for _, tc := range []struct {
		question string
		want     []string // the first results
		all      bool     // want lists all results
	}{
		{"when do the harbour gates open", []string{"harbour", "gates"}, true},
		{"opening of gates", []string{"harbour"}, false},
		{`"high water"`, []string{"harbour"}, true},
		{`water "garden gates"`, []string{"gates"}, true},
		{`water "catalogue"`, []string{"gates"}, true},
		{`"the gates" "harbour"`, []string{"harbour"}, true},
		{"ERR_1042", []string{"error", "parts"}, true},
		{"o'reilly \\ & | ! <-> ( ) 'pumps", []string{"quotes"}, false},
		{"council", []string{"water"}, true},
		{"nothing like it anywhere zebra", []string{}, true},
	} {
		uris, res := found(t, acme, ask(tc.question))
		if len(uris) < len(tc.want) || tc.all && len(uris) > len(tc.want) {
			t.Errorf("%s: found %v, want %v", tc.question, uris, tc.want)
			continue
		}
		same(t, tc.question, uris[:len(tc.want)], tc.want)
		if !res.Explain.Complete || !res.Explain.Exact || res.Explain.Plan != "" {
			t.Errorf("%s: explain = %v", tc.question, res.Explain)
		}
	}
	uris, res := found(t, acme, ask(`"water high"`))
	if len(uris) == 0 || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "quoted") {
		t.Errorf("a phrase that no chunk contains: %v, %v", uris, res.Warnings)
	}
	for _, tc := range []struct {
		name, question string
		want           []string
		warning        string
	}{
		{"one of two phrases is nowhere", `"garden gates" "water high" council`, []string{"gates"}, `"water high": it was taken as words`},
		{"no two are in one chunk", `"garden gates" "high water"`, []string{"gates", "harbour"}, "any of them"},
		{"one is nowhere, the others are not in one chunk", `"garden gates" "zebra" "high water"`, []string{"gates", "harbour"}, "any of them"},
	} {
		uris, res := found(t, acme, ask(tc.question))
		slices.Sort(uris)
		same(t, tc.name, uris, tc.want)
		if len(res.Warnings) == 0 || !strings.Contains(res.Warnings[len(res.Warnings)-1], tc.warning) {
			t.Errorf("%s: warnings %q", tc.name, res.Warnings)
		}
	}
	elsewhere := ask(`"garden gates" "high water"`)
	elsewhere.Filter = structpb.NewStructValue(servicetest.Object(t, map[string]any{"none": "such"}))
	if uris, res := found(t, acme, elsewhere); len(uris) != 0 || len(res.Warnings) != 2 || !strings.Contains(res.Warnings[0], "as words") {
		t.Errorf("phrases outside of the filter: %v, %v", uris, res.Warnings)
	}
	uris, _ = found(t, acme, ask("it is what it is"))
	same(t, "stop words alone", uris[:1], []string{"stopping"})
	hybrid := ask(`"high water"`)
	hybrid.SearchMode = "hybrid"
	uris, _ = found(t, acme, hybrid)
	same(t, "a phrase binds both legs of a hybrid search", uris, []string{"harbour"})
	for _, fusion := range []string{"weighted", "rrf"} {
		hybrid := &ragdv1.VectorQueryRequest{QueryText: "harbour gates", SearchMode: "hybrid", Hybrid: &ragdv1.Hybrid{Fusion: fusion}}
		uris, res := found(t, acme, hybrid)
		if len(uris) != 7 || uris[0] != "harbour" || res.Sources[0].Score > 1 {
			t.Errorf("%s: %v", fusion, res)
		}
	}
}

func TestQueryOptionsArrangeSources(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	size, overlap := int32(60), int32(20)
	chunking := &ragdv1.Chunking{MaxSize: &size, Overlap: &overlap}
	upload := func(uri, team string) *ragdv1.Document {
		var body strings.Builder
		for n := range 12 {
			fmt.Fprintf(&body, "Sentence %d of %s is about tide number %d. ", n, uri, n)
		}
		return acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: uri, Source: servicetest.Text(body.String()), Chunking: chunking, Metadata: servicetest.Object(t, map[string]any{"team": team}),
		})
	}
	upload("one", "red")
	upload("two", "blue")
	three := int32(3)

	uris, _ := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: "tide sentence", MaxPerDocument: 1})
	if len(uris) != 2 {
		t.Errorf("one of each document: %v", uris)
	}
	_, plain := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: "tide number 5 of one", TopK: &three})
	_, wide := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: "tide number 5 of one", TopK: &three, Neighbours: 1})
	first, widened := plain.Sources[0], wide.Sources[0]
	if first.Id != widened.Id || len(widened.Document) <= len(first.Document) || !strings.Contains(widened.Document, strings.TrimSpace(first.Document)) {
		t.Errorf("%v\nwith neighbours is\n%v", first, widened)
	}
	if widened.StartByte > first.StartByte || widened.EndByte < first.EndByte || len(widened.Document) > int(widened.EndByte-widened.StartByte) {
		t.Errorf("the range of %v does not contain that of %v once", widened, first)
	}
	if !strings.Contains(wide.RelevantContext, widened.Document) {
		t.Error("the context does not have the neighbours")
	}
	_, all := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: "tide", Neighbours: 10})
	if len(all.Sources) != 2 {
		t.Errorf("chunks that touch are %d sources, want one for each document", len(all.Sources))
	}
	_, diverse := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: "tide number 5", TopK: &three, Diversity: 0.7})
	if len(diverse.Sources) != 3 || len(diverse.Sources[0].Vector) != 0 {
		t.Errorf("diverse: %v", diverse.Sources)
	}

	chroma := func(where, document any) *ragdv1.VectorQueryRequest {
		return &ragdv1.VectorQueryRequest{QueryText: "tide", VectorStoreName: "chroma", DatabaseConfig: &ragdv1.DatabaseConfig{
			Chroma: &ragdv1.ChromaConfig{Where: value(t, where), WhereDocument: value(t, document)},
		}}
	}
	uris, _ = found(t, acme, chroma(map[string]any{"team": "red"}, map[string]any{"$and": []any{
		map[string]any{"$contains": "number 7"}, map[string]any{"$not_contains": "zebra"},
	}}))
	if len(uris) == 0 || uris[0] != "one" {
		t.Errorf("chroma's conditions: %v", uris)
	}
	for _, uri := range uris {
		if uri != "one" {
			t.Errorf("chroma's where lets %s through", uri)
		}
	}
	for what, condition := range map[string]any{
		"an unknown condition": map[string]any{"$like": "x"}, "a number to contain": map[string]any{"$contains": 5.0},
		"a list to contain": map[string]any{"$not_contains": []any{"x"}},
	} {
		_, err := acme.VectorQuery(t.Context(), chroma(nil, condition))
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
	for name, req := range map[string]*ragdv1.VectorQueryRequest{
		"too many neighbours": {QueryText: "a", Neighbours: 11},
		"diversity over 1":    {QueryText: "a", Diversity: 1.5},
		"a negative maximum":  {QueryText: "a", MaxPerDocument: -1},
		"an unknown fusion":   {QueryText: "a", Hybrid: &ragdv1.Hybrid{Fusion: "x"}},
	} {
		_, err := acme.VectorQuery(t.Context(), req)
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
	}
}

// maxPerDocument reaches other documents even if one document fills all candidates of the
// search.
func TestMaxPerDocumentReachesEveryDocument(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	size, overlap := int32(70), int32(0)
	long := strings.Repeat("The harbour gate opens before high water and the pilot waits. ", 120)
	acme.Upload(t, &ragdv1.UploadDocumentRequest{
		Uri: "long", Source: servicetest.Text(long), Chunking: &ragdv1.Chunking{MaxSize: &size, Overlap: &overlap},
	})
	for n := range 12 {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{Uri: fmt.Sprint(n), Source: servicetest.Text(fmt.Sprintf("Note %d: a gate that is old.", n))})
	}
	for _, mode := range []string{"vector", "keyword", "hybrid"} {
		for _, most := range []int32{1, 3} {
			for _, reranker := range []*ragdv1.Reranker{nil, {}} {
				uris, res := found(t, acme, &ragdv1.VectorQueryRequest{
					QueryText: "harbour gate before high water, pilot waits", SearchMode: mode, MaxPerDocument: most,
					Reranker: reranker, Explain: true, Distinct: new(false), // the chunks of the long one say the same
				})
				perDocument := map[string]int32{}
				for _, uri := range uris {
					perDocument[uri]++
				}
				if len(uris) != 10 || perDocument["long"] != most || len(perDocument) != 11-int(most) {
					t.Errorf("%s, %d of a document, reranked %v: %v, %v", mode, most, reranker != nil, uris, res.Explain)
				}
			}
		}
	}
}

// Search results and counts in explain do not depend on terms of chunks that the
// credential's mandatory filter hides.
func TestHiddenChunksDoNotAffectSearch(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for uri, body := range map[string]string{"open": "The pump reports ERR_1042.", "secret": "The merger is called bluebird."} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{Uri: uri, Source: servicetest.Text(body), Metadata: servicetest.Object(t, map[string]any{"level": uri})})
	}
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"}),
	}))
	score := func(question string) float64 {
		uris, res := found(t, reader, &ragdv1.VectorQueryRequest{QueryText: question, SearchMode: "keyword", Explain: true})
		same(t, question, uris, []string{"open"})
		same(t, "candidates", res.Explain.Candidates, int32(0))
		return res.Sources[0].Score
	}
	same(t, "the score with a word that is hidden", score("ERR_1042 bluebird"), score("ERR_1042 kingfisher"))
}

// A filter on a field that no chunk has finds nothing, and the answer says which fields
// there are: only those of chunks that the caller may see, and not the fields by which a
// mandatory filter hides others.
func TestAFilterOnAnUnknownFieldNamesTheFieldsThereAre(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
	}
	for uri, metadata := range map[string]map[string]any{"open": {"level": "open", "team": "legal"}, "secret": {"level": "secret", "merger": "bluebird"}} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{Uri: uri, Source: servicetest.Text("The pump fails."), ContentType: "text/plain", Metadata: servicetest.Object(t, metadata)})
	}
	bolt.Upload(t, &ragdv1.UploadDocumentRequest{Uri: "b", Source: servicetest.Text("The pump fails."), ContentType: "text/plain", Metadata: servicetest.Object(t, map[string]any{"teem": "x"})})
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"clearance": "none"}),
	}))
	limited := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"}),
	}))
	unplaced := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": map[string]any{"$context": "key.team"}}),
	}))
	for _, tc := range []struct {
		name   string
		caller servicetest.Client
		filter map[string]any
		want   []string
	}{
		{"a misspelt field", acme, map[string]any{"teem": "legal"}, []string{`filter: none of the chunks looked at (up to 20000) has the field "teem"; did you mean team?; their fields are level, merger, position, team`}},
		{"a field that there is", acme, map[string]any{"team": "sales"}, nil},
		{"a filter that finds something", acme, map[string]any{"$or": []any{map[string]any{"teem": "x"}, map[string]any{"team": "legal"}}}, nil},
		{"hidden chunks", limited, map[string]any{"merger": "bluebird"}, []string{`filter: none of the chunks looked at (up to 20000) has the field "merger"; their fields are level, position, team`}},
		{"a reference without a value", acme, map[string]any{"team": map[string]any{"$context": "context.team"}}, []string{`filter: {"$context": "context.team"} has no value in this request, so its condition matches nothing`}},
		{"a mandatory reference without a value", unplaced, map[string]any{"team": "legal"}, nil},
		{"nothing may be seen", reader, map[string]any{"teem": "legal"}, nil},
	} {
		res, err := tc.caller.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "pump", Filter: structpb.NewStructValue(servicetest.Object(t, tc.filter))})
		if err != nil {
			t.Fatal(err)
		}
		same(t, tc.name, res.Warnings, tc.want)
	}
	many := &ragdv1.UpsertRequest{IndexName: "vectors"}
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "vectors", Dimension: 1})
	for i := range 300 {
		metadata := map[string]any{"common": i}
		if i == 299 {
			metadata["rare"] = 1
		}
		many.Entries = append(many.Entries, &ragdv1.Entry{Id: strconv.Itoa(i), Values: []float32{1}, Metadata: servicetest.Object(t, metadata)})
	}
	upsert(t, acme, many)
	rare, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "vectors", QueryVector: []float32{1}, Filter: structpb.NewStructValue(servicetest.Object(t, map[string]any{"rare": 2}))})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a field of the last chunk of many", len(rare.Warnings), 0)
	graph, err := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "docs", QueryText: "pump", Filter: structpb.NewStructValue(servicetest.Object(t, map[string]any{"teem": "legal"}))})
	if err != nil || len(graph.Warnings) != 1 {
		t.Errorf("a graph query is warned of %v, error %v", graph.GetWarnings(), err)
	}
}

// The mandatory filter applies to neighbours as it does to sources.
func TestNeighboursStayInTheMandatoryFilter(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "levels.md", ContentType: "text/plain", Metadata: servicetest.Object(t, map[string]any{"level": "open"}),
		Source: servicetest.Text(strings.Repeat("The open part of the plan. ", 60)),
	})
	if _, err := s.Pool.Exec(t.Context(), `UPDATE tenant_acme.chunk_1 SET metadata = '{"level": "secret"}', text = 'The secret part.' WHERE ordinal = 1`); err != nil {
		t.Fatal(err)
	}
	if d.ChunkCount < 2 {
		t.Fatalf("the document has %d chunks", d.ChunkCount)
	}
	visitor := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
	_, res := found(t, visitor, &ragdv1.VectorQueryRequest{QueryText: "the plan", Neighbours: 3})
	if len(res.Sources) == 0 || strings.Contains(res.RelevantContext, "secret") {
		t.Errorf("answer = %v", res)
	}
}
