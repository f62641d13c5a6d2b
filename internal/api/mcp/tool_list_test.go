package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// namesByTenant is an API with two indexes per tenant, named after the tenant, that
// rejects queries without an index name.
func namesByTenant() *fakeAPI {
	names := func(ctx context.Context) []string {
		r, _ := access.FromContext(ctx)
		return []string{string(r.Tenant) + "-a", string(r.Tenant) + "-b"}
	}
	return &fakeAPI{
		listIndexes: func(ctx context.Context, _ *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
			return &ragdv1.ListIndexesResponse{IndexNames: names(ctx)}, nil
		},
		vectorQuery: func(ctx context.Context, req *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
			if req.GetIndexName() == "" {
				return nil, fault.Field("indexName", "is needed, as there are several indexes: %v", names(ctx))
			}
			return &ragdv1.VectorQueryResponse{RelevantContext: "from " + req.GetIndexName()}, nil
		},
	}
}

func TestSchemasNameTheTenantsIndexes(t *testing.T) {
	t.Parallel()
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			address := serve(t, namesByTenant(), nil)
			for range 2 { // loaded, then cached
				for _, owner := range []string{"acme", "globex"} {
					c := connectClient(t, address, options, map[string]string{"Authorization": "Bearer " + owner + " alice"})
					tools := mcptest.Tools(t, c)
					for _, name := range []string{"vector_query", "describe_index", "list_documents", "get_document", "upload_document", "delete_document"} {
						if diff := cmp.Diff([]string{owner + "-a", owner + "-b"}, tools[name]); diff != "" {
							t.Errorf("%s of %s: %s", name, owner, diff)
						}
					}
					if tools["list_indexes"] != nil || tools["document_chunker"] != nil {
						t.Error("a tool without the argument offers names")
					}
				}
			}
		})
	}
}

// answers holds the form values of a user.
type answers func(mcpgo.ElicitationRequest) *mcpgo.ElicitationResult

func (a answers) Elicit(_ context.Context, req mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	return a(req), nil
}

func TestMissingIndexIsAskedFor(t *testing.T) {
	t.Parallel()
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			address := serve(t, namesByTenant(), nil)
			for _, tc := range []struct {
				name    string
				user    answers
				isError bool
				text    string
			}{
				{"a choice", func(req mcpgo.ElicitationRequest) *mcpgo.ElicitationResult {
					raw, err := json.Marshal(req.Params.RequestedSchema)
					if err != nil {
						t.Error(err)
					}
					var schema struct {
						Properties struct{ IndexName struct{ Enum []string } }
					}
					if err := json.Unmarshal(raw, &schema); err != nil {
						t.Error(err)
					}
					if diff := cmp.Diff([]string{"acme-a", "acme-b"}, schema.Properties.IndexName.Enum); diff != "" {
						t.Error(diff)
					}
					return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{
						Action: mcpgo.ElicitationResponseActionAccept, Content: map[string]any{"indexName": "acme-b"},
					}}
				}, false, "from acme-b"},
				{"a refusal", func(mcpgo.ElicitationRequest) *mcpgo.ElicitationResult {
					return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{Action: mcpgo.ElicitationResponseActionDecline}}
				}, true, "indexName: is needed, as there are several indexes: [acme-a acme-b]"},
				{"a client that cannot ask", nil, true, "indexName: is needed, as there are several indexes: [acme-a acme-b]"},
			} {
				t.Run(tc.name, func(t *testing.T) {
					asking := options
					if tc.user != nil {
						asking = append([]client.ClientOption{client.WithElicitationHandler(tc.user)}, options...)
					}
					result, text := mcptest.Call(t, connectClient(t, address, asking, nil), "vector_query", map[string]any{"queryText": "x"}, nil)
					if result.IsError != tc.isError || text != tc.text {
						t.Errorf("error %t: %s", result.IsError, text)
					}
				})
			}
		})
	}
}

// If index names cannot be loaded, the schemas omit them and the tools work.
func TestToolsWithoutIndexNames(t *testing.T) {
	t.Parallel()
	many := make([]string, 100)
	for name, api := range map[string]*fakeAPI{
		"none": {listIndexes: noIndexes},
		"too many": {listIndexes: func(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
			return &ragdv1.ListIndexesResponse{IndexNames: many, NextPageToken: "more"}, nil
		}},
		"no answer": {listIndexes: func(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
			return nil, errors.New("no database")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := mcptest.Tools(t, connectClient(t, serve(t, api, nil), nil, nil))
			if names, ok := tools["vector_query"]; !ok || names != nil {
				t.Errorf("listed %t, with names %v", ok, names)
			}
		})
	}
}
