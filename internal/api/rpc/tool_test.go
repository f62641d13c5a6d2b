package rpc_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestToolsOfATenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")
	ctx := t.Context()
	made, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{
		ToolName: "ask_handbook", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs", "topK": 3}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if made.GetTitle() != "ask_handbook" || made.GetDescription() == "" || strings.Join(made.GetArguments(), " ") != "queryText topK filter" {
		t.Errorf("made %v", made)
	}
	_, err = acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: "ask_handbook", Kind: "document_chunker"})
	servicetest.WantCode(t, "the same name", err, connect.CodeAlreadyExists)

	words, fixed := "Answers from the handbook.", true
	changed, err := acme.UpdateTool(ctx, &ragdv1.UpdateToolRequest{ToolName: "ask_handbook", Description: &words, Fixed: &fixed, Arguments: []string{"queryText"}})
	if err != nil || changed.GetDescription() != words || !changed.GetFixed() || len(changed.GetArguments()) != 1 || changed.GetSettings().GetFields()["topK"].GetNumberValue() != 3 {
		t.Errorf("changed %v, %v", changed, err)
	}
	got, err := acme.GetTool(ctx, &ragdv1.GetToolRequest{ToolName: "ask_handbook"})
	if err != nil || got.GetDescription() != words {
		t.Errorf("GetTool = %v, %v", got, err)
	}
	if _, err := acme.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: "cut", Kind: "document_chunker"}); err != nil {
		t.Fatal(err)
	}
	first, err := acme.ListTools(ctx, &ragdv1.ListToolsRequest{PageSize: 1})
	if err != nil || len(first.GetTools()) != 1 || first.GetTools()[0].GetToolName() != "ask_handbook" {
		t.Fatalf("ListTools = %v, %v", first, err)
	}
	second, err := acme.ListTools(ctx, &ragdv1.ListToolsRequest{PageSize: 1, PageToken: first.GetNextPageToken()})
	if err != nil || len(second.GetTools()) != 1 || second.GetTools()[0].GetToolName() != "cut" || second.GetNextPageToken() != "" {
		t.Errorf("the second page = %v, %v", second, err)
	}

	t.Run("are invisible to other tenants", func(t *testing.T) {
		_, err := bolt.GetTool(ctx, &ragdv1.GetToolRequest{ToolName: "ask_handbook"})
		servicetest.WantCode(t, "GetTool", err, connect.CodeNotFound)
		_, err = bolt.UpdateTool(ctx, &ragdv1.UpdateToolRequest{ToolName: "ask_handbook", Description: &words})
		servicetest.WantCode(t, "UpdateTool", err, connect.CodeNotFound)
		_, err = bolt.DeleteTool(ctx, &ragdv1.DeleteToolRequest{ToolName: "ask_handbook"})
		servicetest.WantCode(t, "DeleteTool", err, connect.CodeNotFound)
		list, err := bolt.ListTools(ctx, &ragdv1.ListToolsRequest{})
		if err != nil || len(list.GetTools()) != 0 {
			t.Errorf("ListTools = %v, %v", list, err)
		}
	})
	t.Run("are changed only with the scope write and without a mandatory filter", func(t *testing.T) {
		for name, key := range map[string]*ragdv1.CreateApiKeyRequest{
			"a reader":                      {TenantId: "acme", Scopes: []string{"read"}},
			"a key with a mandatory filter": {TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})},
		} {
			c := s.Client(s.Key(t, key))
			_, err := c.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: "more", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})})
			servicetest.WantCode(t, name+": CreateTool", err, connect.CodePermissionDenied)
			_, err = c.UpdateTool(ctx, &ragdv1.UpdateToolRequest{ToolName: "cut", Description: &words})
			servicetest.WantCode(t, name+": UpdateTool", err, connect.CodePermissionDenied)
			_, err = c.DeleteTool(ctx, &ragdv1.DeleteToolRequest{ToolName: "cut"})
			servicetest.WantCode(t, name+": DeleteTool", err, connect.CodePermissionDenied)
			if list, err := c.ListTools(ctx, &ragdv1.ListToolsRequest{}); err != nil || len(list.GetTools()) != 2 {
				t.Errorf("%s: ListTools = %v, %v", name, list, err)
			}
		}
	})
	if _, err := acme.DeleteTool(ctx, &ragdv1.DeleteToolRequest{ToolName: "cut"}); err != nil {
		t.Fatal(err)
	}
	_, err = acme.DeleteTool(ctx, &ragdv1.DeleteToolRequest{ToolName: "cut"})
	servicetest.WantCode(t, "DeleteTool again", err, connect.CodeNotFound)
}

