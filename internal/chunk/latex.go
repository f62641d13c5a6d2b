package chunk

import "strings"

// latexSeparators are sectioning commands from part to subsubsection, the
// borders of environments, and then any command with a brace group.
var latexSeparators = []separator{
	sectioning("part"), sectioning("chapter"), sectioning("section"), sectioning("subsection"), sectioning("subsubsection"),
	braced("begin"), braced("end"), pattern{prefix: `\`, match: anyCommand},
}

// sectioning is a command up to its opening brace, starred or not.
func sectioning(command string) separator {
	prefix := `\` + command
	return pattern{prefix: prefix, match: func(text string, at, to int) int {
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

// braced is a command with its brace group, which ends on the same line.
func braced(command string) separator {
	prefix := `\` + command + `{`
	return pattern{prefix: prefix, match: func(text string, at, to int) int {
		return braceEnd(text, at+len(prefix), to)
	}}
}

// anyCommand matches a backslash, letters and a brace group.
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

// maxArgument is the length of the longest brace group. Without it a line of
// nothing but opening braces would be read to its end at each of them.
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
