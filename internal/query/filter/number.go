package filter

import (
	"strconv"
	"strings"
)

// Maximum digits of PostgreSQL's numeric type on either side of the point.
const (
	numericIntegerDigits  = 131072
	numericFractionDigits = 16383
)

// plainNumber returns the JSON number literal as PostgreSQL prints a jsonb number:
// without exponent, with the zeros at the end of its fraction. ok is false if
// literal is not a JSON number or is too large for numeric.
func plainNumber(literal string) (text string, ok bool) {
	integer, fraction, exponent, negative, ok := splitNumber(literal)
	if !ok {
		return "", false
	}
	digits := integer + fraction
	point := len(integer) + exponent // position of the point in digits
	scale := len(digits) - point
	zero := strings.Trim(digits, "0") == "" // zero keeps its scale but has no sign
	if scale > numericFractionDigits || !zero && point > numericIntegerDigits {
		return "", false
	}
	if zero {
		negative, digits, point = false, strings.Repeat("0", 1+max(0, scale)), 1
	}
	switch {
	case point <= 0:
		integer, fraction = "0", strings.Repeat("0", -point)+digits
	case point >= len(digits):
		integer, fraction = digits+strings.Repeat("0", point-len(digits)), ""
	default:
		integer, fraction = digits[:point], digits[point:]
	}
	integer = strings.TrimLeft(integer, "0")
	if integer == "" {
		integer = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	if negative {
		integer = "-" + integer
	}
	return integer + fraction, true
}

// splitNumber splits a JSON number literal. An exponent that does not fit an int is
// returned as plus or minus 1<<30, beyond every limit.
func splitNumber(literal string) (integer, fraction string, exponent int, negative, ok bool) {
	const huge = 1 << 30
	mantissa, negative := strings.CutPrefix(literal, "-")
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		power := mantissa[i+1:]
		mantissa = mantissa[:i]
		digits := strings.TrimPrefix(power, "+")
		if digits == power {
			digits = strings.TrimPrefix(power, "-")
		}
		if !isDigits(digits) {
			return "", "", 0, false, false
		}
		exponent, _ = strconv.Atoi(power) // saturates when out of range
		exponent = max(-huge, min(exponent, huge))
	}
	integer, fraction, hasPoint := strings.Cut(mantissa, ".")
	if !isDigits(integer) || len(integer) > 1 && integer[0] == '0' || hasPoint && !isDigits(fraction) {
		return "", "", 0, false, false
	}
	return integer, fraction, exponent, negative, true
}

// isNumber reports whether s is a JSON number literal, of any size.
func isNumber(s string) bool {
	_, _, _, _, ok := splitNumber(s)
	return ok
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// canonicalNumber returns the JSON number literal without exponent and without
// zeros at the end of its fraction: equal numbers have equal canonical texts. ok
// is as in plainNumber.
func canonicalNumber(literal string) (text string, ok bool) {
	text, ok = plainNumber(literal)
	return trimFraction(text), ok
}

// isCanonicalNumber reports whether text is a number in canonical form.
func isCanonicalNumber(text string) bool {
	if strings.ContainsAny(text, "eE") {
		return false // avoids writing out 1e100000
	}
	canonical, ok := canonicalNumber(text)
	return ok && canonical == text
}

func trimFraction(plain string) string {
	if strings.Contains(plain, ".") {
		plain = strings.TrimSuffix(strings.TrimRight(plain, "0"), ".")
	}
	return plain
}

// compareNumbers orders two canonical numbers by value, whatever their size.
func compareNumbers(a, b string) int {
	a, aNegative := strings.CutPrefix(a, "-")
	b, bNegative := strings.CutPrefix(b, "-")
	switch {
	case aNegative && bNegative:
		a, b = b, a
	case aNegative:
		return -1
	case bNegative:
		return 1
	}
	aInteger, aFraction, _ := strings.Cut(a, ".")
	bInteger, bFraction, _ := strings.Cut(b, ".")
	if len(aInteger) != len(bInteger) {
		return len(aInteger) - len(bInteger)
	}
	if c := strings.Compare(aInteger, bInteger); c != 0 {
		return c
	}
	return strings.Compare(aFraction, bFraction)
}

// formatFloat returns the shortest decimal that reads back as f, in canonical
// form. JSON carries a float64 with these digits.
func formatFloat(f float64) string {
	if f == 0 {
		return "0" // also for negative zero
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