func TestInvalidToolsAreRejected(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	docs := map[string]any{"indexName": "docs"}
	for _, tc := range []struct {
		name     string
		req      *ragdv1.CreateToolRequest
		settings map[string]any
		code     connect.Code
		want     string
	}{
		{"a builtin name", &ragdv1.CreateToolRequest{ToolName: "vector_query", Kind: "vector_query"}, docs, connect.CodeInvalidArgument, "toolName"},
		{"a builtin name in capitals", &ragdv1.CreateToolRequest{ToolName: "Upload_Document", Kind: "vector_query"}, docs, connect.CodeInvalidArgument, "toolName"},
		{"the reserved prefix", &ragdv1.CreateToolRequest{ToolName: "ragd-own", Kind: "vector_query"}, docs, connect.CodeInvalidArgument, "toolName"},
		{"no name", &ragdv1.CreateToolRequest{Kind: "vector_query"}, docs, connect.CodeInvalidArgument, "toolName"},
		{"an invalid name", &ragdv1.CreateToolRequest{ToolName: "a b", Kind: "vector_query"}, docs, connect.CodeInvalidArgument, "toolName"},
		{"no kind", &ragdv1.CreateToolRequest{ToolName: "a"}, docs, connect.CodeInvalidArgument, "kind"},
		{"a kind that changes something", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "delete_document"}, docs, connect.CodeInvalidArgument, "kind"},
		{"an unknown index", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "graph_rag"}, map[string]any{"indexName": "none"}, connect.CodeNotFound, "none"},
		{"no index", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query"}, nil, connect.CodeInvalidArgument, "settings.indexName"},
		{"an unknown setting", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query"}, map[string]any{"indexName": "docs", "top_k": 3}, connect.CodeInvalidArgument, "settings.top_k"},
		{"a setting of another type", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query"}, map[string]any{"indexName": "docs", "topK": "many"}, connect.CodeInvalidArgument, "settings"},
		{"a model that no endpoint has", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query"}, map[string]any{"indexName": "docs", "reranker": map[string]any{"model": "lexical"}}, connect.CodeInvalidArgument, "settings.reranker.model"},
		{"an invalid filter", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query"}, map[string]any{"indexName": "docs", "filter": map[string]any{"$where": 1}}, connect.CodeInvalidArgument, "settings.filter"},
		{"invalid chunking", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "document_chunker"}, map[string]any{"chunking": map[string]any{"strategy": "guess"}}, connect.CodeInvalidArgument, "settings.chunking"},
		{"an option of another system", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query"}, map[string]any{"indexName": "docs", "id": "a"}, connect.CodeInvalidArgument, "toolName"},
		{"enableFilter that is no boolean", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "graph_rag"}, map[string]any{"indexName": "docs", "enableFilter": "yes"}, connect.CodeInvalidArgument, "settings.enableFilter"},
		{"enableFilter of a chunker", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "document_chunker"}, map[string]any{"enableFilter": true}, connect.CodeInvalidArgument, "settings.enableFilter"},
		{"an invalid name of a store", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query"}, map[string]any{"indexName": "docs", "vectorStoreName": "my store"}, connect.CodeInvalidArgument, "settings.vectorStoreName"},
		{"a key of _meta that is the service's", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query", Meta: servicetest.Object(t, map[string]any{"ragd/context": "x"})}, docs, connect.CodeInvalidArgument, "meta"},
		{"a large _meta", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query", Meta: servicetest.Object(t, map[string]any{"x": strings.Repeat("x", 9<<10)})}, docs, connect.CodeInvalidArgument, "meta"},
		{"an output schema of a list", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query", OutputSchema: servicetest.Object(t, map[string]any{"type": "array"})}, docs, connect.CodeInvalidArgument, "outputSchema"},
		{"an output schema that is none", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query", OutputSchema: servicetest.Object(t, map[string]any{"type": "object", "properties": 1})}, docs, connect.CodeInvalidArgument, "outputSchema"},
		{"an unknown argument", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query", Arguments: []string{"tenant"}}, docs, connect.CodeInvalidArgument, "arguments"},
		{"an argument twice", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query", Arguments: []string{"topK", "topK"}}, docs, connect.CodeInvalidArgument, "arguments"},
		{"a long description", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query", Description: strings.Repeat("x", 5000)}, docs, connect.CodeInvalidArgument, "description"},
		{"large settings", &ragdv1.CreateToolRequest{ToolName: "a", Kind: "vector_query"}, map[string]any{"indexName": "docs", "queryText": strings.Repeat("x", 17<<10)}, connect.CodeInvalidArgument, "settings"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.settings != nil {
				tc.req.Settings = servicetest.Object(t, tc.settings)
			}
			_, err := acme.CreateTool(t.Context(), tc.req)
			servicetest.WantCode(t, tc.name, err, tc.code)
			if err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v does not say %s", err, tc.want)
			}
		})
	}
}

func TestSettingsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	declare(t, acme, &ragdv1.ContextKey{Name: "depth"})
	for kind, cases := range map[string]map[string]map[string]any{
		"vector_query": {
			"topK": {"topK": -3}, "topK and minimum": {"topK": 0}, "topK and maximum": {"topK": 1001}, "neighbours": {"neighbours": 11}, "diversity": {"diversity": 1.5},
			"maxPerDocument": {"maxPerDocument": -1}, "searchMode": {"searchMode": "psychic"}, "hybrid.fusion": {"hybrid": map[string]any{"fusion": "cold"}},
			"hybrid.keywordWeight": {"hybrid": map[string]any{"keywordWeight": -1}}, "reranker.topK": {"reranker": map[string]any{"topK": -3}},
			"databaseConfig.pgvector.ef":        {"databaseConfig": map[string]any{"pgvector": map[string]any{"ef": -1}}},
			"databaseConfig.pgvector.probes":    {"vectorStoreName": "shelf", "databaseConfig": map[string]any{"pgvector": map[string]any{"probes": 1000000}}},
			"databaseConfig.chroma.where.$near": {"databaseConfig": map[string]any{"chroma": map[string]any{"where": map[string]any{"$near": 1}}}},
			"topK with a bad default":           {"topK": map[string]any{"$context": "context.depth ?? -3"}},
		},
		"graph_rag": {
			"topK": {"topK": -3}, "graphOptions.threshold": {"graphOptions": map[string]any{"threshold": 2}},
			"graphOptions.randomWalkSteps": {"graphOptions": map[string]any{"randomWalkSteps": 0}}, "explainNodes": {"explainNodes": -1},
		},
		"document_chunker": {"chunking.maxSize": {"chunking": map[string]any{"maxSize": -1}}, "chunking.overlap": {"chunking": map[string]any{"overlap": -1}}},
	} {
		good := map[string]any{"indexName": "docs"}
		if kind == "document_chunker" {
			good = nil
		}
		if _, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "my_" + kind, Kind: kind, Settings: servicetest.Object(t, good)}); err != nil {
			t.Fatal(err)
		}
		for name, bad := range cases {
			settings := maps.Clone(bad)
			maps.Copy(settings, good)
			field, _, _ := strings.Cut("settings."+name, " ")
			_, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "a", Kind: kind, Settings: servicetest.Object(t, settings)})
			wantViolation(t, "CreateTool "+kind+": "+name, err, field)
			_, err = acme.UpdateTool(t.Context(), &ragdv1.UpdateToolRequest{ToolName: "my_" + kind, Settings: servicetest.Object(t, settings)})
			wantViolation(t, "UpdateTool "+kind+": "+name, err, field)
		}
	}
	_, err := acme.UpdateTool(t.Context(), &ragdv1.UpdateToolRequest{ToolName: "my_vector_query", Settings: servicetest.Object(t, map[string]any{
		"indexName": "docs", "topK": -3, "neighbours": 11,
	})})
	wantViolation(t, "two at once", err, "settings.topK")
	wantViolation(t, "two at once", err, "settings.neighbours")
}

// wantViolation fails unless an error is InvalidArgument and names a field.
func wantViolation(t *testing.T, what string, err error, field string) {
	t.Helper()
	servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	if fields := fieldsOf(err); !slices.Contains(fields, field) {
		t.Errorf("%s: %v names the fields %q, want %s", what, err, fields, field)
	}
}

func TestTheNumberOfToolsPerTenantIsLimited(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	const limit = 100
	for n := range limit + 1 {
		_, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "tool" + string(rune('a'+n/26)) + string(rune('a'+n%26)), Kind: "document_chunker"})
		if n < limit && err != nil {
			t.Fatal(err)
		}
		if n == limit {
			servicetest.WantCode(t, "one more", err, connect.CodeResourceExhausted)
		}
	}
}

