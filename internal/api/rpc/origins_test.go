package rpc_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

const (
	docsOrigin  = "https://docs.example.com"
	chatPath    = "/v1/chat/completions"
	queryPath   = "/ragd.v1.QueryService/VectorQuery"
	queryOfDocs = `{"indexName":"docs","queryText":"opening hours"}`
	chatOfDocs  = `{"model":"passages/docs","messages":[{"role":"user","content":"When is the library open?"}]}`
)

// pageCall sends a request as a page of an origin does, "" for a program, and returns the answer.
func pageCall(t *testing.T, s *servicetest.Service, key, method, path, body string, headers map[string]string) (pageAnswer, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	noError(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header[name] = strings.Split(value, "|")
	}
	res, err := http.DefaultClient.Do(req)
	noError(t, err)
	answer, err := io.ReadAll(res.Body)
	noError(t, err)
	noError(t, res.Body.Close())
	return pageAnswer{res.StatusCode, res.Header}, string(answer)
}

// pageAnswer has the status and the headers of an answer.
type pageAnswer struct {
	StatusCode int
	Header     http.Header
}

// library makes a tenant with documents about its opening hours in the index docs, others in the index staff, and a
// key for pages of docsOrigin.
func library(t *testing.T, s *servicetest.Service, name, hours string) (servicetest.Client, string) {
	t.Helper()
	c := s.Tenant(t, name)
	for index, text := range map[string]string{"docs": "The library is open " + hours + ".", "staff": "The safe of the library opens with 4711."} {
		c.Index(t, index)
		c.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: index, Uri: "https://docs.example.com/" + index, Title: "The library", Source: servicetest.Text(text),
			Metadata: servicetest.Object(t, map[string]any{"public": index == "docs"}),
		})
	}
	return c, s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: name, Indexes: names("docs"), Origins: []string{docsOrigin}})
}

// A key with origins is made with what makes it safe to be public, and with nothing else.
func TestKeysOfPagesAreMadeNarrow(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	made, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Indexes: names("docs"), Origins: []string{"https://Docs.example.com:443/", docsOrigin}, Tools: names("ask_guide")})
	noError(t, err)
	key := made.ApiKey
	if len(key.Origins) != 1 || key.Origins[0] != docsOrigin || strings.Join(key.Scopes, " ") != "read" || strings.Join(key.GetTools().GetNames(), " ") != "ask_guide" {
		t.Errorf("the key is %v", key)
	}
	plain, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Indexes: names("docs"), Origins: []string{docsOrigin}})
	noError(t, err)
	if tools := plain.ApiKey.Tools; tools == nil || len(tools.Names) != 0 {
		t.Errorf("a key that names no agents may ask %v", tools)
	}
	list, err := acme.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{})
	noError(t, err)
	if got := list.ApiKeys[0].Origins; len(got) != 1 || got[0] != docsOrigin {
		t.Errorf("the list has the origins %v", got)
	}
	for what, req := range map[string]*ragdv1.CreateApiKeyRequest{
		"no index":       {},
		"an empty index": {Indexes: names()},
		"write":          {Indexes: names("docs"), Scopes: []string{"read", "write"}},
		"admin":          {Indexes: names("docs"), Scopes: []string{"admin"}},
		"a tool":         {Indexes: names("docs"), Tools: names("ask_guide", "vector_query")},
		"a server":       {Indexes: names("docs"), Servers: names("front")},
		"a prompt":       {Indexes: names("docs"), Prompts: names("p")},
		"a wildcard":     {Indexes: names("docs"), Origins: []string{"https://*.example.com"}},
		"a path":         {Indexes: names("docs"), Origins: []string{"https://docs.example.com/a"}},
	} {
		if req.Origins == nil {
			req.Origins = []string{docsOrigin}
		}
		_, err := acme.CreateApiKey(ctx, req)
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
	_, err = s.Operator().CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Scopes: []string{"operator"}, Origins: []string{docsOrigin}})
	servicetest.WantCode(t, "an operator's key", err, connect.CodeInvalidArgument)
}

