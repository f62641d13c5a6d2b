package mcphttp

import (
	"cmp"
	"context"
	"net/http"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Clients say in one of these which form of tool results they read: text or structured. The header takes
// precedence. Clients that say nothing, or both, get both.
const (
	ResultsParameter = "results"
	ResultsHeader    = "Ragd-Results"
)

type resultsKey struct{}

// Results returns the form of tool results that the client of a request reads: text or structured, "" for
// both.
func Results(ctx context.Context) string {
	form, _ := ctx.Value(resultsKey{}).(string)
	return form
}

// withResults returns a handler that puts what Results returns into the context of requests.
func (h *Handler) withResults(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		parameter := ""
		if r.URL.RawQuery != "" {
			parameter = r.URL.Query().Get(ResultsParameter)
		}
		form := cmp.Or(r.Header.Get(ResultsHeader), parameter)
		switch form {
		case "", "both":
			next(w, r)
		case "text", "structured":
			next(w, r.WithContext(context.WithValue(r.Context(), resultsKey{}, form)))
		default:
			h.reject(w, r, fault.Field(ResultsParameter, "must be text, structured or both, got %q: it is the form of tool results that the client reads", form))
		}
	}
}
