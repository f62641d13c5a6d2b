package fault

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPublicHidesCauses(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial postgres://user:hunter2@db")
	for _, tc := range []struct {
		name string
		err  error
		kind Kind
		want string
	}{
		{"a classified error shows its message", New(NotFound, "index %q not found", "a"), NotFound, `index "a" not found`},
		{"a wrapped cause stays hidden", Wrap(Unavailable, secret, "the database is down"), Unavailable, "the database is down"},
		{"context around a fault stays hidden", fmt.Errorf("embed batch 3: %w", New(Exhausted, "slow down")), Exhausted, "slow down"},
		{"an unclassified error shows nothing", secret, Internal, "internal error"},
		{"an Internal fault shows nothing", Wrap(Internal, secret, "tenant_acme.chunks is broken"), Internal, "internal error"},
		{"the caller left", fmt.Errorf("scan: %w", context.Canceled), Canceled, "the request was canceled"},
		{"the deadline passed", context.DeadlineExceeded, Deadline, "the deadline passed before the work was done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := KindOf(tc.err); got != tc.kind {
				t.Errorf("KindOf = %v, want %v", got, tc.kind)
			}
			if got := Public(tc.err); got != tc.want {
				t.Errorf("Public = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestUnderPrefixesFieldPaths(t *testing.T) {
	t.Parallel()
	err := Under("chunking", Field("maxSize", "must be positive, got %d", 0))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal("not a fault")
	}
	if want := "chunking.maxSize: must be positive, got 0"; e.Message != want {
		t.Errorf("message = %q, want %q", e.Message, want)
	}
	want := []Violation{{Field: "chunking.maxSize", Reason: "must be positive, got 0"}}
	if diff := cmp.Diff(want, e.Violations); diff != "" {
		t.Error(diff)
	}
	plain := errors.New("other")
	if !errors.Is(Under("x", plain), plain) || Under("x", plain).Error() != "other" {
		t.Error("an error without violations was changed")
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		"filter": "deleteFilter", "filter.a": "deleteFilter.a", "filter[1].a": "deleteFilter[1].a", "filters": "filters", "a.filter": "a.filter",
	} {
		if got := Public(Rename("filter", "deleteFilter", Field(field, "is bad"))); got != want+": is bad" {
			t.Errorf("%s became %q, want %s", field, got, want)
		}
	}
}
