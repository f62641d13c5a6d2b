package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// The metadata of uploads must match the schema of the index, which DescribeIndex and the descriptions of tools name.
func TestMetadataMatchTheSchemaOfTheIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	schema := servicetest.Object(t, map[string]any{
		"type": "object", "required": []any{"team"},
		"properties": map[string]any{
			"team":  map[string]any{"enum": []any{"legal", "sales"}, "description": "Who wrote it."},
			"valid": map[string]any{"type": "object", "properties": map[string]any{"from": map[string]any{"type": "string", "format": "date"}}},
			"tags":  map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
		},
	})
	create := func(c servicetest.Client, req *ragdv1.CreateIndexRequest) *ragdv1.Index {
		t.Helper()
		made, err := c.CreateIndex(t.Context(), req)
		noError(t, err)
		return made
	}
	made := create(acme, &ragdv1.CreateIndexRequest{IndexName: "docs", MetadataSchema: schema})
	same(t, "schema", made.GetMetadataSchema().AsMap()["required"], any([]any{"team"}))
	create(acme, &ragdv1.CreateIndexRequest{IndexName: "docs", MetadataSchema: schema}) // again, the same
	_, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs"})
	servicetest.WantCode(t, "another schema", err, connect.CodeAlreadyExists)
	create(other, &ragdv1.CreateIndexRequest{IndexName: "docs"})

	upload := func(c servicetest.Client, metadata map[string]any) error {
		_, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a.txt", Source: servicetest.Text("The gates close at night."), Metadata: servicetest.Object(t, metadata)})
		return err
	}
	for field, metadata := range map[string]map[string]any{"metadata.team": {"team": "kitchen"}, "metadata": {"valid": map[string]any{}}, "metadata.tags": {"team": "legal", "tags": "x"}} {
		err := upload(acme, metadata)
		servicetest.WantCode(t, field, err, connect.CodeInvalidArgument)
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	noError(t, upload(acme, map[string]any{"team": "legal"}))
	noError(t, upload(other, map[string]any{"team": "kitchen"}))
	acme.AwaitAll(t, "docs")

	described, err := acme.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	noError(t, err)
	var fields []string
	for _, f := range described.GetFields() {
		fields = append(fields, f.GetName()+" "+strings.Join(f.GetTypes(), ","))
		if !f.GetDeclared() || f.GetName() == "team" && (f.GetDescription() != "Who wrote it." || f.GetShare() != 1 || len(f.GetValues()) != 2) {
			t.Errorf("field %v", f)
		}
	}
	same(t, "fields", fields, []string{"tags text", "team text", "valid.from time"})

	_, err = acme.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", MetadataSchema: servicetest.Object(t, map[string]any{"type": "nonsense"})})
	servicetest.WantCode(t, "a bad schema", err, connect.CodeInvalidArgument)
	changed, err := acme.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "docs", MetadataSchema: servicetest.Object(t, map[string]any{})})
	noError(t, err)
	if changed.GetMetadataSchema() != nil {
		t.Errorf("left: %v", changed.GetMetadataSchema())
	}
	noError(t, upload(acme, map[string]any{"team": "kitchen"}))
}
