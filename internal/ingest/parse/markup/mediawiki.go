package markup

import (
	"html"
	"strconv"
	"strings"
)

// MediaWiki reads a page in the markup of MediaWiki. Templates are not known to it: of one with named
// parameters that stands alone, these become lines of "name: value", of another one its parameters are text. The title is the first text in bold.
func MediaWiki(source string) Text {
	w := &wiki{}
	text := wikiComment().ReplaceAllString(strings.NewReplacer("\x02", "", "\x03", "", "\r\n", "\n").Replace(source), "")
	text = withoutElements(text, "nowiki pre syntaxhighlight source math ref references", w.verbatim)
	text = wikiTemplates(text)
	title := ""
	if m := wikiSubject().FindStringSubmatch(text[:min(len(text), maxLead)]); m != nil {
		title = oneLine(w.restored(w.inline(m[1])))
	}
	var p page
	w.blocks(&p, strings.Split(text, "\n"))
	return Text{Markdown: p.String(), Title: title}
}

// maxLead is how much of a page is searched for its subject, in bytes.
const maxLead = 16 << 10

// wikiSubject matches the first words in bold, which say by custom what a page is about.
var wikiSubject = lazy(`'''([^'\n]{1,200})'''`)

// wiki reads one page.
type wiki struct {
	kept []string // code blocks and literal text, for which a mark stands
}

var (
	wikiComment  = lazy(`(?s)<!--.*?-->`)
	wikiLanguage = lazy(`(?i)lang\s*=\s*"?([\w+#-]+)`)
	wikiHeading  = lazy(`^(={1,6})\s*(.+?)\s*={1,6}\s*$`)
	wikiKept     = lazy("\x02\\d+\x03")
	wikiLink     = lazy(`\[\[([^\[\]|]+)((?:\|[^\[\]]*)?)\]\]([a-z]*)`)
	wikiAddress  = lazy(`\[((?:https?:|ftp:|mailto:)?//[^\s\]]+|mailto:[^\s\]]+)(?:\s+([^\]]*))?\]`)
	wikiTag      = lazy(`</?[a-zA-Z][\w-]*(?:\s[^<>]*)?/?>`)
	wikiBreak    = lazy(`(?i)<br\s*/?>|</?(?:p|div|li|tr|td|blockquote)(?:\s[^<>]*)?>`)
	wikiCode     = lazy(`(?i)<(?:code|tt|kbd|samp|var)(?:\s[^<>]*)?>([^<>` + "`" + `]*)</(?:code|tt|kbd|samp|var)>`)
	wikiMagic    = lazy(`__[A-Z]+__`)
	wikiCell     = lazy(`^\s*(?:[\w-]+\s*=\s*(?:"[^"]*"|[^\s"|]+)\s*)+\|`)
)

// withoutElements returns a text in which each element with one of the names is replaced. It has a body unless
// its tag ends with a slash; one that is not closed stays text.
func withoutElements(text, names string, replace func(name, attributes, body string) string) string {
	lower := []byte(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	folded := string(lower)
	known, unclosed := words(names), map[string]bool{}
	var out strings.Builder
	last := 0
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '<')
		if next < 0 {
			break
		}
		at += next
		end := at + 1
		for end < len(text) && folded[end] >= 'a' && folded[end] <= 'z' {
			end++
		}
		name := folded[at+1 : end]
		head := strings.IndexByte(text[end:min(len(text), end+1000)], '>')
		if !known[name] || head < 0 || unclosed[name] && text[end+head-1] != '/' {
			at = end
			continue
		}
		attributes, body, after := text[end:end+head], "", end+head+1
		if !strings.HasSuffix(attributes, "/") {
			length := strings.Index(folded[after:], "</"+name)
			if length < 0 {
				unclosed[name] = true
				at = end
				continue
			}
			body = text[after : after+length]
			after += length + len("</") + len(name)
			if closing := strings.IndexByte(text[after:min(len(text), after+16)], '>'); closing >= 0 {
				after += closing + 1
			}
		}
		out.WriteString(text[last:at])
		out.WriteString(replace(name, attributes, body))
		at, last = after, after
	}
	out.WriteString(text[last:])
	return out.String()
}

// verbatim keeps a text in which nothing is markup, and leaves references out.
func (w *wiki) verbatim(tag, attributes, body string) string {
	body = html.UnescapeString(body)
	if body == "" || strings.HasPrefix(tag, "ref") {
		return ""
	}
	language := ""
	if found := wikiLanguage().FindStringSubmatch(attributes); found != nil {
		language = found[1]
	}
	switch {
	case tag == "nowiki":
	case tag == "math", tag != "pre" && !strings.Contains(body, "\n") && (strings.Contains(attributes, "inline") || language == ""):
		body = "`" + strings.ReplaceAll(oneLine(body), "`", "'") + "`"
	default:
		w.kept = append(w.kept, fenced(body, language))
		return "\n\n\x02" + strconv.Itoa(len(w.kept)-1) + "\x03\n\n"
	}
	w.kept = append(w.kept, body)
	return "\x02" + strconv.Itoa(len(w.kept)-1) + "\x03"
}

