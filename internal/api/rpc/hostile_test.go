package rpc_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// patience limits the time of a rejection. Most take a millisecond, but tests share their
// machine.
const patience = time.Minute

// Malformed and hostile filters are rejected quickly, with a code and the field, in every
// call that takes a filter.
func TestHostileFilters(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	entry := &ragdv1.Entry{Id: "a", Values: []float32{1, 0}, Metadata: servicetest.Object(t, map[string]any{"a": strings.Repeat("a", 200), "n": 1.0})}
	upsert(t, acme, &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{entry}})

	nested := value(t, map[string]any{"a": 1.0})
	for range 10_000 {
		nested = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"$not": nested}})
	}
	branches := make([]any, 5000)
	for n := range branches {
		branches[n] = map[string]any{"n": float64(n)}
	}
	regex := func(pattern string) map[string]any { return map[string]any{"a": map[string]any{"$regex": pattern}} }
	for _, tc := range []struct {
		name   string
		filter *structpb.Value
		code   connect.Code
		field  string // the field named in the error's details
		says   string
	}{
		{"an unknown operator", value(t, map[string]any{"a": map[string]any{"$near": 1.0}}), connect.CodeInvalidArgument, "filter.a", "Unsupported operator"},
		{"10 MB in a value", value(t, map[string]any{"a": strings.Repeat("x", 10<<20)}), connect.CodeInvalidArgument, "filter", ""},
		{"10 MB of JSON text", value(t, `{"a": "`+strings.Repeat("x", 10<<20)+`"}`), connect.CodeInvalidArgument, "filter", "1048576"},
		{"10,000 levels", nested, connect.CodeInvalidArgument, "", ""},
		{"10,000 levels of JSON text", value(t, strings.Repeat(`{"$not":`, 10_000)+`{"a":1}`+strings.Repeat("}", 10_000)), connect.CodeInvalidArgument, "filter", "depth"},
		{"10,000 levels of lists", value(t, `{"a": {"$in": `+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}}`), connect.CodeInvalidArgument, "filter", ""},
		{"5,000 branches", value(t, map[string]any{"$or": branches}), connect.CodeInvalidArgument, "filter", "1000"},
		{"JSON text that ends early", value(t, `{"a": `), connect.CodeInvalidArgument, "filter", "JSON"},
		{"a list", value(t, []any{1.0}), connect.CodeInvalidArgument, "filter", "object"},
		{"a malformed pattern", value(t, regex("(")), connect.CodeInvalidArgument, "filter", "parentheses () not balanced"},
		{"a pattern that explodes", value(t, regex(strings.Repeat("(", 200)+"a"+strings.Repeat("{9}){9}", 40))), connect.CodeInvalidArgument, "filter", ""},
		{"a pattern of states without end", value(t, regex("((a{255}){255}){255}")), connect.CodeInvalidArgument, "filter", "too complex"},
		{"a pattern over the limit", value(t, regex(strings.Repeat("a", 600))), connect.CodeInvalidArgument, "filter.a", "512"},
	} {
		for call, send := range map[string]func(ctx context.Context) error{
			"Query": func(ctx context.Context) error {
				_, err := acme.Query(ctx, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, Filter: tc.filter})
				return err
			},
			"VectorQuery": func(ctx context.Context) error {
				_, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, Filter: tc.filter})
				return err
			},
			"Delete": func(ctx context.Context) error {
				_, err := acme.Delete(ctx, &ragdv1.DeleteRequest{IndexName: "v", Filter: tc.filter})
				return err
			},
		} {
			t.Run(call+" with "+tc.name, func(t *testing.T) {
				start := time.Now()
				err := send(t.Context())
				servicetest.WantCode(t, call, err, tc.code)
				if err == nil {
					return
				}
				if took := time.Since(start); took > patience {
					t.Errorf("the refusal took %v", took)
				}
				if !strings.HasPrefix(fieldOf(err), tc.field) || tc.field == "" && fieldOf(err) != "" {
					t.Errorf("blames %q, want %q: %.300v", fieldOf(err), tc.field, err)
				}
				if text := err.Error(); !strings.Contains(text, tc.says) || len(text) > 1000 {
					t.Errorf("does not say %q, or says too much: %.300s", tc.says, text)
				}
				if strings.Contains(err.Error(), "ragdv1") || strings.Contains(err.Error(), "structpb") {
					t.Errorf("names a type of the implementation: %.300v", err)
				}
			})
		}
	}
	same(t, "nothing was deleted", count(t, acme, "v"), int32(1))
}

// Errors in filters under other names than "filter" use the name of their field.
func TestFilterErrorsNameTheFieldOfTheFilter(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	ctx := t.Context()
	bad := map[string]any{"a": map[string]any{"$near": 1.0}}
	query := func(c *ragdv1.DatabaseConfig) error {
		_, err := acme.Query(ctx, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, VectorStoreName: "chroma", DatabaseConfig: c})
		return err
	}
	for field, call := range map[string]func() error{
		"mandatoryFilter.a.$near": func() error {
			_, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{MandatoryFilter: servicetest.Object(t, bad)})
			return err
		},
		"deleteFilter.a.$near": func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v", DeleteFilter: value(t, bad), Entries: []*ragdv1.Entry{{Values: []float32{1, 0}}}})
			return err
		},
		"deleteFilter": func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v", DeleteFilter: value(t, map[string]any{}), Entries: []*ragdv1.Entry{{Values: []float32{1, 0}}}})
			return err
		},
		"namespace": func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v", Namespace: "a\x00", Entries: []*ragdv1.Entry{{Values: []float32{1, 0}}}})
			return err
		},
		"databaseConfig.chroma.where.a.$near": func() error {
			return query(&ragdv1.DatabaseConfig{Chroma: &ragdv1.ChromaConfig{Where: value(t, bad)}})
		},
		"databaseConfig.chroma.whereDocument": func() error {
			return query(&ragdv1.DatabaseConfig{Chroma: &ragdv1.ChromaConfig{WhereDocument: value(t, map[string]any{"$near": "a"})}})
		},
	} {
		err := call()
		servicetest.WantCode(t, field, err, connect.CodeInvalidArgument)
		if got := fieldOf(err); got != field {
			t.Errorf("blames %q, want %q: %v", got, field, err)
		}
	}
}

// Errors about unreadable messages use the terms of the API and name no Go types.
func TestUnreadableMessagesNameNoTypes(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	for _, tc := range []struct{ name, contentType, body, says string }{
		{"bytes that are no message", "application/proto", "\xff\xff\xff", "the message is not a binary proto of this call: cannot parse"},
		{"a field that there is not", "application/json", `{"indexName": "v", "qeury": 1}`, `qeury: is not known here; known are`},
		{"a number where a list belongs", "application/json", `{"queryVector": 1}`, "queryVector: must be a list, got 1"},
		{"10,000 levels", "application/json", `{"filter":` + strings.Repeat(`{"$not":`, 10_000) + `{}` + strings.Repeat("}", 10_001), "exceeded max"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/ragd.v1.VectorService/Query", strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", tc.contentType)
		req.Header.Set("Authorization", "Bearer "+acme.Secret)
		status, body := do(t, req)
		text := strings.ReplaceAll(body, `\"`, `"`)
		if status != http.StatusBadRequest || !strings.Contains(text, tc.says) || strings.Contains(text, "ragdv1") || strings.Contains(text, "proto:") {
			t.Errorf("%s: %d, %.300s", tc.name, status, body)
		}
	}
}
