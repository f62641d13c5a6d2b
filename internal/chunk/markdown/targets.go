package markdown

import (
	"regexp"
	"strings"
)

// linkTarget matches the target of a link or a picture after its text, as in [text](target "title"), and
// that of a definition, as in [name]: target. The first group stays.
var linkTarget = regexp.MustCompile(`(\])\((?:<[^<>\n]*>|(?:[^\s()<>]|\([^\s()]*\))+)|(?m:(^ {0,3}\[[^\]\n]+\]:)[ \t]+\S+)`)

// WithoutTargets returns a text without the targets of its links, which are shown or followed but are
// not words of the text. Their texts and titles stay, and so do code and an address that stands in
// the text by itself. The result need not be Markdown.
func WithoutTargets(text string) string {
	if !strings.Contains(text, "](") && !strings.Contains(text, "]:") {
		return text
	}
	var out strings.Builder
	at := 0
	for _, code := range Read(text, nil).Fences {
		out.WriteString(withoutTargets(text[at:code.Start]))
		out.WriteString(text[code.Start:code.End])
		at = code.End
	}
	out.WriteString(withoutTargets(text[at:]))
	return out.String()
}

// withoutTargets is WithoutTargets for a text without fenced code.
func withoutTargets(text string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "`")
		if !ok {
			out.WriteString(linkTarget.ReplaceAllString(text, "$1$2 "))
			return out.String()
		}
		out.WriteString(linkTarget.ReplaceAllString(before, "$1$2 "))
		ticks := "`" + rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
		rest = rest[len(ticks)-1:]
		code, after, ok := strings.Cut(rest, ticks)
		if !ok { // these are no marks of code
			out.WriteString(ticks)
			text = rest
			continue
		}
		out.WriteString(ticks + code + ticks)
		text = after
	}
}
