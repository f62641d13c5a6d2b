package openapi

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/ragdhq/ragd/gen/ragd/v1"
)

func get(t *testing.T, handler http.Handler, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// document is what the tests read of the document.
type document struct {
	OpenAPI  string `json:"openapi"`
	Security []map[string][]string
	Paths    map[string]struct {
		Post struct {
			OperationID string
			Description string
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
			Responses map[string]json.RawMessage
		}
	}
	Components struct {
		Schemas         map[string]struct{ Properties map[string]json.RawMessage }
		SecuritySchemes map[string]struct{ Type, Scheme string }
	}
}

func TestTheDocumentHasEveryUnaryCall(t *testing.T) {
	t.Parallel()
	res := get(t, Document())
	var d document
	if err := json.NewDecoder(res.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if res.Header().Get("Content-Type") != "application/json" || d.OpenAPI != "3.1.0" || len(d.Security) != 1 || d.Components.SecuritySchemes["key"].Scheme != "bearer" {
		t.Errorf("%s, OpenAPI %s, security %v of %v", res.Header().Get("Content-Type"), d.OpenAPI, d.Security, d.Components.SecuritySchemes)
	}
	calls := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("ragd.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				path := "/" + string(service.FullName()) + "/" + string(method.Name())
				call, listed := d.Paths[path]
				if stream := method.IsStreamingClient() || method.IsStreamingServer(); stream == listed {
					t.Errorf("%s: listed is %v", path, listed)
				}
				if !listed {
					continue
				}
				calls++
				if call.Post.Description == "" || call.Post.Responses["401"] == nil || call.Post.Responses["default"] == nil {
					t.Errorf("%s has no description, or no errors", path)
				}
				input := method.Input()
				schema := d.Components.Schemas[string(input.Name())]
				for k := range input.Fields().Len() {
					if name := input.Fields().Get(k).JSONName(); schema.Properties[name] == nil {
						t.Errorf("%s lacks the field %s", input.Name(), name)
					}
				}
			}
		}
		return true
	})
	if calls != len(d.Paths) || calls < 100 {
		t.Errorf("%d calls in the protos, %d in the document", calls, len(d.Paths))
	}
}

func TestCachesAskByETag(t *testing.T) {
	t.Parallel()
	handlers := Page()
	handlers[Path] = Document()
	for path, handler := range handlers {
		plain, packed := get(t, handler), get(t, handler, "Accept-Encoding", "br, gzip")
		tag := packed.Header().Get("ETag")
		if plain.Code != http.StatusOK || tag == "" || tag == plain.Header().Get("ETag") || packed.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d, ETag %s and %s", path, plain.Code, plain.Header().Get("ETag"), tag)
		}
		if _, err := gzip.NewReader(packed.Body); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if again := get(t, handler, "Accept-Encoding", "gzip", "If-None-Match", tag); again.Code != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.Code)
		}
		if policy := plain.Header().Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || !strings.Contains(policy, "script-src 'self'") {
			t.Errorf("%s: policy %s", path, policy)
		}
	}
	if caching := get(t, Document()).Header().Get("Cache-Control"); caching != "public, max-age=300" {
		t.Errorf("the document is cached %s", caching)
	}
}
