package parse

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// destination is what the text of a group is for.
type destination int

const (
	shown destination = iota
	dropped
	capturedText // see rtfState.name
	boxed        // a note, comment or text box
)

// rtfState is what a group may change until its end.
type rtfState struct {
	to      destination
	name    string // of the destination that this group is, "" if it is none
	within  string // of the destination around
	begun   bool   // it has text or a word: what follows does not say what the group is for
	skip    int    // characters after \u
	font    int
	hidden  bool
	deleted bool
	format  rtfFormat
}

// rtfBox is what was read when a note or box began.
type rtfBox struct {
	paragraph *rtfParagraph
	base      int
}

// endGroup ends a group and uses what was read in it.
func (r *rtfReader) endGroup() {
	ended := r.state
	text := strings.TrimSpace(string(r.captured))
	switch ended.name {
	case "":
		r.endEntry(ended, text)
	case "footnote", "annotation", "shptxt":
		r.endBox(ended.name)
	case "fldinst":
		r.link.address = fieldAddress(text)
	case "fldrslt":
		if r.link.address != "" && r.link.at <= len(r.paragraph.text) {
			r.paragraph.text = append(r.paragraph.text[:r.link.at], link(string(r.paragraph.text[r.link.at:]), r.link.address)...)
		}
		r.link.address = ""
	case "listtext", "pntext":
		r.paragraph.marker = listMark(text)
	case "atnauthor":
		r.author = text
	case "title":
		r.parser.doc.Title = text
	case "author", "subject", "keywords":
		r.parser.property(ended.name, text)
	case "operator":
		r.parser.property("modifiedBy", text)
	case "creatim", "revtim":
		if d := r.date; d[0] > 0 {
			r.parser.property(map[string]string{"creatim": "created", "revtim": "modified"}[ended.name], fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:00", d[0], d[1], d[2], d[3], d[4]))
		}
		r.date = [5]int{}
	}
	r.state = r.groups[len(r.groups)-1]
	r.groups = r.groups[:len(r.groups)-1]
	r.passing = 0
}

// endEntry reads an entry of the style sheet.
func (r *rtfReader) endEntry(ended rtfState, text string) {
	switch ended.within {
	case "stylesheet":
		name := strings.ToLower(strings.TrimSuffix(text, ";"))
		level := ended.format.level
		if number, ok := strings.CutPrefix(name, "heading "); ok {
			level, _ = strconv.Atoi(number)
		} else if name == "title" {
			level = 1
		}
		if level > 0 && level <= maxListLevels {
			r.styles[ended.format.style] = level
		}
		r.captured = r.captured[:0]
	case "fonttbl":
		r.captured = r.captured[:0]
	}
}

// endBox ends a note, comment or text box.
func (r *rtfReader) endBox(name string) {
	if len(bytes.TrimSpace(r.paragraph.text)) > 0 || len(r.paragraph.after) > 0 {
		r.endParagraph()
	}
	r.closeTables(0)
	blocks := r.flow.endBox()
	n := len(r.outer) - 1
	r.paragraph, r.base = r.outer[n].paragraph, r.outer[n].base
	r.outer = r.outer[:n]
	p := r.paragraph
	text := inline(blocks)
	switch {
	case text == "":
	case name == "shptxt":
		p.after = append(p.after, blocks...)
	case name == "footnote":
		r.flow.notes++
		mark := "[^" + strconv.Itoa(r.flow.notes) + "]"
		p.text = append(p.text, mark...)
		p.after = append(p.after, block{text: mark + ": " + text})
	case r.author != "":
		p.after = append(p.after, block{text: "Comment by " + r.author + ": " + text})
	default:
		p.after = append(p.after, block{text: "Comment: " + text})
	}
	if name == "annotation" {
		r.author = ""
	}
}
