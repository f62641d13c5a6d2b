package parse

import (
	"path"
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// language is how the declarations of a programming language are found: by line and by
// indentation, outside of comments and strings. That needs no grammar, also finds them in
// source that does not compile, and takes a fraction of the time of a parser.
type language struct {
	name         string
	extensions   string
	declarations *regexp.Regexp // matches a line without its indentation; the last group that matches is the name
	comment      string         // begins a comment up to the end of the line
	blocks       bool           // has /* comments */
	strings      []string       // delimiters of strings over several lines
}

const (
	anyName    = `([A-Za-z_$][\w$]*)`
	modifiers  = `(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|partial|open|override|virtual|async|unsafe|extern|inline|suspend|data|readonly|declare|pub(?:\([^)]*\))?|const|case|implicit|lazy|fileprivate|mutating|get|set)\s+)*`
	typeWords  = `(?:class|interface|enum(?: class)?|record|struct|trait|object|protocol|extension|impl(?:<[^>]*>)?|namespace|module|mod|union|actor|contract|library)`
	notACall   = `(?:[\w<>\[\],.?*&:@$]+\s+)+?[*&]*`
	signature  = `\s*(?:<[^<>]*>)?\([^;]*(?:\{.*|[^;])?$`
	methodLine = `[#*]?` + anyName + `\s*(?:<[^<>]*>)?\([^;]*\)\s*(?::[^={;]+)?\{.*$`
)

// languages are those whose declarations are found.
var languages = []language{
	{"go", ".go", regexp.MustCompile(`^(?:func\s+(?:\([^)]*\)\s*)?|type\s+)` + anyName), "//", true, []string{"`"}},
	{"python", ".py .pyi", regexp.MustCompile(`^(?:async\s+)?(?:def|class)\s+` + anyName), "#", false, []string{`"""`, "'''"}},
	{"javascript", ".js .mjs .cjs .jsx", scriptDeclarations, "//", true, []string{"`"}},
	{"typescript", ".ts .mts .cts .tsx", scriptDeclarations, "//", true, []string{"`"}},
	{"java", ".java", regexp.MustCompile(`^(?:` + modifiers + `@?` + typeWords + `\s+` + anyName + `|` + notACall + anyName + signature + `|` + methodLine + `)`), "//", true, []string{`"""`}},
	{"csharp", ".cs", regexp.MustCompile(`^(?:` + modifiers + typeWords + `\s+` + anyName + `|` + notACall + anyName + signature + `|` + methodLine + `)`), "//", true, []string{`"""`}},
	{"kotlin", ".kt .kts", regexp.MustCompile(`^` + modifiers + `(?:` + typeWords + `\s+` + anyName + `|fun\s+(?:<[^>]*>\s*)?(?:[\w.]+\.)?` + anyName + `)`), "//", true, []string{`"""`}},
	{"scala", ".scala .sc", regexp.MustCompile(`^` + modifiers + `(?:` + typeWords + `|def)\s+` + anyName), "//", true, []string{`"""`}},
	{"swift", ".swift", regexp.MustCompile(`^` + modifiers + `(?:(?:` + typeWords + `|func)\s+` + anyName + `|(init)\b)`), "//", true, []string{`"""`}},
	{"rust", ".rs", regexp.MustCompile(`^` + modifiers + `(?:fn\s+` + anyName + `|(?:struct|enum|trait|mod|union|macro_rules!)\s+` + anyName + `|impl(?:<.*?>)?\s+(?:[^{]*\sfor\s+)?(?:&(?:'\w+\s+)?)?(?:\w*::)*` + anyName + `)`), "//", true, nil},
	{"php", ".php", regexp.MustCompile(`^` + modifiers + `(?:` + typeWords + `|function)\s+&?` + anyName), "//", true, nil},
	{"c", ".c .h", cDeclarations, "//", true, nil},
	{"cpp", ".cc .cpp .cxx .hh .hpp .hxx", cDeclarations, "//", true, nil},
	{"ruby", ".rb", regexp.MustCompile(`^(?:def|class|module)\s+(?:self\.)?([\w:?!=.]+)`), "#", false, nil},
	{"lua", ".lua", regexp.MustCompile(`^(?:local\s+)?function\s+([\w.:]+)`), "--", false, nil},
	{"perl", ".pl .pm", regexp.MustCompile(`^(?:sub|package)\s+([\w:]+)`), "#", false, nil},
	{"elixir", ".ex .exs", regexp.MustCompile(`^(?:defmodule|defprotocol|defimpl|defp?|defmacrop?)\s+([\w.?!]+)`), "#", false, []string{`"""`}},
	{"powershell", ".ps1 .psm1", regexp.MustCompile(`(?i)^(?:function|filter|class)\s+([\w:-]+)`), "#", false, nil},
	{"shell", ".sh", regexp.MustCompile(`^(?:function\s+([\w:-]+)|([\w:-]+)\s*\(\)\s*\{?)`), "#", false, nil},
	{"sql", ".sql", regexp.MustCompile(`(?i)^create\s+(?:or\s+replace\s+)?(?:global\s+|temp\w*\s+|unique\s+|materialized\s+)*(?:table|view|function|procedure|trigger|index|type|schema|domain|aggregate)\s+(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?"?([\w.]+)`), "--", true, []string{"$$"}},
	{"solidity", ".sol", regexp.MustCompile(`^` + modifiers + `(?:` + typeWords + `|function|event|modifier|error)\s+` + anyName), "//", true, nil},
	{"protobuf", ".proto", regexp.MustCompile(`^(?:message|service|enum|rpc)\s+` + anyName), "//", true, nil},
}

var (
	scriptDeclarations = regexp.MustCompile(`^(?:` + modifiers + `(?:function\s*\*?|` + typeWords + `|type)\s+` + anyName +
		`|` + modifiers + `(?:let\s+|var\s+)?` + anyName + `\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*(?::[^=]+)?=>|[\w$]+\s*=>|class\b).*` +
		`|` + modifiers + methodLine + `)`)
	cDeclarations = regexp.MustCompile(`^(?:(?:typedef\s+|template\s*<.*>\s*)*(?:struct|class|enum(?: class| struct)?|union|namespace)\s+(?:[A-Z_]+\s+)?([A-Za-z_]\w*)[^;()=]*$` +
		`|#\s*define\s+([A-Za-z_]\w*)\(` +
		`|(?:[\w<>,:*&~\[\]]+\s+)*[*&]*(?:[\w:<>]+::)?(~?[A-Za-z_]\w*|operator\s*\S{1,3})\s*\([^;]*$)`)
	// statements are words before a bracket that begin no declaration.
	statements = regexp.MustCompile(`^(?:if|else|for|foreach|while|switch|catch|return|throw|new|do|try|case|when|with|using|lock|await|yield|super|this|assert|delete|sizeof|goto|typedef\s+enum\s*\{|[A-Z_]{3,}\s*\()\b`)
)

// languageOf returns the programming language of a file, nil if its declarations are not
// found.
func languageOf(fileName, contentType string) *language {
	ending := strings.ToLower(path.Ext(baseName(fileName)))
	declared := strings.TrimPrefix(strings.TrimPrefix(contentType, "text/x-"), "text/")
	for i, l := range languages {
		if l.name == declared {
			return &languages[i]
		}
		for known := range strings.FieldsSeq(l.extensions) {
			if known == ending {
				return &languages[i]
			}
		}
	}
	return nil
}

const (
	maxDeclarations = 50_000 // of a file that become sections
	maxCodeLine     = 1000   // bytes of a line; longer ones were written by a program
	maxDepth        = 8      // of declarations within others
)

// declaration is a function, a type or the like in source code.
type declaration struct {
	start  int // of its first line, or of the comments right above it
	end    int
	indent int
	depth  int // 1 at the outermost level
	name   string
}

// declarationsOf returns the declarations in a text, in order. One ends before the next line
// that is indented no deeper and is not its closing bracket.
func (l *language) declarationsOf(text string) []declaration {
	s := codeScanner{language: l, text: text}
	inside := s.insideOfStrings()
	var found []declaration
	var open []int // indexes of found
	comment := -1  // start of the comments and attributes right above the line
	at := 0
	for line := range strings.Lines(text) {
		start, trimmed := at, strings.TrimSpace(line)
		at += len(line)
		if len(inside) > 0 && inside[0].Start < start {
			if inside[0].End > start {
				continue // within a comment or a string
			}
			inside = inside[1:]
		}
		for len(inside) > 0 && inside[0].End <= start {
			inside = inside[1:]
		}
		if trimmed == "" {
			comment = -1
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if s.isAbove(trimmed) {
			if comment < 0 {
				comment = start
			}
			continue
		}
		begin := start
		if comment >= 0 {
			begin = comment
		}
		comment = -1
		if !closes(trimmed) {
			for n := len(open) - 1; n >= 0 && found[open[n]].indent >= indent; n-- {
				found[open[n]].end = begin
				open = open[:n]
			}
		}
		if len(open) == maxDepth || len(found) == maxDeclarations || len(trimmed) > maxCodeLine {
			continue
		}
		if name := s.nameIn(trimmed, indent); name != "" {
			open = append(open, len(found))
			found = append(found, declaration{start: begin, end: len(text), indent: indent, depth: len(open), name: name})
		}
	}
	return found
}

// closes reports whether a line only ends or continues what stands above it.
func closes(line string) bool {
	switch line[0] {
	case '}', ')', ']', '{':
		return true
	case 'e', 'E':
		return line == "end" || strings.HasPrefix(line, "end ") || strings.HasPrefix(line, "else")
	}
	return false
}

// codeScanner reads source code of a language.
type codeScanner struct {
	*language
	text string
}

// isAbove reports whether a line belongs to the declaration below it: a comment, a decorator
// or an attribute.
func (s *codeScanner) isAbove(line string) bool {
	switch {
	case strings.HasPrefix(line, s.comment), s.blocks && (strings.HasPrefix(line, "/*") && !strings.Contains(line, "*/ ") || strings.HasPrefix(line, "*")):
		return true
	case line[0] == '@':
		return !strings.Contains(line, "{") && !strings.HasPrefix(line, "@interface")
	case strings.HasPrefix(line, "#["), line[0] == '[' && strings.HasSuffix(line, "]"):
		return true
	case strings.HasPrefix(line, "template") && strings.HasSuffix(line, ">"):
		return true
	}
	return false
}

// nameIn returns the name that a line declares, "" if it declares none.
func (s *codeScanner) nameIn(line string, indent int) string {
	if statements.MatchString(line) {
		return ""
	}
	if (s.name == "c" || s.name == "go") && indent > 0 {
		return ""
	}
	groups := s.declarations.FindStringSubmatch(line)
	name := ""
	for _, group := range groups {
		if group != "" {
			name = group
		}
	}
	if len(groups) == 0 || notNames[name] {
		return ""
	}
	if s.name == "go" {
		if receiver := goReceiver.FindStringSubmatch(line); receiver != nil {
			name = receiver[1] + "." + name
		}
	}
	return textlimit.OneLine(name, maxName)
}

const maxName = 100 // bytes

// notNames are words that look like the name of a function before a bracket.
var notNames = map[string]bool{
	"if": true, "for": true, "while": true, "switch": true, "catch": true, "return": true, "function": true, "constructor": false, "else": true,
	"new": true, "throw": true, "await": true, "super": true, "foreach": true, "using": true, "lock": true, "defined": true, "__attribute__": true, "synchronized": true,
}

var goReceiver = regexp.MustCompile(`^func\s+\((?:\w+\s+)?\*?(\w+)`)

// insideOfStrings returns the comments and strings over several lines of the text, in order.
// A string that does not end is not counted.
func (s *codeScanner) insideOfStrings() (inside []Span) {
	text := s.text
	for at := 0; at < len(text); {
		c := text[at]
		switch {
		case strings.HasPrefix(text[at:], s.comment) && (s.comment != "#" || at == 0 || text[at-1] <= ' '):
			at = endOf(text, at, "\n")
			continue
		case s.blocks && c == '/' && strings.HasPrefix(text[at:], "/*"):
			end := endOf(text, at+2, "*/")
			inside = appendLong(inside, text, at, end)
			at = end
			continue
		}
		if end := s.longString(at); end > at {
			inside = appendLong(inside, text, at, end)
			at = end
			continue
		}
		if c == '"' || c == '\'' && s.name != "rust" && s.name != "sql" {
			at = endOfQuoted(text, at)
			continue
		}
		at++
	}
	return inside
}

// longString returns the end of the string over several lines that starts at a position, 0
// if none starts there.
func (s *codeScanner) longString(at int) int {
	for _, delimiter := range s.strings {
		if strings.HasPrefix(s.text[at:], delimiter) {
			from := at + len(delimiter)
			if n := strings.Index(s.text[from:], delimiter); n >= 0 {
				return from + n + len(delimiter)
			}
			return from
		}
	}
	return 0
}

// endOf returns the position after the next mark, the end of the text if there is none.
func endOf(text string, from int, mark string) int {
	if n := strings.Index(text[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(text)
}

// endOfQuoted returns the end of a string within a line.
func endOfQuoted(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n', text[at]:
			return i + 1
		}
	}
	return len(text)
}

// appendLong appends a span of text if it has several lines.
func appendLong(spans []Span, text string, start, end int) []Span {
	if strings.Contains(text[start:end], "\n") {
		return append(spans, Span{Start: start, End: end})
	}
	return spans
}

// code reads source code. Its sections are functions, types and the like, under the names of
// those that they stand in; Units are the positions where they begin.
func (p *parser) code() error {
	if err := p.plain(); err != nil {
		return err
	}
	l := languageOf(p.src.FileName, p.src.ContentType)
	if l == nil {
		return nil
	}
	p.property(programmingLanguage, l.name)
	var above []string
	for _, d := range l.declarationsOf(p.doc.Text) {
		above = append(above[:d.depth-1], d.name)
		p.doc.Units = append(p.doc.Units, Unit{Start: d.start, Depth: d.depth})
		if n := len(p.doc.Spans) - 1; p.doc.Spans[n].Kind == Section && p.doc.Spans[n].End > d.start {
			p.doc.Spans[n].End = d.start // sections do not overlap
		}
		if d.start < d.end {
			p.doc.Spans = append(p.doc.Spans, Span{Kind: Section, Start: d.start, End: d.end, Name: textlimit.OneLine(strings.Join(above, SectionSeparator), maxSectionPath)})
		}
	}
	return nil
}
