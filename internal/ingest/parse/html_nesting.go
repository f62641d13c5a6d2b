package parse

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// How deep elements of a page may be nested that is nested too deep for the parser, which has a limit of 512 with those that it adds. What is deeper
// is read as text.
const (
	maxWrappers = 64  // of div, span and others that only group and style
	maxElements = 160 // of all: the parser adds up to two for each, as in a table
)

// ParseHTML parses a page in UTF-8. Of a page that is nested too deep for the parser it leaves out tags.
func ParseHTML(content string) (*html.Node, error) {
	page, err := html.Parse(strings.NewReader(content))
	if err == nil {
		return page, nil
	}
	if page, err = html.Parse(strings.NewReader(flatter(content, maxWrappers, maxElements))); err == nil {
		return page, nil
	}
	return html.Parse(strings.NewReader(flatter(content, 0, 0))) // elements that the parser opens again in each paragraph
}

// flattener writes a page with fewer tags.
type flattener struct {
	out       strings.Builder
	wrappers  int // limits
	elements  int
	open      []openElement
	byName    map[string]int // how many are open
	kept      int            // how many of the open ones are written
	hidden    int            // how many of the others are hidden
	code      int            // how many of the others hold what is no text
	separated bool           // nothing was written since the last separator
}

type openElement struct {
	name   string
	kept   bool
	hidden bool
	code   bool
}

// flatter returns a page in which at most so many elements are nested, and wrappers among them: the tags of others are left out. Text stays in
// order, blocks stay apart, and what is hidden stays so. It takes time and memory in proportion to the page.
func flatter(page string, wrappers, elements int) string {
	f := &flattener{wrappers: wrappers, elements: elements, byName: map[string]int{}}
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := tokens.Next()
		raw := string(tokens.Raw()) // Token may change it
		switch kind {
		case html.ErrorToken:
			return f.out.String()
		case html.TextToken:
			f.text(raw)
		case html.StartTagToken, html.SelfClosingTagToken:
			f.start(tokens.Token(), raw)
		case html.EndTagToken:
			f.end(tokens.Token().Data)
		default:
			f.out.WriteString(raw)
		}
	}
}

func (f *flattener) text(raw string) {
	switch {
	case f.code > 0:
		return
	case f.hidden > 0 && strings.TrimSpace(raw) != "":
		f.out.WriteString("<span hidden>" + raw + "</span>")
	default:
		f.out.WriteString(raw)
	}
	f.separated = f.separated && strings.TrimSpace(raw) == ""
}

func (f *flattener) start(token html.Token, raw string) {
	foreign := f.byName["svg"]+f.byName["math"] > 0
	if !foreign {
		f.endBefore(token)
	}
	single := isVoid(token.DataAtom) || foreign && token.Type == html.SelfClosingTagToken
	keep := f.kept < f.elements && (f.kept < f.wrappers || !isWrapper(token.DataAtom))
	n := html.Node{Type: html.ElementNode, DataAtom: token.DataAtom, Data: token.Data, Attr: token.Attr}
	e := openElement{name: token.Data, kept: keep, hidden: !keep && isHidden(&n), code: !keep && isCode(&n)}
	switch {
	case f.code > 0:
	case keep || single:
		f.out.WriteString(raw)
		f.separated = false
	default:
		f.separate(token.DataAtom)
	}
	if !single {
		f.open = append(f.open, e)
		f.count(e, 1)
	}
}

// endedBy says which open elements the start of an element ends, and which elements keep them open.
var endedBy = map[atom.Atom]struct{ ended, within []string }{
	atom.Li: {[]string{"li"}, []string{"ul", "ol"}},
	atom.Dt: {[]string{"dt", "dd"}, []string{"dl"}}, atom.Dd: {[]string{"dt", "dd"}, []string{"dl"}},
	atom.Tr: {[]string{"tr"}, []string{"table"}},
	atom.Td: {[]string{"td", "th"}, []string{"tr", "table"}}, atom.Th: {[]string{"td", "th"}, []string{"tr", "table"}},
	atom.Option: {[]string{"option"}, []string{"select"}},
}

// endBefore ends the elements that the start of another one ends: their end tags may be missing.
func (f *flattener) endBefore(token html.Token) {
	if n := len(f.open); n > 0 && f.open[n-1].name == "p" && isBlock(token.DataAtom) {
		f.pop()
	}
	const near = 32
	rule := endedBy[token.DataAtom]
	for at := len(f.open) - 1; at >= max(0, len(f.open)-near) && rule.ended != nil; at-- {
		if slices.Contains(rule.within, f.open[at].name) {
			return
		}
		if slices.Contains(rule.ended, f.open[at].name) {
			f.popTo(at)
			return
		}
	}
}

// end ends the innermost element of a name, and those in it.
func (f *flattener) end(name string) {
	if f.byName[name] == 0 {
		return
	}
	at := len(f.open) - 1
	for f.open[at].name != name {
		at--
	}
	f.popTo(at)
}

func (f *flattener) popTo(at int) {
	for len(f.open) > at {
		f.pop()
	}
}

func (f *flattener) pop() {
	e := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	f.count(e, -1)
	switch {
	case f.code > 0:
	case e.kept:
		f.out.WriteString("</" + e.name + ">")
		f.separated = false
	default:
		f.separate(atom.Lookup([]byte(e.name)))
	}
}

func (f *flattener) count(e openElement, by int) {
	f.byName[e.name] += by
	if e.kept {
		f.kept += by
	}
	if e.hidden {
		f.hidden += by
	}
	if e.code {
		f.code += by
	}
}

// separate keeps what is before and after the tag of a block apart.
func (f *flattener) separate(tag atom.Atom) {
	if isBlock(tag) && !f.separated && f.code == 0 {
		f.out.WriteString("<p></p>")
		f.separated = true
	}
}

// isWrapper reports whether an element only groups others or says how they look.
func isWrapper(a atom.Atom) bool {
	switch a {
	case atom.Div, atom.Span, atom.Section, atom.Center, atom.Font, atom.B, atom.I, atom.U, atom.Em, atom.Strong, atom.Small, atom.Big, atom.Tt, atom.Blockquote, 0:
		return true
	}
	return false
}

// isBlock reports whether an element begins on a line of its own.
func isBlock(a atom.Atom) bool {
	switch a {
	case atom.Div, atom.Section, atom.Center, atom.Blockquote, atom.P, atom.Table, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Ul, atom.Ol, atom.Li, atom.Dl, atom.Dt, atom.Dd,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre, atom.Article, atom.Aside, atom.Main, atom.Header, atom.Footer, atom.Nav, atom.Form, atom.Fieldset,
		atom.Figure, atom.Figcaption, atom.Details, atom.Summary, atom.Address, atom.Hr:
		return true
	}
	return false
}

// isVoid reports whether an element has no content and no end tag.
func isVoid(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}