func TestEnableFilterDecidesWhetherAModelMayFilter(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	enabled := func(on bool) map[string]any { return map[string]any{"indexName": "docs", "enableFilter": on} }
	for name, tc := range map[string]struct {
		arguments []string
		enabled   bool
		want      string
	}{
		"without":  {nil, false, "queryText topK"},
		"with":     {nil, true, "queryText topK filter"},
		"adds":     {[]string{"queryText"}, true, "queryText filter"},
		"takes":    {[]string{"filter", "queryText"}, false, "queryText"},
		"no_twice": {[]string{"filter", "queryText"}, true, "filter queryText"},
	} {
		made, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
			ToolName: name, Kind: "vector_query", Arguments: tc.arguments, Settings: servicetest.Object(t, enabled(tc.enabled)),
		})
		if err != nil || strings.Join(made.GetArguments(), " ") != tc.want {
			t.Errorf("%s: %v, %v, want arguments %s", name, made, err, tc.want)
		}
	}
	changed, err := acme.UpdateTool(t.Context(), &ragdv1.UpdateToolRequest{ToolName: "with", Settings: servicetest.Object(t, enabled(false))})
	if err != nil || strings.Join(changed.GetArguments(), " ") != "queryText topK" {
		t.Errorf("changed %v, %v", changed, err)
	}
}

