package grid

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// reserved are words that the language of queries has for itself: a column of that name gets a _ at its end.
var reserved = []string{
	"select", "distinct", "from", "join", "inner", "left", "on", "where", "group", "by", "having", "order", "limit", "offset", "as", "and", "or", "not",
	"in", "is", "null", "like", "ilike", "between", "asc", "desc", "true", "false", "outer",
}

// namesOf returns a name for each title: its letters and digits in lower case, joined by _.
func namesOf(titles []string) []string {
	names := make([]string, len(titles))
	for i, title := range titles {
		name := nameOf(withoutUnit(title))
		if name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		unique := name
		for n := 2; slices.Contains(names[:i], unique); n++ {
			unique = name + "_" + strconv.Itoa(n)
		}
		names[i] = unique
	}
	return names
}

// NameOf returns the name of a table or column that has this title; empty for a title without letters and digits.
func NameOf(title string) string { return nameOf(title) }

func nameOf(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
	}
	name := cut(b.String(), 60)
	switch {
	case name == "":
		return ""
	case unicode.IsDigit([]rune(name)[0]):
		return "_" + name
	case slices.Contains(reserved, name):
		return name + "_"
	}
	return name
}

// withoutUnit returns a title without a unit in parentheses at its end.
func withoutUnit(title string) string {
	if unit := unitOfTitle(title); unit != "" {
		if rest := strings.TrimSpace(title[:strings.LastIndexAny(title, "([")]); rest != "" {
			return rest
		}
	}
	return title
}

// unitOfTitle returns the unit in the parentheses or brackets at the end of a title, such as EUR of "Price (EUR)".
func unitOfTitle(title string) string {
	title = strings.TrimSpace(title)
	open := strings.LastIndexAny(title, "([")
	if open <= 0 || !strings.HasSuffix(title, ")") && !strings.HasSuffix(title, "]") {
		return ""
	}
	unit := strings.TrimSpace(title[open+1 : len(title)-1])
	if unit == "" || len(unit) > 12 || strings.ContainsAny(unit, "0123456789 ") {
		return ""
	}
	if code, ok := currencies[unit]; ok {
		return code
	}
	return unit
}
