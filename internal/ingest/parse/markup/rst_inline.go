package markup

import (
	"strings"
	"unicode/utf8"
)

// inline returns a text without the marks of reStructuredText: roles, references, substitutions, emphasis and
// escapes. Literals become code.
func (r *rst) inline(text string) string {
	if !strings.ContainsAny(text, "`*|\\_") {
		return text
	}
	var out strings.Builder
	for at := 0; at < len(text); {
		n, shown := r.mark(text, at)
		if n == 0 {
			out.WriteByte(text[at])
			at++
			continue
		}
		out.WriteString(shown)
		at += n
	}
	return out.String()
}

// maxMark bounds a text in marks, such as emphasis, in bytes.
const maxMark = 2000

// until returns the text from a position up to a mark, and whether the mark is there.
func until(text string, at int, mark string) (string, bool) {
	rest := text[at:min(len(text), at+maxMark)]
	end := strings.Index(rest, mark)
	if end <= 0 {
		return "", false
	}
	return rest[:end], true
}

// mark returns the length of the mark at a position with what is in it, and what is shown for it; 0 for none.
func (r *rst) mark(text string, at int) (int, string) {
	before := byte(' ')
	if at > 0 {
		before = text[at-1]
	}
	rest := text[at:]
	switch text[at] {
	case '\\':
		if len(rest) == 1 {
			return 1, ""
		}
		_, size := utf8.DecodeRuneInString(rest[1:])
		if rest[1] == ' ' {
			return 2, ""
		}
		return 1 + size, rest[1 : 1+size]
	case '`':
		return r.backquoted(text, at, "")
	case ':':
		if isWordByte(before) {
			return 0, ""
		}
		name, ok := until(text, at+1, ":`")
		if !ok || strings.ContainsAny(name, " `\n") {
			return 0, ""
		}
		n, shown := r.backquoted(text, at+len(name)+2, name)
		if n == 0 {
			return 0, ""
		}
		return n + len(name) + 2, shown
	case '*':
		mark := "*"
		if strings.HasPrefix(rest, "**") {
			mark = "**"
		}
		if inner, ok := until(text, at+len(mark), mark); ok && !isWordByte(before) && inner[0] != ' ' && inner[len(inner)-1] != ' ' {
			return len(inner) + 2*len(mark), r.escapes(inner)
		}
	case '|':
		if name, ok := until(text, at+1, "|"); ok {
			if shown, known := r.substitutions[name]; known {
				n := len(name) + 2
				n += len(text[at+n:]) - len(strings.TrimLeft(text[at+n:], "_"))
				return n, shown
			}
		}
	case '_':
		return r.reference(text, at, before)
	}
	return 0, ""
}

// reference returns the end of a reference that is a word, or of a footnote's mark: its underscores are not
// shown.
func (r *rst) reference(text string, at int, before byte) (int, string) {
	n := 1
	for at+n < len(text) && text[at+n] == '_' && n < 3 {
		n++
	}
	after := byte(' ')
	if at+n < len(text) {
		after = text[at+n]
	}
	if n < 3 && !isWordByte(after) && before == ']' {
		return n, ""
	}
	if strings.HasPrefix(text[at:], "_`") && !isWordByte(before) {
		if inner, ok := until(text, at+2, "`"); ok {
			return len(inner) + 3, r.escapes(inner)
		}
	}
	if n == 1 && isWordByte(before) && !isWordByte(after) {
		start := at
		for start > 0 && at-start < 64 && (isWordByte(text[start-1]) || text[start-1] == '-' || text[start-1] == '.') {
			start--
		}
		if _, known := r.targets[strings.ToLower(text[start:at])]; known {
			return 1, ""
		}
	}
	return 0, ""
}

// backquoted reads a text in back quotes that has a role.
func (r *rst) backquoted(text string, at int, role string) (int, string) {
	if !strings.HasPrefix(text[at:], "`") {
		return 0, ""
	}
	if strings.HasPrefix(text[at:], "``") && role == "" {
		inner, ok := until(text, at+2, "``")
		if !ok {
			return 0, ""
		}
		n := len(inner) + 4
		for at+n < len(text) && text[at+n] == '`' {
			inner, n = inner+"`", n+1
		}
		if strings.Contains(inner, "`") {
			return n, inner
		}
		return n, "`" + inner + "`"
	}
	inner, ok := until(text, at+1, "`")
	if !ok {
		return 0, ""
	}
	n := len(inner) + 2
	if role != "" {
		return n, r.role(role, inner)
	}
	rest := text[at+n:]
	if !strings.HasPrefix(rest, "_") {
		if strings.HasPrefix(rest, ":") { // `text`:role:
			if name, ok := until(text, at+n+1, ":"); ok && !strings.ContainsAny(name, " `") {
				return n + len(name) + 2, r.role(name, inner)
			}
		}
		return n, r.escapes(inner)
	}
	n += min(2, len(rest)) - len(strings.TrimLeft(rest[:min(2, len(rest))], "_"))
	shown, address := titled(r.escapes(inner))
	if address == "" {
		address = r.targets[strings.ToLower(oneLine(shown))]
	} else if named := r.targets[strings.ToLower(strings.TrimSuffix(address, "_"))]; named != "" {
		address = named
	}
	return n, link(shown, address)
}

// titled returns the text and the target of "text <target>"; without a target it is the text.
func titled(text string) (shown, target string) {
	open := strings.LastIndexByte(text, '<')
	if open < 0 || !strings.HasSuffix(text, ">") {
		return text, ""
	}
	target = strings.Join(strings.Fields(text[open+1:len(text)-1]), "")
	if shown = strings.TrimSpace(text[:open]); shown == "" {
		shown = target
	}
	return shown, target
}

// role returns what is shown for a text with a role.
func (r *rst) role(name, text string) string {
	if at := strings.LastIndexByte(name, ':'); at >= 0 {
		name = name[at+1:]
	}
	shown, target := titled(r.escapes(text))
	switch name {
	case "pep":
		if target == "" || target == shown {
			return "PEP " + shown
		}
		return shown
	case "rfc":
		if target == "" || target == shown {
			return "RFC " + shown
		}
		return shown
	case "issue":
		return "bpo-" + shown
	case "func", "meth":
		if target == "" && !strings.HasSuffix(shown, ")") {
			shown += "()"
		}
	case "math", "code":
		return "`" + shown + "`"
	case "abbr":
		if open := strings.Index(shown, " ("); open > 0 {
			return shown
		}
	case "doc", "ref":
		if target == "" {
			shown = strings.TrimPrefix(shown, "/")
		}
	}
	shown = strings.TrimPrefix(shown, "!")
	if short, ok := strings.CutPrefix(shown, "~"); ok {
		shown = short[strings.LastIndexByte(short, '.')+1:]
	}
	return shown
}

// escapes returns a text without the backslashes of escapes.
func (r *rst) escapes(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
			if text[i] == ' ' {
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