func TestATenantHasItsOwnNamesOfItsStore(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	set := func(c servicetest.Client, names ...string) error {
		_, err := c.SetVectorStoreNames(t.Context(), &ragdv1.SetVectorStoreNamesRequest{VectorStoreNames: names})
		return err
	}
	if err := set(acme, "postgres", "my-store"); err != nil {
		t.Fatal(err)
	}
	if err := set(bolt, "theirs"); err != nil {
		t.Fatal(err)
	}
	for who, want := range map[string]string{acme.Secret: "postgres my-store", bolt.Secret: "theirs"} {
		got, err := s.Client(who).GetVectorStoreNames(t.Context(), &ragdv1.GetVectorStoreNamesRequest{})
		if err != nil || strings.Join(got.GetVectorStoreNames(), " ") != want {
			t.Errorf("names %v, %v, want %s", got, err, want)
		}
	}
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: &ragdv1.UploadDocumentRequest_Text{Text: "tide"}})
	}
	ask := func(c servicetest.Client, store string) (*ragdv1.VectorQueryResponse, error) {
		return c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "tide", IndexName: "docs", VectorStoreName: store, DatabaseConfig: &ragdv1.DatabaseConfig{
			Chroma: &ragdv1.ChromaConfig{WhereDocument: structpb.NewStructValue(servicetest.Object(t, map[string]any{"$contains": "nothing of the sort"}))},
		}})
	}
	for _, name := range []string{"postgres", "my-store"} {
		if res, err := ask(acme, name); err != nil || len(res.GetSources()) != 0 || len(res.GetWarnings()) != 0 {
			t.Errorf("%s: %v, %v, want the only block to apply", name, res, err)
		}
		_, err := ask(bolt, name)
		servicetest.WantCode(t, "another tenant's "+name, err, connect.CodeInvalidArgument)
	}
	if res, err := ask(acme, "pgVector"); err != nil || len(res.GetSources()) != 1 {
		t.Errorf("pgVector: %v, %v", res, err)
	}
	if _, err := ask(acme, "mystore"); err == nil || !strings.Contains(err.Error(), "did you mean my-store?") {
		t.Errorf("an unknown store: %v", err)
	}
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprint("store", i)
	}
	for _, names := range [][]string{{"a b"}, {""}, {"a", "a"}, many} {
		servicetest.WantCode(t, "names that are invalid", set(acme, names...), connect.CodeInvalidArgument)
	}
	for name, key := range map[string]*ragdv1.CreateApiKeyRequest{
		"a writer":                      {TenantId: "acme", Scopes: []string{"write"}},
		"a key with a mandatory filter": {TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})},
	} {
		servicetest.WantCode(t, name, set(s.Client(s.Key(t, key)), "postgres"), connect.CodePermissionDenied)
	}
	if err := set(acme); err != nil {
		t.Fatal(err)
	}
	_, err := ask(acme, "postgres")
	servicetest.WantCode(t, "a name that was removed", err, connect.CodeInvalidArgument)
}

