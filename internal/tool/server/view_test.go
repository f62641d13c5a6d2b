package server

import (
	"context"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// noTools is an API without tools of tenants, of which nothing else is called.
type noTools struct{ toolset.API }

func (noTools) ListTools(context.Context, *ragdv1.ListToolsRequest) (*ragdv1.ListToolsResponse, error) {
	return &ragdv1.ListToolsResponse{}, nil
}

func (noTools) ListIndexes(context.Context, *ragdv1.ListIndexesRequest) (*ragdv1.ListIndexesResponse, error) {
	return &ragdv1.ListIndexesResponse{}, nil
}

func TestToolsAreShownUnderTheirNamesOnTheServer(t *testing.T) {
	t.Parallel()
	tools, err := toolset.New(toolset.Config{API: noTools{}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Name: "help", Definition: Definition{
		Tools: []string{"vector_query", "graph_rag", "rerank"},
		Presented: []Presentation{
			{Tool: "vector_query", Name: "search_help", Title: "Search"}, {Tool: "graph_rag", Name: "vector_query"},
			{Tool: "rerank", Description: "Sorts."}, {Tool: "get_job", Name: "rerank"},
		},
	}}
	r := &access.Request{Tenant: "acme", Principal: access.Principal{Scopes: []access.Scope{access.Read}}}
	ctx := access.NewContext(t.Context(), s.through(r))
	for name, want := range map[string]toolset.Definition{
		"search_help": {Source: "vector_query", Title: "Search"}, "vector_query": {Source: "graph_rag"}, "rerank": {Source: "rerank", Description: "Sorts."},
		"graph_rag": {}, "get_job": {}, "list_indexes": {},
	} {
		found, err := tools.Find(ctx, s.View(), name)
		if want.Source == "" && fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err != nil || found.Name != name || found.Source != want.Source || want.Title != "" && found.Title != want.Title || want.Description != "" && found.Description != want.Description {
			t.Errorf("%s is %+v, %v", name, found, err)
		}
	}
	var names []string
	for _, d := range tools.List(ctx, s.View()) {
		names = append(names, d.Name)
	}
	if len(names) != 3 {
		t.Errorf("the server lists %v", names)
	}
	var none *Server
	if all := tools.List(access.NewContext(t.Context(), r), none.View()); len(all) < 8 {
		t.Errorf("without a server there are %d tools", len(all))
	}
}
