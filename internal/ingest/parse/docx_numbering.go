package parse

import (
	"strconv"
	"strings"
)

const maxListLevels = 9

// wordNumbering counts the numbered paragraphs of a Word document.
type wordNumbering struct {
	lists  map[string]*wordList // by the id that paragraphs name
	counts map[*wordLevels]*[maxListLevels]int
}

// wordList is a use of levels, which may start at other numbers.
type wordList struct {
	levels *wordLevels
	starts map[int]int
	begun  map[int]bool // starts that are used up
}

type wordLevels [maxListLevels]wordLevel

type wordLevel struct {
	start        int
	format, text string // such as decimal and "%1.%2."
	style        string // the paragraph style that has this level
	legal        bool   // all numbers are decimal
}

// wordLists returns the lists that a numbering part defines. The part may be nil.
func wordLists(part *node) *wordNumbering {
	n := &wordNumbering{lists: map[string]*wordList{}, counts: map[*wordLevels]*[maxListLevels]int{}}
	if part == nil {
		return n
	}
	abstract, byStyle := map[string]*wordLevels{}, map[string]*wordLevels{}
	for _, child := range part.children {
		if child.name == "abstractNum" {
			levels := newWordLevels(child)
			abstract[child.attr("abstractNumId")] = levels
			byStyle[child.child("styleLink").attr("val")] = levels
		}
	}
	for _, child := range part.children {
		if child.name == "abstractNum" && child.child("numStyleLink").name != "" {
			if levels := byStyle[child.child("numStyleLink").attr("val")]; levels != nil {
				abstract[child.attr("abstractNumId")] = levels
			}
		}
	}
	for _, child := range part.children {
		levels := abstract[child.child("abstractNumId").attr("val")]
		if child.name != "num" || levels == nil {
			continue
		}
		list := &wordList{levels: levels, starts: map[int]int{}, begun: map[int]bool{}}
		for _, over := range child.children {
			if start := over.child("startOverride"); start.name != "" {
				list.starts[listDepth(over.attr("ilvl"))-1] = number(start.attr("val"))
			}
		}
		n.lists[child.attr("numId")] = list
	}
	return n
}

func newWordLevels(n *node) *wordLevels {
	levels := &wordLevels{}
	for _, child := range n.children {
		if child.name != "lvl" {
			continue
		}
		level := &levels[listDepth(child.attr("ilvl"))-1]
		level.start, level.format = number(child.child("start").attr("val")), child.child("numFmt").attr("val")
		level.text, level.style = child.child("lvlText").attr("val"), child.child("pStyle").attr("val")
		level.legal = child.child("isLgl").name != ""
	}
	return levels
}

// number returns a small number that is not negative; 0 for anything else.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, 1<<20)
}

// next counts a paragraph in a list and returns its mark as shown: "2.1", "a)", "-" for a
// bullet, "" for none.
func (n *wordNumbering) next(id string, depth int) string {
	list := n.lists[id]
	if list == nil {
		return "-"
	}
	counts := n.counts[list.levels]
	if counts == nil {
		counts = &[maxListLevels]int{}
		for i := range counts {
			counts[i] = -1
		}
		n.counts[list.levels] = counts
	}
	if start, ok := list.starts[depth]; ok && !list.begun[depth] {
		list.begun[depth] = true
		counts[depth] = start
	} else if counts[depth] < 0 {
		counts[depth] = list.levels[depth].start
	} else {
		counts[depth]++
	}
	for deeper := depth + 1; deeper < maxListLevels; deeper++ {
		counts[deeper] = -1
	}
	return list.levels.mark(depth, counts)
}

// mark returns the mark of a level.
func (l *wordLevels) mark(depth int, counts *[maxListLevels]int) string {
	level := l[depth]
	if level.format == "bullet" {
		return "-"
	}
	mark := level.text
	for i := range depth + 1 {
		if counts[i] < 0 {
			counts[i] = l[i].start
		}
		format := l[i].format
		if level.legal {
			format = "decimal"
		}
		shown := ""
		if l[i].format != "none" {
			shown = numeral(counts[i], format)
		}
		mark = strings.ReplaceAll(mark, "%"+strconv.Itoa(i+1), shown)
	}
	return strings.TrimSpace(mark)
}

// depthOf returns the level of a list that belongs to a paragraph style, or -1.
func (n *wordNumbering) depthOf(id, style string) int {
	if list := n.lists[id]; list != nil && style != "" {
		for i, level := range list.levels {
			if level.style == style {
				return i
			}
		}
	}
	return -1
}

// numeral writes a number in a format of Office or OpenDocument: decimal or 1, upperRoman or
// I, lowerLetter or a, and so on. Others are decimal.
func numeral(n int, format string) string {
	switch format {
	case "upperRoman", "I":
		return roman(n)
	case "lowerRoman", "i":
		return strings.ToLower(roman(n))
	case "upperLetter", "A":
		return letters(n)
	case "lowerLetter", "a":
		return strings.ToLower(letters(n))
	case "decimalZero":
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var out strings.Builder
	for i, value := range []int{1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1} {
		for ; n >= value; n -= value {
			out.WriteString([]string{"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"}[i])
		}
	}
	return out.String()
}

// letters counts A, B, ... Z, AA, BB, as Word does.
func letters(n int) string {
	if n < 1 || n > 26*20 {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(rune('A'+(n-1)%26)), (n-1)/26+1)
}
