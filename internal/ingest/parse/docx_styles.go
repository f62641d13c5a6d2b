package parse

import (
	"strconv"
	"strings"
)

// wordStyle is the meaning of a paragraph style.
type wordStyle struct {
	basedOn  string
	level    int    // heading level, 0 for none
	list     string // the id of a list, "" for none
	depth    int    // level in the list, from 0; -1 if not said
	contents bool   // of tables of contents
	bare     bool   // says that there is neither a level nor a list
	caption  bool   // of a figure or a table
}

// wordStyles returns the styles of a document by id, with what they inherit. The title
// is a heading of level 1. The part may be nil.
func wordStyles(part *node) map[string]wordStyle {
	styles := map[string]wordStyle{}
	if part == nil {
		return styles
	}
	for _, n := range part.children {
		if id := n.attr("styleId"); id != "" {
			styles[id] = newWordStyle(n)
		}
	}
	for id, s := range styles {
		for base, hops := s.basedOn, 0; base != "" && hops < 16; hops++ {
			above := styles[base]
			if s.level == 0 && !s.bare {
				s.level = above.level
			}
			s.caption = s.caption || above.caption
			if s.list == "" {
				s.list, s.depth = above.list, max(s.depth, above.depth)
			}
			base = above.basedOn
		}
		styles[id] = s
	}
	return styles
}

func newWordStyle(n *node) wordStyle {
	s := wordStyle{basedOn: n.child("basedOn").attr("val"), depth: -1}
	name := strings.ToLower(n.child("name").attr("val"))
	s.level = namedLevel(name)
	s.contents = strings.HasPrefix(name, "toc ") || name == "table of figures"
	s.caption = captionStyles[name]
	properties := n.child("pPr")
	if outline := properties.child("outlineLvl"); outline.name != "" {
		s.level = outlineLevel(outline.attr("val"))
		s.bare = s.level == 0
	}
	if list := properties.child("numPr"); list.name != "" {
		s.list = list.child("numId").attr("val")
		if depth := list.child("ilvl"); depth.name != "" {
			s.depth = listDepth(depth.attr("val")) - 1
		}
	}
	return s
}

// captionStyles are the names of styles of captions of figures, in lower case: those of Word, and of LibreOffice.
var captionStyles = map[string]bool{"caption": true, "illustration": true, "figure": true, "drawing": true}

// style returns the meaning of a style. One that the file does not define is what programs call so.
func (w *wordReader) style(id string) wordStyle {
	if style, ok := w.styles[id]; ok || id == "" {
		return style
	}
	return wordStyle{level: namedLevel(id), depth: -1}
}

// headingNames are what programs call headings, in lower case and without spaces: in the languages of their users,
// since some translate the names, and as ids, which have only letters of ASCII.
var headingNames = words(`heading überschrift berschrift titre título ttulo titolo kop kopje overskrift rubrik otsikko
	nagłówek nagwek nadpis címsor cmsor naslov titlu başlık balk заголовок заглавие επικεφαλίδα 標題 标题 見出し 제목 כותרת عنوان
	หัวเรื่อง tiêuđề tiu encabezado cabeçalho`)

func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// namedLevel returns the heading level that the name or the id of a style says, 0 for none.
func namedLevel(name string) int {
	name = strings.ToLower(strings.Join(strings.Fields(name), ""))
	if name == "title" {
		return 1
	}
	bare := strings.TrimRight(name, "123456789")
	if level := name[len(bare):]; len(level) == 1 && headingNames[bare] {
		return number(level)
	}
	return 0
}

// outlineLevel returns the heading level of an outline level, 0 for that of other text.
func outlineLevel(value string) int {
	if level, err := strconv.Atoi(value); err == nil && level >= 0 && level < 9 {
		return level + 1
	}
	return 0
}

// listDepth returns the list depth, from 1, of a level that is counted from 0.
func listDepth(level string) int {
	depth, _ := strconv.Atoi(level)
	return min(max(depth, 0), maxListLevels-1) + 1
}
