package markup

import "strings"

// mdocList is a list of mdoc that is open.
type mdocList struct {
	kind  string // such as tag, bullet, enum, column
	items int
	rows  [][]string
}

// mdocWords are what macros of mdoc stand for.
var mdocWords = map[string]string{"Ux": "UNIX", "Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "Dx": "DragonFly", "Bsx": "BSD/OS", "At": "AT&T UNIX", "Ap": "'", "Bt": "is currently in beta test.", "Ud": "currently under development."}

// mdocPairs are the macros that put signs around the rest of their line, and those that open and close them.
var mdocPairs = map[string][2]string{
	"Op": {"[", "]"}, "Sq": {"'", "'"}, "Ql": {"'", "'"}, "Dq": {"“", "”"}, "Qq": {`"`, `"`}, "Pq": {"(", ")"}, "Bq": {"[", "]"}, "Brq": {"{", "}"}, "Aq": {"<", ">"}, "En": {"", ""},
}

var mdocOpeners = map[string]string{"Oo": "[", "So": "'", "Do": "“", "Qo": `"`, "Po": "(", "Bo": "[", "Bro": "{", "Ao": "<"}

var mdocClosers = map[string]string{"Oc": "]", "Sc": "'", "Dc": "”", "Qc": `"`, "Pc": ")", "Bc": "]", "Brc": "}", "Ac": ">"}

// mdocPlain are macros that only set a font.
var mdocPlain = words("Ar Cm Ic Li Pa Ev Va Vt Fa Ft Em Sy No Er Dv Ad An Cd Ms Tn Fl Nm Xr Fn Lk Mt In St Ns Pf Nd Ta Xo Xc Lb Sx Ex Rv Sm Fd Eo Ec Hf Bk Ek Dl_")

// isMdocName reports whether a word within a line is a macro.
func isMdocName(word string) bool {
	if mdocPlain[word] {
		return true
	}
	_, pair := mdocPairs[word]
	return pair || mdocOpeners[word] != "" || mdocClosers[word] != "" || mdocWords[word] != ""
}

// mdocMacro reads a macro of mdoc. It returns false for one of roff.
func (m *man) mdocMacro(name, rest string) bool {
	args := arguments(rest)
	switch name {
	case "Dd", "Os", "Bk", "Ek", "Sm", "Rs", "Re", "Fo_", "Hf", "Db":
	case "Dt":
		if len(args) > 0 && m.title == "" {
			m.title = pageName(args)
			m.out.heading(1, m.title)
		}
	case "Sh", "Ss":
		m.heading(map[string]int{"Sh": 2, "Ss": 3}[name], m.mdocLine(args))
	case "Pp", "Lp":
		if m.verbose {
			m.code = append(m.code, "")
			return true
		}
		m.flush()
		if len(m.lists) == 0 {
			m.paragraph()
		}
	case "Bd":
		for _, arg := range args {
			if arg == "-literal" || arg == "-unfilled" {
				m.startCode()
				return true
			}
		}
		m.flush()
	case "Ed":
		m.endCode()
		m.flush()
	case "Dl", "D1":
		m.flush()
		m.block(fenced(m.mdocLine(args), ""))
	case "Bl":
		m.startList(args)
	case "El":
		m.endList()
	case "It":
		m.mdocItem(args)
	case "Fo":
		m.add(strings.Join(args, " ")+"(", true)
	case "Fc":
		m.chained = true
		m.add(")", false)
	default:
		if strings.HasPrefix(name, "%") {
			m.add(m.mdocLine(args)+",", false)
			return true
		}
		if !isMdocName(name) {
			return false
		}
		text := m.mdocLine(append([]string{name}, args...))
		if name == "Nd" {
			text = "— " + text
		}
		if glued := name == "Ns" || mdocClosers[name] != "" || mdocWords[name] == "'"; glued && m.words.Len() > 0 {
			m.chained = true
		}
		m.add(text, mdocOpeners[name] != "" && len(args) == 0)
	}
	return true
}

// isSign reports whether a word is one of some signs.
func isSign(word, signs string) bool { return len(word) == 1 && strings.Contains(signs, word) }

// mdocLine returns the text of the words of a line, of which some are macros.
func (m *man) mdocLine(args []string) string {
	var out strings.Builder
	glue := true // no space before the next word
	put := func(word string) {
		if word == "" {
			return
		}
		if !glue && !isSign(word, ".,;:)]?!") {
			out.WriteByte(' ')
		}
		out.WriteString(word)
		glue = word == "(" || word == "["
	}
	var closing []string
	macro, first := "", false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if isMdocName(arg) {
			if first && macro == "Fl" {
				put("-")
			}
			if first && macro == "Ar" {
				put("file ...")
			}
			if first && macro == "Nm" {
				put(m.name)
			}
			macro, first = arg, true
			switch {
			case mdocWords[arg] != "":
				glue = glue || arg == "Ap"
				put(mdocWords[arg])
				glue = arg == "Ap"
				first = false
			case arg == "Ns":
				glue = true
			case mdocOpeners[arg] != "":
				put(mdocOpeners[arg])
				glue = true
			case mdocClosers[arg] != "":
				glue = true
				put(mdocClosers[arg])
			default:
				if pair, ok := mdocPairs[arg]; ok && len(closing) < maxNesting {
					put(pair[0])
					glue = true
					closing = append(closing, pair[1])
				}
			}
			continue
		}
		word := m.text(arg)
		switch macro {
		case "Fl":
			if !isSign(word, ".,;:)]|") {
				word = "-" + word
			}
		case "Pf":
			put(word)
			glue, macro = true, ""
			continue
		case "Xr":
			if first && i+1 < len(args) && len(args[i+1]) < 4 && !isMdocName(args[i+1]) {
				word += "(" + args[i+1] + ")"
				i++
			}
		case "Fn":
			if first {
				var parameters []string
				for i+1 < len(args) && !isMdocName(args[i+1]) && !isSign(args[i+1], ".,;:") {
					i++
					parameters = append(parameters, m.text(args[i]))
				}
				word += "(" + strings.Join(parameters, ", ") + ")"
			}
		case "In":
			if first {
				word = "<" + word + ">"
			}
		case "Nm":
			if first && m.name == "" && isWordByte((word + " ")[0]) {
				m.name = word
			} else if first && len(word) == 1 && strings.Contains(".,;:)", word) {
				put(m.name)
			}
		case "Lk":
			if first && i+1 < len(args) {
				word = link(m.text(strings.Join(args[i+1:], " ")), word)
				i = len(args)
			}
		}
		first = false
		put(word)
	}
	if first {
		switch macro {
		case "Fl":
			put("-")
		case "Ar":
			put("file ...")
		case "Nm":
			put(m.name)
		case "Ex":
			put("The " + m.name + " utility exits 0 on success, and >0 if an error occurs.")
		}
	}
	for i := len(closing) - 1; i >= 0; i-- {
		text := out.String()
		// What ends a sentence stands behind the sign.
		if n := len(text); n > 0 && strings.IndexByte(".,;:", text[n-1]) >= 0 && len(args) > 1 && len(args[len(args)-1]) == 1 {
			out.Reset()
			out.WriteString(text[:n-1] + closing[i] + text[n-1:])
			continue
		}
		out.WriteString(closing[i])
	}
	return out.String()
}

