package markup

import (
	"regexp"
	"strconv"
	"strings"
)

// Marks that may stand around text of any length are looked for one kind at a time, and what ends the text of one ends
// all that were begun before it: so a mark that is not closed costs one pass over the text, not one for each other mark.
var (
	adocReference = lazy(`\{([\w-]+)\}`)
	adocLink      = lazy(`(?:link:|\b)((?:https?|ftp|mailto|irc)://?[^\s\[\]<>]+|mailto:[^\s\[\]]+)\[([^\]]*)\]`)
	adocLocalLink = lazy(`\b(?:link|xref):([^\s\[\]]+)\[([^\]]*)\]`)
	adocCross     = lazy(`<<([^,<>]+)(?:,([^>]*))?>>`)
	adocPage      = lazy(`\blinkgit:([\w.-]+)\[(\w*)\]`)
	adocMacro     = lazy(`\b(image|icon|kbd|btn|menu|footnote|footnoteref|indexterm2|indexterm|pass|stem|latexmath|asciimath|anchor|man):([^\s\[\]]*)\[([^\]]*)\]`)
	adocIndexed   = lazy(`\(\(\([^()]*\)\)\)`)
	adocAnchor    = lazy(`\[\[\[?[^\[\]]*\]\]\]?`)
	adocRole      = lazy(`\[[\w.#%=" -]*\]([#_*` + "`" + `+])`)
	adocLiteral   = lazy("``([^`\n]+)``|`\\+?([^`\n]+?)\\+?`")
	adocPlus      = lazy(`(^|\s)\+([^\s+](?:[^+\n]*?[^\s+])?)\+`)
	adocQuoted    = lazy("\"`([^`\n]+)`\"|'`([^`\n]+)`'|``([^`'\n]+)''")
	adocEscaped   = lazy("\\\\([\\[{<*_`#+^~\"'(]|https?:|link)")
)

// adocDouble and adocSingle are the marks of emphasis within words and around them.
var (
	adocDouble = []func() *regexp.Regexp{lazy(`\*\*([^*\n]+)\*\*`), lazy(`__([^_\n]+)__`), lazy(`\+\+([^+\n]+)\+\+`), lazy(`##([^#\n]+)##`)}
	adocSingle = []func() *regexp.Regexp{
		lazy(adocLead + `\*([^\s*](?:[^*\n]*[^\s*])?)\*` + adocTrail),
		lazy(adocLead + `_([^\s_](?:[^\n]*?[^\s_])?)_` + adocTrail),
		lazy(adocLead + `#([^\s#](?:[^#\n]*[^\s#])?)#` + adocTrail),
	}
)

const (
	adocLead  = `(^|[\s("'\[{>:;,/-])`
	adocTrail = `($|[\s.,;:!?)"'\]}/-])`
)

// Bounds in bytes of what is left out, so that brackets of another meaning do not hide the text between them.
const (
	maxAnchor = 256
	maxRole   = 128
)

// inline returns a text without the marks of AsciiDoc: attributes, links, macros, emphasis and escapes. What
// is monospaced becomes code.
func (a *asciiDoc) inline(text string) string {
	if text == "" || !strings.ContainsAny(text, "{:<*_`+#[\\(&^~-") {
		return text
	}
	var literals []string
	keep := func(text string) string { // what is literal is not looked at any further
		literals = append(literals, adocKept().ReplaceAllStringFunc(text, func(m string) string { return at(literals, m) }))
		return "\x02" + strconv.Itoa(len(literals)-1) + "\x03"
	}
	text = strings.NewReplacer("\x02", "", "\x03", "").Replace(text)
	text = adocReference().ReplaceAllStringFunc(text, func(m string) string {
		if value, ok := a.attributes[strings.ToLower(m[1:len(m)-1])]; ok && a.resolved+len(value) <= maxResolved {
			a.resolved += len(value)
			return value
		}
		return m
	})
	text = adocQuoted().ReplaceAllString(text, `"$1$2$3"`)
	monospaced := func(text string) string { return keep("`" + adocPage().ReplaceAllString(text, "$1($2)") + "`") }
	text = replaceGroups(adocLiteral(), text, func(m []string) string { return monospaced(m[1] + m[2]) })
	text = replaceGroups(adocPlus(), text, func(m []string) string { return m[1] + monospaced(m[2]) })
	text = without(adocIndexed(), text, maxAnchor)
	text = without(adocAnchor(), text, maxAnchor)
	text = adocPage().ReplaceAllString(text, "$1($2)")
	text = replaceGroups(adocLink(), text, func(m []string) string {
		shown, _, _ := strings.Cut(m[2], ",")
		return keep(link(strings.Trim(strings.TrimSuffix(shown, "^"), `"`), m[1]))
	})
	text = replaceGroups(adocLocalLink(), text, func(m []string) string {
		if m[2] != "" {
			return m[2]
		}
		return m[1]
	})
	text = replaceGroups(adocCross(), text, func(m []string) string {
		if m[2] != "" {
			return strings.TrimSpace(m[2])
		}
		return m[1]
	})
	text = replaceGroups(adocMacro(), text, func(m []string) string {
		switch m[1] {
		case "image", "icon":
			shown, _, _ := strings.Cut(m[3], ",")
			return shown
		case "indexterm", "anchor":
			return ""
		case "footnote", "footnoteref":
			return " (" + m[3] + ")"
		case "man":
			return m[2] + "(" + m[3] + ")"
		case "menu":
			return m[2] + " > " + m[3]
		}
		return m[3]
	})
	text = replaceGroups(adocRole(), text, func(m []string) string {
		if len(m[0]) > maxRole {
			return m[0]
		}
		return m[1]
	})
	for _, marks := range adocDouble {
		text = marks().ReplaceAllString(text, "$1")
	}
	for _, marks := range adocSingle {
		for range 2 { // neighbours share the space between them
			text = marks().ReplaceAllString(text, "$1$2$3")
		}
	}
	text = adocEscaped().ReplaceAllString(text, "$1")
	return adocKept().ReplaceAllStringFunc(text, func(m string) string { return at(literals, m) })
}

// adocKept matches what stands for a literal.
var adocKept = lazy("\x02\\d+\x03")

// at returns the literal that a text stands for.
func at(literals []string, kept string) string {
	n, err := strconv.Atoi(strings.Trim(kept, "\x02\x03"))
	if err != nil || n >= len(literals) {
		return ""
	}
	return literals[n]
}

// without returns a text without the matches of a pattern that are at most so many bytes long.
func without(pattern *regexp.Regexp, text string, most int) string {
	return pattern.ReplaceAllStringFunc(text, func(m string) string {
		if len(m) > most {
			return m
		}
		return ""
	})
}

// replaceGroups is ReplaceAllStringFunc with the groups of each match.
func replaceGroups(pattern *regexp.Regexp, text string, replace func(groups []string) string) string {
	var out strings.Builder
	last := 0
	for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
		groups := make([]string, len(at)/2)
		for i := range groups {
			if at[2*i] >= 0 {
				groups[i] = text[at[2*i]:at[2*i+1]]
			}
		}
		out.WriteString(text[last:at[0]])
		out.WriteString(replace(groups))
		last = at[1]
	}
	if last == 0 {
		return text
	}
	out.WriteString(text[last:])
	return out.String()
}
