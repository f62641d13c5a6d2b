package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// withEntries gives tenants the indexes north, of three entries, and south, of one.
func withEntries(t *testing.T, clients ...servicetest.Client) {
	t.Helper()
	for _, c := range clients {
		for index, ids := range map[string][]string{"north": {"a", "b", "c"}, "south": {"s"}} {
			if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: index, Dimension: 2}); err != nil {
				t.Fatal(err)
			}
			var entries []*ragdv1.Entry
			for i, id := range ids {
				entries = append(entries, &ragdv1.Entry{Id: id, Values: []float32{1, float32(i) / 10}})
			}
			if _, err := c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: index, Entries: entries}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// foundBy returns the ids that a call of a tool finds.
func foundBy(t *testing.T, c servicetest.Client, name string, arguments, context map[string]any) (string, error) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: name, Arguments: servicetest.Object(t, arguments), Context: servicetest.Object(t, context)})
	if err != nil {
		return "", err
	}
	var ids []string
	for _, source := range res.GetStructuredContent().GetFields()["sources"].GetListValue().GetValues() {
		ids = append(ids, source.GetStructValue().GetFields()["id"].GetStringValue())
	}
	return strings.Join(ids, " "), nil
}

// Two tenants have tools and keys of the request context with equal names.
func TestSettingsAreTakenFromTheRequestContext(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	withEntries(t, acme, bolt)
	declare(t, acme, &ragdv1.ContextKey{Name: "depth"})
	declare(t, bolt, &ragdv1.ContextKey{Name: "depth", Default: structpb.NewNumberValue(3)})
	ask := map[string]any{"queryVector": []any{1, 0}}
	for name, topK := range map[string]string{"near": "context.depth ?? 2", "wide": "context.depth"} {
		for _, c := range []servicetest.Client{acme, bolt} {
			_, err := c.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
				ToolName: name, Kind: "vector_query", Arguments: []string{"queryVector", "topK"},
				Settings: servicetest.Object(t, map[string]any{"indexName": "north", "topK": map[string]any{"$context": topK}}),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	tool, err := acme.GetTool(t.Context(), &ragdv1.GetToolRequest{ToolName: "near"})
	if err != nil || strings.Contains(tool.GetInputSchema().String(), "$context") {
		t.Errorf("models are shown %v, %v", tool.GetInputSchema(), err)
	}
	for _, c := range []struct {
		who                servicetest.Client
		tool               string
		arguments, context map[string]any
		want               string
	}{
		{acme, "near", nil, nil, "a b"},
		{acme, "near", nil, map[string]any{"depth": 1}, "a"},
		{acme, "near", nil, map[string]any{"depth": "1"}, "a"}, // as headers give it
		{acme, "near", map[string]any{"topK": 3}, map[string]any{"depth": 1}, "a b c"},
		{acme, "near", nil, map[string]any{"depth": 1, "topK": 3}, "a b c"},
		{acme, "wide", nil, nil, "a b c"},
		{bolt, "near", nil, nil, "a b c"},
		{bolt, "wide", nil, map[string]any{"depth": 2}, "a b"},
	} {
		arguments := map[string]any{"queryVector": ask["queryVector"]}
		for key, value := range c.arguments {
			arguments[key] = value
		}
		if got, err := foundBy(t, c.who, c.tool, arguments, c.context); err != nil || got != c.want {
			t.Errorf("%s with %v and %v found %q, %v, want %q", c.tool, c.arguments, c.context, got, err, c.want)
		}
	}
	for _, depth := range []any{"many", -1, map[string]any{"$context": "tenant"}, []any{1}, "1e999999999"} {
		_, err := foundBy(t, acme, "near", ask, map[string]any{"depth": depth})
		servicetest.WantCode(t, "a value that does not fit", err, connect.CodeInvalidArgument)
		if err == nil || !strings.Contains(err.Error(), "settings.topK") {
			t.Errorf("%v: %v, want an error that names the setting", depth, err)
		}
	}
}

func TestBadReferencesInSettingsAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	declare(t, acme, &ragdv1.ContextKey{Name: "depth"})
	declare(t, acme, &ragdv1.ContextKey{Name: "hidden", Secret: true})
	declare(t, bolt, &ragdv1.ContextKey{Name: "theirs"})
	for _, c := range []struct {
		value any
		want  string
	}{
		{map[string]any{"$context": "context.theirs"}, "is not declared"},
		{map[string]any{"$context": "context.hidden"}, "secret"},
		{map[string]any{"$context": "depth"}, "must be a path"},
		{map[string]any{"$context": "arguments.topK"}, "must be a path"},
		{map[string]any{"$context": "context.depth", "default": 1}, "alone"},
		{map[string]any{"$context": 1}, "alone"},
		{map[string]any{"$context": "context"}, "write context.NAME"},
		{map[string]any{"$context": "context.depth}} {{tenant"}, "must be a path"},
		{map[string]any{"$context": `context.depth ?? "many"`}, "settings.topK"},
	} {
		_, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
			ToolName: "near", Kind: "vector_query", Settings: servicetest.Object(t, map[string]any{"indexName": "north", "topK": c.value}),
		})
		servicetest.WantCode(t, "a bad reference", err, connect.CodeInvalidArgument)
		if err == nil || !strings.Contains(err.Error(), "settings.topK") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.value, err, c.want)
		}
	}
	made, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{ToolName: "cut", Kind: "document_chunker", Settings: servicetest.Object(t, map[string]any{
		"chunking": map[string]any{"strategy": "recursive", "maxSize": map[string]any{"$context": "context.depth ?? 20"}, "overlap": 0},
	})})
	if err != nil {
		t.Fatal(err)
	}
	res, err := acme.CallTool(t.Context(), &ragdv1.CallToolRequest{ToolName: made.ToolName, Arguments: servicetest.Object(t, map[string]any{"text": strings.Repeat("one two three four ", 5)})})
	if chunks := res.GetStructuredContent().GetFields()["chunks"].GetListValue().GetValues(); err != nil || len(chunks) < 4 {
		t.Errorf("cut into %v, %v, want chunks of at most 20 characters", chunks, err)
	}
}

func TestAToolTakesItsIndexFromTheKey(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	withEntries(t, acme)
	_, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
		ToolName: "ours", Kind: "vector_query", Arguments: []string{"queryVector"},
		Settings: servicetest.Object(t, map[string]any{"indexName": map[string]any{"$context": "key.region"}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := map[string]any{"queryVector": []any{1, 0}}
	bound := func(attributes map[string]any) servicetest.Client {
		return s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Tools: &ragdv1.AllowedNames{Names: []string{"ours"}}, Attributes: servicetest.Object(t, attributes)}))
	}
	south := bound(map[string]any{"region": "south"})
	if got, err := foundBy(t, south, "ours", ask, nil); err != nil || got != "s" {
		t.Errorf("found %q, %v", got, err)
	}
	_, err = foundBy(t, south, "ours", ask, map[string]any{"indexName": "north"})
	servicetest.WantCode(t, "another index", err, connect.CodePermissionDenied)
	nowhere := bound(nil)
	_, err = foundBy(t, nowhere, "ours", ask, map[string]any{"indexName": "north"})
	servicetest.WantCode(t, "an index of a key without one", err, connect.CodePermissionDenied)
	_, err = foundBy(t, nowhere, "ours", ask, nil)
	servicetest.WantCode(t, "a key without an index", err, connect.CodeInvalidArgument)
}