// Pages of the origins of a key search and ask with it; others do not, nor do programs.
func TestAKeyOfPagesIsForItsOrigins(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	_, key := library(t, s, "acme", "until nine")
	for path, body := range map[string]string{chatPath: chatOfDocs, queryPath: queryOfDocs} {
		res, answer := pageCall(t, s, key, http.MethodPost, path, body, map[string]string{"Origin": docsOrigin})
		if res.StatusCode != http.StatusOK || !strings.Contains(answer, "until nine") || res.Header.Get("Access-Control-Allow-Origin") != docsOrigin || res.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %s %v", path, res.StatusCode, answer, res.Header)
		}
		for _, origin := range []string{
			"", "null", "*", "http://docs.example.com", "https://docs.example.com:8443", "https://docs.example.com:443", "https://a.docs.example.com", "https://example.com",
			"https://DOCS.example.com", "HTTPS://docs.example.com", "https://docs.example.com/", "https://docs.example.com.", "https://docs.example.com.evil.example",
			"https://*.example.com", docsOrigin + "|https://evil.example", docsOrigin + ", " + docsOrigin, "https://evil.example", "http://localhost:3000",
		} {
			headers := map[string]string{}
			if origin != "" {
				headers["Origin"] = origin
			}
			res, answer := pageCall(t, s, key, http.MethodPost, path, body, headers)
			allowed := res.Header.Get("Access-Control-Allow-Origin")
			if res.StatusCode != http.StatusForbidden || strings.Contains(answer, "until nine") || allowed != "" && origin != "http://localhost:3000" {
				t.Errorf("%s from %q: %d %s, allowed %q", path, origin, res.StatusCode, answer, allowed)
			}
			asks := preflight(t, s.URL+path, origin, "authorization, content-type") //nolint:bodyclose // preflight closes it
			if allowed := asks.Header.Get("Access-Control-Allow-Origin"); allowed != "" && origin != "http://localhost:3000" && !strings.Contains(origin, "|") {
				t.Errorf("%s: a preflight from %q is allowed", path, origin)
			}
		}
	}
}

// Browsers may send the key from its origins, to its calls; when no key has an origin any more, no longer.
func TestPreflightsOfPages(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, ctx := s.Tenant(t, "acme"), t.Context()
	allowed := func(path string) bool {
		res := preflight(t, s.URL+path, docsOrigin, "authorization, content-type, ragd-footnotes, x-other") //nolint:bodyclose // preflight closes it
		if res.Header.Get("Access-Control-Allow-Origin") == "" {
			return false
		}
		headers := strings.ToLower(res.Header.Get("Access-Control-Allow-Headers"))
		if res.StatusCode != http.StatusNoContent || res.Header.Get("Access-Control-Allow-Methods") != "POST" || res.Header.Get("Access-Control-Allow-Credentials") != "" ||
			!strings.Contains(headers, "ragd-footnotes") || strings.Contains(headers, "x-other") || strings.Contains(headers, "ragd-tenant") {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		return true
	}
	if allowed(chatPath) {
		t.Error("an origin that no key has may ask")
	}
	made, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{Indexes: names("docs"), Origins: []string{docsOrigin}})
	noError(t, err)
	for _, path := range []string{chatPath, queryPath} {
		if !allowed(path) {
			t.Errorf("%s: pages of the key may not ask", path)
		}
	}
	for _, path := range []string{"/v1/responses", "/v1/models", "/v1/files", "/ragd.v1.TenantService/ListApiKeys", "/ragd.v1.DocumentService/UploadDocument", "/mcp", "/console/session", "/"} {
		if allowed(path) {
			t.Errorf("%s: pages of the key may call it", path)
		}
	}
	_, err = acme.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: made.ApiKey.ApiKeyId})
	noError(t, err)
	if allowed(chatPath) {
		t.Error("an origin of which the only key is revoked may ask")
	}
}

