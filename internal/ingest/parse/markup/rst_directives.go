package markup

import (
	"encoding/csv"
	"strings"
)

var (
	rstCode    = words("code code-block sourcecode highlight-block ipython prompt console parsed-literal productionlist testcode testoutput doctest math graphviz digraph")
	rstDropped = words(`include literalinclude raw toctree contents sectnum index highlight tabularcolumns currentmodule py:currentmodule module py:module moduleauthor sectionauthor codeauthor
		default-role default-domain role meta testsetup testcleanup rst-class program automodule autoclass autofunction kernel-doc kernel-figure header footer target-notes title kernel-include kernel-abi audit-event-table`)
	rstNotes    = words("note warning tip hint important caution danger error attention seealso todo admonition")
	rstVersions = map[string]string{
		"versionadded": "New in version", "versionchanged": "Changed in version", "deprecated": "Deprecated since version", "versionremoved": "Removed in version", "deprecated-removed": "Deprecated since version",
	}
	rstObjects = words(`function class method attribute data exception staticmethod classmethod decorator decoratormethod property option cmdoption envvar opcode describe object
		confval setting macro type member struct union enum enumerator var pdbcommand 2to3fixer coroutinefunction coroutinemethod awaitablefunction awaitablemethod abstractmethod
		django-admin django-admin-option templatetag templatefilter fieldlookup command`)
)

// directive writes a directive with its argument and the lines below it.
func (r *rst) directive(p *page, name, argument string, lines []string, depth int) {
	if rstDropped[name] {
		return
	}
	options, content := rstOptions(lines)
	if at := strings.IndexByte(name, ':'); at >= 0 && rstDropped[name[at+1:]] {
		return
	}
	version, isVersion := rstVersions[name]
	_, bare, qualified := strings.Cut(name, ":")
	switch {
	case rstCode[name]:
		language := argument
		switch name {
		case "math":
			language, content = "latex", append([]string{argument}, content...)
		case "parsed-literal", "productionlist", "prompt":
			language, content = "", append([]string{argument}, content...)
		case "doctest", "testcode":
			language = "python"
		}
		p.code(strings.Join(trimmedBlank(content), "\n"), language)
	case name == "admonition":
		p.block(labeled(r.inline(argument), r.inner(content, depth)))
	case rstNotes[name]:
		label := capitalized(name)
		if name == "seealso" {
			label = "See also"
		}
		p.block(labeled(label, r.inner(append([]string{argument}, lines...), depth)))
	case isVersion:
		number, said, _ := strings.Cut(argument, " ")
		if name == "deprecated-removed" {
			removed, rest, _ := strings.Cut(said, " ")
			number, said = number+", removed in version "+removed, rest
		}
		p.block(labeled(version+" "+number, r.inner(append([]string{said}, lines...), depth)))
	case name == "image":
		p.paragraph(r.inline(options["alt"]))
	case name == "figure":
		p.paragraph(r.inline(options["alt"]))
		r.blocks(p, content, depth+1)
	case name == "csv-table":
		p.paragraph(r.inline(argument))
		p.table(r.csvRows(options, content))
	case name == "list-table", name == "flat-table":
		p.paragraph(r.inline(argument))
		p.table(r.listRows(content, depth))
	case name == "only", name == "ifconfig", name == "container", name == "class", name == "compound", name == "cssclass", name == "tab", name == "tabs":
		if name == "class" && qualified || name == "class" && len(options)+len(content) > 0 && strings.ContainsAny(argument, "(.") {
			r.object(p, "class "+argument, lines, depth)
			return
		}
		r.blocks(p, content, depth+1)
	case name == "topic", name == "sidebar":
		p.block(labeled(r.inline(argument), r.inner(content, depth)))
	case rstObjects[name], qualified && (rstObjects[bare] || name[0] == 'c' || strings.HasPrefix(name, "py:") || strings.HasPrefix(name, "js:")):
		if bare == "exception" || name == "exception" || bare == "class" {
			argument = strings.TrimPrefix(name, "py:") + " " + argument
		}
		r.object(p, argument, lines, depth)
	case name == "availability":
		p.block(labeled("Availability", r.inner(append([]string{argument}, lines...), depth)))
	default:
		p.paragraph(r.inline(argument))
		r.blocks(p, content, depth+1)
	}
}

