package parse

import (
	"bytes"
	"image"
	_ "image/gif"  // reads the size of pictures
	_ "image/jpeg" // reads the size of pictures
	_ "image/png"  // reads the size of pictures
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
)

// Limits of the figures of a file.
const (
	MaxFigures = 2000
	maxCaption = 2000 // bytes
	maxPanel   = 100  // pictures of a caption that a reader names
)

// What is smaller is decoration, such as an icon or a line.
const (
	minPixels = 64  // width and height
	minPoints = 100 // width or height as it is shown, of a picture without a caption
	// A picture that is in a document so often is decoration too, such as a logo.
	fewestRepeats = 3
)

// Figure is a picture within a document that has a caption or an alternative text.
type Figure struct {
	// Text[Start:End] is its caption or its alternative text.
	Start, End int
	// Captioned means that the text is a caption.
	Captioned bool
	// MediaType is that of the picture as its content says, "" if unknown.
	MediaType string
	// Width and Height are pixels, 0 if unknown.
	Width, Height int
	// Box is where it is on its page of a PDF file, the zero Box in others.
	Box pdftext.Box
}

// drawn is a picture that a reader has found.
type drawn struct {
	key           string // equal for the same picture, "" if unknown
	mediaType     string
	width, height int        // in pixels, 0 if unknown
	shown         [2]float64 // width and height in points, 0 if unknown
	beyond        bool       // it is not in the file
}

// drawings are the pictures of a document. A reader puts a mark where each is in the text, which placeFigures removes.
type drawings struct {
	all    []drawn
	parts  map[string]drawn // that were read, by name
	marked bool
}

// Marks are characters that are none: of a picture its number and its alternative text, of a caption the numbers of its pictures, if
// the reader knows them.
const (
	markPrefix   = "\xef\xb7" // the first bytes of all marks
	figureBegin  = "\uFDD3"
	figureAlt    = "\uFDD4"
	figureEnd    = "\uFDD5"
	captionBegin = "\uFDD6"
	captionEnd   = "\uFDD7"
	markBytes    = len(figureBegin)
)

// add adds a picture and returns its number, -1 if there are too many.
func (d *drawings) add(one drawn) int {
	if len(d.all) >= MaxFigures {
		return -1
	}
	d.all = append(d.all, one)
	d.marked = true
	return len(d.all) - 1
}

// figureMark returns the mark of a picture around its alternative text.
func figureMark(number int, alternative string) string {
	if number < 0 {
		return alternative
	}
	return figureBegin + strconv.Itoa(number) + figureAlt + alternative + figureEnd
}

// caption returns the mark at the beginning of a caption: of the pictures with the numbers, or of one beside it.
func (d *drawings) caption(numbers ...int) string {
	d.marked = true
	var text strings.Builder
	for _, n := range numbers[:min(len(numbers), maxPanel)] {
		text.WriteString(strconv.Itoa(n) + ",")
	}
	return captionBegin + text.String() + captionEnd
}

// unmarkedText returns a text without the marks of pictures and captions.
func unmarkedText(text string) string {
	if !strings.Contains(text, markPrefix) {
		return text
	}
	var out strings.Builder
	at := 0
	for _, cut := range readMarks(text).cuts {
		out.WriteString(text[at:cut.Start])
		at = cut.End
	}
	return out.String() + text[at:]
}

// isPictures reports whether a text is nothing but pictures without alternative texts, or cells with nothing else.
func isPictures(text string) bool {
	return strings.Contains(text, figureBegin) && strings.Trim(unmarkedText(text), " \t\n,;") == ""
}

// figureMarks returns the marks of the pictures in a text that is nothing else.
func figureMarks(text string) (all []string) {
	for _, p := range readMarks(text).pictures {
		all = append(all, text[p.start:p.end])
	}
	return all
}

// pictureMark is a picture in a text with marks.
type pictureMark struct {
	number, start, end int
	alternative        textspan.Span
}

// captionMark is the beginning of a caption in a text with marks.
type captionMark struct {
	numbers []int
	start   int
}

