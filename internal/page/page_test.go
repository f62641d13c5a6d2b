package page

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/fault"
)

type position struct {
	Name string `json:"n"`
	Seq  int    `json:"s"`
}

func TestTokensComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	want := position{Name: "a \"b\"\x00é", Seq: -3}
	got, ok, err := Parse[position](Token(want))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, ok, err := Parse[position](""); ok || err != nil {
		t.Errorf("the first page: %v, %v", ok, err)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	key := func(n int) int { return n }
	if rows, next := Cut([]int{1, 2}, 2, key); len(rows) != 2 || next != "" {
		t.Errorf("a full last page: %v, %q", rows, next)
	}
	rows, next := Cut([]int{1, 2, 3}, 2, key)
	if after, _, err := Parse[int](next); len(rows) != 2 || after != 2 || err != nil {
		t.Errorf("a page with more behind it: %v, %v, %v", rows, after, err)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int32]int{0: DefaultSize, 1: 1, MaxSize: MaxSize} {
		if got, err := Size(asked); got != want || err != nil {
			t.Errorf("Size(%d) = %d, %v", asked, got, err)
		}
	}
	for _, asked := range []int32{-1, MaxSize + 1} {
		if _, err := Size(asked); fault.KindOf(err) != fault.Invalid {
			t.Errorf("Size(%d): %v", asked, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Token(position{"a", 1}))
	f.Add("")
	f.Add("////")
	f.Add("eyJuIjoxfQ")
	f.Fuzz(func(t *testing.T, token string) {
		if _, _, err := Parse[position](token); err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", token, err)
		}
	})
}