// restored returns a text with what was kept. Each text is kept for one place alone.
func (w *wiki) restored(text string) string {
	return wikiKept().ReplaceAllStringFunc(text, func(mark string) string {
		n, err := strconv.Atoi(strings.Trim(mark, "\x02\x03"))
		if err != nil || n >= len(w.kept) {
			return ""
		}
		return w.kept[n]
	})
}

// wikiTemplates returns a text with the parameters of templates in their place.
func wikiTemplates(text string) string {
	type open struct {
		parts []string
		text  strings.Builder
		links int
		alone bool
		param bool
	}
	stack := []*open{{}}
	for i := 0; i < len(text); {
		top := stack[len(stack)-1]
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "{{") && len(stack) <= 4*maxNesting:
			next := &open{alone: i == 0 || text[i-1] == '\n', param: strings.HasPrefix(rest, "{{{") && !strings.HasPrefix(rest, "{{{{")}
			stack = append(stack, next)
			i += 2
			if next.param {
				i++
			}
			continue
		case strings.HasPrefix(rest, "}}") && len(stack) > 1:
			stack = stack[:len(stack)-1]
			i += 2
			if top.param && i < len(text) && text[i] == '}' {
				i++
			}
			top.parts = append(top.parts, top.text.String())
			stack[len(stack)-1].text.WriteString(expandedTemplate(top.parts, top.alone && len(stack) == 1, top.param))
			continue
		case strings.HasPrefix(rest, "[["):
			top.links++
			top.text.WriteString("[[")
			i += 2
			continue
		case strings.HasPrefix(rest, "]]"):
			top.links = max(top.links-1, 0)
			top.text.WriteString("]]")
			i += 2
			continue
		case rest[0] == '|' && len(stack) > 1 && top.links == 0 && len(top.parts) < 512:
			top.parts = append(top.parts, top.text.String())
			top.text.Reset()
			i++
			continue
		}
		top.text.WriteByte(rest[0])
		i++
	}
	for len(stack) > 1 { // a template that is not closed is text
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		stack[len(stack)-1].text.WriteString(strings.Join(append(top.parts, top.text.String()), " | "))
	}
	return stack[0].text.String()
}

// silentTemplates are those whose parameters are no text for a reader.
var silentTemplates = words("cn reflist clear defaultsort authority refbegin refend cite-web citation-needed redirect-hatnote coord col-begin col-end div-col toc")

// expandedTemplate returns the text of a template's parameters, of which the first is its name.
func expandedTemplate(parts []string, alone, param bool) string {
	name := strings.ToLower(oneLine(parts[0]))
	if param {
		return strings.Join(parts[1:], " ") // the value that stands in for the parameter
	}
	short := strings.ReplaceAll(name, " ", "-")
	if silentTemplates[short] || strings.HasPrefix(name, "cite ") || strings.HasPrefix(name, "defaultsort:") || strings.HasPrefix(name, "#") && len(parts) == 1 {
		return ""
	}
	var named, positional []string
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(part, "=")
		key, value = oneLine(key), strings.TrimSpace(value)
		switch {
		case ok && len(key) <= 64 && !strings.ContainsAny(key, "[<{\x02"):
			if value != "" {
				if _, err := strconv.Atoi(key); err == nil {
					positional = append(positional, value)
				} else {
					named = append(named, key+": "+oneLine(value))
				}
			}
		case strings.TrimSpace(part) != "":
			positional = append(positional, strings.TrimSpace(part))
		}
	}
	switch {
	case name == "main" || name == "see also" || name == "further":
		return capitalized(name) + ": " + strings.Join(positional, ", ")
	case name == "lang" && len(positional) > 1:
		return positional[len(positional)-1]
	case alone && len(named) > 0:
		return "\n\n\x02-\x03" + strings.Join(append(named, positional...), "\n\x02-\x03") + "\n\n"
	}
	return strings.Join(positional, " ")
}

