package pdftext

import (
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
	turned float64 // direction of writing, in radians
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
	if strings.ContainsFunc(text, func(r rune) bool { return r >= 0xfb00 && r <= 0xfb06 }) {
		text = norm.NFKC.String(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

// A line is a heading if the ratio of its font size to that of the body is at least
// headingRatio. The other ratios separate the levels.
const (
	headingRatio = 1.15
	level2Ratio  = 1.35
	level1Ratio  = 1.65
	maxHeading   = 160 // bytes; longer text in a large font is not a heading
)

// layout returns the text of each page as Markdown.
func layout(pages [][]line) []string {
	body := bodySize(pages)
	out := make([]string, len(pages))
	for i, lines := range pages {
		out[i] = markdown(lines, body)
	}
	return out
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

func headingLevel(l line, body float64) int {
	ratio := l.size / body
	hasLetter := strings.ContainsFunc(l.text, unicode.IsLetter)
	switch {
	case body == 0 || ratio < headingRatio || len(l.text) > maxHeading || !hasLetter:
		return 0
	case ratio >= level1Ratio:
		return 1
	case ratio >= level2Ratio:
		return 2
	}
	return 3
}

func markdown(lines []line, body float64) string {
	var out []byte
	leading := usualLeading(lines)
	inHeading := 0
	for i, l := range lines {
		level := headingLevel(l, body)
		if i > 0 {
			previous := lines[i-1]
			gap := previous.across - l.across
			switch {
			case level > 0 && level == inHeading && sameSize(l, previous) && gap > 0 && gap < 1.5*l.size: // a heading of two lines
				out = append(append(out, ' '), l.text...)
				continue
			case level > 0 || inHeading > 0 || gap > 1.4*leading || math.Abs(l.size-previous.size) > 0.2*body:
				out = append(out, "\n\n"...)
			case hyphenated(previous.text, l.text):
				out = out[:len(out)-len("-")]
			default:
				out = append(out, '\n')
			}
		}
		if level > 0 {
			out = append(out, strings.Repeat("#", level)+" "...)
		}
		out = append(out, l.text...)
		inHeading = level
	}
	return string(out)
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
