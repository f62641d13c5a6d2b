package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
)

// errSecret stands for a cause with confidential text.
var errSecret = errors.New("dial postgres://user:hunter2@10.0.0.7/tenant_acme")

func TestErrorsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		err  error
		text string
		meta map[string]any
	}{
		{"a bad field", fault.Field("indexName", "is needed, as there are several indexes: a, b"),
			"indexName: is needed, as there are several indexes: a, b",
			map[string]any{"code": "invalid", "fields": []any{map[string]any{"field": "indexName", "reason": "is needed, as there are several indexes: a, b"}}}},
		{"not found", fault.New(fault.NotFound, `index "x" not found`), `index "x" not found`, map[string]any{"code": "not_found"}},
		{"a missing right", fault.New(fault.Denied, "this credential lacks the scope write"), "this credential lacks the scope write", map[string]any{"code": "denied"}},
		{"a lost race", fault.New(fault.Conflict, "the document was changed meanwhile"), "the document was changed meanwhile. Retry in a moment.", map[string]any{"code": "conflict"}},
		{"a quota", fault.Retry(1500*time.Millisecond, "too many requests"), "too many requests. Retry after 1.5s.",
			map[string]any{"code": "exhausted", "retryAfterMs": 1500.0}},
		{"a cause behind it", fault.Wrap(fault.Unavailable, errSecret, "the database is not answering"), "the database is not answering. Retry in a moment.",
			map[string]any{"code": "unavailable"}},
		{"a bug", errSecret, "internal error (request id REQUEST)", map[string]any{"code": "internal"}},
		{"a deadline", context.DeadlineExceeded, "the deadline passed before the work was done", map[string]any{"code": "deadline"}},
	} {
		for era, options := range mcptest.Eras {
			t.Run(tc.name+" "+era, func(t *testing.T) {
				t.Parallel()
				address := serve(t, &fakeAPI{vectorQuery: func(context.Context, *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
					return nil, tc.err
				}}, nil)
				c := connectClient(t, address, options, nil)
				result, text := mcptest.Call(t, c, "vector_query", map[string]any{"queryText": "a"}, nil)
				if !result.IsError || result.StructuredContent != nil {
					t.Errorf("no tool error: %+v", result)
				}
				detail, _ := result.Meta.AdditionalFields[metaError].(map[string]any)
				id, _ := detail["requestId"].(string)
				if id == "" {
					t.Error("no request id")
				}
				delete(detail, "requestId")
				if diff := cmp.Diff(strings.ReplaceAll(tc.text, "REQUEST", id), text); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(tc.meta, detail); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestPanicIsAToolError(t *testing.T) {
	t.Parallel()
	c := connectClient(t, serve(t, &fakeAPI{vectorQuery: func(context.Context, *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
		panic(errSecret)
	}}, nil), nil, nil)
	if result, text := mcptest.Call(t, c, "vector_query", nil, nil); !result.IsError || !strings.HasPrefix(text, "internal error (request id ") {
		t.Errorf("%s", text)
	}
}

func TestCallsEnd(t *testing.T) {
	t.Parallel()
	address := serve(t, &fakeAPI{vectorQuery: func(ctx context.Context, _ *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}, func(c *Config) { c.CallTimeout = 10 * time.Millisecond })
	if result, text := mcptest.Call(t, connectClient(t, address, nil, nil), "vector_query", nil, nil); !result.IsError || !strings.HasPrefix(text, "the deadline passed") {
		t.Errorf("%s", text)
	}
}