// marks are those of a text.
type marks struct {
	pictures []pictureMark
	captions []captionMark
	cuts     []textspan.Span // of the text, ascending
}

func readMarks(text string) (m marks) {
	open := -1 // the picture whose alternative text is being read
	for at := 0; ; {
		next := strings.Index(text[at:], markPrefix)
		if next < 0 || at+next+markBytes > len(text) {
			return m
		}
		at += next
		end := at + markBytes
		switch text[at:end] {
		case figureBegin:
			number, after := markNumber(text[end:], figureAlt)
			if number < 0 {
				break
			}
			end += after
			m.pictures = append(m.pictures, pictureMark{number: number, start: at, end: end, alternative: textspan.Span{Start: end, End: end}})
			open = len(m.pictures) - 1
		case figureEnd:
			if open >= 0 {
				m.pictures[open].end, m.pictures[open].alternative.End = end, at
				open = -1
			}
		case captionBegin:
			list, _, ok := strings.Cut(text[end:min(len(text), end+maxCaption)], captionEnd)
			if !ok {
				break
			}
			c := captionMark{start: at}
			for number := range strings.SplitSeq(list, ",") {
				if n, err := strconv.Atoi(number); err == nil {
					c.numbers = append(c.numbers, n)
				}
			}
			m.captions = append(m.captions, c)
			end += len(list) + markBytes
		case figureAlt, captionEnd:
		default:
			at++
			continue
		}
		m.cuts = append(m.cuts, textspan.Span{Start: at, End: end})
		at = end
	}
}

// markNumber returns the number at the beginning of a text, and the length of it and the mark after it; -1 if there is none.
func markNumber(text, end string) (number, length int) {
	const digits = 6
	list, _, ok := strings.Cut(text[:min(len(text), digits+len(end))], end)
	number, err := strconv.Atoi(list)
	if !ok || err != nil || number < 0 {
		return -1, 0
	}
	return number, len(list) + len(end)
}

// placeFigures removes the marks of pictures from the text of the document, and finds the figures.
func (p *parser) placeFigures() {
	if !p.drawings.marked {
		return
	}
	d := &p.doc
	m := readMarks(d.Text)
	figures := pairing{text: d.Text, marks: m, drawings: p.drawings.all}.figures()
	to := newCutter(d.Text, m)
	d.Text = to.text
	spans := d.Spans[:0]
	for _, s := range d.Spans {
		if s.Start, s.End = to.within(s.Start, s.End); s.Start < s.End {
			spans = append(spans, s)
		}
	}
	d.Spans = spans
	for _, f := range figures {
		if f.Start, f.End = to.within(f.Start, f.End); f.Start < f.End {
			d.Figures = append(d.Figures, f)
		}
	}
}

// sortedFigures returns figures in the order of the text, each once.
func sortedFigures(figures []Figure) []Figure {
	slices.SortStableFunc(figures, func(a, b Figure) int { return a.Start - b.Start })
	return slices.CompactFunc(figures, func(a, b Figure) bool { return a.Start == b.Start && a.End == b.End })
}

// cutter maps positions in a text with marks to positions in the text without them.
type cutter struct {
	cuts   []textspan.Span
	before []int // the bytes of all cuts before each
	text   string
}

// emptyLine matches a line without text.
var emptyLine = regexp.MustCompile(`^[ \t>]*(?:#{1,6}|[-*+]|[0-9]+[.)])?[ \t]*$`)

