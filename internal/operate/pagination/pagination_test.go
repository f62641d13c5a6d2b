package pagination

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

type position struct {
	Name string `json:"n"`
	Seq  int    `json:"s"`
}

func TestTokensComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, tokens := range map[string]Tokens{"zero": {}, "with a key": NewTokens([]byte("secret")), "bound": NewTokens([]byte("secret")).For("a")} {
		want := position{Name: "a \"b\"\x00é", Seq: -3}
		var got position
		if err := tokens.Decode(tokens.Encode(want), &got); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(name, diff)
		}
	}
}

func TestTokensOfOtherListsAreRefused(t *testing.T) {
	t.Parallel()
	service := NewTokens([]byte("secret"))
	list := service.For("acme", "key 1", "documents", "{}")
	for name, other := range map[string]Tokens{
		"another secret": NewTokens([]byte("other")).For("acme", "key 1", "documents", "{}"), "no secret": Tokens{}.For("acme", "key 1", "documents", "{}"),
		"another tenant": service.For("bolt", "key 1", "documents", "{}"), "another filter": service.For("acme", "key 1", "documents", `{"a":1}`),
		"values cut elsewhere": service.For("acme", "key 1d", "ocuments", "{}"), "no values": service, "fewer values": service.For("acme", "key 1", "documents"),
	} {
		if err := list.Decode(other.Encode(position{"a", 1}), &position{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := service.For("acme", "key 1", "documents", "{}").Decode(list.Encode(position{"a", 1}), &position{}); err != nil {
		t.Errorf("another instance with the same secret: %v", err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	rows := []int{1, 2, 3, 4, 5}
	list := func(size int32, token string) ([]int, string, error) {
		return List(Tokens{}, size, token, 0, func(n int) int { return n }, func(after, most int) ([]int, error) {
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
	if _, _, err := List(Tokens{}, 0, "", 0, func(n int) int { return n }, func(int, int) ([]int, error) { return nil, broken }); !errors.Is(err, broken) {
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

func FuzzPageToken(f *testing.F) {
	tokens := NewTokens([]byte("secret")).For("acme", "documents")
	genuine := tokens.Encode(position{"a", 1})
	for _, seed := range []string{genuine, "", "////", "bnVsbA", "e30", "eyJuIjoxfQ", genuine[:len(genuine)-1], genuine + "A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		got := position{Name: "untouched"}
		err := tokens.Decode(token, &got)
		switch {
		case token == genuine && err != nil:
			t.Errorf("the genuine token: %v", err)
		case token != genuine && (fault.KindOf(err) != fault.Invalid || got.Name != "untouched"):
			t.Errorf("%q was accepted as %+v, %v", token, got, err)
		}
	})
}
