package parse

import (
	"strconv"
	"strings"
)

// rtfCharacters are the characters that have a word.
var rtfCharacters = map[string]string{
	"tab": "\t", "line": "\n", "lbr": "\n", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
	"bullet": "•", "emspace": " ", "enspace": " ", "qmspace": " ",
}

// rtfDestinations are the groups whose text is not part of the document's, or not at its
// position.
var rtfDestinations = map[string]destination{
	"fonttbl": capturedText, "stylesheet": capturedText, "colortbl": dropped, "pict": dropped, "objdata": dropped, "objclass": dropped, "objname": dropped, "template": dropped,
	"header": dropped, "headerl": dropped, "headerr": dropped, "headerf": dropped, "footer": dropped, "footerl": dropped, "footerr": dropped, "footerf": dropped,
	"ftnsep": dropped, "ftnsepc": dropped, "ftncn": dropped, "aftnsep": dropped, "aftnsepc": dropped, "aftncn": dropped,
	"listtable": dropped, "listoverridetable": dropped, "revtbl": dropped, "rsidtbl": dropped, "filetbl": dropped, "nonshppict": dropped, "nonesttables": dropped,
	"tc": dropped, "xe": dropped, "sp": dropped, "sn": dropped, "sv": dropped, "shprslt": dropped, "upr": dropped, "mmathPict": dropped, "shpinst": dropped, "nesttableprops": dropped,
	"info": dropped, "title": capturedText, "author": capturedText, "subject": capturedText, "keywords": capturedText, "operator": capturedText, "doccomm": dropped, "company": dropped,
	"creatim": dropped, "revtim": dropped, "fldinst": capturedText, "atnid": dropped, "atnauthor": capturedText, "listtext": capturedText, "pntext": capturedText,
	"footnote": boxed, "annotation": boxed, "shptxt": boxed, "ud": shown, "fldrslt": shown, "result": shown, "moMath": shown, "moMathPara": shown,
}

// word reads a control word.
func (r *rtfReader) word(word string, value int, has bool) {
	begun := r.state.begun
	r.state.begun = true
	if text, ok := rtfCharacters[word]; ok {
		r.put(text)
		if word == "tab" && r.paragraph.tab == 0 && r.state.to == shown {
			r.paragraph.tab = len(r.paragraph.text)
		}
		return
	}
	to, ok := rtfDestinations[word]
	if isMathProperties(word) {
		to, ok = dropped, true
	}
	if ok && begun {
		return // damaged
	}
	if ok {
		r.begin(word, to)
		return
	}
	on := !has || value != 0
	switch word {
	case "ansicpg":
		r.codepage = codepageLabel(value)
	case "mac":
		r.codepage = "macintosh"
	case "uc":
		r.state.skip = min(max(value, 0), 16)
	case "f":
		r.state.font = value
	case "fcharset":
		if label := charsetLabel(value); label != "" && r.state.within == "fonttbl" {
			r.fonts[r.state.font] = label
		}
	case "v":
		r.state.hidden = on && !r.parser.src.Hidden
	case "deleted":
		r.state.deleted = on && !r.parser.src.Hidden
	case "plain":
		r.state.hidden, r.state.deleted = false, false
	case "nofpages":
		r.parser.doc.Pages = max(value, 0)
	case "yr", "mo", "dy", "hr", "min":
		if r.state.name == "creatim" || r.state.name == "revtim" {
			r.date[map[string]int{"yr": 0, "mo": 1, "dy": 2, "hr": 3, "min": 4}[word]] = value
		}
	default:
		r.formatting(word, value)
		r.structure(word, value)
	}
}

// isMathProperties reports whether a group has properties of a part of a formula, such as mnaryPr, which are no text of it.
func isMathProperties(word string) bool {
	return strings.HasPrefix(word, "m") && strings.HasSuffix(word, "Pr")
}

// begin makes the group a destination.
func (r *rtfReader) begin(name string, to destination) {
	hidden := r.state.to == dropped && to != boxed && name != "ud" && name != "nesttableprops" && r.state.within != "info"
	if hidden || name == "title" && r.state.within != "info" {
		return
	}
	if to == boxed && r.state.to == dropped && (name != "shptxt" || r.state.within != "shpinst") {
		return // within a header, say
	}
	if r.state.name != "" && name != "fldrslt" {
		return
	}
	r.state.name, r.state.to = name, to
	switch {
	case to == capturedText:
		r.captured = r.captured[:0]
	case to == boxed:
		r.outer = append(r.outer, rtfBox{r.paragraph, r.base})
		r.base, r.paragraph = len(r.tables), &rtfParagraph{}
		r.state.format = rtfFormat{}
		r.flow.startBox()
	case name == "fldrslt":
		r.link.at = len(r.paragraph.text)
	}
}

// formatting reads properties of paragraphs.
func (r *rtfReader) formatting(word string, value int) {
	f := &r.state.format
	switch word {
	case "pard":
		*f = rtfFormat{}
	case "s":
		f.style = value
	case "outlinelevel":
		f.level = outlineLevel(strconv.Itoa(value))
	case "intbl":
		f.inTable = true
	case "itap":
		f.nesting = min(max(value, 0), maxTableDepth)
	case "ilvl":
		f.depth = listDepth(strconv.Itoa(value))
	case "li":
		f.indent = value
	case "fi":
		f.hanging = value
	}
}
