package chunk

import "strings"

// latexSeparators are sectioning commands from part to subsubsection, the
// borders of environments, and then any command with a brace group.
var latexSeparators = []separator{
	sectioning("part"), sectioning("chapter"), sectioning("section"), sectioning("subsection"), sectioning("subsubsection"),
	braced("begin"), braced("end"), matcher{prefix: `\`, match: anyCommand},
}

// sectioning returns a separator that matches a command, starred or not, up to its
// opening brace.
func sectioning(command string) separator {
	prefix := `\` + command
	return matcher{prefix: prefix, match: func(text string, at, to int) int {
		i := at + len(prefix)
		if i < to && text[i] == '*' {
			i++
		}
		if i < to && text[i] == '{' {
			return i + 1
		}
		return -1
	}}
}

// braced returns a separator that matches a command with its brace group, which
// must end on the same line.
func braced(command string) separator {
	prefix := `\` + command + `{`
	return matcher{prefix: prefix, match: func(text string, at, to int) int {
		return braceEnd(text, at+len(prefix), to)
	}}
}

// anyCommand matches a backslash, letters and a brace group at text[at]. It returns
// the end of the match, or -1.
func anyCommand(text string, at, to int) int {
	i := at + 1
	for i < to && (text[i]|0x20) >= 'a' && (text[i]|0x20) <= 'z' {
		i++
	}
	if i == at+1 || i == to || text[i] != '{' {
		return -1
	}
	return braceEnd(text, i+1, to)
}

// maxArgument bounds the length of a brace group in bytes. Without it, a line of
// opening braces would take quadratic time.
const maxArgument = 1000

// braceEnd returns the end of the first closing brace from at on the same line,
// or -1.
func braceEnd(text string, at, to int) int {
	group := text[at:min(to, at+maxArgument)]
	i := strings.IndexByte(group, '}')
	if i < 0 || strings.IndexByte(group[:i], '\n') >= 0 {
		return -1
	}
	return at + i + 1
}
