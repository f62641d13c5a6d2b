package pdftext

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// line is the text on one baseline.
type line struct {
	text   string
	size   float64 // of the largest font, in points
	across float64 // position of the baseline, growing upwards
	along  float64 // position of its start along the baseline
	end    float64 // position of its end along the baseline, within half a character
	turned float64 // direction of writing, in radians, against that of most of the page
	bold   bool
	level  int      // of the heading that the outline of the file names, 0 if it does not
	cells  []cell   // of a line whose words stand far apart, nil for any other
	links  []anchor // ascending
	refs   []ref    // of notes, ascending
	notes  []string // that refs refer to, without their marks
	ruling *ruling  // in which the line is, nil for none

	angle, scale      float64 // of the text on the page: direction in radians, and size
	start, last, stop int     // characters of the page: first and last visible, and the next line
	glyphs            []glyph // in the order in which they are read, of a line with words written from right to left; nil for any other
}

// clean returns text with ligatures decomposed, invisible characters removed, and each
// run of white space replaced by one space.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, r == 0xfffe, r == 0xad, r == 0x200b, r == 0x200c, r == 0xfeff:
			return -1
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
	if strings.ContainsFunc(text, isPresentationForm) {
		text = norm.NFKC.String(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// isPresentationForm reports whether a character is a ligature, or an Arabic or Hebrew letter as it
// is drawn at the beginning or end of a word.
func isPresentationForm(r rune) bool { return r >= 0xfb00 && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc }

// A line is a heading if the ratio of its font size to that of the body is at least
// headingRatio. The other ratios separate the levels.
const (
	headingRatio = 1.15
	level2Ratio  = 1.35
	level1Ratio  = 1.65
	boldGap      = 1.7 // from a bold heading to other bold lines at least, in font sizes
	maxHeading   = 160 // bytes; longer text in a large font is not a heading
)

// layout returns the text of each page as Markdown, and the running title of the pages, "" if they have none. labels
// are the numbers that the pages bear, "" where that is the number of the page in the file.
func layout(pages [][]line, labels []string) (texts []string, running string) {
	running = withoutRunning(pages, labels)
	body := bodySize(pages)
	out := make([]string, len(pages))
	note := 1
	var open grid
	for i, lines := range pages {
		lines, note = takeNotes(lines, body, note)
		out[i], open = markdown(inColumns(lines), body, open)
	}
	return out, running
}

// bodySize returns the font size of most of the text, rounded to half a point.
func bodySize(pages [][]line) float64 {
	bySize := map[float64]int{}
	for _, lines := range pages {
		for _, l := range lines {
			bySize[math.Round(l.size*2)/2] += len(l.text)
		}
	}
	best, most := 0.0, 0
	for size, n := range bySize {
		if n > most || n == most && size < best {
			best, most = size, n
		}
	}
	return best
}

// headingLevel returns the level of a line as a heading, 0 for text.
func headingLevel(l line, body float64) int {
	ratio := l.size / body
	hasLetter := strings.ContainsFunc(l.text, unicode.IsLetter)
	switch {
	case l.level > 0:
		return l.level
	case body == 0 || l.turned != 0 || ratio < headingRatio || len(l.text) > maxHeading || !hasLetter:
		return 0
	case ratio >= level1Ratio:
		return 1
	case ratio >= level2Ratio:
		return 2
	}
	return 3
}

// isBoldHeading reports whether a line of body size is a heading because it is bold and
// its neighbours are not.
func isBoldHeading(lines []line, i int) bool {
	l := lines[i]
	last, _ := utf8.DecodeLastRuneInString(l.text)
	return l.bold && len(l.text) <= maxHeading && l.cells == nil && !strings.ContainsRune(".,;:-", last) &&
		strings.ContainsFunc(l.text, unicode.IsLetter) && bulletOf(l.text) == 0 &&
		!isBoldBeside(lines, i, i-1) && i+1 < len(lines) && !isBoldBeside(lines, i, i+1) && lines[i+1].across < l.across
}

// isBoldBeside reports whether there is a bold line right beside a line.
func isBoldBeside(lines []line, i, beside int) bool {
	return beside >= 0 && lines[beside].bold && math.Abs(lines[i].across-lines[beside].across) < boldGap*lines[i].size
}

// bulletOf returns the bytes of the bullet and space that begin a text, 0 if none does.
func bulletOf(text string) int {
	for _, bullet := range []string{"•", "◦", "▪", "‣", "●", "■", "○"} {
		if strings.HasPrefix(text, bullet+" ") {
			return len(bullet) + 1
		}
	}
	return 0
}

// writer writes the lines of a page as Markdown.
type writer struct {
	out     []byte
	lines   []line
	body    float64
	leading float64
	heading int     // level of the line before, 0 for text
	item    float64 // where the list item begins that the line before belongs to, NaN outside
	table   bool    // the line before ended a table
	notes   []string
}

// markdown returns the lines of a page as Markdown, and the table with which it ends. open is that of the page before.
func markdown(lines []line, body float64, open grid) (text string, last grid) {
	w := &writer{lines: lines, body: body, leading: usualLeading(lines), item: math.NaN()}
	for i := 0; i < len(lines); {
		found := grid{}
		if lines[i].ruling != nil {
			found = lines[i].ruling.table(lines[i:])
			lines = gathered(lines, i)
			w.lines = lines
			if i == 0 {
				found = open.goesOn(found)
			}
		} else if i == 0 {
			found = open.next(lines, body)
		}
		if found.lines == 0 {
			found = table(lines[i:], body)
		}
		if found.lines > 0 {
			w.blank()
			for _, row := range lines[i : i+found.lines] {
				w.notes = append(w.notes, row.notes...)
			}
			w.out = append(w.out, format(found.rows)...)
			w.heading, w.item, w.table = 0, math.NaN(), true
			i += found.lines
			if i == len(lines) {
				last = found
			}
			continue
		}
		w.line(i)
		i++
	}
	w.blank()
	return strings.TrimRight(string(w.out), "\n"), last
}

// blank ends a paragraph. The notes that it refers to follow it.
func (w *writer) blank() {
	if len(w.out) > 0 {
		w.out = append(w.out, "\n\n"...)
	}
	for _, note := range w.notes {
		w.out = append(append(w.out, note...), "\n\n"...)
	}
	w.notes = nil
}

func (w *writer) line(i int) {
	l := w.lines[i]
	level := headingLevel(l, w.body)
	if level == 0 && isBoldHeading(w.lines, i) {
		level = 3
	}
	bullet := bulletOf(l.text)
	if i > 0 {
		previous := w.lines[i-1]
		gap := previous.across - l.across
		leavesItem := bullet == 0 && l.along < w.item+0.3*l.size // false outside of a list
		switch {
		case level > 0 && level == w.heading && sameSize(l, previous) && gap > 0 && gap < 1.5*l.size && l.level == previous.level: // a heading of two lines
			w.out = append(append(w.out, ' '), l.written(0, len(l.text), false)...)
			w.notes = append(w.notes, l.notes...)
			return
		case w.table || level > 0 || w.heading > 0 || leavesItem || gap > 1.4*w.leading || math.Abs(l.size-previous.size) > 0.2*w.body:
			w.blank()
			w.item = math.NaN()
		case hyphenated(previous.text, l.text) && w.out[len(w.out)-1] == '-':
			w.out = w.out[:len(w.out)-len("-")]
		default:
			w.out = append(w.out, '\n')
		}
	}
	switch {
	case level > 0:
		w.out = append(w.out, strings.Repeat("#", level)+" "...)
	case bullet > 0:
		w.item = l.along
		w.out = append(w.out, "- "...)
	}
	w.out = append(w.out, l.written(bullet, len(l.text), level == 0)...)
	w.notes = append(w.notes, l.notes...)
	w.heading, w.table = level, false
}

// written returns text[from:to] of a line as Markdown, with the marks of its notes and, if asked
// for, its links.
func (l line) written(from, to int, links bool) string {
	var out strings.Builder
	at := from
	refs := func(to int) { // writes the text up to a position
		for _, r := range l.refs {
			if r.note > 0 && r.from >= at && r.to <= to {
				fmt.Fprintf(&out, "%s[^%d]", l.text[at:r.from], r.note)
				at = r.to
			}
		}
		out.WriteString(l.text[at:max(at, to)])
		at = max(at, to)
	}
	for _, a := range l.links {
		if !links || a.from < at || a.to > to {
			continue
		}
		refs(a.from)
		if !a.went {
			out.WriteByte('[')
		}
		refs(a.to)
		if !a.goesOn {
			out.WriteString("](" + a.address + ")")
		}
	}
	refs(to)
	return out.String()
}

func sameSize(a, b line) bool { return math.Abs(a.size-b.size) < 0.05*a.size }

// usualLeading returns the median distance from a line to the next one below it.
func usualLeading(lines []line) float64 {
	var gaps []float64
	for i := 1; i < len(lines); i++ {
		if gap := lines[i-1].across - lines[i].across; gap > 0 {
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) == 0 {
		return math.Inf(1)
	}
	slices.Sort(gaps)
	return gaps[(len(gaps)-1)/2]
}

// hyphenated reports whether a word continues in the next line.
func hyphenated(before, next string) bool {
	stem, ok := strings.CutSuffix(before, "-")
	last, _ := utf8.DecodeLastRuneInString(stem)
	first, _ := utf8.DecodeRuneInString(next)
	return ok && unicode.IsLetter(last) && unicode.IsLower(first)
}
