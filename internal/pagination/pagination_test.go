package pagination

import (
	"errors"
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
	got, err := parse(tokenOf(want), position{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	rows := []int{1, 2, 3, 4, 5}
	list := func(size int32, token string) ([]int, string, error) {
		return List(size, token, 0, func(n int) int { return n }, func(after, most int) ([]int, error) {
			return rows[after:min(after+most, len(rows))], nil
		})
	}
	var got [][]int
	for token, more := "", true; more; more = token != "" {
		var page []int
		var err error
		if page, token, err = list(2, token); err != nil {
			t.Fatal(err)
		}
		got = append(got, page)
	}
	if diff := cmp.Diff([][]int{{1, 2}, {3, 4}, {5}}, got); diff != "" {
		t.Error(diff)
	}
	if page, next, err := list(5, ""); len(page) != 5 || next != "" || err != nil {
		t.Errorf("a full last page: %v, %q, %v", page, next, err)
	}
	for _, size := range []int32{-1, MaxSize + 1} {
		if _, _, err := list(size, ""); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a page of %d: %v", size, err)
		}
	}
	if _, _, err := list(2, "////"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a token that is none: %v", err)
	}
	broken := errors.New("the table is gone")
	if _, _, err := List(0, "", 0, func(n int) int { return n }, func(int, int) ([]int, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("a list that cannot be read: %v", err)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int32]int{0: DefaultSize, 1: 1, MaxSize: MaxSize} {
		if got, err := sizeOf(asked); got != want || err != nil {
			t.Errorf("sizeOf(%d) = %d, %v", asked, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(tokenOf(position{"a", 1}))
	f.Add("")
	f.Add("////")
	f.Add("eyJuIjoxfQ")
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := parse(token, position{}); err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", token, err)
		}
	})
}
