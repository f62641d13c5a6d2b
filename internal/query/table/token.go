package table

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

type kind int

const (
	end    kind = iota
	word        // a name or keyword
	quoted      // a name in double quotes
	number
	text // in single quotes
	sign // an operator or punctuation
)

// token is a piece of a text. at is the number of its first character, from 1.
type token struct {
	kind kind
	text string
	at   int
}

// is reports whether a token is a sign, or a keyword in any case.
func (t token) is(what string) bool {
	return t.kind == sign && t.text == what || t.kind == word && strings.EqualFold(t.text, what)
}

func (t token) String() string {
	if t.kind == end {
		return "the end"
	}
	return `"` + t.text + `"`
}

// tokens splits a text. Errors: Invalid for characters that no query has, comments, and open quotes.
func tokens(field, source string) (all []token, err error) {
	if !utf8.ValidString(source) {
		return nil, fault.Field(field, "is not UTF-8")
	}
	for i, at := 0, 1; i < len(source); {
		r, size := utf8.DecodeRuneInString(source[i:])
		rest, n := source[i:], size
		t := token{sign, "", at}
		switch {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			i, at = i+size, at+1
			continue
		case strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "/*"):
			return nil, fault.Field(field, "has a comment at character %d: leave comments out", at)
		case r == '\'' || r == '"':
			if t.text, n = unquote(rest); n == 0 {
				return nil, fault.Field(field, "has a quote at character %d that is not closed", at)
			}
			t.kind = map[rune]kind{'\'': text, '"': quoted}[r]
		case r >= '0' && r <= '9' || r == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
			n = numberLength(rest)
			t.kind, t.text = number, rest[:n]
			if next, _ := utf8.DecodeRuneInString(rest[n:]); startsName(next) || next == '.' {
				return nil, fault.Field(field, "has a number at character %d that goes on with %q", at, next)
			}
		case startsName(r):
			if n = strings.IndexFunc(rest, func(r rune) bool { return !startsName(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }); n < 0 {
				n = len(rest)
			}
			t.kind, t.text = word, rest[:n]
		case len(rest) > 1 && (rest[:2] == "<=" || rest[:2] == ">=" || rest[:2] == "<>" || rest[:2] == "!="):
			n, t.text = 2, rest[:2]
		case strings.ContainsRune("(),.*+-/=<>;", r):
			t.text = rest[:size]
		default:
			return nil, fault.Field(field, "has the character %q at %d, which is not part of the language: see docs/reference/tables.md", r, at)
		}
		all = append(all, t)
		i, at = i+n, at+utf8.RuneCountInString(rest[:n])
	}
	return append(all, token{end, "", utf8.RuneCountInString(source) + 1}), nil
}

func startsName(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// unquote returns what the quotes enclose that a text begins with, and their length; 0 if they are not closed.
func unquote(source string) (inner string, length int) {
	quote := source[:1]
	var b strings.Builder
	for i := 1; i < len(source); i++ {
		switch {
		case source[i:i+1] != quote:
			b.WriteByte(source[i])
		case strings.HasPrefix(source[i+1:], quote):
			b.WriteString(quote)
			i++
		default:
			return b.String(), i + 1
		}
	}
	return "", 0
}

func numberLength(source string) int {
	digits := func(at int) int {
		for at < len(source) && source[at] >= '0' && source[at] <= '9' {
			at++
		}
		return at
	}
	n := digits(0)
	if n < len(source) && source[n] == '.' {
		n = digits(n + 1)
	}
	return n
}