func TestToolsAreCalledWithoutMCP(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	for name, c := range map[string]servicetest.Client{"acme": acme, "bolt": bolt} {
		c.Index(t, "docs")
		res, err := c.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "gates", Source: servicetest.Text("The harbour of " + name + " has two gates.")})
		if err != nil {
			t.Fatal(err)
		}
		c.Await(t, "docs", res.Job.JobId, res.Document.DocumentId)
		if _, err := c.CreateTool(ctx, &ragdv1.CreateToolRequest{ToolName: "ask_docs", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "docs"})}); err != nil {
			t.Fatal(err)
		}
	}
	asked := &ragdv1.CallToolRequest{ToolName: "ask_docs", Arguments: servicetest.Object(t, map[string]any{"queryText": "How many gates?", "topK": "1"})}
	for name, c := range map[string]servicetest.Client{"acme": acme, "bolt": bolt} {
		res, err := c.CallTool(ctx, asked)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(res.Text, "harbour of "+name) || len(res.StructuredContent.GetFields()["sources"].GetListValue().GetValues()) != 1 {
			t.Errorf("%s gets %v", name, res)
		}
	}
	listed, err := acme.ListTools(ctx, &ragdv1.ListToolsRequest{IncludeBuiltin: true, PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]*ragdv1.Tool{}
	for _, tool := range listed.Tools {
		seen[tool.ToolName] = tool
	}
	if own, query := seen["ask_docs"], seen["vector_query"]; own.GetBuiltin() || own.GetSettings() == nil || own.GetInputSchema().GetFields()["properties"] == nil ||
		!query.GetBuiltin() || query.GetOutputSchema() == nil || !query.GetAnnotations().GetReadOnlyHint() || query.GetWrites() || !seen["delete_document"].GetWrites() {
		t.Errorf("own %v\nbuiltin %v", own, query)
	}
	got, err := acme.GetTool(ctx, &ragdv1.GetToolRequest{ToolName: "rerank"})
	if err != nil || !got.Builtin || got.Kind != "rerank" {
		t.Errorf("rerank is %v, %v", got, err)
	}
	page, err := acme.ListTools(ctx, &ragdv1.ListToolsRequest{IncludeBuiltin: true, PageSize: 2})
	if err != nil || len(page.Tools) != 2 || page.Tools[0].ToolName != listed.Tools[0].ToolName || page.NextPageToken == "" {
		t.Fatalf("the first page is %v, %v", page, err)
	}
	page, err = acme.ListTools(ctx, &ragdv1.ListToolsRequest{IncludeBuiltin: true, PageSize: 2, PageToken: page.NextPageToken})
	if err != nil || len(page.Tools) != 2 || page.Tools[0].ToolName != listed.Tools[2].ToolName {
		t.Errorf("the second page is %v, %v", page, err)
	}

	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	for what, tc := range map[string]struct {
		client servicetest.Client
		call   *ragdv1.CallToolRequest
		code   connect.Code
		field  string
	}{
		"no name":            {acme, &ragdv1.CallToolRequest{}, connect.CodeInvalidArgument, "toolName"},
		"an unknown tool":    {acme, &ragdv1.CallToolRequest{ToolName: "ask_doc"}, connect.CodeNotFound, ""},
		"a wrong argument":   {acme, &ragdv1.CallToolRequest{ToolName: "ask_docs", Arguments: servicetest.Object(t, map[string]any{"queryText": "a", "topK": 0})}, connect.CodeInvalidArgument, "topK"},
		"a wrong context":    {acme, &ragdv1.CallToolRequest{ToolName: "ask_docs", Context: servicetest.Object(t, map[string]any{"topk": 1})}, connect.CodeInvalidArgument, "context.topk"},
		"a tool that writes": {reader, &ragdv1.CallToolRequest{ToolName: "delete_document", Arguments: servicetest.Object(t, map[string]any{"uri": "gates"})}, connect.CodeNotFound, ""},
	} {
		_, err := tc.client.CallTool(ctx, tc.call)
		if connect.CodeOf(err) != tc.code || fieldOf(err) != tc.field {
			t.Errorf("%s: %v, which blames %q", what, err, fieldOf(err))
		}
	}
}

