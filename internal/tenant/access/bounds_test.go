package access_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

func TestBoundsIntersect(t *testing.T) {
	t.Parallel()
	all, none := []string(nil), []string{}
	for _, c := range []struct{ a, b, want []string }{
		{all, all, all},
		{all, none, none},
		{all, []string{"x"}, []string{"x"}},
		{[]string{"x"}, []string{"y"}, none},
		{[]string{"x", "y"}, []string{"y", "z"}, []string{"y"}},
	} {
		for _, pair := range [][2][]string{{c.a, c.b}, {c.b, c.a}} {
			got := access.Bounds{Indexes: pair[0], Tools: pair[0]}.Intersect(access.Bounds{Indexes: pair[1], Tools: pair[1]})
			if diff := cmp.Diff(access.Bounds{Indexes: c.want, Tools: c.want}, got); diff != "" {
				t.Errorf("%v and %v: %s", pair[0], pair[1], diff)
			}
			for _, side := range pair {
				if !got.Within(access.Bounds{Indexes: side, Tools: side}) {
					t.Errorf("%v and %v: %v is not within %v", pair[0], pair[1], got, side)
				}
			}
		}
	}
}

func TestBoundsAllowNames(t *testing.T) {
	t.Parallel()
	if b := (access.Bounds{}); !b.IsZero() || b.String() != "" || !b.MayUseServer("x") || !b.MayUseIndex("x") || !b.MayUseTool("x") || !b.MayUsePrompt("x") {
		t.Error("no bounds forbid something")
	}
	none := access.Bounds{Servers: []string{}, Indexes: []string{}, Tools: []string{}, Prompts: []string{}}
	if none.IsZero() || none.MayUseServer("x") || none.MayUseIndex("x") || none.MayUseTool("x") || none.MayUsePrompt("x") {
		t.Error("empty lists allow something")
	}
	if (access.Bounds{}).Within(none) || !none.Within(access.Bounds{}) {
		t.Error("empty lists are not within no bounds, or the other way round")
	}
	checked, err := access.Bounds{Indexes: []string{"b", "a", "b"}}.Check()
	if want := `{"servers":null,"indexes":["a","b"],"tools":null,"prompts":null}`; err != nil || checked.String() != want {
		t.Errorf("checked = %s, %v, want %s", checked, err, want)
	}
}

func TestBoundsAreLimited(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 201 {
		many = append(many, fmt.Sprint(i))
	}
	for what, names := range map[string][]string{
		"an empty name": {""}, "a long name": {strings.Repeat("x", 201)}, "a null character": {"a\x00"}, "two names": {"a,b"}, "too many names": many,
	} {
		if _, err := (access.Bounds{Tools: names}).Check(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "tools") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
