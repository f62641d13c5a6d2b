package openai

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// newID returns a new id with a prefix such as file-.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:24]) }

// page is what a request asks of a list.
type page struct {
	limit      int
	after      string // the id of the last entry of the page before; empty for the first page
	descending bool   // newest first
}

// pageOf reads the query of a request for a list of at most most entries. Errors: Invalid for what is
// malformed, and for parameters besides those of pages and the known ones.
func pageOf(r *http.Request, standard, most int, known ...string) (page, error) {
	p := page{limit: standard, descending: true}
	asked := r.URL.Query()
	for name := range asked {
		switch value := asked.Get(name); name {
		case "limit":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > most {
				return p, fault.Field("limit", "must be 1 to %d, got %q", most, shorten(value))
			}
			p.limit = n
		case "after":
			p.after = value
		case "before":
			if value != "" {
				return p, fault.Field("before", "pages are read forwards here: use after, and order for the other direction")
			}
		case "order":
			if value != "asc" && value != "desc" {
				return p, fault.Field("order", "must be asc or desc, got %q", shorten(value))
			}
			p.descending = value == "desc"
		default:
			if !slices.Contains(known, name) {
				return p, fault.Field(shorten(name), "is not a parameter that is known here")
			}
		}
	}
	return p, nil
}

// pageList returns the page of a list from up to one entry more than the page has.
func pageList[T any](found []T, limit int, id func(T) string) *list[T] {
	out := &list[T]{Object: "list", Data: found, HasMore: len(found) > limit}
	if out.HasMore {
		out.Data = found[:limit]
	}
	if n := len(out.Data); n > 0 {
		first, last := id(out.Data[0]), id(out.Data[n-1])
		out.FirstID, out.LastID = &first, &last
	} else {
		out.Data = []T{}
	}
	return out
}

// deleted is the answer to a deletion.
type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}