// object writes the description of a function or the like: its signatures as code, then what is said of it.
func (r *rst) object(p *page, signature string, lines []string, depth int) {
	signatures := []string{signature}
	for len(lines) > 0 && lines[0] != "" && !strings.HasPrefix(lines[0], ":") {
		signatures = append(signatures, strings.TrimSpace(lines[0]))
		lines = lines[1:]
	}
	for i, s := range signatures {
		if s = oneLine(strings.ReplaceAll(s, `\`, "")); s != "" {
			signatures[i] = "`" + strings.ReplaceAll(s, "`", "'") + "`"
		}
	}
	p.block(strings.Join(signatures, "\n"))
	_, content := rstOptions(lines)
	r.blocks(p, content, depth+1)
}

// flags are options of directives that have no value, which tells them from fields.
var rstFlags = words("noindex nosearch async abstractmethod classmethod staticmethod final canonical type value module linenos emphasize-lines caption name lineno-start dedent force class alt width height align target scale header header-rows stub-columns widths file url delim quote escape encoding figwidth figclass maxdepth glob hidden no-index noindexentry nocontentsentry sorted subtitle annotation platform synopsis language")

// rstOptions returns the options at the start of the lines of a directive, and its content.
func rstOptions(lines []string) (map[string]string, []string) {
	options := map[string]string{}
	last := ""
	for len(lines) > 0 {
		if m := rstField().FindStringSubmatch(lines[0]); m != nil && rstFlags[m[1]] {
			last = m[1]
			options[last] = m[2]
		} else if last != "" && strings.HasPrefix(lines[0], " ") {
			options[last] += " " + strings.TrimSpace(lines[0])
		} else {
			break
		}
		lines = lines[1:]
	}
	return options, trimmedBlank(lines)
}

// csvRows returns the rows of a csv-table.
func (r *rst) csvRows(options map[string]string, content []string) [][]string {
	var rows [][]string
	for _, source := range []string{options["header"], strings.Join(content, "\n")} {
		read := csv.NewReader(strings.NewReader(source))
		read.FieldsPerRecord, read.LazyQuotes, read.TrimLeadingSpace = -1, true, true
		records, _ := read.ReadAll() // what follows a broken line is left out
		for _, record := range records {
			for i := range record {
				record[i] = r.inline(oneLine(record[i]))
			}
			rows = append(rows, record)
		}
	}
	return rows
}

// listRows returns the rows of a list-table: a list of lists.
func (r *rst) listRows(content []string, depth int) [][]string {
	var rows [][]string
	for len(content) > 0 {
		if m := rstBullet().FindStringSubmatch(content[0]); m == nil {
			content = content[1:]
			continue
		}
		block := indentedBlock(content[1:], 1)
		inner := dedented(append([]string{" " + content[0][1:]}, block...))
		content = content[1+len(block):]
		var row []string
		for len(inner) > 0 {
			m := rstBullet().FindStringSubmatch(inner[0])
			if m == nil {
				inner = inner[1:]
				continue
			}
			cell := indentedBlock(inner[1:], 1)
			row = append(row, r.inner(append([]string{strings.TrimSpace(inner[0][1:])}, dedented(cell)...), depth+1))
			inner = inner[1+len(cell):]
		}
		rows = append(rows, row)
	}
	return rows
}

// gridTable writes a table drawn with lines. A cell over several rows stands in the first.
func (r *rst) gridTable(p *page, lines []string) int {
	n := 0
	for n < len(lines) && lines[n] != "" && (lines[n][0] == '+' || lines[n][0] == '|') {
		n++
	}
	var rows [][]string
	var current []string
	flush := func() {
		for i := range current {
			current[i] = r.inline(oneLine(current[i]))
		}
		if current != nil {
			rows = append(rows, current)
		}
		current = nil
	}
	for _, line := range lines[:n] {
		if line[0] == '+' {
			flush()
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		cells = cells[:min(len(cells), maxColumns)]
		for i, cell := range cells {
			if strings.Trim(cell, "-=+ ") == "" {
				cell = ""
			}
			if i == len(current) {
				current = append(current, "")
			}
			current[i] += " " + cell
		}
	}
	flush()
	p.table(rows)
	return n
}

// simpleTable writes a table whose columns are marked by lines of "=".
func (r *rst) simpleTable(p *page, lines []string) int {
	border := lines[0]
	end, borders := 0, 0
	for i := 1; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "==") && strings.Trim(lines[i], "= ") == "" {
			if borders++; i+1 == len(lines) || lines[i+1] == "" {
				end = i + 1
				break
			}
		}
	}
	if end == 0 { // no line ends it, nor any table below
		r.noSimple = true
		return 1
	}
	var starts []int
	for i := range len(border) {
		if border[i] == '=' && (i == 0 || border[i-1] == ' ') && len(starts) < maxColumns {
			starts = append(starts, i)
		}
	}
	var rows [][]string
	blank := false
	for _, line := range lines[1:end] {
		if line == "" {
			blank = true
			continue
		}
		if strings.Trim(line, "=- ") == "" && strings.ContainsAny(line, "=-") && len(line) > 3 {
			continue
		}
		runes := []rune(line)
		cells := make([]string, len(starts))
		for i, start := range starts {
			stop := len(runes)
			if i+1 < len(starts) {
				stop = min(starts[i+1], stop)
			}
			if start < stop {
				cells[i] = strings.TrimSpace(string(runes[start:stop]))
			}
		}
		if cells[0] == "" && len(rows) > 0 && !blank { // continues the row above
			for i := range cells {
				rows[len(rows)-1][i] += " " + cells[i]
			}
		} else {
			rows = append(rows, cells)
		}
		blank = false
	}
	for _, row := range rows {
		for i := range row {
			row[i] = r.inline(row[i])
		}
	}
	p.table(rows)
	return end
}
