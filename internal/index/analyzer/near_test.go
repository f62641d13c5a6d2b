package analyzer

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEditsByLength(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{
		"": 0, "cat": 0, "cats": 0, "harbour": 1, "retrieval": 2, "übersicht": 2, "пас": 0, "паспорт": 1, "библиотека": 2, "שלום": 0,
		"x200": 0, "2024": 0, "cve2024.1234": 0, "護照": 0, "여권": 0, "หนังสือ": 0, "паcпорт": 0 /* a Latin c */, strings.Repeat("a", 33): 0,
	} {
		if got := Edits(word); got != want {
			t.Errorf("%s: %d, want %d", word, got, want)
		}
	}
}

func TestDistanceCountsChangedPlacesOnce(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"", "ab"}: 2, {"harbour", "harbour"}: 0, {"harbuor", "harbour"}: 1, {"harbor", "harbour"}: 1, {"harbourr", "harbour"}: 1,
		{"kubrenetse", "kubernetes"}: 2, {"zefyrion", "zephyrion"}: 2, {"пасспорт", "паспорт"}: 1, {"ca", "abc"}: 3,
	} {
		if got := Distance(pair[0], pair[1]); got != want {
			t.Errorf("%q: %d, want %d", pair, got, want)
		}
		if got := Distance(pair[1], pair[0]); got != want {
			t.Errorf("%q, reversed: %d, want %d", pair, got, want)
		}
	}
}

func TestNearHasTheTermsOfWordsOneEditAway(t *testing.T) {
	t.Parallel()
	for word, of := range map[string]string{"retreival": "retrieval", "houess": "houses", "chunkign": "chunking", "harbor": "harbour", "paspport": "passport"} {
		term := New(English).stem(of)
		got := Near(word, []string{English, "german"})[term]
		if Distance(word, got) != 1 || !slices.Contains([]string{New(English).stem(got), New("german").stem(got)}, term) {
			t.Errorf("%s: %q for the term %q of %q", word, got, term, of)
		}
	}
	for spelled := range Near("harbour", []string{Simple}) {
		if d := Distance(spelled, "harbour"); d > 1 {
			t.Errorf("%s is %d edits away", spelled, d)
		}
	}
}

func TestSpelledIsAWordOfTheText(t *testing.T) {
	t.Parallel()
	for term, want := range map[string]string{"hous": "houses", "ubersicht": "übersicht", "x200": "x200", "castl": ""} {
		if got := Spelled("Two HOUSES, an Übersicht and an X200", term, []string{English, "german"}); got != want {
			t.Errorf("%s: %q, want %q", term, got, want)
		}
	}
}

func TestBeginningsReachWordsTwoEditsAway(t *testing.T) {
	t.Parallel()
	for word, term := range map[string]string{
		"kubrenetse": "kubernetes", "ukbrenetes": "kubernetes", "zefyrion": "zephyrion", "acomodation": "accommodation", "kubernteess": "kubernetes",
	} {
		first, last := Beginnings(word, []string{Simple})
		reached := slices.ContainsFunc(first, func(b string) bool { return strings.HasPrefix(term, b) }) ||
			slices.ContainsFunc(last, func(e string) bool { return strings.HasSuffix(term, e) })
		if !reached || Distance(word, term) != 2 {
			t.Errorf("%s: reached %t, %d edits", word, reached, Distance(word, term))
		}
	}
}

func TestStorableTermsAreThoseOfThePattern(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(StorablePattern, `\x{$1}`))
	for term, want := range map[string]bool{
		"cat": true, "a": false, "x200": true, "cve2024.1234": true, "2024": false, "паспорт": true, "שלום": true, "جواز": true, "護照": false, "여권": false,
		"strong\x01": false, "c++": false, ".net": false, strings.Repeat("я", 32): true, strings.Repeat("a", 33): false, "": false,
	} {
		if got := Storable(term); got != want || pattern.MatchString(term) != want {
			t.Errorf("%q: %t, by the pattern %t, want %t", term, got, pattern.MatchString(term), want)
		}
	}
}