// blocks writes the lines of a page.
func (w *wiki) blocks(p *page, lines []string) {
	var open []string
	flush := func() {
		p.paragraph(w.restored(w.inline(strings.Join(open, " "))))
		open = open[:0]
	}
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t")
		trimmed := strings.TrimSpace(line)
		if m := wikiHeading().FindStringSubmatch(line); m != nil {
			flush()
			p.heading(len(m[1]), w.restored(w.inline(m[2])))
			continue
		}
		switch {
		case trimmed == "", strings.HasPrefix(line, "----"):
			flush()
		case strings.HasPrefix(trimmed, "\x02-\x03"): // a parameter of a template
			flush()
			first := i
			var fields []string
			for i < len(lines) && (strings.HasPrefix(lines[i], "\x02-\x03") || i == first) {
				fields = append(fields, oneLine(w.restored(w.inline(strings.TrimPrefix(strings.TrimSpace(lines[i]), "\x02-\x03")))))
				i++
			}
			i--
			p.block(strings.Join(fields, "\n"))
		case wikiKept().FindString(trimmed) == trimmed:
			flush()
			p.block(w.restored(trimmed))
		case strings.HasPrefix(strings.TrimLeft(trimmed, ":"), "{|"):
			flush()
			i += w.table(p, lines[i:]) - 1
		case strings.IndexByte("*#;:", line[0]) >= 0:
			flush()
			w.item(p, line)
		case line[0] == ' ' && trimmed != "" && len(open) == 0:
			var code []string
			for i < len(lines) && strings.HasPrefix(lines[i], " ") && strings.TrimSpace(lines[i]) != "" {
				code = append(code, w.restored(w.inline(lines[i][1:])))
				i++
			}
			i--
			p.code(strings.Join(code, "\n"), "")
		default:
			open = append(open, line)
		}
	}
	flush()
}

// item writes an item of a list: its level is the number of signs.
func (w *wiki) item(p *page, line string) {
	text := strings.TrimLeft(line, "*#;:")
	signs := line[:len(line)-len(text)]
	level := min(len(signs), maxNesting)
	text = oneLine(w.restored(w.inline(text)))
	if text == "" {
		return
	}
	last := signs[len(signs)-1]
	marker := "- "
	switch last {
	case '#':
		marker = "1. "
	case ';':
		if term, said, ok := strings.Cut(text, " : "); ok {
			text = "**" + term + ":** " + said
		} else {
			text = "**" + text + "**"
		}
	}
	if strings.Trim(signs, ":") == "" { // only indented
		p.paragraph(text)
		return
	}
	pad := strings.Repeat("  ", level-1)
	if p.Len() > 0 {
		p.write("\n")
		if !p.tight {
			p.write("\n")
			pad = ""
		}
	}
	p.write(pad + marker + text)
	p.tight = true
}

// table writes a table and returns the number of its lines.
func (w *wiki) table(p *page, lines []string) int {
	var rows [][]string
	var row []string
	depth := 0
	add := func(cells string, sign string) {
		for cell := range strings.SplitSeq(strings.ReplaceAll(cells, "!!", sign), sign) {
			if at := wikiCell().FindStringIndex(cell); at != nil {
				cell = cell[at[1]:]
			}
			row = append(row, w.restored(w.inline(cell)))
		}
	}
	for i, line := range lines {
		t := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(strings.TrimLeft(t, ":"), "{|"):
			depth++
		case strings.HasPrefix(t, "|}"):
			if depth--; depth <= 0 {
				p.table(append(rows, row))
				return i + 1
			}
		case strings.HasPrefix(t, "|+"):
			p.paragraph(w.restored(w.inline(wikiCell().ReplaceAllString(t[2:], ""))))
		case strings.HasPrefix(t, "|-"):
			rows, row = append(rows, row), nil
		case strings.HasPrefix(t, "|"):
			add(t[1:], "||")
		case strings.HasPrefix(t, "!"):
			add(t[1:], "||")
		case len(row) > 0 && t != "" && len(row[len(row)-1]) < 1<<14:
			row[len(row)-1] += " " + w.restored(w.inline(t))
		}
	}
	p.table(append(rows, row))
	return len(lines)
}

// hiddenSpaces are the namespaces of links that are not shown.
var hiddenSpaces = words("category kategorie catégorie categoría template")

// inline returns a text without the marks of MediaWiki.
func (w *wiki) inline(text string) string {
	if !strings.ContainsAny(text, "[<'_&#") {
		return text
	}
	for range 3 { // a picture's text may have links
		text = replaceGroups(wikiLink(), text, func(m []string) string {
			space, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(m[1])), ":")
			shown := strings.TrimPrefix(m[2], "|")
			switch {
			case ok && hiddenSpaces[space]:
				return ""
			case ok && (space == "file" || space == "image" || space == "datei" || space == "fichier" || space == "media"):
				shown = shown[strings.LastIndexByte(shown, '|')+1:]
				if strings.HasSuffix(shown, "px") || shown == "thumb" || shown == "right" || shown == "left" || shown == "frame" || shown == "center" || strings.Contains(shown, "=") {
					return ""
				}
				return " " + shown + " "
			case shown == "":
				return strings.TrimPrefix(m[1], ":") + m[3]
			}
			return shown + m[3]
		})
	}
	text = replaceGroups(wikiAddress(), text, func(m []string) string {
		if strings.HasPrefix(m[1], "//") {
			m[1] = "https:" + m[1]
		}
		return link(m[2], m[1])
	})
	text = wikiCode().ReplaceAllString(text, "`$1`")
	text = wikiBreak().ReplaceAllString(text, " ")
	text = wikiTag().ReplaceAllString(text, "")
	text = wikiMagic().ReplaceAllString(text, "")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "'''", ""), "''", "")
	return html.UnescapeString(text)
}
