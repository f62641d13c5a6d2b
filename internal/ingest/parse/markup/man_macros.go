package markup

import (
	"strings"
)

// manIgnored are macros whose arguments are no text.
var manIgnored = words("IX PD DT AT UC TA hy nh ad ne in ti ft ta ll na ps vs ss cs tr fam nr rr rm rn als mso so pc cu ul ev wh ch em it lf nop_ tm ab cp do hcode hla hlm hpf length lt mk nm ns os pl pn po rs rt sv uf warn")

// macro reads a macro or a request.
func (m *man) macro(name, rest string) {
	switch name {
	case "de", "am", "de1", "am1", "dei", "ami":
		end := ""
		if args := arguments(rest); len(args) > 1 {
			end = args[1]
		}
		m.skipDefinition(end)
		return
	case "ig":
		m.skipDefinition(strings.TrimSpace(rest))
		return
	case "ds", "as":
		name, value, _ := strings.Cut(rest, " ")
		if len(m.strings) < maxStrings && len(value) < maxStringValue {
			if text := m.text(strings.TrimLeft(value, " ")); len(text) <= maxStringValue {
				m.strings[name] = strings.TrimPrefix(text, `"`)
			}
		}
		return
	case "if", "ie", "while":
		m.skipBlock(rest)
		return
	case "el":
		m.line(strings.TrimPrefix(strings.TrimPrefix(rest, `\{`), `\`))
		return
	case "TS":
		m.table()
		return
	case "EQ":
		for m.at < len(m.lines) && !strings.HasPrefix(m.lines[m.at], ".EN") {
			m.at++
		}
		return
	}
	if m.mdoc && m.mdocMacro(name, rest) {
		return
	}
	args := arguments(rest)
	for i := range args {
		if name != "nop" {
			args[i] = m.text(args[i])
		}
	}
	m.manMacro(name, args)
}

// manMacro reads a macro of man with its arguments.
func (m *man) manMacro(name string, args []string) {
	all := strings.Join(args, " ")
	switch name {
	case "TH":
		if len(args) > 0 && m.title == "" {
			m.title = pageName(args)
			m.out.heading(1, m.title)
		}
	case "SH", "SS":
		if all == "" && m.at < len(m.lines) {
			all = m.text(m.lines[m.at])
			m.at++
		}
		m.heading(map[string]int{"SH": 2, "SS": 3}[name], all)
	case "PP", "P", "LP", "HP", "Sp", "sp":
		if m.verbose {
			m.code = append(m.code, "")
			return
		}
		if name == "sp" || name == "Sp" {
			m.flush()
			return
		}
		m.paragraph()
	case "br":
		if !m.verbose {
			m.words.WriteByte('\n')
		}
	case "TP", "TQ":
		m.tag(name == "TQ")
	case "IP":
		m.flush()
		switch {
		case all == "":
		case markerOf(args[0]) != "":
			m.begin(markerOf(args[0]), "")
		default:
			m.begin("-", args[0])
		}
	case "RS":
		m.in()
	case "RE":
		m.unindent()
	case "nf", "EX", "Vb":
		m.startCode()
	case "fi", "EE", "Ve":
		m.endCode()
	case "B", "I", "SM", "SB", "R", "CW", "nop":
		m.font(all)
	case "BR", "BI", "IB", "IR", "RB", "RI":
		m.font(strings.Join(args, ""))
	case "UR", "MT":
		m.address(all)
	case "UE", "ME":
		m.chained = m.chained || all != ""
		m.add(all, false)
	case "MR":
		if len(args) > 1 {
			m.add(args[0]+"("+args[1]+")"+strings.Join(args[2:], ""), false)
		}
	case "SY":
		m.paragraph()
		m.add(all, false)
	case "OP":
		m.add("["+all+"]", false)
	case "YS":
		m.paragraph()
	default:
		if !manIgnored[name] && len(name) == 2 && name[0] >= 'A' && name[0] <= 'Z' {
			m.add(all, false)
		}
	}
}

// pageName returns the name of a page with its section.
func pageName(args []string) string {
	name := args[0]
	if strings.ToUpper(name) == name {
		name = strings.ToLower(name)
	}
	if len(args) > 1 && args[1] != "" {
		name += "(" + args[1] + ")"
	}
	return oneLine(name)
}

// font adds text in another font: that of the next line if there is none.
func (m *man) font(text string) {
	if text == "" && m.at < len(m.lines) {
		if _, _, ok := control(m.lines[m.at]); !ok {
			text = m.text(m.lines[m.at])
			m.at++
		}
	}
	m.add(text, strings.HasSuffix(text, `\c`))
}

// tag begins an item whose term is in the next line. More means that the term is one more of the item before.
func (m *man) tag(more bool) {
	terms := ""
	if more && m.term != "" && m.words.Len() == 0 {
		terms = m.term + ", "
	} else {
		m.flush()
	}
	if m.item != "" && !more {
		m.block("")
	}
	m.taken()
	for range 4 { // the term may follow a request about spacing
		if m.at >= len(m.lines) {
			break
		}
		line := m.lines[m.at]
		m.at++
		if name, _, ok := control(line); ok && (name == "TP" || name == "SH" || name == "SS" || name == "PP") {
			m.at--
			break
		}
		item, term, inItem := m.item, m.term, m.inItem
		m.item, m.term = "", ""
		m.line(line)
		m.item, m.term, m.inItem = item, term, inItem
		if m.words.Len() > 0 && !m.chained {
			break
		}
	}
	term := m.taken()
	if marker := markerOf(oneLine(term)); marker != "" {
		m.inItem, m.item, m.term = true, marker, ""
		return
	}
	m.inItem, m.item, m.term = true, "-", oneLine(terms+term)
}

// address adds a link: its text is in the lines up to the end of the link.
func (m *man) address(address string) {
	var text []string
	for len(text) < 16 && m.at < len(m.lines) {
		line := m.lines[m.at]
		name, rest, ok := control(line)
		if ok && (name == "UE" || name == "ME") {
			break
		}
		m.at++
		if ok {
			line = rest
		}
		text = append(text, m.text(line))
	}
	if !strings.Contains(address, ":") && strings.Contains(address, "@") {
		address = "mailto:" + address
	}
	shown := link(strings.Join(text, " "), address)
	m.add(strings.TrimPrefix(shown, "mailto:"), false)
}

// table reads a table of tbl.
func (m *man) table() {
	m.flush()
	separator := "\t"
	for m.at < len(m.lines) { // options and formats
		line := m.lines[m.at]
		m.at++
		if at := strings.Index(line, "tab("); at >= 0 && len(line) > at+4 && strings.Contains(line, ";") {
			separator = line[at+4 : at+5]
		}
		if strings.HasSuffix(strings.TrimSpace(line), ".") || strings.HasPrefix(line, ".TE") {
			break
		}
	}
	var rows [][]string
	var row []string
	var block []string
	inBlock := false
	for m.at < len(m.lines) {
		line := m.lines[m.at]
		m.at++
		name, rest, ok := control(line)
		switch {
		case ok && name == "TE":
			m.flushTable(append(rows, row))
			return
		case ok && inBlock:
			block = append(block, m.text(strings.Join(arguments(rest), " ")))
			continue
		case ok, strings.Trim(line, "_=-"+separator+" ") == "":
			continue
		case inBlock && !strings.HasPrefix(line, "T}"):
			block = append(block, m.text(line))
			continue
		}
		if inBlock {
			row, inBlock = append(row, oneLine(strings.Join(block, " "))), false
			line = strings.TrimPrefix(strings.TrimPrefix(line, "T}"), separator)
			block = nil
			if line == "" {
				rows, row = append(rows, row), nil
				continue
			}
		}
		for _, cell := range strings.Split(line, separator) {
			if strings.TrimSpace(cell) == "T{" {
				inBlock = true
				break
			}
			if len(row) < maxColumns {
				row = append(row, m.text(cell))
			}
		}
		if !inBlock {
			rows, row = append(rows, row), nil
		}
	}
	m.flushTable(append(rows, row))
}

func (m *man) flushTable(rows [][]string) {
	var t page
	t.table(rows)
	m.block(t.String())
}