// A key without origins is not used by pages, also not by those of an origin that another key has, of the same tenant or
// of another one.
func TestOtherKeysAreNotForPages(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, _ := library(t, s, "acme", "until nine")
	globex := s.Tenant(t, "globex")
	foreign := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "globex", Indexes: names("docs"), Origins: []string{"https://globex.example"}})
	for what, key := range map[string]string{"the tenant's": acme.Secret, "another tenant's": globex.Secret, "the operator's": servicetest.OperatorKey, "another page's": foreign, "no": "ragd_none"} {
		res, answer := pageCall(t, s, key, http.MethodPost, queryPath, queryOfDocs, map[string]string{"Origin": docsOrigin})
		if res.StatusCode == http.StatusOK || res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s key in a page: %d %s %v", what, res.StatusCode, answer, res.Header)
		}
	}
}

// A key with origins sees its index of its tenant alone, whatever a page asks for.
func TestAKeyOfPagesStaysInItsIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	_, key := library(t, s, "acme", "until nine")
	_, other := library(t, s, "globex", "at midnight")
	for what, tc := range map[string]struct{ path, body, context string }{
		"another index":           {queryPath, `{"indexName":"staff","queryText":"safe"}`, ""},
		"another of several":      {queryPath, `{"indexNames":["docs","staff"],"queryText":"safe"}`, ""},
		"of the context":          {queryPath, `{"queryText":"safe"}`, `{"indexName":"staff"}`},
		"the model of an index":   {chatPath, strings.Replace(chatOfDocs, "docs", "staff", 1), ""},
		"passages of all indexes": {chatPath, `{"model":"passages","messages":[{"role":"user","content":"How does the safe open?"}]}`, ""},
		"an agent":                {chatPath, `{"model":"agent/guide","messages":[{"role":"user","content":"How does the safe open?"}]}`, ""},
	} {
		headers := map[string]string{"Origin": docsOrigin}
		if tc.context != "" {
			headers["Ragd-Context"] = tc.context
		}
		if _, answer := pageCall(t, s, key, http.MethodPost, tc.path, tc.body, headers); strings.Contains(answer, "4711") || strings.Contains(answer, "midnight") {
			t.Errorf("%s: %s", what, answer)
		}
	}
	if _, answer := pageCall(t, s, other, http.MethodPost, queryPath, queryOfDocs, map[string]string{"Origin": docsOrigin}); strings.Contains(answer, "nine") || !strings.Contains(answer, "midnight") {
		t.Errorf("the key of another tenant: %s", answer)
	}
	if res, answer := pageCall(t, s, key, http.MethodPost, queryPath, queryOfDocs, map[string]string{"Origin": docsOrigin, "Ragd-Tenant": "globex"}); res.StatusCode != http.StatusForbidden {
		t.Errorf("a key that names another tenant: %s", answer)
	}
	filtered := s.Key(t, &ragdv1.CreateApiKeyRequest{
		TenantId: "acme", Indexes: names("docs"), Origins: []string{docsOrigin}, MandatoryFilter: servicetest.Object(t, map[string]any{"public": false}),
	})
	var found struct{ Sources []json.RawMessage }
	_, answer := pageCall(t, s, filtered, http.MethodPost, queryPath, queryOfDocs, map[string]string{"Origin": docsOrigin})
	noError(t, json.Unmarshal([]byte(answer), &found))
	if len(found.Sources) != 0 {
		t.Errorf("a key with a filter finds %s", answer)
	}
}

// No method of the API but the calls of pages answers a key with origins, nor does any other door.
func TestAKeyOfPagesCallsNothingElse(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Indexes: names("docs"), Origins: []string{docsOrigin}})
	page := map[string]string{"Origin": docsOrigin}
	refused := func(method, path, body string) {
		t.Helper()
		for _, headers := range []map[string]string{page, {}, {"Origin": "http://localhost:8080"}} {
			if res, answer := pageCall(t, s, key, method, path, body, headers); res.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s of %v: %d %s", method, path, headers, res.StatusCode, answer)
			}
		}
	}
	for _, m := range methods(t) {
		if path := "/" + string(m.Parent().FullName()) + "/" + string(m.Name()); path != queryPath {
			refused(http.MethodPost, path, "{}")
		}
	}
	for _, path := range []string{"/v1/models", "/v1/files", "/v1/vector_stores", "/v1/vector_stores/docs"} {
		refused(http.MethodGet, path, "")
	}
	for _, path := range []string{"/v1/responses", "/v1/embeddings", "/v1/rerank", "/v1/vector_stores", "/v1/vector_stores/docs/search", "/mcp", "/mcp/front", "/t/acme/mcp", "/console/links"} {
		refused(http.MethodPost, path, "{}")
	}
	refused(http.MethodGet, queryPath+"?connect=v1&encoding=json&message=%7B%22indexName%22%3A%22docs%22%2C%22queryText%22%3A%22x%22%7D", "")
	if res, answer := pageCall(t, s, key, http.MethodPost, queryPath, queryOfDocs, map[string]string{"Origin": docsOrigin, "Ragd-Server": "front"}); res.StatusCode != http.StatusForbidden {
		t.Errorf("through a server: %d %s", res.StatusCode, answer)
	}
}