func TestACallWithProgressIsStreamed(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	stream, err := acme.CallToolStream(t.Context(), &ragdv1.CallToolStreamRequest{Call: &ragdv1.CallToolRequest{
		ToolName: "upload_document", Arguments: servicetest.Object(t, map[string]any{"indexName": "docs", "uri": "a", "text": "The harbour has two gates."}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var last *ragdv1.CallToolEvent
	progress := 0
	for stream.Receive() {
		last = stream.Msg()
		if last.GetProgress() != nil {
			progress++
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if progress == 0 || !strings.Contains(last.GetResponse().GetText(), "It can be searched") {
		t.Errorf("%d messages of progress, then %v", progress, last)
	}
}

func TestAQuestionIsAskedOfTheUser(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Index(t, "more")
	call := &ragdv1.CallToolRequest{ToolName: "list_documents", Arguments: servicetest.Object(t, map[string]any{}), CanAsk: true}
	res, err := acme.CallTool(t.Context(), call)
	if err != nil || res.Question.GetSchema().GetFields()["properties"].GetStructValue().GetFields()["indexName"] == nil {
		t.Fatalf("%v, %v", res, err)
	}
	call.Answers = servicetest.Object(t, map[string]any{"indexName": "more"})
	if res, err = acme.CallTool(t.Context(), call); err != nil || res.Question != nil {
		t.Errorf("with an answer: %v, %v", res, err)
	}
	call.Answers = servicetest.Object(t, map[string]any{})
	if _, err = acme.CallTool(t.Context(), call); fieldOf(err) != "indexName" {
		t.Errorf("without an answer: %v", err)
	}
}

func TestToolsKeepWhatClientsSeeOfThem(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	schema := servicetest.Object(t, map[string]any{"type": "object", "properties": map[string]any{"sources": map[string]any{"type": "array"}}})
	req := &ragdv1.CreateToolRequest{
		ToolName: "ask", Kind: "graph_rag", Settings: servicetest.Object(t, map[string]any{"indexName": "docs", "graphOptions": map[string]any{"threshold": 0.8}, "includeSources": true}),
		Annotations: &ragdv1.ToolAnnotations{OpenWorldHint: new(true), DestructiveHint: new(false)},
		Meta:        servicetest.Object(t, map[string]any{"acme/team": "law"}), OutputSchema: schema,
	}
	if _, err := acme.CreateTool(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	stored := func() *ragdv1.Tool {
		t.Helper()
		list, err := acme.ListTools(t.Context(), &ragdv1.ListToolsRequest{})
		if err != nil || len(list.GetTools()) != 1 {
			t.Fatalf("ListTools = %v, %v", list, err)
		}
		return list.GetTools()[0]
	}
	if got := stored(); !proto.Equal(got.GetAnnotations(), req.GetAnnotations()) || !proto.Equal(got.GetMeta(), req.GetMeta()) || !proto.Equal(got.GetOutputSchema(), schema) {
		t.Errorf("created %v", got)
	}
	title := "Ask"
	if _, err := acme.UpdateTool(t.Context(), &ragdv1.UpdateToolRequest{ToolName: "ask", Title: &title}); err != nil {
		t.Fatal(err)
	}
	if got := stored(); got.GetTitle() != title || !proto.Equal(got.GetOutputSchema(), schema) || !got.GetAnnotations().GetOpenWorldHint() {
		t.Errorf("after another change: %v", got)
	}
	if _, err := acme.UpdateTool(t.Context(), &ragdv1.UpdateToolRequest{
		ToolName: "ask", Annotations: &ragdv1.ToolAnnotations{}, Meta: &structpb.Struct{}, OutputSchema: &structpb.Struct{},
	}); err != nil {
		t.Fatal(err)
	}
	if got := stored(); got.GetMeta() != nil || got.GetOutputSchema() != nil || got.GetAnnotations() != nil {
		t.Errorf("after removal: %v", got)
	}
}

// GetTool returns all arguments of a builtin tool, of which models are shown a few.
func TestGetToolReturnsWholeSchemas(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	got, err := acme.GetTool(t.Context(), &ragdv1.GetToolRequest{ToolName: "vector_query"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"queryText", "hybrid", "reranker", "databaseConfig", "explain"} {
		if got.GetInputSchema().GetFields()["properties"].GetStructValue().GetFields()[name] == nil {
			t.Errorf("there is no %s in %v", name, got.GetInputSchema())
		}
	}
}
