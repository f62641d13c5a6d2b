package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// rawResult is the result of a call as it was sent.
type rawResult struct {
	raw     json.RawMessage
	IsError bool
	Content []struct{ Text string }
	// StructuredContent is nil if the result has none.
	StructuredContent json.RawMessage
}

func (r rawResult) tokens(encoding string) int {
	return tokenizer.Load(encoding).Count(string(r.raw), nil)
}

// rawCall sends a request and returns its result.
func rawCall(t testing.TB, address, key, method string, params map[string]any, headers map[string]string) (result rawResult) {
	t.Helper()
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	name, _ := params["name"].(string)
	for header, value := range map[string]string{
		"Authorization": "Bearer " + key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(header, value)
	}
	for header, value := range headers {
		req.Header.Set(header, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	sent, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(sent, &answer); err != nil || answer.Error != nil {
		t.Fatalf("%v in %s", err, sent)
	}
	if err := json.Unmarshal(answer.Result, &result); err != nil {
		t.Fatal(err)
	}
	result.raw = answer.Result
	return result
}

// lampText is a text of sections, with what is escaped in JSON.
func lampText(document, sections int) string {
	var b strings.Builder
	for s := range sections {
		fmt.Fprintf(&b, "## Tower %d of \"coast\" %d\n\n", s, document)
		for i := range 8 {
			fmt.Fprintf(&b, "The lamp of tower %d burns oil \"number %d\", which a keeper\ncarries up at dusk, as Čapek says. ", s, i)
		}
		b.WriteString("\n\n| oil | price |\n|---|---|\n")
		for i := range 6 {
			fmt.Fprintf(&b, "| No. %d. Whale | %d. |\n", i, 100*i+s)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func lamps(t testing.TB, c servicetest.Client) {
	t.Helper()
	c.Index(t, "docs")
	var uploads []*ragdv1.UploadDocumentRequest
	for d := range 12 {
		uploads = append(uploads, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: fmt.Sprintf("coast/%d.md", d), Source: servicetest.Text(lampText(d, 6)), Title: fmt.Sprintf("Coast %d", d),
			Metadata: servicetest.Object(t, map[string]any{"coast": d, "tags": []any{"lamp", "oil"}}),
		})
	}
	c.UploadAll(t, uploads)
	c.AwaitAll(t, "docs")
}

// The whole result of a call, as the client reads it, keeps to the budget, and fills it.
func TestResultsKeepToTheirBudget(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	lamps(t, acme)
	const question = "Which oil does the lamp of tower 3 burn?"
	for name, arguments := range map[string]map[string]any{
		"vector_query":             {"queryText": question, "topK": 50},
		"vector_query, all of it":  {"queryText": question, "topK": 50, "explain": true, "highlight": true, "neighbours": 1, "reranker": map[string]any{"kind": "lexical"}},
		"vector_query, context":    {"queryText": question, "topK": 50, "includeSources": false},
		"vector_query, embeddings": {"queryText": question, "topK": 50, "includeVectors": true},
		"vector_query, several":    {"queries": []string{question, "What does whale oil cost?", "Who carries the oil up?"}, "topK": 50},
		"graph_rag":                {"queryText": question, "topK": 50},
		"graph_rag, explained":     {"queryText": question, "topK": 50, "explain": true, "explainNodes": 500},
		"search":                   {"query": question, "topK": 50},
		"fetch":                    {"id": "coast/1.md"},
	} {
		tool, _, _ := strings.Cut(name, ",")
		if tool != "fetch" {
			arguments["indexName"] = "docs"
		}
		for _, form := range []string{"", "text", "structured"} {
			for _, encoding := range []string{"cl100k_base", "o200k_base", "r50k_base"} {
				for _, most := range []int{512, 1000, 4000, 10000} {
					arguments["maxTokens"], arguments["encodingName"] = most, encoding
					result := rawCall(t, s.URL+mcphttp.Path+"?results="+form, acme.Secret, "tools/call", map[string]any{"name": tool, "arguments": arguments}, nil)
					what := fmt.Sprint(name, " ", form, " ", encoding, " ", most)
					if result.IsError {
						t.Fatalf("%s: %s", what, result.raw)
					}
					used := result.tokens(encoding)
					if used > most {
						t.Errorf("%s: takes %d tokens", what, used)
					}
					if full := tool != "fetch" && !strings.Contains(name, "embeddings"); full && most >= 4000 && used < most/2 {
						t.Errorf("%s: takes %d tokens only", what, used)
					}
					if form == "text" {
						if result.StructuredContent != nil || len(result.Content[0].Text) < 100 {
							t.Errorf("%s: %s", what, result.raw)
						}
						continue
					}
					if form == "structured" && len(result.Content[0].Text) > 100 {
						t.Errorf("%s: the text is %s", what, result.Content[0].Text)
					}
					var answer struct {
						Budget struct {
							MaxTokens, UsedTokens, OmittedCount, OmittedTokens int
							EncodingName                                       string
						}
						NextStartByte int
					}
					if err := json.Unmarshal(result.StructuredContent, &answer); err != nil {
						t.Fatal(err)
					}
					said := answer.Budget
					const allowance = 90 // for what is around both forms
					if said.MaxTokens != most || said.EncodingName != encoding || said.UsedTokens < used || said.UsedTokens > used+allowance {
						t.Errorf("%s: takes %d, says %+v", what, used, said)
					}
					if tool != "fetch" && (said.OmittedCount == 0 || said.OmittedTokens == 0) || tool == "fetch" && (answer.NextStartByte > 0) != (said.OmittedTokens > 0) {
						t.Errorf("%s: says %+v", what, said)
					}
				}
			}
		}
	}
}

// A budget holds also where the request context leaves the sources out.
func TestABudgetHoldsForTheContextAlone(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	lamps(t, acme)
	for tool, most := range map[string]int{"vector_query": 2000, "graph_rag": 3000} {
		result := rawCall(t, s.URL+mcphttp.Path, acme.Secret, "tools/call", map[string]any{"name": tool, "arguments": map[string]any{
			"queryText": "Which oil does the lamp of tower 3 burn?", "indexName": "docs", "topK": 50, "maxTokens": most,
		}}, map[string]string{"Ragd-Context": `{"includeSources": false}`})
		var answer struct {
			RelevantContext string
			Sources         []any
		}
		if err := json.Unmarshal(result.StructuredContent, &answer); err != nil || len(answer.Sources) > 0 || !strings.HasPrefix(answer.RelevantContext, "[1] Coast") {
			t.Errorf("%s: %v in %s", tool, err, result.raw)
		}
		if used := result.tokens("cl100k_base"); used > most || used < most/2 {
			t.Errorf("%s: takes %d tokens of %d", tool, used, most)
		}
	}
}

// A client that reads one form is not sent the other, and is not promised it.
func TestOneFormIsSentToClientsThatReadOne(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	lamps(t, acme)
	arguments := map[string]any{"queryText": "oil", "indexName": "docs"}
	call := func(path string, headers map[string]string) rawResult {
		return rawCall(t, s.URL+mcphttp.Path+path, acme.Secret, "tools/call", map[string]any{"name": "vector_query", "arguments": arguments}, headers)
	}
	both := call("", nil)
	if both.StructuredContent == nil || len(both.Content[0].Text) < 1000 {
		t.Fatalf("a client that says nothing gets %s", both.raw)
	}
	for _, result := range []rawResult{call("?results=text", nil), call("", map[string]string{"Ragd-Results": "text"}), call("?results=structured", map[string]string{"Ragd-Results": "text"})} {
		if result.StructuredContent != nil || result.Content[0].Text != both.Content[0].Text {
			t.Errorf("text: %s", result.raw)
		}
	}
	for _, result := range []rawResult{call("?results=structured", nil), call("", map[string]string{"Ragd-Results": "structured"})} {
		if !bytes.Equal(result.StructuredContent, both.StructuredContent) || len(result.raw) > len(result.StructuredContent)+200 {
			t.Errorf("structured: %s", result.raw)
		}
	}
	if result := call("?results=both", nil); !bytes.Equal(result.raw, both.raw) {
		t.Errorf("both: %s", result.raw)
	}
	for form, promised := range map[string]bool{"": true, "structured": true, "text": false} {
		list := rawCall(t, s.URL+mcphttp.Path+"?results="+form, acme.Secret, "tools/list", map[string]any{}, nil)
		if got := bytes.Contains(list.raw, []byte(`"outputSchema"`)); got != promised {
			t.Errorf("%q: tools have output schemas: %v", form, got)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+mcphttp.Path+"?results=json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+acme.Secret)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if sent, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusBadRequest || !bytes.Contains(sent, []byte("results: must be text, structured or both")) {
		t.Errorf("an unknown form: %d %s", res.StatusCode, sent)
	}
}

// A tool of a tenant may have the budget among its settings, and a document is read on.
func TestBudgetsOfOwnToolsAndReadingOn(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	lamps(t, acme)
	_, err := acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
		ToolName: "ask_coast", Kind: "vector_query", Description: "Asks about the coast.", Arguments: []string{"queryText"},
		Settings: servicetest.Object(t, map[string]any{"indexName": "docs", "topK": 50, "maxTokens": 1500}),
	})
	if err != nil {
		t.Fatal(err)
	}
	result := rawCall(t, s.URL+mcphttp.Path, acme.Secret, "tools/call", map[string]any{"name": "ask_coast", "arguments": map[string]any{"queryText": "oil"}}, nil)
	if used := result.tokens("cl100k_base"); result.IsError || used > 1500 || used < 750 {
		t.Errorf("takes %d tokens: %s", used, result.raw)
	}
	_, err = acme.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
		ToolName: "bad", Kind: "vector_query", Description: "Asks.", Arguments: []string{"queryText"},
		Settings: servicetest.Object(t, map[string]any{"indexName": "docs", "maxTokens": "many"}),
	})
	if err == nil || !strings.Contains(err.Error(), "maxTokens") {
		t.Errorf("a setting that is no number: %v", err)
	}

	for _, most := range []any{nil, 600, 2000} {
		long := lampText(99, 200)
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "long.md", Source: servicetest.Text(long)})
		read, arguments := "", map[string]any{"id": "long.md"}
		if most != nil {
			arguments["maxTokens"] = most
		}
		for {
			result := rawCall(t, s.URL+mcphttp.Path+"?results=structured", acme.Secret, "tools/call", map[string]any{"name": "fetch", "arguments": arguments}, nil)
			var part struct {
				Text          string
				NextStartByte *int
			}
			if err := json.Unmarshal(result.StructuredContent, &part); err != nil || part.Text == "" {
				t.Fatalf("%v in %s", err, result.raw)
			}
			read += part.Text
			if part.NextStartByte == nil {
				break
			}
			if end := strings.TrimRight(part.Text, "\n "); !strings.HasSuffix(end, ".") && !strings.HasSuffix(end, "|") {
				t.Errorf("%v: ends with %q", most, end[len(end)-20:])
			}
			arguments["startByte"] = *part.NextStartByte
		}
		if strings.TrimSpace(read) != strings.TrimSpace(long) {
			t.Errorf("%v: reading on gives %d bytes of %d", most, len(read), len(long))
		}
	}
	for _, tc := range []struct {
		tool, field string
		arguments   map[string]any
	}{
		{"fetch", "startByte", map[string]any{"id": "long.md", "startByte": -1}}, {"fetch", "startByte", map[string]any{"id": "long.md", "startByte": 1e9}},
		{"fetch", "maxTokens", map[string]any{"id": "long.md", "maxTokens": 511}}, {"fetch", "maxTokens", map[string]any{"id": "long.md", "maxTokens": 1e18}},
		{"search", "maxTokens", map[string]any{"query": "oil", "maxTokens": -5}}, {"vector_query", "maxTokens", map[string]any{"queryText": "oil", "maxTokens": 0}},
		{"graph_rag", "maxTokens", map[string]any{"queryText": "oil", "maxTokens": 1000001}}, {"search", "encodingName", map[string]any{"query": "oil", "encodingName": "words"}},
	} {
		result := rawCall(t, s.URL+mcphttp.Path, acme.Secret, "tools/call", map[string]any{"name": tc.tool, "arguments": tc.arguments}, nil)
		if !result.IsError || !strings.HasPrefix(result.Content[0].Text, tc.field+": must be") {
			t.Errorf("%s: %s", tc.tool, result.raw)
		}
	}
	// A passage in the middle of a long document comes with what is around it.
	found := rawCall(t, s.URL+mcphttp.Path+"?results=structured", acme.Secret, "tools/call", map[string]any{"name": "search", "arguments": map[string]any{
		"query": "tower 150 of coast 99", "indexName": "docs", "filter": `{"$uri": "long.md"}`, "topK": 1,
	}}, nil)
	var results struct{ Results []struct{ ID, Text string } }
	if err := json.Unmarshal(found.StructuredContent, &results); err != nil || len(results.Results) != 1 {
		t.Fatalf("%v in %s", err, found.raw)
	}
	for _, most := range []int{1500, 6000} {
		got := rawCall(t, s.URL+mcphttp.Path, acme.Secret, "tools/call", map[string]any{"name": "fetch", "arguments": map[string]any{"id": results.Results[0].ID, "maxTokens": most}}, nil)
		var part struct{ Text string }
		if err := json.Unmarshal(got.StructuredContent, &part); err != nil {
			t.Fatal(err)
		}
		passage := results.Results[0].Text
		if got.tokens("cl100k_base") > most || !strings.Contains(part.Text, passage[strings.LastIndex(passage, "\n\n"):len(passage)-1]) {
			t.Errorf("%d: %d tokens, %q lacks %q", most, got.tokens("cl100k_base"), part.Text, passage)
		}
	}
}

// BenchmarkBudget measures calls for 50 passages over HTTP, without a budget and with one, and reports the
// bytes and the tokens of the result.
func BenchmarkBudget(b *testing.B) {
	s := servicetest.New(b, service.Config{})
	acme := s.Tenant(b, "acme")
	lamps(b, acme)
	for _, bm := range []struct {
		name, form string
		most       int
	}{{"none", "", 0}, {"4000", "", 4000}, {"4000,structured", "structured", 4000}, {"4000,text", "text", 4000}, {"none,structured", "structured", 0}} {
		b.Run(bm.name, func(b *testing.B) {
			arguments := map[string]any{"queryText": "Which oil does the lamp of tower 3 burn?", "topK": 50, "indexName": "docs"}
			if bm.most > 0 {
				arguments["maxTokens"] = bm.most
			}
			var result rawResult
			for b.Loop() {
				result = rawCall(b, s.URL+mcphttp.Path+"?results="+bm.form, acme.Secret, "tools/call", map[string]any{"name": "vector_query", "arguments": arguments}, nil)
			}
			b.ReportMetric(float64(len(result.raw)), "bytes")
			b.ReportMetric(float64(result.tokens("cl100k_base")), "tokens")
		})
	}
}