// An operator who allows an origin for all keys does not widen the keys of pages.
func TestAllowedOriginsDoNotWidenKeysOfPages(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{AllowedOrigins: []string{"*"}})
	_, key := library(t, s, "acme", "until nine")
	if res, answer := pageCall(t, s, key, http.MethodPost, queryPath, queryOfDocs, map[string]string{"Origin": "https://evil.example"}); res.StatusCode != http.StatusForbidden || strings.Contains(answer, "nine") {
		t.Errorf("a foreign page: %d %s", res.StatusCode, answer)
	}
	if res, answer := pageCall(t, s, key, http.MethodPost, queryPath, queryOfDocs, map[string]string{"Origin": docsOrigin}); res.StatusCode != http.StatusOK {
		t.Errorf("its own page: %d %s", res.StatusCode, answer)
	}
}

// Whoever reads the key of a page does not choose what its questions cost.
func TestPagesAskNoCostlyQuestions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	_, key := library(t, s, "acme", "until nine")
	program := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	for field, setting := range map[string]string{
		"topK": `"topK":51`, "reranker": `"reranker":{"kind":"lexical"}`, "databaseConfig": `"databaseConfig":{"pgvector":{"ef":100}}`,
		"recallTarget": `"recallTarget":0.999`, "includeVectors": `"includeVectors":true`, "groupBy": `"groupBy":{"field":"public"}`,
	} {
		body := `{"indexName":"docs","queryText":"opening hours",` + setting + `}`
		res, answer := pageCall(t, s, key, http.MethodPost, queryPath, body, map[string]string{"Origin": docsOrigin})
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(answer, field) {
			t.Errorf("%s: %d %s", field, res.StatusCode, answer)
		}
		if res, answer := pageCall(t, s, program, http.MethodPost, queryPath, body, nil); res.StatusCode != http.StatusOK {
			t.Errorf("%s of a program: %d %s", field, res.StatusCode, answer)
		}
	}
	res, answer := pageCall(t, s, key, http.MethodPost, queryPath, `{"indexName":"docs","queryText":"opening hours","topK":50,"includeVectors":false}`, map[string]string{"Origin": docsOrigin})
	if res.StatusCode != http.StatusOK {
		t.Errorf("a question of a page: %d %s", res.StatusCode, answer)
	}
}

// One page does not use up the requests of its tenant.
func TestPagesKeepToTheRateOfTheirKey(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{PageRequestRate: 1})
	_, key := library(t, s, "acme", "until nine")
	program := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	var refused *pageAnswer
	for range 20 { // faster than one a second, however slow the machine is
		for _, call := range []struct{ path, body string }{{queryPath, queryOfDocs}, {chatPath, chatOfDocs}} {
			if res, _ := pageCall(t, s, key, http.MethodPost, call.path, call.body, map[string]string{"Origin": docsOrigin}); res.StatusCode == http.StatusTooManyRequests {
				refused = &res
			}
		}
	}
	if refused == nil || refused.Header.Get("Retry-After") == "" {
		t.Errorf("40 requests in a row are %v", refused)
	}
	if res, answer := pageCall(t, s, program, http.MethodPost, queryPath, queryOfDocs, nil); res.StatusCode != http.StatusOK {
		t.Errorf("a program: %d %s", res.StatusCode, answer)
	}
}
