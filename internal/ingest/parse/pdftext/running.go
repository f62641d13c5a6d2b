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
	minRunning    = 3   // pages with the same line, and at least every third page
	maxPageNumber = 10  // bytes of a line without letters, such as "- 3 / 12 -"
	edgeGap       = 1.6 // to the line beside it, in font sizes of that
)

// edgeLine is a line at the edge of pages, with its numbers replaced by #.
type edgeLine struct {
	text   string
	across float64 // rounded to 2 points
}

// withoutRunning removes running lines and page numbers from the pages. labels are the numbers that
// the pages bear, "" where that is the number of the page in the file. The first of the lines with
// letters stays, so that no words are lost.
func withoutRunning(pages [][]line, labels []string) {
	seen := map[edgeLine]int{}
	for _, lines := range pages {
		for _, i := range edges(lines) {
			seen[edgeOf(lines[i])]++
		}
	}
	kept := map[edgeLine]bool{}
	for number, lines := range pages {
		var drop []int
		for _, i := range edges(lines) {
			edge := edgeOf(lines[i])
			if isPageNumber(lines[i].text, number, labels) {
				drop = append(drop, i)
				continue
			}
			if seen[edge] < max(minRunning, len(pages)/3) {
				continue
			}
			words := strings.ContainsFunc(edge.text, unicode.IsLetter)
			if words && kept[edge] || !words && len(edge.text) <= maxPageNumber {
				drop = append(drop, i)
			}
			kept[edge] = true
		}
		if len(drop) == 0 || len(drop) == len(lines) {
			continue
		}
		var rest []line
		for i, l := range lines {
			if !slices.Contains(drop, i) {
				rest = append(rest, l)
			}
		}
		pages[number] = rest
	}
}

// isPageNumber reports whether a text is the number or the label of the page with the index, with
// punctuation or not.
func isPageNumber(text string, index int, labels []string) bool {
	bare := strings.Trim(text, "-–—[]() .|")
	return bare != "" && (bare == strconv.Itoa(index+1) || index < len(labels) && bare == labels[index])
}

// edges returns the indexes of the highest and of the lowest line of a page, if they stand
// apart from the others.
func edges(lines []line) (found []int) {
	order := make([]int, 0, len(lines))
	for i, l := range lines {
		if l.turned == 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[b].across, lines[a].across) })
	n := len(order)
	if n < 3 {
		return nil
	}
	for _, pair := range [][2]int{{order[0], order[1]}, {order[n-1], order[n-2]}} {
		edge, beside := lines[pair[0]], lines[pair[1]]
		if math.Abs(edge.across-beside.across) > edgeGap*beside.size {
			found = append(found, pair[0])
		}
	}
	return found
}

func edgeOf(l line) edgeLine {
	text := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '#'
		}
		return r
	}, l.text)
	for strings.Contains(text, "##") {
		text = strings.ReplaceAll(text, "##", "#")
	}
	return edgeLine{text, math.Round(l.across / 2)}
}
