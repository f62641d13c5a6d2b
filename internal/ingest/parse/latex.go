package parse

import "strings"

// latexLevels are the sectioning commands by their depth.
var latexLevels = map[string]int{
	"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6,
}

// latexSections returns the sections of a LaTeX text.
func latexSections(text string) []Span { return nest(latexHeadings(text), len(text)) }

func latexHeadings(text string) func(yield func(heading) bool) {
	return func(yield func(heading) bool) {
		for at := 0; ; {
			slash := strings.IndexByte(text[at:], '\\')
			if slash < 0 {
				return
			}
			at += slash + 1
			name := at
			for at < len(text) && text[at] >= 'a' && text[at] <= 'z' {
				at++
			}
			level, ok := latexLevels[text[name:at]]
			if !ok {
				if at == name && at < len(text) {
					at++ // an escaped character, perhaps another backslash
				}
				continue
			}
			if title := braced(strings.TrimPrefix(text[at:], "*")); title != "" && !yield(heading{name - 1, level, title}) {
				return
			}
		}
	}
}

// latexArgument returns the argument of the first use of a command.
func latexArgument(text, command string) string {
	_, rest, _ := strings.Cut(text, command+"{")
	return braced("{" + rest)
}

// maxArgument bounds a title in a LaTeX source, in bytes.
const maxArgument = 1024

// braced returns the content of the braces that text begins with.
func braced(text string) string {
	if !strings.HasPrefix(text, "{") {
		return ""
	}
	depth := 0
	for i := 0; i < min(len(text), maxArgument); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return strings.TrimSpace(text[1:i])
			}
		}
	}
	return ""
}
