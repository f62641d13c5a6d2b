package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// mcpMethods returns the methods of the protocol that the library knows, and the service's own.
func mcpMethods(t *testing.T) (methods []string) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/mark3labs/mcp-go/mcp").Output()
	noError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	noError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		noError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Method") || len(spec.Values) != 1 {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
				method, err := strconv.Unquote(value.Value)
				noError(t, err)
				methods = append(methods, method)
			}
			return true
		})
	}
	if len(methods) < 30 {
		t.Fatalf("the library knows only %q", methods)
	}
	return append(methods, "tasks/update")
}

type params = map[string]any

// documentURIs are the resources of a document.
func (to target) documentURIs() (uris []string) {
	document := "ragd://indexes/" + to["index_name"] + "/documents/" + to["document_id"]
	for _, of := range []string{"", "/metadata", "/text", "/text?start=1&end=9", "/original", "/chunks/0", "/chunks/0-9"} {
		uris = append(uris, document+of)
	}
	return uris
}

// mcpURIs are the resources about a target, and the address of a document that is its uri.
func (to target) mcpURIs() []string {
	index := "ragd://indexes/" + to["index_name"]
	return append(to.documentURIs(), "ragd://indexes", index, index+"/topics", to["address"])
}

// mcpRequests are the params about a target that a method is called with, by method. Methods that only a client answers,
// and notifications, are called too.
var mcpRequests = map[string]func(to target) []params{
	"initialize": func(target) []params {
		return []params{{"protocolVersion": "2025-11-25", "capabilities": params{}, "clientInfo": params{"name": "test", "version": "1"}}}
	},
	"server/discover":          nothing,
	"ping":                     nothing,
	"tools/list":               pages,
	"prompts/list":             pages,
	"resources/list":           pages,
	"resources/templates/list": pages,
	"resources/read":           ofURIs,
	"resources/subscribe":      ofURIs,
	"resources/unsubscribe":    ofURIs,
	"subscriptions/listen": func(to target) []params {
		return []params{{"notifications": params{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": to.mcpURIs()}}}
	},
	"prompts/get": func(to target) (all []params) {
		for _, name := range []string{to["prompt_name"], "answer_with_sources", "compare_documents", "summarise_document", "build_filter"} {
			all = append(all, params{"name": name, "arguments": params{
				"question": "harbour", "uri": to["uri"], "firstUri": to["uri"], "secondUri": to["uri"], "wish": "red ones", "metadataKey": "of", "indexName": to["index_name"],
			}})
		}
		return all
	},
	"tools/call": func(to target) (all []params) {
		for _, name := range []string{to["tool_name"], "vector_query", "graph_rag"} {
			all = append(all, params{"name": name, "arguments": params{"queryText": "harbour", "indexName": to["index_name"]}})
		}
		for _, name := range []string{"list_documents", "describe_index", "list_topics"} {
			all = append(all, params{"name": name, "arguments": params{"indexName": to["index_name"]}})
		}
		return append(all,
			params{"name": to["tool_name"], "arguments": params{"queryText": "harbour"}},
			params{"name": "search", "arguments": params{"query": "harbour", "indexName": to["index_name"]}},
			params{"name": "get_document", "arguments": params{"indexName": to["index_name"], "documentId": to["document_id"]}},
			params{"name": "get_document", "arguments": params{"indexName": to["index_name"], "uri": to["uri"]}},
			params{"name": "list_chunks", "arguments": params{"indexName": to["index_name"], "documentId": to["document_id"]}},
			params{"name": "fetch", "arguments": params{"id": to["document_id"]}},
			params{"name": "get_job", "arguments": params{"jobId": to["job_id"]}},
		)
	},
	"completion/complete": func(to target) (all []params) {
		for _, argument := range []string{"index", "indexName", "documentId", "uri", "firstUri", "metadataKey"} {
			for _, typed := range []string{"", to[map[string]string{"documentId": "document_id", "index": "index_name", "indexName": "index_name", "uri": "uri"}[argument]]} {
				all = append(all,
					params{"ref": params{"type": "ref/prompt", "name": "summarise_document"}, "argument": params{"name": argument, "value": typed}, "context": params{"arguments": params{"indexName": to["index_name"]}}},
					params{"ref": params{"type": "ref/prompt", "name": to["prompt_name"]}, "argument": params{"name": argument, "value": typed}},
					params{"ref": params{"type": "ref/resource", "uri": "ragd://indexes/{index}/documents/{documentId}"}, "argument": params{"name": argument, "value": typed}, "context": params{"arguments": params{"index": to["index_name"]}}},
				)
			}
		}
		return all
	},
	"logging/setLevel":       func(target) []params { return []params{{"level": "debug"}} },
	"tasks/get":              ofTasks,
	"tasks/list":             pages,
	"tasks/result":           ofTasks,
	"tasks/cancel":           ofTasks,
	"tasks/update":           ofTasks,
	"sampling/createMessage": func(target) []params { return []params{{"messages": []any{}, "maxTokens": 1}} },
	"elicitation/create":     func(target) []params { return []params{{"message": "a", "requestedSchema": params{"type": "object"}}} },
	"roots/list":             nothing,

	"notifications/initialized":                nothing,
	"notifications/cancelled":                  func(target) []params { return []params{{"requestId": 1}} },
	"notifications/progress":                   func(target) []params { return []params{{"progressToken": 1, "progress": 1}} },
	"notifications/message":                    func(target) []params { return []params{{"level": "info", "data": "a"}} },
	"notifications/resources/list_changed":     nothing,
	"notifications/resources/updated":          ofURIs,
	"notifications/prompts/list_changed":       nothing,
	"notifications/tools/list_changed":         nothing,
	"notifications/roots/list_changed":         nothing,
	"notifications/tasks/status":               ofTasks,
	"notifications/elicitation/complete":       func(target) []params { return []params{{"elicitationId": "a"}} },
	"notifications/subscriptions/acknowledged": nothing,
}

func nothing(target) []params { return []params{{}} }

// pages are the first page of a list, and the one after a cursor that the target was given.
func pages(to target) []params { return []params{{}, {"cursor": to["cursor"]}} }

func ofURIs(to target) (all []params) {
	for _, uri := range to.mcpURIs() {
		all = append(all, params{"uri": uri})
	}
	return all
}

func ofTasks(to target) []params {
	answers := params{"ask": params{"action": "accept", "content": params{}}}
	return []params{{"taskId": to["job_id"]}, {"taskId": to["run_id"], "inputResponses": answers}}
}

// mcpCaller calls the endpoint with one credential, in the session if there is one.
type mcpCaller struct {
	url, secret, session string
}

// open returns the caller with a session of its own.
func (c mcpCaller) open(t *testing.T) mcpCaller {
	t.Helper()
	res := c.post(t, "initialize", mcpRequests["initialize"](nil)[0])
	defer res.Body.Close()
	if c.session = res.Header.Get("Mcp-Session-Id"); c.session == "" {
		t.Fatalf("no session: %s", res.Status)
	}
	return c
}

// ask sends a message and returns the status and the answer, of a subscription the first message.
func (c mcpCaller) ask(t *testing.T, method string, about params) (status int, answer string) {
	t.Helper()
	wait.For(t, "an answer of "+method+" within the time after which a call is a task", func() bool {
		status, answer = c.askOnce(t, method, about)
		return method != "tools/call" || !strings.Contains(answer, `"resultType":"task"`)
	})
	return status, answer
}

func (c mcpCaller) askOnce(t *testing.T, method string, about params) (int, string) {
	t.Helper()
	res := c.post(t, method, about)
	defer res.Body.Close()
	if method == "subscriptions/listen" && res.Header.Get("Content-Type") == "text/event-stream" { // it does not end by itself
		answer := ""
		for lines := bufio.NewScanner(res.Body); !strings.Contains(answer, "data:") && lines.Scan(); {
			answer += lines.Text() + "\n"
		}
		return res.StatusCode, answer
	}
	answer, err := io.ReadAll(res.Body)
	noError(t, err)
	if res.Header.Get("Content-Type") == "text/event-stream" { // the lists of the caller's own have changed meanwhile
		for line := range strings.Lines(string(answer)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"id":7`) {
				return res.StatusCode, strings.TrimSpace(data)
			}
		}
	}
	return res.StatusCode, strings.TrimSpace(string(answer))
}

func (c mcpCaller) post(t *testing.T, method string, about params) *http.Response {
	t.Helper()
	sent := params{"jsonrpc": "2.0", "method": method, "params": maps.Clone(about)}
	if !strings.HasPrefix(method, "notifications/") {
		sent["id"] = 7
	}
	const modern = "2026-07-28"
	legacy := c.session != "" || method == "initialize"
	if !legacy {
		sent["params"].(params)["_meta"] = params{
			"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": params{"extensions": params{"io.modelcontextprotocol/tasks": params{}}},
			"io.modelcontextprotocol/clientInfo": params{"name": "test", "version": "1"},
		}
	}
	body, err := json.Marshal(sent)
	noError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	noError(t, err)
	req.Header.Set("Authorization", "Bearer "+c.secret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if legacy {
		req.Header.Set("Mcp-Session-Id", c.session)
	} else {
		req.Header.Set("Mcp-Protocol-Version", modern)
		req.Header.Set("Mcp-Method", method)
		if name, ok := about["name"].(string); ok {
			req.Header.Set("Mcp-Name", name)
		} else if uri, ok := about["uri"].(string); ok {
			req.Header.Set("Mcp-Name", uri)
		} else if id, ok := about["taskId"].(string); ok {
			req.Header.Set("Mcp-Name", id)
		}
	}
	res, err := http.DefaultClient.Do(req)
	noError(t, err)
	return res
}

// cursors adds a cursor of the list of resources that the target's tenant was given.
func (to target) withCursor(t *testing.T, s *servicetest.Service, secret string) target {
	t.Helper()
	_, answer := mcpCaller{url: s.URL + "/mcp", secret: secret}.ask(t, "resources/list", params{})
	var listed struct{ Result struct{ NextCursor string } }
	noError(t, json.Unmarshal([]byte(answer), &listed))
	if listed.Result.NextCursor == "" {
		t.Fatalf("no cursor in %s", answer)
	}
	to["cursor"] = listed.Result.NextCursor
	return to
}

// clean checks that an answer has none of the words.
func clean(t *testing.T, what, answer string, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(strings.ToLower(answer), strings.ToLower(word)) {
			t.Errorf("%s shows %q: %s", what, word, answer)
		}
		if encoded := base64.StdEncoding.EncodeToString([]byte(word)); strings.Contains(answer, encoded) {
			t.Errorf("%s shows %q: %s", what, word, answer)
		}
	}
}

// Every method of MCP is called on every address of a tenant's endpoint, also in a session, by keys of each scope
// and by one with a filter. What only another tenant has is answered like what nobody has, no answer has a text, name or
// id of the other, and no row of the other is changed. A method that the library learns fails the test until it is
// known what it takes.
func TestNoMCPMethodReachesAnotherTenant(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		MasterKeys: masterKeys(t, "1"), Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	own, admin := world(t, s, "acme", "apricot")
	_, same := world(t, s, "bolt", "kumquat") // with the names of the caller
	theirs, owner := prefixedWorld(t, s, "cedar", "quinces", otherPrefix)
	nobody := prefixed(nobodyPrefix)
	maps.Copy(nobody, unknown)
	address := func(to target, secret, address string) {
		to["address"] = address
		if secret != "" {
			s.Client(secret).Upload(t, &ragdv1.UploadDocumentRequest{IndexName: to["index_name"], Uri: address, Source: servicetest.Text("At " + address), Metadata: servicetest.Object(t, map[string]any{"team": "red"})})
		}
	}
	address(own, admin, "https://example.com/apricot")
	address(theirs, owner, "https://example.com/quinces")
	address(nobody, "", "https://example.com/nobodys")
	own.withCursor(t, s, admin)
	theirs.withCursor(t, s, owner)
	nobody["cursor"] = base64.StdEncoding.EncodeToString([]byte("nobody"))

	key := func(scope string, filter map[string]any) string {
		req := &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{scope}}
		if filter != nil {
			req.MandatoryFilter = servicetest.Object(t, filter)
		}
		return s.Key(t, req)
	}
	filtered := key("write", map[string]any{"team": "red"})
	secrets := map[string]string{"an admin": admin, "a writer": key("write", nil), "a reader": key("read", nil), "a filtered key": filtered}
	methods := mcpMethods(t)
	for _, method := range methods {
		if mcpRequests[method] == nil {
			t.Errorf("%s: it is not known what it takes: add it to mcpRequests", method)
		}
	}
	for method := range mcpRequests {
		if !slices.Contains(methods, method) {
			t.Errorf("%s: there is no such method", method)
		}
	}
	before, beforeSame := s.RowSums(t, "cedar"), s.RowSums(t, "bolt")

	foreign := []string{"kumquat", "quinces"}
	for _, field := range ids {
		if field != "tenant_id" {
			foreign = append(foreign, theirs[field])
		}
	}
	for _, path := range []string{"/mcp", "/t/acme/mcp", "/mcp/desk", "/t/acme/mcp/desk"} {
		for who, secret := range secrets {
			modern := mcpCaller{url: s.URL + path, secret: secret}
			eras := map[string]mcpCaller{"modern": modern}
			if path == "/mcp" {
				eras["legacy"] = modern.open(t)
			}
			for era, c := range eras {
				for _, method := range methods {
					what := who + " (" + era + ") at " + path + ": " + method
					for i, about := range mcpRequests[method](own) {
						_, answer := c.ask(t, method, about)
						clean(t, what, answer, foreign...)
						if secret == filtered {
							clean(t, what, answer, hiddenText)
						}
						// The other's names among its own are the method's first argument or none.
						asked, absent := mcpRequests[method](theirs)[i], mcpRequests[method](nobody)[i]
						if mustJSON(t, asked) == mustJSON(t, about) {
							continue
						}
						theirStatus, theirAnswer := c.ask(t, method, asked)
						noStatus, noAnswer := c.ask(t, method, absent)
						got, want := theirs.neutralNames(theirAnswer), nobody.neutralNames(noAnswer)
						if theirStatus != noStatus || got != want {
							t.Errorf("%s answers, for %s of another tenant\n%d %s\nand for what nobody has\n%d %s", what, mustJSON(t, asked), theirStatus, got, noStatus, want)
						}
						clean(t, what, got, "kumquat", "quinces")
					}
					own, nobody := own.withIDs(theirs), own.withIDs(nobody) // in the index whose name both have
					for i, asked := range mcpRequests[method](own) {
						if absent := mcpRequests[method](nobody)[i]; mustJSON(t, asked) != mustJSON(t, absent) {
							theirStatus, theirAnswer := c.ask(t, method, asked)
							noStatus, noAnswer := c.ask(t, method, absent)
							if got, want := own.neutralNames(theirAnswer), nobody.neutralNames(noAnswer); theirStatus != noStatus || got != want {
								t.Errorf("%s answers, for %s of another tenant\n%d %s\nand for what nobody has\n%d %s", what, mustJSON(t, asked), theirStatus, got, noStatus, want)
							}
						}
					}
				}
			}
		}
	}
	// The addresses and the sessions of others.
	c := mcpCaller{url: s.URL + "/mcp", secret: owner}.open(t)
	for what, pair := range map[string][2]mcpCaller{
		"the address of another tenant":     {{url: s.URL + "/t/cedar/mcp", secret: admin}, {url: s.URL + "/t/nobod/mcp", secret: admin}},
		"the server of another tenant":      {{url: s.URL + "/mcp/" + theirs["server_name"], secret: admin}, {url: s.URL + "/mcp/" + nobody["server_name"], secret: admin}},
		"the server at another's address":   {{url: s.URL + "/t/bolt/mcp/desk", secret: admin}, {url: s.URL + "/t/none/mcp/desk", secret: admin}},
		"the session of another tenant":     {{url: s.URL + "/mcp", secret: admin, session: c.session}, {url: s.URL + "/mcp", secret: admin, session: "0123456789abcdef0123456789abcdef"}},
		"the session at another's address":  {{url: s.URL + "/t/cedar/mcp", secret: admin, session: c.session}, {url: s.URL + "/t/nobod/mcp", secret: admin, session: c.session}},
		"the session of a key of the other": {{url: s.URL + "/mcp", secret: same, session: c.session}, {url: s.URL + "/mcp", secret: same, session: "0123456789abcdef0123456789abcdef"}},
	} {
		for _, method := range methods {
			for _, about := range mcpRequests[method](own) {
				theirStatus, theirAnswer := pair[0].ask(t, method, about)
				noStatus, noAnswer := pair[1].ask(t, method, about)
				got, want := strings.NewReplacer("cedar", "nobod", "bolt", "none", theirs["server_name"], nobody["server_name"]).Replace(theirAnswer), noAnswer
				if theirStatus != noStatus || randomPart.ReplaceAllString(got, "") != randomPart.ReplaceAllString(want, "") {
					t.Errorf("%s: %s answers\n%d %s\nand for what nobody has\n%d %s", what, method, theirStatus, got, noStatus, want)
				}
			}
		}
	}
	for tenant, before := range map[string]map[string]string{"cedar": before, "bolt": beforeSame} {
		after := s.RowSums(t, tenant)
		delete(before, "ragd_shared.mcp_sessions") // its owner opens some
		for table, sum := range before {
			if after[table] != sum {
				t.Errorf("rows of %s of %s were changed: %s before, %s after", table, tenant, sum, after[table])
			}
		}
	}
	// The owner finds what the others do not. Its questions may start jobs, so they come last.
	found := map[string]bool{}
	for _, method := range []string{"resources/read", "prompts/get", "tools/call"} {
		c := mcpCaller{url: s.URL + "/mcp", secret: owner}
		for _, about := range mcpRequests[method](theirs) {
			if _, answer := c.ask(t, method, about); strings.Contains(answer, "quinces") {
				found[method] = true
			}
		}
		if !found[method] {
			t.Errorf("%s answers the owner as if there were nothing, so that the test shows nothing", method)
		}
	}
}