func (m *man) startList(args []string) {
	m.endItem()
	if len(m.lists) > 0 {
		m.indents++
	}
	list := mdocList{kind: "tag"}
	for _, arg := range args {
		switch arg {
		case "-bullet", "-dash", "-hyphen", "-enum", "-column", "-item":
			list.kind = arg[1:]
		}
	}
	m.lists = append(m.lists, list)
	m.inItem = false
}

func (m *man) endList() {
	m.endItem()
	n := len(m.lists)
	if n == 0 {
		return
	}
	list := m.lists[n-1]
	m.lists = m.lists[:n-1]
	m.inItem = false
	if list.kind == "column" {
		m.flushTable(list.rows)
	}
	if n > 1 {
		m.indents = max(m.indents-1, 0)
		m.inItem = true
	}
}

func (m *man) mdocItem(args []string) {
	n := len(m.lists)
	if n == 0 {
		m.add(m.mdocLine(args), false)
		return
	}
	m.endItem()
	list := &m.lists[n-1]
	list.items++
	switch list.kind {
	case "column":
		var row []string
		start := 0
		for i := 0; i <= len(args); i++ {
			if i == len(args) || args[i] == "Ta" {
				row = append(row, m.mdocLine(args[start:i]))
				start = i + 1
			}
		}
		if len(row) == 1 {
			row = strings.Split(row[0], "\t")
		}
		list.rows = append(list.rows, row)
	case "tag":
		m.begin("-", m.mdocLine(args))
	case "enum":
		m.begin("1.", "")
	default:
		m.begin("-", "")
	}
}
