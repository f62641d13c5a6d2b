package pdftext

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Running lines are titles and numbers that stand at the same height of several pages.
const (
	minRunning      = 3    // pages with the same line
	maxRunningLines = 4    // at each edge of a page, and at most a third of its lines
	maxPageNumber   = 10   // bytes of a line without letters, such as "- 3 / 12 -"
	edgeGap         = 1.6  // to the line beside them, in font sizes of that
	sameHeight      = 3    // points by which a running line moves from page to page at most
	runningRatio    = 1.05 // of the font size of a line of a chapter to that of the text at most
)

// edgeLine is a line at the edge of a page.
type edgeLine struct {
	page, index int
	across      float64
	size        float64
	top         bool // at the top of the page
	chapter     bool // also on pages that follow
	row         bool // may be one of a table
	numbers     []int
}

// withoutRunning removes running lines and page numbers from the pages. A line is running if it stands at the
// same height of every third page, at least of three, or of three pages that follow each other, as that of a chapter
// does. Of those of a chapter the first stays unless the text has the same line. Rows of a table are not
// running, though they may differ in their numbers alone. labels are the numbers that the pages bear, "" where that is
// the number of the page in the file. It returns the running title of the most pages, which may be in no other line; "" if
// there is none.
func withoutRunning(pages [][]line, labels []string) (title string) {
	body := bodySize(pages)
	found, within := map[string][]edgeLine{}, map[string]bool{}
	drops := make([]map[int]bool, len(pages))
	for number, lines := range pages {
		drops[number] = map[int]bool{}
		at := edges(lines)
		for _, e := range at {
			e.page = number
			text := unnumbered(lines[e.index].text)
			found[text] = append(found[text], e)
		}
		for i, l := range lines {
			if !slices.ContainsFunc(at, func(e edgeLine) bool { return e.index == i }) {
				within[lettersOf(l.text)] = true
			}
		}
	}
	for text, all := range found {
		words := strings.ContainsFunc(text, unicode.IsLetter)
		if !words && len(text) > maxPageNumber {
			continue
		}
		kept := !words || within[lettersOf(text)]
		for _, level := range heights(all) {
			if areRows(level) {
				continue
			}
			everywhere := len(level) >= max(minRunning, len(pages)/3)
			for _, e := range level {
				switch {
				case !everywhere && (!e.chapter || e.size > body*runningRatio):
				case !everywhere && !kept:
					kept = true
				default:
					drops[e.page][e.index] = true
				}
			}
		}
	}
	removed := map[string]int{}
	for number, lines := range pages {
		pages[number] = without(lines, drops[number], number, labels, removed)
	}
	most := max(minRunning, len(pages)/3) - 1
	for text, n := range removed {
		if n > most || n == most && title != "" && text < title {
			most, title = n, text
		}
	}
	return title
}

// heights returns the lines with one text by their heights, each in the order of pages, and sets chapter of those on at
// least three pages that follow each other.
func heights(all []edgeLine) (levels [][]edgeLine) {
	slices.SortStableFunc(all, func(a, b edgeLine) int { return cmp.Compare(a.across, b.across) })
	for i, e := range all {
		if i == 0 || e.across-all[i-1].across > sameHeight {
			levels = append(levels, nil)
		}
		last := len(levels) - 1
		levels[last] = append(levels[last], e)
	}
	for _, level := range levels {
		slices.SortStableFunc(level, func(a, b edgeLine) int { return a.page - b.page })
		start := 0
		for i := range level {
			if i > 0 && level[i].page > level[i-1].page+2 { // titles of left and right pages take turns
				start = i
			}
			if i-start+1 >= minRunning {
				for at := max(start, i-minRunning); at <= i; at++ {
					level[at].chapter = true
				}
			}
		}
	}
	return levels
}

// without returns the lines of a page without those to drop and without its number, as far as there are no
// others outside of them. It counts what it removes that has letters and no numbers.
func without(lines []line, drop map[int]bool, number int, labels []string, removed map[string]int) []line {
	gone := map[int]bool{}
	ended := map[bool]bool{} // the edges of which a line stays, by top
	for _, e := range edges(lines) {
		if ended[e.top] || !drop[e.index] && !isPageNumber(lines[e.index].text, number, labels) {
			ended[e.top] = true
			continue
		}
		gone[e.index] = true
	}
	if len(gone) == 0 || len(gone) == len(lines) {
		return lines
	}
	var rest []line
	for i, l := range lines {
		if !gone[i] {
			rest = append(rest, l)
		} else if strings.ContainsFunc(l.text, unicode.IsLetter) && !strings.ContainsFunc(l.text, unicode.IsDigit) {
			removed[l.text]++
		}
	}
	return rest
}

// isPageNumber reports whether a text is the number or the label of the page with the index, with
// punctuation or not.
func isPageNumber(text string, index int, labels []string) bool {
	bare := strings.Trim(text, "-–—[]() .|")
	return bare != "" && (bare == strconv.Itoa(index+1) || index < len(labels) && bare == labels[index])
}

// edges returns the highest and the lowest lines of a page, if they stand apart from the others, the outer ones first.
func edges(lines []line) (found []edgeLine) {
	order := make([]int, 0, len(lines))
	for i, l := range lines {
		if l.turned == 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[b].across, lines[a].across) })
	if len(order) < 3 {
		return nil
	}
	top := apart(lines, order)
	slices.Reverse(order)
	bottom := apart(lines, order)
	for top+bottom >= len(order) { // something is no edge
		if top >= bottom {
			top--
		} else {
			bottom--
		}
	}
	for n := range max(top, bottom) {
		if n < bottom {
			found = append(found, edgeOf(lines, order[n], false))
		}
		if n < top {
			found = append(found, edgeOf(lines, order[len(order)-1-n], true))
		}
	}
	return found
}

func edgeOf(lines []line, index int, top bool) edgeLine {
	l := lines[index]
	return edgeLine{index: index, across: l.across, size: l.size, top: top, row: l.cells != nil || l.ruling != nil, numbers: numbersOf(l.text)}
}

// numbersOf returns the numbers in a text, -1 for one that is too long for an int.
func numbersOf(text string) (found []int) {
	for _, digits := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			n = -1
		}
		found = append(found, n)
	}
	return found
}

// areRows reports whether lines at one height of several pages are rows of a table: their numbers are neither the same
// from page to page nor grow with that of the page.
func areRows(level []edgeLine) bool {
	others := 0
	for i := 1; i < len(level); i++ {
		before, l := level[i-1], level[i]
		if !l.row || !before.row || len(l.numbers) != len(before.numbers) {
			continue
		}
		for k, n := range l.numbers {
			if grown := n - before.numbers[k]; grown != 0 && grown != l.page-before.page {
				others++
				break
			}
		}
	}
	return others*2 > len(level)-1
}

// apart returns how many of the first lines in an order stand apart from those after them. Several rows of a table do
// not.
func apart(lines []line, order []int) int {
	n, rows := 0, 0
	for i := 1; i <= min(max(len(order)/3, 1), maxRunningLines); i++ {
		edge, beside := lines[order[i-1]], lines[order[i]]
		if edge.cells != nil {
			rows++
		}
		if rows > 1 {
			break
		}
		if math.Abs(edge.across-beside.across) > edgeGap*beside.size {
			n = i
		}
	}
	return n
}

// unnumbered returns a text with # in place of its numbers.
func unnumbered(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '#'
		}
		return r
	}, text)
	for strings.Contains(text, "##") {
		text = strings.ReplaceAll(text, "##", "#")
	}
	return text
}

// lettersOf returns the letters of a text, in lower case.
func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
