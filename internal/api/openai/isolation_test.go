package openai_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/openai"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// subject has the ids of what a tenant has, by the names of the variables in the patterns of routes.
type subject map[string]string

// hiddenText is in the texts of the documents that a filter hides.
const hiddenText = "durian"

// stock makes everything that a tenant can have here. What the tenants share are the name of an index, of an endpoint, and the uris in the index.
// The texts contain the marker.
func stock(t *testing.T, s *servicetest.Service, tenant, marker string) (subject, servicetest.Client) {
	t.Helper()
	client := s.Tenant(t, tenant)
	c := of(s, client)
	client.Index(t, "docs")
	shown := client.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "plan.txt", Title: marker, Source: servicetest.Text("The plan of " + marker + " is to open a harbour."),
		Metadata: servicetest.Object(t, map[string]any{"team": "red", "of": marker}),
	})
	client.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: hiddenText + ".txt", Title: hiddenText, Source: servicetest.Text("The " + hiddenText + " harbour."),
		Metadata: servicetest.Object(t, map[string]any{"team": "blue", "of": hiddenText}),
	})
	_, err := client.CreateEndpoint(t.Context(), &ragdv1.CreateEndpointRequest{
		EndpointName: "mine", Kind: "openai-compatible", BaseUrl: "https://" + marker + ".example.com/v1", ApiKey: "key-of-" + marker,
		Models: []*ragdv1.EndpointModel{{Model: marker}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateAgent(t.Context(), &ragdv1.CreateAgentRequest{AgentName: marker, Definition: servicetest.Object(t, map[string]any{"description": "Of " + marker, "model": "mine/" + marker})})
	if err != nil {
		t.Fatal(err)
	}
	file := c.upload(t, marker+".txt", "The harbour of "+marker+" has trees.")
	store := c.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", map[string]any{"name": "of " + marker, "metadata": map[string]string{"of": marker}})["id"].(string)
	batch := c.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores/"+store+"/file_batches", map[string]any{"file_ids": []string{file}, "attributes": map[string]any{"of": marker}})["id"].(string)
	client.AwaitAll(t, strings.TrimPrefix(store, "vs_"))
	return subject{"store": store, "file": file, "batch": batch, "model": "mine/" + marker, "document": "file-" + shown.DocumentId, "agent": "agent/" + marker}, client
}

// nobody has ids of the form of others, which nothing has.
var nobody = subject{
	"store": "vs_of-nobody-", "file": "file-nobodynobodynobodynobody", "batch": "vsfb_nobodynobodynobodynobody",
	"model": "mine/nobodys", "agent": "agent/nobodys", "document": "file-0198c3a4-0000-7000-8000-000000000001",
}

// bodies returns the bodies that show what a call does with ids in it, by route. Routes without a
// body are not in it.
var bodies = map[string]func(of subject) []any{
	"POST /v1/chat/completions": func(of subject) []any {
		question := []any{map[string]any{"role": "user", "content": "What is the plan of the harbour with trees?"}}
		return []any{
			map[string]any{"model": of["agent"], "messages": question},
			map[string]any{"model": "passages", "messages": question},
			map[string]any{"model": "passages/" + strings.TrimPrefix(of["store"], "vs_"), "messages": question},
		}
	},
	"POST /v1/responses": func(of subject) []any {
		question, search := "What is the plan of the harbour with trees?", []any{map[string]any{"type": "file_search", "vector_store_ids": []string{of["store"]}}}
		return []any{
			map[string]any{"model": of["agent"], "input": question},
			map[string]any{"model": of["agent"], "input": question, "tools": search},
			map[string]any{"model": "passages", "input": question, "tools": search},
			map[string]any{"model": "passages/docs", "input": question, "tools": search},
		}
	},
	"POST /v1/embeddings": func(of subject) []any {
		return []any{map[string]any{"model": of["model"], "input": "harbour"}}
	},
	"POST /v1/rerank": func(of subject) []any {
		return []any{map[string]any{"model": of["model"], "query": "harbour", "documents": []string{"a harbour"}}}
	},
	"POST /v2/rerank": func(of subject) []any {
		return []any{map[string]any{"model": of["model"], "query": "harbour", "documents": []string{"a harbour"}}}
	},
	"POST /v1/files": func(subject) []any { return []any{nil} }, // names nothing; TestForms
	"POST /v1/vector_stores": func(of subject) []any {
		return []any{map[string]any{"name": "more", "file_ids": []string{of["file"]}}}
	},
	"POST /v1/vector_stores/{store}": func(subject) []any { return []any{map[string]any{"name": "renamed"}} },
	"POST /v1/vector_stores/{store}/search": func(of subject) []any {
		return []any{
			map[string]any{"query": "harbour trees plan"},
			map[string]any{"query": "harbour", "filters": map[string]any{"type": "eq", "key": "of", "value": of["model"]}},
		}
	},
	"POST /v1/vector_stores/{store}/files": func(of subject) []any { return []any{map[string]any{"file_id": of["file"]}} },
	"POST /v1/vector_stores/{store}/files/{file}": func(subject) []any {
		return []any{map[string]any{"attributes": map[string]any{"a": "b"}}}
	},
	"POST /v1/vector_stores/{store}/file_batches": func(of subject) []any {
		return []any{
			map[string]any{"file_ids": []string{of["file"]}},
			map[string]any{"files": []any{map[string]any{"file_id": of["file"]}}},
		}
	},
	"POST /v1/vector_stores/{store}/file_batches/{batch}/cancel": func(subject) []any { return []any{nil} },
}

// variable matches a variable in the pattern of a route.
var variable = regexp.MustCompile(`\{([a-z]+)(\.\.\.)?\}`)

// request is a call of a route with ids in it.
type request struct {
	method, path string
	body         any
}

// requests returns the calls of a route that name what a subject has.
func requests(t *testing.T, route string, of subject) (all []request) {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	path = variable.ReplaceAllStringFunc(path, func(v string) string {
		id, ok := of[variable.FindStringSubmatch(v)[1]]
		if !ok {
			t.Fatalf("%s: no tenant of this test has a %s: add one to stock", route, v)
		}
		return id
	})
	switch makeBodies, ok := bodies[route]; {
	case ok:
		for _, body := range makeBodies(of) {
			all = append(all, request{method, path, body})
		}
	case method == http.MethodPost:
		t.Fatalf("%s: its bodies are not known: add them to bodies", route)
	default:
		all = append(all, request{method, path, nil})
	}
	if after := map[string]string{"files": of["file"], "vector_stores": of["store"]}[path[strings.LastIndex(path, "/")+1:]]; method == http.MethodGet && after != "" {
		all = append(all, request{method, path + "?after=" + after, nil})
	}
	return all
}

// ask sends a request and returns the status and the answer as text.
func (c caller) ask(t *testing.T, r request) (int, string) {
	t.Helper()
	status, answer := c.do(t, r.method, r.path, r.body)
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return status, string(text)
}

// neutral returns an answer without the ids of a subject.
func (of subject) neutral(answer string) string {
	for _, name := range []string{"store", "file", "batch", "document", "model", "agent"} {
		answer = strings.ReplaceAll(answer, of[name], "<"+name+">")
		for _, prefix := range []string{"vs_", "mine/", "agent/"} { // some errors name the index, the model of an endpoint, or the agent
			if rest, ok := strings.CutPrefix(of[name], prefix); ok {
				answer = strings.ReplaceAll(answer, rest, "<"+name+">")
			}
		}
	}
	return answer
}

// Two tenants have the same of everything. Each route is called by one of them with its own ids, with
// those of the other in every combination with its own, and with ids that nobody has. No answer has a
// text or an id of the other, the ids of the other are answered like those of nobody, and no row of the
// other is changed. A new route fails the test until it is known what it takes.
func TestNoRouteReachesAnotherTenant(t *testing.T) {
	t.Parallel()
	keys, err := seal.Parse(strings.Repeat("1", 2*seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	s := servicetest.New(t, service.Config{MasterKeys: keys})
	own, client := stock(t, s, "acme", "apricot")
	theirs, other := stock(t, s, "bolt", "kumquat")
	unknown := maps.Clone(nobody)
	unknown["store"] += strings.Repeat("x", len(theirs["store"])-len(unknown["store"]))
	key := func(scope string, filter map[string]any) caller {
		req := &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{scope}}
		if filter != nil {
			req.MandatoryFilter = servicetest.Object(t, filter)
		}
		return caller{url: s.URL, secret: s.Key(t, req)}
	}
	admin, owner := of(s, client), of(s, other)
	reader, writer := key("read", nil), key("write", nil)
	filtered, filteredReader := key("write", map[string]any{"team": "red"}), key("read", map[string]any{"team": "red"})
	before := s.RowSums(t, "bolt")

	foreign := []string{"kumquat"}
	for _, id := range theirs {
		foreign = append(foreign, id)
	}
	clean := func(r request, answer string, words ...string) {
		t.Helper()
		for _, word := range words {
			if strings.Contains(strings.ToLower(answer), strings.ToLower(word)) {
				t.Errorf("%s %s shows %q: %s", r.method, r.path, word, answer)
			}
		}
	}
	for _, route := range openai.Routes() {
		// What each request names: all of the other's, and each of the other's things among the caller's own.
		var mixes []func(of subject) subject
		mixes = append(mixes, func(of subject) subject { return of })
		for name := range own {
			mixes = append(mixes, func(of subject) subject {
				mixed := maps.Clone(own)
				mixed[name] = of[name]
				return mixed
			})
			mixes = append(mixes, func(of subject) subject { // in the store whose name both tenants have
				mixed := subject{"store": "vs_docs", "file": own["document"], "batch": own["batch"], "model": own["model"], "document": own["document"], "agent": own["agent"]}
				if name != "store" {
					mixed[name] = of[name]
				}
				if name == "document" {
					mixed["file"] = of[name]
				}
				return mixed
			})
		}
		for _, mix := range mixes {
			asked, missing, mine := requests(t, route, mix(theirs)), requests(t, route, mix(unknown)), requests(t, route, mix(own))
			for i, r := range asked {
				if r.path == mine[i].path && jsonOf(t, r.body) == jsonOf(t, mine[i].body) { // names nothing of the other
					continue
				}
				for who, c := range map[string]caller{"admin": admin, "reader": reader, "filtered": filtered} {
					theirStatus, theirAnswer := c.ask(t, r)
					noStatus, noAnswer := c.ask(t, missing[i])
					if got, want := theirs.neutral(theirAnswer), unknown.neutral(noAnswer); theirStatus != noStatus || got != want {
						t.Errorf("%s (%s) answers, for what another tenant has,\n%s %d %s\nand for what nobody has\n%s %d %s", route, who, r.path, theirStatus, got, missing[i].path, noStatus, want)
					}
					clean(r, theirs.neutral(theirAnswer), "kumquat")
				}
			}
		}
		if strings.HasPrefix(route, "GET") {
			if status, answer := owner.ask(t, requests(t, route, theirs)[0]); status != http.StatusOK {
				t.Errorf("%s answers the owner %d %s, so that the test shows nothing", route, status, answer)
			}
		}
	}
	routes := openai.Routes()
	slices.SortFunc(routes, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) })
	for _, route := range routes {
		for _, of := range []subject{own, {"store": "vs_docs", "file": own["document"], "batch": own["batch"], "model": own["model"], "agent": own["agent"]}} {
			if route == "DELETE /v1/vector_stores/{store}" && of["store"] == "vs_docs" { // the walk ends with its own store
				continue
			}
			for _, r := range requests(t, route, of) {
				for _, c := range []caller{filteredReader, filtered} {
					_, answer := c.ask(t, r)
					clean(r, answer, append(foreign, hiddenText)...)
				}
				for _, c := range []caller{reader, writer, admin} {
					_, answer := c.ask(t, r)
					clean(r, answer, foreign...)
				}
			}
		}
	}
	after := s.RowSums(t, "bolt")
	for table, sum := range before {
		if after[table] != sum {
			t.Errorf("rows of %s were changed: %s before, %s after", table, sum, after[table])
		}
	}
}

// depth sorts routes: those that read, those that change, and those that delete, the smallest things first.
func depth(route string) int {
	switch {
	case strings.HasPrefix(route, "GET"):
		return -100
	case strings.HasPrefix(route, "DELETE"):
		return 100 - strings.Count(route, "/")
	}
	return 0
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
