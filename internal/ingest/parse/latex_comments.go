package parse

import (
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// latex reads a LaTeX text without its comments.
func (p *parser) latex() error {
	if err := p.plain(); err != nil {
		return err
	}
	if !p.src.Hidden {
		p.without(latexComments(p.doc.Text))
	}
	return nil
}

// latexMark matches where a comment may begin or where % is a character like any other: a command, an escaped character, or %.
var latexMark = regexp.MustCompile(`%|\\(begin|end)\s*\{([A-Za-z*]+)\}|\\(verb\*?|lstinline|url|path|href|iffalse)\b|\\(?s:.)`)

// verbatim are the environments whose text has no comments.
var verbatim = map[string]bool{
	"verbatim": true, "verbatim*": true, "Verbatim": true, "lstlisting": true, "minted": true, "filecontents": true, "filecontents*": true,
}

// latexComments returns what TeX passes over in a LaTeX text: comments, the environment comment, what \iffalse leaves out, and all
// that follows the document; with their lines where they stand alone.
func latexComments(text string) (found []textspan.Span) {
	for at := 0; at < len(text); {
		m := latexMark.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		start, after := at+m[0], at+m[1]
		hide := func(end int) {
			span := wholeLines(text, 0, start, end)
			if n := len(found); n > 0 {
				span.Start = max(span.Start, found[n-1].End)
			}
			found = append(found, span)
			after = max(end, span.End)
		}
		switch {
		case text[start] == '%':
			end := start
			if start = len(strings.TrimRight(text[:start], " \t")); start > 0 && text[start-1] == '\\' && start < end {
				start++ // an escaped blank
			}
			hide(endOfLine(text, end))
		case m[4] >= 0:
			name, begins := text[at+m[4]:at+m[5]], text[at+m[2]:at+m[3]] == "begin"
			switch {
			case begins && name == "comment":
				hide(afterLatex(text, after, `\end{comment}`))
			case begins && verbatim[name]:
				after = afterLatex(text, after, `\end{`+name+`}`)
			case !begins && name == "document":
				if start, after = after, len(text); strings.TrimSpace(text[start:]) != "" {
					found = append(found, textspan.Span{Start: start, End: len(text)})
				}
			}
		case m[6] >= 0:
			switch name := text[at+m[6] : at+m[7]]; name {
			case "iffalse":
				if !isMeaning(text[:start], text[after:]) {
					hide(afterFalse(text, after))
				}
			case "verb", "verb*", "lstinline":
				after = afterDelimited(text, after)
			default: // the address in braces
				after += bracedLength(text[after:])
			}
		}
		at = after
	}
	return found
}

// endOfLine returns the position of the end of the line that a position is in.
func endOfLine(text string, at int) int {
	if feed := strings.IndexByte(text[at:], '\n'); feed >= 0 {
		return at + feed
	}
	return len(text)
}

// afterLatex returns the position after the next use of a command, the end of the text if there is none.
func afterLatex(text string, at int, command string) int {
	if found := strings.Index(text[at:], command); found >= 0 {
		return at + found + len(command)
	}
	return len(text)
}

// latexLet matches the beginning of an assignment of what follows to a command.
var latexLet = regexp.MustCompile(`\\let\s*\\(?:[A-Za-z@]+|[^A-Za-z])\s*=?\s*$`)

// maxAssignment is how long the beginning of an assignment may be, in bytes.
const maxAssignment = 128

// isMeaning reports whether a command between two texts is not run but becomes the meaning of another one: \let\ifdraft=\iffalse,
// \def\draft{\iffalse}.
func isMeaning(before, after string) bool {
	if strings.HasSuffix(before, "{") && strings.HasPrefix(after, "}") {
		return true
	}
	return latexLet.MatchString(before[max(0, len(before)-maxAssignment):])
}

// latexCondition matches the beginning of a condition, its other branch and its end.
var latexCondition = regexp.MustCompile(`\\(if[A-Za-z]*|else|fi)\b`)

// afterFalse returns the position after what a false condition leaves out: its other branch or its end.
func afterFalse(text string, at int) int {
	depth := 0
	for at < len(text) {
		m := latexCondition.FindStringSubmatchIndex(text[at:])
		if m == nil {
			break
		}
		name := text[at+m[2] : at+m[3]]
		at += m[1]
		switch {
		case strings.HasPrefix(name, "if"):
			depth++
		case depth == 0:
			return at
		case name == "fi":
			depth--
		}
	}
	return len(text)
}

// maxVerbatim bounds an argument that is read as it stands, in bytes.
const maxVerbatim = 4096

// afterDelimited returns the position after the text between two of the character at a position, or in its braces, within a line.
func afterDelimited(text string, at int) int {
	if at >= len(text) || text[at] == '\n' {
		return at
	}
	mark := text[at : at+1]
	if mark == "{" {
		mark = "}"
	}
	rest := text[at+1 : min(len(text), at+1+maxVerbatim)]
	if found := strings.Index(rest[:endOfLine(rest, 0)], mark); found >= 0 {
		return at + 1 + found + 1
	}
	return at
}

// bracedLength returns the length of the argument in braces that text begins with, 0 for none within a line.
func bracedLength(text string) int {
	if !strings.HasPrefix(text, "{") {
		return 0
	}
	text = text[:min(len(text), maxVerbatim)]
	if end := strings.IndexAny(text, "}\n"); end > 0 && text[end] == '}' {
		return end + 1
	}
	return 0
}
