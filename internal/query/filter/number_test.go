package filter

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"testing"
)

func TestPlainNumberPrintsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	for _, literal := range []string{
		"0", "-0", "0.0", "-0.00", "0e5", "0.000e2", "0e-3", "1", "-1", "10", "1.50", "1e2", "1.5e1", "1.50e1", "1.5e-3", "1E+2", "12.34e-1",
		"1e21", "123456789012345678901234567890.5", "0.0001", "5e-324", "1.7976931348623157e308", "100e-2", "0.1e1", "9e-1",
	} {
		got, ok := plainNumber(literal)
		var want string
		if err := conn.QueryRow(t.Context(), "SELECT jsonb_build_array($1::text::jsonb) ->> 0", literal).Scan(&want); err != nil {
			t.Fatal(err)
		}
		if !ok || got != want {
			t.Errorf("%s prints as %s, %v; want %s", literal, got, ok, want)
		}
	}
	for _, literal := range []string{"", "-", "+1", "01", "1.", ".5", "1e", "1e+", "1e+-1", " 1", "1 ", "0x10", "1_000", "NaN", "Infinity", "1e131073", "1e-16384", "1e99999999999999999999"} {
		if text, ok := plainNumber(literal); ok {
			t.Errorf("%q is a number: %.20s", literal, text)
		}
	}
}

func TestCompareNumbersOrdersByValue(t *testing.T) {
	t.Parallel()
	ordered := []string{
		"-1e300", "-123456789012345678901234567890", "-10", "-9.5", "-9", "-0.25", "-0.2", "0", "1e-300", "0.1",
		"0.1000000000000000055511151231257827", "0.15", "0.2", "1", "1.5", "9", "10", "10.01", "99", "100", "1e21", "1e400",
	}
	for i := range ordered {
		ordered[i], _ = canonicalNumber(ordered[i])
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := compareNumbers(a, b); cmp.Compare(got, 0) != cmp.Compare(i, j) {
				t.Errorf("compareNumbers(%.30s, %.30s) = %d", a, b, got)
			}
		}
	}
}

// TestFormatFloatKeepsTheOrder checks that the shortest decimals of floats are in
// the order of the floats, even of adjacent ones: Match relies on it.
func TestFormatFloatKeepsTheOrder(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{0, 1, 0.1, 1e21, 1e22, 5e-324, 123456.789, 9007199254740993, math.MaxFloat64 / 2} {
		next := math.Nextafter(f, math.Inf(1))
		texts := []string{formatFloat(f), formatFloat(next)}
		if !slices.IsSortedFunc(texts, compareNumbers) || texts[0] == texts[1] {
			t.Errorf("%v comes before %v", texts[1], texts[0])
		}
		if back, _, err := big.ParseFloat(texts[1], 10, 2000, big.ToNearestEven); err != nil {
			t.Error(err)
		} else if g, _ := back.Float64(); g != next {
			t.Errorf("%s reads back as %v", texts[1], g)
		}
	}
}
