package filter

import (
	"regexp"
	"strings"
	"unicode"
)

// matches is a regular expression on the printed text of a field.
type matches struct {
	path    path
	pattern string         // in PostgreSQL's syntax
	local   *regexp.Regexp // nil if Go has no equivalent
	folded  bool           // it is a text that $contains looks for
}

// regex reads $regex and its $options; options is nil without $options.
func (p *parser) regex(field path, v, options any, at location) (node, error) {
	pattern, ok := v.(string)
	if !ok {
		return nil, at.refuse("$regex requires a string, got %s", typeName(v))
	}
	if len(pattern) > MaxRegexBytes {
		return nil, at.refuse("is %d bytes long; a pattern may have %d", len(pattern), MaxRegexBytes)
	}
	if err := p.text(pattern, at); err != nil {
		return nil, err
	}
	flags := ""
	if options != nil {
		letters, ok := options.(string)
		if !ok {
			return nil, at.refuse("$options requires a string, got %s", typeName(options))
		}
		var unknown rune
		if flags, unknown = postgresFlags(letters); unknown != 0 {
			return nil, at.refuse("$options knows i, m, s and x, not %q", unknown)
		}
	}
	pattern = withFlags(flags, pattern)
	return matches{path: field, pattern: pattern, local: localRegexp(pattern)}, nil
}

// postgresFlags translates the option letters of JavaScript and MongoDB to those
// that PostgreSQL reads at the start of a pattern. u and g do not change
// whether a text matches and are dropped. unknown is the first letter that is no
// option, 0 if there is none.
func postgresFlags(options string) (flags string, unknown rune) {
	var multiline, dotAll bool
	for _, letter := range options {
		switch letter {
		case 'i', 'x':
			if !strings.ContainsRune(flags, letter) {
				flags += string(letter)
			}
		case 'm':
			multiline = true
		case 's':
			dotAll = true
		case 'u', 'g':
		default:
			return "", letter
		}
	}
	switch {
	case multiline && dotAll:
		flags += "w" // ^ and $ match at lines, a dot matches line ends
	case multiline:
		flags += "n" // ^ and $ match at lines, a dot does not match line ends
	case dotAll:
		flags += "s"
	}
	return flags, 0
}

// withFlags adds flags to the group of flags at the start of a pattern.
// PostgreSQL reads only one such group.
func withFlags(flags, pattern string) string {
	if flags == "" {
		return pattern
	}
	if own := embeddedFlags(pattern); own != "" {
		return "(?" + flags + own + ")" + pattern[len("(?)")+len(own):]
	}
	return "(?" + flags + ")" + pattern
}

// embeddedFlags returns the letters of the group of flags that pattern starts with.
func embeddedFlags(pattern string) string {
	rest, ok := strings.CutPrefix(pattern, "(?")
	if !ok {
		return ""
	}
	end := strings.IndexByte(rest, ')')
	if end < 0 || strings.Trim(rest[:end], "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return rest[:end]
}

// localRegexp returns the Go expression for a PostgreSQL pattern, or nil if there
// is none. By default PostgreSQL's dot matches line ends and Go's does not.
func localRegexp(pattern string) *regexp.Regexp {
	own := embeddedFlags(pattern)
	if own != "" {
		pattern = pattern[len("(?)")+len(own):]
	}
	flags := "s"
	for _, letter := range own {
		switch letter {
		case 'i':
			flags = "i" + flags
		case 's':
		case 'w':
			flags = "m" + flags
		case 'n', 'm':
			flags = strings.Replace("m"+flags, "s", "-s", 1)
		default:
			return nil
		}
	}
	translated, ok := translateEscapes(pattern)
	if !ok {
		return nil
	}
	local, err := regexp.Compile("(?" + flags + ")" + translated)
	if err != nil {
		return nil
	}
	return local
}

// translateEscapes replaces PostgreSQL's escapes that mean something else in Go.
// ok is false if Go has no equivalent.
func translateEscapes(pattern string) (translated string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' || i+1 == len(pattern) {
			b.WriteByte(pattern[i])
			continue
		}
		i++
		switch c := pattern[i]; c {
		case 'y':
			b.WriteString(`\b`)
		case 'Y':
			b.WriteString(`\B`)
		case 'Z':
			b.WriteString(`\z`)
		case 'b':
			b.WriteString(`\x08`)
		case 'B':
			b.WriteString(`\\`)
		case 'm', 'M', 'z', 'C', 'Q', 'p', 'P':
			return "", false
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

func (n matches) truth(v any) truth {
	text, ok := printed(n.path.find(v))
	if !ok || n.local == nil {
		return unknown
	}
	return truthOf(n.local.MatchString(text))
}

func (n matches) sql(c *compiler, at string, want bool) string {
	operator := " ~ "
	if !want {
		operator = " !~ "
	}
	return c.text(at, n.path) + operator + c.args.Add(n.pattern) + "::text"
}

func (matches) needs(bool) [][]string   { return nil }
func (n matches) walk(visit func(path)) { visit(n.path) }

// contains reads $contains: a string is a case-insensitive substring, a list is
// read like $all, and any other scalar like $eq.
func (p *parser) contains(field path, v any, at location) (node, error) {
	switch t := v.(type) {
	case string:
		if len(t) > MaxTextBytes {
			return nil, at.refuse("is %d bytes long; $contains may look for %d", len(t), MaxTextBytes)
		}
		if err := p.text(t, at); err != nil {
			return nil, err
		}
		pattern := foldedPattern(t)
		return matches{path: field, pattern: pattern, local: regexp.MustCompile(pattern), folded: true}, nil
	case []any:
		return p.all(field, t, at)
	case nil, map[string]any:
		return nil, at.refuse("$contains requires a string, a number, a boolean or a list, got %s", typeName(v))
	}
	return p.equal(field, v, at)
}

// foldedPattern returns a regular expression that matches text case-insensitively.
// It lists the case forms of each letter instead of using a flag, so that letters
// outside ASCII do not depend on the locale of the database. Go and PostgreSQL
// read it alike.
func foldedPattern(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch other := unicode.SimpleFold(r); {
		case other != r:
			b.WriteByte('[')
			b.WriteRune(r)
			for ; other != r; other = unicode.SimpleFold(other) {
				b.WriteRune(other)
			}
			b.WriteByte(']')
		case strings.ContainsRune(`\.+*?()|[]{}^$`, r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
