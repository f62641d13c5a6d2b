package rpc_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Requests that no method can answer are told what to send, in JSON as Connect writes it.
func TestRequestsToTheWrongAddressSayWhatToSend(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	const query, watch = "/ragd.v1.QueryService/VectorQuery", "/ragd.v1.DocumentService/WatchJob"
	for _, tc := range []struct {
		name, method, path, contentType, body string
		status                                int
		says                                  string
	}{
		{"no content type", "POST", query, "", "{}", 415, `the Content-Type is missing: send \"Content-Type: application/json\"`},
		{"a form, as curl sends it", "POST", query, "application/x-www-form-urlencoded", "{}", 415, `the Content-Type \"application/x-www-form-urlencoded\" is not accepted: send \"Content-Type: application/json\"`},
		{"YAML", "POST", query, "text/yaml", "{}", 415, `\"text/yaml\" is not accepted`},
		{"GET without a message", "GET", query, "", "", 415, `VectorQuery by GET needs the message in the address: ?connect=v1\u0026encoding=json\u0026message=%7B%7D`},
		{"GET of a method that writes", "GET", "/ragd.v1.IndexService/CreateIndex", "", "", 405, `CreateIndex is not called by GET: send POST with \"Content-Type: application/json\"`},
		{"PUT", "PUT", query, "application/json", "{}", 405, "VectorQuery is not called by PUT"},
		{"a misspelt method", "POST", "/ragd.v1.QueryService/VectorQury", "application/json", "{}", 404, "there is nothing at /ragd.v1.QueryService/VectorQury; did you mean /ragd.v1.QueryService/VectorQuery?"},
		{"a method of another service", "POST", "/ragd.v1.JobService/WatchJob", "application/json", "{}", 404, "did you mean /ragd.v1.DocumentService/WatchJob?"},
		{"a method that there is not", "POST", "/ragd.v1.QueryService/Anything", "application/json", "{}", 404, "there is nothing at /ragd.v1.QueryService/Anything: calls go by POST"},
		{"another style", "POST", "/api/query", "application/json", "{}", 404, "there is nothing at /api/query: calls go by POST to addresses such as /ragd.v1.QueryService/VectorQuery, MCP to /mcp"},
		{"a page that there is not", "GET", "/nothing", "", "", 404, "there is nothing at /nothing: calls go by POST"},
		{"POST to a health check", "POST", "/healthz", "application/json", "{}", 405, "/healthz is not called by POST: send GET"},
		{"a stream without framing", "POST", watch, "application/json", "{}", 415, "WatchJob is a stream: call it with a client of Connect, gRPC or gRPC-Web"},
		{"the plain call instead of a stream", "POST", "/ragd.v1.DocumentService/UploadDocuments", "application/json", "{}", 415, "UploadDocument is the plain call"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tc.method, s.URL+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+acme.Secret)
			if tc.contentType != "" {
				req.Header.Set("Content-Type", tc.contentType)
			}
			status, body := do(t, req)
			if status != tc.status || !strings.Contains(body, tc.says) {
				t.Errorf("%d, %s; want %d and %s", status, body, tc.status, tc.says)
			}
			var answer struct{ Code, Message string }
			if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Code == "" || answer.Message == "" {
				t.Errorf("the answer is not an error of Connect: %s", body)
			}
		})
	}
}

// Content types that the library accepts are accepted, with parameters and in any case.
func TestAcceptedContentTypesReachTheMethod(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	for _, contentType := range []string{
		"application/json", "application/json; charset=utf-8", "Application/JSON", "application/proto",
		"application/grpc", "application/grpc+proto", "application/grpc+json", "application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/ragd.v1.IndexService/ListIndexes", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Authorization", "Bearer "+acme.Secret)
		if status, body := do(t, req); status != http.StatusOK {
			t.Errorf("%s: %d %s", contentType, status, body)
		}
	}
	get, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/ragd.v1.IndexService/ListIndexes?connect=v1&encoding=json&message=%7B%7D", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	get.Header.Set("Authorization", "Bearer "+acme.Secret)
	if status, body := do(t, get); status != http.StatusOK {
		t.Errorf("GET: %d %s", status, body)
	}
}

// A stream whose body is plain JSON is not read as a message of a huge size.
func TestAStreamWithoutPrefixesSaysSo(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/ragd.v1.DocumentService/WatchJob", strings.NewReader(`{"jobId": "j1"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/connect+json")
	req.Header.Set("Authorization", "Bearer "+acme.Secret)
	if _, body := do(t, req); !strings.Contains(body, "invalid_argument") || !strings.Contains(body, "prefix of 5 bytes") {
		t.Errorf("the answer is %q", body)
	}
}

// A malformed message names its field in the details of the error, in calls and in streams.
func TestMalformedMessagesNameTheField(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/ragd.v1.QueryService/VectorQuery",
			strings.NewReader(`{"databaseConfig": {"pgvector": {"minscore": 1}}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Authorization", "Bearer "+acme.Secret)
		status, body := do(t, req)
		for _, want := range []string{`"code":"invalid_argument"`, `"message":"databaseConfig.pgvector.minscore: is not known here; did you mean minScore?"`, "google.rpc.BadRequest"} {
			if status != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%d %s, want %s", status, body, want)
			}
		}
	}

	framed := "\x00\x00\x00\x00\x0f" + `{"jobid": "j1"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/ragd.v1.DocumentService/WatchJob", strings.NewReader(framed))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/connect+json")
	req.Header.Set("Authorization", "Bearer "+acme.Secret)
	if _, body := do(t, req); !strings.Contains(body, "jobid: is not known here; did you mean jobId?") {
		t.Errorf("the stream's answer is %q", body)
	}
}

// The way in which errors about messages travel cannot be used by callers, and unknown
// fields of newer clients are still ignored.
func TestUnknownFieldsInBinaryMessagesAreIgnored(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	req := &ragdv1.ListIndexesRequest{}
	req.ProtoReflect().SetUnknown([]byte{0xfa, 0xff, 0xff, 0xff, 0x0f, 0x03, '{', '"', '}'}) // the largest field number
	if _, err := acme.ListIndexes(t.Context(), req); err != nil {
		t.Error(err)
	}
}
