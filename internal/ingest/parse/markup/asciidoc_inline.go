package markup

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	adocReference = lazy(`\{([\w-]{1,64})\}`)
	adocLink      = lazy(`(?:link:|\b)((?:https?|ftp|mailto|irc)://?[^\s\[\]<>]+|mailto:[^\s\[\]]{1,256})\[([^\]]{0,400})\]`)
	adocLocalLink = lazy(`\b(?:link|xref):([^\s\[\]]+)\[([^\]]{0,400})\]`)
	adocCross     = lazy(`<<([^,>]{1,256})(?:,([^>]{0,256}))?>>`)
	adocPage      = lazy(`\blinkgit:([\w.-]{1,128})\[(\w{0,16})\]`)
	adocMacro     = lazy(`\b(image|icon|kbd|btn|menu|footnote|footnoteref|indexterm2|indexterm|pass|stem|latexmath|asciimath|anchor|man):([^\s\[\]]{0,256})\[([^\]]{0,400})\]`)
	adocHidden    = lazy(`\(\(\([^)]{0,256}\)\)\)|\[\[[^\]]{0,256}\]\]|\[\[\[[^\]]{0,256}\]\]\]`)
	adocRole      = lazy(`\[[\w.#%=" -]{0,128}\]([#_*` + "`" + `+])`)
	adocDouble    = lazy(`\*\*([^*\n]{1,400})\*\*|__([^_\n]{1,400})__|\+\+([^+\n]{1,400})\+\+|##([^#\n]{1,400})##`)
	adocSingle    = lazy(`(^|[\s("'\[{>:;,/-])(?:\*([^\s*](?:[^*\n]{0,400}?[^\s*])?)\*|_([^\s_](?:[^\n]{0,400}?[^\s_])?)_|#([^\s#](?:[^#\n]{0,400}?[^\s#])?)#)($|[\s.,;:!?)"'\]}/-])`)
	adocLiteral   = lazy("``([^`\n]{1,400})``|`\\+?([^`\n]{1,400}?)\\+?`|(?:^|\\s)\\+([^\\s+](?:[^+\n]{0,400}?[^\\s+])?)\\+")
	adocQuoted    = lazy("\"`([^`\n]{1,400})`\"|'`([^`\n]{1,400})`'|``([^`'\n]{1,400})''")
	adocEscaped   = lazy("\\\\([\\[{<*_`#+^~\"'(]|https?:|link)")
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
	text = replaceGroups(adocLiteral(), text, func(m []string) string {
		lead := ""
		if m[3] != "" && m[0][0] != '+' {
			lead = m[0][:1]
		}
		literal := adocPage().ReplaceAllString(m[1]+m[2]+m[3], "$1($2)")
		return lead + keep("`"+literal+"`")
	})
	text = adocHidden().ReplaceAllString(text, "")
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
	text = adocRole().ReplaceAllString(text, "$1")
	text = adocDouble().ReplaceAllString(text, "$1$2$3$4")
	for range 2 { // neighbours share the space between them
		text = adocSingle().ReplaceAllString(text, "$1$2$3$4$5")
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
