package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessageIDs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, field string
		want        []string
	}{
		{"none", "", nil},
		{"one", "<1@example.org>", []string{"1@example.org"}},
		{"several without spaces", "<1@example.org><2@example.org>", []string{"1@example.org", "2@example.org"}},
		{"words around it", `Rosa's "message" of Monday <1@example.org> (was: fees)`, []string{"1@example.org"}},
		{"no brackets", " 1@example.org ", []string{"1@example.org"}},
		{"a name in brackets", "<Rosa> at the harbour", nil},
		{"a bracket that is not closed", "<1@example.org", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, messageIDs(tc.field)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The first reference identifies the thread, the last one the message that is answered.
func TestLongThreadKeepsFirstAndLatestReferences(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprintf("<%d@example.org>", i))
	}
	message := "From: a@example.org\nMessage-ID: <100@example.org>\nReferences: " + strings.Join(ids, "\n ") + "\n\nfine"
	d, err := Parse(t.Context(), Source{Content: []byte(message), FileName: "a.eml"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.References); n != maxReferences || d.References[0] != "0@example.org" || d.References[1] != "69@example.org" || d.References[n-1] != "99@example.org" {
		t.Errorf("%d references: %v", n, d.References)
	}
}
