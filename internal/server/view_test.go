package server

import "testing"

func TestToolsAreFoundUnderTheirNameOnTheServerAlone(t *testing.T) {
	t.Parallel()
	s := &Server{Definition: Definition{
		Tools: []string{"graph_rag", "mine", "rerank", "vector_query"},
		Presented: []Presentation{
			{Tool: "vector_query", Name: "ask"}, {Tool: "graph_rag", Name: "rerank"}, {Tool: "mine", Title: "Mine"},
			{Tool: "list_indexes", Name: "indexes"},
		},
	}}
	for name, want := range map[string]string{
		"ask": "vector_query", "rerank": "graph_rag", "mine": "mine",
		"vector_query": "", "graph_rag": "", "indexes": "", "list_indexes": "", "unknown": "",
	} {
		tool, ok := s.ToolOf(name)
		if ok != (want != "") || ok && tool != want {
			t.Errorf("%s is %s, %v", name, tool, ok)
		}
	}
	for tool, want := range map[string]string{
		"vector_query": "ask", "graph_rag": "rerank", "mine": "mine", "rerank": "", "list_indexes": "", "unknown": "",
	} {
		shown, ok := s.Shown(tool)
		if ok != (want != "") || ok && shown.Name != want {
			t.Errorf("%s is shown as %+v, %v", tool, shown, ok)
		}
	}
	if shown, _ := s.Shown("mine"); shown.Title != "Mine" {
		t.Errorf("mine is shown as %+v", shown)
	}
	var none *Server
	if tool, ok := none.ToolOf("anything"); tool != "anything" || !ok {
		t.Errorf("without a server: %s, %v", tool, ok)
	}
}
