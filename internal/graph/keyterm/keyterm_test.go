package keyterm_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/graph/keyterm"
)

func TestTermsTellGroupsApart(t *testing.T) {
	t.Parallel()
	pumps := []string{
		"The Coolant Pump stops when its bearings are dry. Call the service desk.", "Bearings of a Coolant Pump are greased every month.",
		"A Coolant Pump with noisy bearings needs grease from the service.",
	}
	films := []string{
		"The film was directed by Clio Barnard in 2017.", "Clio Barnard's films are set in Yorkshire; the service was slow.",
		"A film by Clio Barnard won a prize in 2013.",
	}
	c := keyterm.NewCollection(3)
	c.Add(0, pumps, 300)
	c.Add(1, films, 30)
	c.Add(2, []string{"日本語の文章です。", "日本語を話す。"}, 2)
	for group, want := range [][]string{{"Coolant Pump", "bearings"}, {"Clio Barnard", "film"}, {"日本", "本語"}} {
		got, err := c.Terms(t.Context(), group, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < 2 || got[0] != want[0] || !slices.Contains(got, want[1]) {
			t.Errorf("group %d: %q", group, got)
		}
		if slices.Contains(got, "2017") || slices.Contains(got, "the") {
			t.Errorf("group %d has %q", group, got)
		}
		again, err := c.Terms(t.Context(), group, 10)
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}

func TestTermsOfOneGroup(t *testing.T) {
	t.Parallel()
	c := keyterm.NewCollection(2)
	c.Add(0, []string{"Ledger Nine lies in the vault.", "The vault is cold."}, 2)
	got, err := c.Terms(t.Context(), 0, 2)
	if err != nil || len(got) != 2 || got[0] != "vault" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := c.Terms(t.Context(), 1, 2); err != nil || len(got) != 0 {
		t.Errorf("a group without texts has %q, %v", got, err)
	}
}
