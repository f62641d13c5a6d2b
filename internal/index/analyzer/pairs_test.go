package analyzer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPairs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		question string
		want     []Pair
	}{
		{"", nil},
		{"harbour", nil},
		{"the harbours' tides", []Pair{
			{[2]string{"the", "harbour"}, [2]bool{true, false}, "('the') <1> ('harbour')"},
			{[2]string{"harbour", "tide"}, [2]bool{}, "('harbour') <1> ('tide')"},
		}},
		{"tide tide tide", []Pair{{[2]string{"tide", "tide"}, [2]bool{}, "('tide') <1> ('tide')"}}},
		{"退款期限", []Pair{
			{[2]string{"退款", "款期"}, [2]bool{}, "('退款') <1> ('款期')"},
			{[2]string{"款期", "期限"}, [2]bool{}, "('款期') <1> ('期限')"},
		}},
		{"get_user name", []Pair{
			{[2]string{"get", "user"}, [2]bool{}, "('get') <1> ('user')"},
			{[2]string{"user", "name"}, [2]bool{}, "('user') <1> ('name')"},
		}},
	} {
		if diff := cmp.Diff(tc.want, Pairs(tc.question, []string{English})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.question, diff)
		}
	}
}