// newCutter returns a cutter that also leaves out lines with nothing but marks, and the space around those without alternative text.
func newCutter(text string, m marks) cutter {
	cuts := m.cuts
	var lines []int // positions in them
	for _, p := range m.pictures {
		cuts = append(cuts, spaceBeside(text, p))
		lines = append(lines, p.start)
	}
	for _, c := range m.captions {
		lines = append(lines, c.start)
	}
	slices.Sort(lines)
	next := 0 // where the line after the last begins: no line is looked at twice
	for _, at := range lines {
		if at < next {
			continue
		}
		start := strings.LastIndexByte(text[:at], '\n') + 1
		end := len(text)
		if length := strings.IndexByte(text[at:], '\n'); length >= 0 {
			end = at + length
		}
		next = end
		if !emptyLine.MatchString(unmarkedText(text[start:end])) {
			continue
		}
		isAlone := start == 0 || strings.HasSuffix(text[:start], "\n\n")
		if end < len(text) {
			end++
		}
		if isAlone && end < len(text) && text[end] == '\n' {
			end++
		}
		cuts = append(cuts, textspan.Span{Start: start, End: end})
	}
	slices.SortFunc(cuts, func(a, b textspan.Span) int { return a.Start - b.Start })
	c := cutter{}
	var out strings.Builder
	at, sum := 0, 0
	for _, cut := range cuts {
		if cut.End <= at {
			continue
		}
		cut.Start = max(cut.Start, at)
		out.WriteString(text[at:cut.Start])
		c.cuts, c.before = append(c.cuts, cut), append(c.before, sum)
		at, sum = cut.End, sum+cut.End-cut.Start
	}
	out.WriteString(text[at:])
	c.text = strings.TrimRight(out.String(), " \n")
	return c
}

// spaceBeside returns the space beside a picture without alternative text that is too much without it.
func spaceBeside(text string, p pictureMark) textspan.Span {
	if p.alternative.Start < p.alternative.End {
		return textspan.Span{}
	}
	rest := strings.TrimLeft(text[p.end:], " ")
	before := strings.TrimRight(text[:p.start], " ")
	switch {
	case strings.HasSuffix(before, "|") || strings.HasPrefix(rest, "|"): // a cell
		return textspan.Span{}
	case before == "" || strings.HasSuffix(before, "\n") || len(before) < p.start:
		return textspan.Span{Start: p.end, End: len(text) - len(rest)}
	case rest == "" || strings.HasPrefix(rest, "\n"):
		return textspan.Span{Start: len(before), End: p.start}
	}
	return textspan.Span{}
}

// at maps a position. Those in a cut are at its beginning.
func (c cutter) at(position int) int {
	n, _ := slices.BinarySearchFunc(c.cuts, position, func(cut textspan.Span, at int) int { return cut.Start - at })
	if n > 0 {
		last := c.cuts[n-1]
		position -= c.before[n-1] + min(last.End, position) - last.Start
	}
	return min(position, len(c.text))
}

// within maps a span, without the white space around it.
func (c cutter) within(start, end int) (int, int) {
	start, end = c.at(start), c.at(end)
	for start < end && (c.text[start] == '\n' || c.text[start] == ' ') {
		start++
	}
	for end > start && (c.text[end-1] == '\n' || c.text[end-1] == ' ') {
		end--
	}
	return start, end
}

// maxPictureHead is how much of a picture is read to know its size, in bytes.
const maxPictureHead = 64 << 10

// sized sets what the first bytes of a picture say of it.
func (d *drawn) sized(head []byte) {
	if len(head) == 0 {
		return
	}
	if kind := http.DetectContentType(head); strings.HasPrefix(kind, "image/") {
		d.mediaType = kind
	}
	if config, _, err := image.DecodeConfig(bytes.NewReader(head)); err == nil {
		d.width, d.height = config.Width, config.Height
	}
}

// picture returns a part of the file that is a picture, as it is shown. One that is not there is beyond the file. Each part is read once.
func (p *pack) picture(name string, shown [2]float64) drawn {
	name = strings.TrimPrefix(name, "/")
	f, ok := p.files[name]
	if !ok || len(p.drawings.all) >= MaxFigures {
		return drawn{shown: shown, beyond: true}
	}
	d, known := p.drawings.parts[name]
	if !known {
		d = drawn{key: strconv.FormatUint(uint64(f.CRC32), 16) + "-" + strconv.FormatUint(f.UncompressedSize64, 16)}
		if r, err := f.Open(); err == nil {
			head, _ := io.ReadAll(io.LimitReader(r, maxPictureHead)) // what can be read of a broken one
			_ = r.Close()
			d.sized(head)
		}
		if p.drawings.parts == nil {
			p.drawings.parts = map[string]drawn{}
		}
		p.drawings.parts[name] = d
	}
	d.shown = shown
	return d
}
