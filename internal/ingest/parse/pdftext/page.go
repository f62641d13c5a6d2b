package pdftext

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// page returns the lines of a page in PDFium's order, which is that of the content with
// lines that overlap joined.
func (d *document) page(index int) ([]line, error) {
	loaded, err := d.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.file, Index: index})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = d.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page}) }()
	opened, err := d.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &loaded.Page}})
	if err != nil {
		return nil, err
	}
	page := requests.Page{ByReference: &loaded.Page}
	p := &pageReader{document: d, text: opened.TextPage, cells: d.taggedCells(page), rules: d.rules(page), ruled: map[int][]*ruling{}}
	defer func() { _, _ = d.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: p.text}) }()
	lines, err := p.lines()
	p.link(page, lines)
	d.found = append(d.found, p.figures(loaded.Page, index, lines)...)
	return lines, err
}

// pageReader reads the characters of a page.
type pageReader struct {
	*document
	text     references.FPDF_TEXTPAGE
	chars    []rune
	index    []int             // of each of chars in PDFium's order, nil if it is the same
	cells    map[int]int       // of tables, by marked content
	rules    rules             // that are drawn on the page
	ruled    map[int][]*ruling // their grids, by quarter turns of the text
	sin, cos float64           // of the direction of the line that is measured
}

func (p *pageReader) lines() ([]line, error) {
	if err := p.read(); err != nil {
		return nil, err
	}
	var lines []line
	for start := 0; start < len(p.chars); {
		end := start + 1
		for end < len(p.chars) && p.chars[end-1] != '\n' && p.chars[end-1] != joined {
			end++
		}
		if p.chars[end-1] == joined {
			p.chars[end-1] = '-'
		}
		l := line{start: start, stop: end}
		if clean(string(p.chars[start:end])) != "" && p.place(&l) {
			if n := len(lines); n == 0 || !p.goesOn(&lines[n-1], &l) {
				lines = append(lines, l)
			}
		}
		start = end
	}
	p.blanks(lines)
	for i := range lines {
		lines[i].text = clean(string(p.chars[lines[i].start:lines[i].stop]))
	}
	upright(lines)
	kept := lines[:0]
	for _, l := range lines {
		if !p.measure(&l) {
			kept = append(kept, l)
		}
	}
	p.drop(kept)
	return kept, nil
}

// goesOn reports whether a line is the rest of the one before, which it then is joined to: PDFium
// breaks some lines at raised marks.
func (p *pageReader) goesOn(before, l *line) bool {
	const back, ahead, word, lowest, highest = 0.3, 0.6, 0.12, 0.1, 0.6 // in font sizes
	if before.angle != l.angle {
		return false
	}
	p.sin, p.cos = math.Sincos(l.angle)
	size := max(p.size(before.last)*before.scale, p.size(l.start)*l.scale)
	_, base := p.origin(before.last)
	from, across := p.origin(l.start)
	if rise := math.Abs(across - base); size == 0 || rise < lowest*size || rise > highest*size || p.isTurnedBack(before, l) {
		return false
	}
	end, ok := p.end(before.last)
	gap := (from - end) / size
	if !ok || gap < -back || gap > ahead {
		return false
	}
	if gap < word {
		for i := before.last + 1; i < l.start; i++ {
			p.chars[i] = 0
		}
	}
	before.last, before.stop = l.last, l.stop
	before.scale = max(before.scale, l.scale)
	return true
}

// isTurnedBack reports whether one of two lines is written from right to left.
func (p *pageReader) isTurnedBack(before, l *line) bool {
	return slices.ContainsFunc(p.chars[before.start:l.last+1], isRightToLeft)
}

// upright sets the direction of writing of most of the text of a page to 0: the page, or what is on it,
// may be turned.
func upright(lines []line) {
	letters := map[float64]int{}
	most := 0.0
	for _, l := range lines {
		letters[l.angle] += len(l.text)
		if n := letters[l.angle]; n > letters[most] || n == letters[most] && l.angle < most {
			most = l.angle
		}
	}
	for i := range lines {
		lines[i].turned = lines[i].angle - most
	}
}

// read reads the characters of the page.
func (p *pageReader) read() error {
	counted, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: p.text})
	if err != nil || counted.Count <= 0 {
		return err
	}
	if p.textBytes += counted.Count; p.textBytes > maxTextBytes {
		return ErrTooLarge
	}
	chars := make([]rune, counted.Count)
	for i := range chars {
		found, err := p.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: p.text, Index: i})
		if err != nil {
			return err
		}
		chars[i] = rune(found.Unicode)
		if i > 0 && utf16.IsSurrogate(chars[i-1]) { // PDFium gives some characters as two
			chars[i-1], chars[i] = 0, utf16.DecodeRune(chars[i-1], chars[i])
		}
		if i > 0 && (chars[i-1] == 0x02 || chars[i-1] == 0xfffe) {
			chars[i-1] = joined
			if unicode.IsSpace(chars[i]) {
				chars[i-1] = '-'
			}
		}
	}
	p.chars = chars
	p.decodeTeX()
	return nil
}

// joined stands for a hyphen at which PDFium joined two lines.
const joined = 0x02

// at returns the number of a character in PDFium's order. A space that PDFium does not have is where
// the character after it is.
func (p *pageReader) at(index int) int {
	if p.index == nil {
		return index
	}
	return p.index[index]
}

// visible reports whether a character leaves ink.
func (p *pageReader) visible(i int) bool {
	return unicode.IsGraphic(p.chars[i]) && !unicode.IsSpace(p.chars[i])
}

// place sets the characters from the first to the last visible one of a line, and its direction
// of writing. It reports whether it can be placed.
func (p *pageReader) place(l *line) bool {
	l.last = l.stop - 1
	for l.start < l.last && !p.visible(l.start) {
		l.start++
	}
	for l.start < l.last && !p.visible(l.last) {
		l.last--
	}
	matrix, err := p.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: p.text, Index: p.at(l.start)})
	if err != nil {
		return false
	}
	m := matrix.Matrix
	const step = math.Pi / 1800 // a tenth of a degree
	l.angle = math.Round(math.Atan2(float64(m.B), float64(m.A))/step) * step
	l.scale = math.Hypot(float64(m.C), float64(m.D))
	return true
}

// measure sets the size and position of a line from some of its characters, and reports whether it
// is an artifact, such as a running title.
func (p *pageReader) measure(l *line) (artifact bool) {
	first, middle, last := l.start, l.middle(), l.last
	l.size = p.largest(l)
	p.sin, p.cos = math.Sincos(l.angle)
	l.along, l.across = p.origin(first)
	l.end, _ = p.origin(last)
	l.end += l.size / 2
	l.bold = p.isBold(first) && p.isBold(last)
	if slices.ContainsFunc(p.chars[first:last+1], isRightToLeft) {
		p.reorder(l)
	} else {
		if !p.splitRuled(l) && !p.splitTagged(l) {
			p.split(l)
		}
		p.raised(l)
	}
	wrong, err := p.FPDFText_HasUnicodeMapError(&requests.FPDFText_HasUnicodeMapError{TextPage: p.text, Index: p.at(middle)})
	if err == nil && wrong.HasUnicodeMapError && !isWriting(l.text) {
		p.unreadable += last - first + 1
	}
	return p.tagged && p.isArtifact(first)
}

func (l *line) middle() int { return l.start + (l.last-l.start)/2 }

// largest returns the font size of a line by that of some of its characters.
func (p *pageReader) largest(l *line) float64 {
	return max(p.size(l.start), p.size(l.middle()), p.size(l.last)) * l.scale
}

// reorder sets the text of a line with words written from right to left, and its position from
// its leftmost to its rightmost character.
func (p *pageReader) reorder(l *line) {
	var words [][]glyph
	var word []rune
	var at []float64
	var numbers []int
	var extents []extent
	const same = 0.01 // points
	l.along, l.end = math.Inf(1), math.Inf(-1)
	for i := l.start; i <= l.last+1; i++ {
		if i > l.last || unicode.IsSpace(p.chars[i]) {
			if len(word) > 0 {
				found := glyphs(word, at)
				for k := range found {
					found[k].number = numbers[found[k].number]
				}
				words = append(words, found)
			}
			word, at, numbers = nil, nil, nil
			continue
		}
		if clean(string(p.chars[i])) == "" {
			continue
		}
		along, _ := p.origin(i)
		if e, ok := p.extent(i); ok && !unicode.IsMark(p.chars[i]) {
			ink, inked := p.end(i)
			e.inked = inked && ink > e.to-same
			extents = append(extents, e)
		}
		word, at, numbers = append(word, p.chars[i]), append(at, along), append(numbers, i)
		l.along, l.end = min(l.along, along), max(l.end, along+l.size/2)
	}
	if starts := wordStarts(extents, l.size); len(starts) > 0 {
		var cut [][]glyph
		for _, word := range words {
			cut = append(cut, cutAt(word, starts)...)
		}
		words = cut
	}
	slices.SortStableFunc(words, func(a, b []glyph) int { return cmp.Compare(a[0].at, b[0].at) })
	l.glyphs = readingOrder(words)
	if l.cells = columnsOfWords(words, l.size); l.cells == nil {
		l.text = clean(logical(words))
		return
	}
	texts := make([]string, len(l.cells))
	for i, c := range l.cells {
		texts[i] = c.text
	}
	l.text = strings.Join(texts, " ")
}

// isWriting reports whether a text whose font does not say what its characters mean seems to be words
// in Latin letters all the same, as it is if the codes of the font are those of ASCII.
func isWriting(text string) bool {
	letters, vowels, others := 0, 0, 0
	for _, r := range text {
		switch {
		case strings.ContainsRune("aeiouyAEIOUY", r):
			letters, vowels = letters+1, vowels+1
		case r < unicode.MaxASCII && unicode.IsLetter(r), isPresentationForm(r):
			letters++
		case r != ' ':
			others++
		}
	}
	return letters > 3*others && vowels*5 > letters && vowels*5 < letters*3
}

// boldNames matches the names of bold fonts, with those of TeX.
var boldNames = regexp.MustCompile(`(?i)bold|black|heavy|demi|cmbx|sfbx|ecbx`)

// isBold reports whether the font of a character is bold.
func (p *pageReader) isBold(index int) bool {
	font, err := p.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: p.text, Index: p.at(index)})
	return err == nil && boldNames.MatchString(font.FontName)
}

const (
	cellGap = 1.1 // a larger gap between two words, in font sizes, separates cells
	// sparse is the mean width of the characters of a line, in font sizes, below which the
	// gaps of a shorter one are not looked at.
	sparse = 0.47
	// longLine is the number of characters from which on it may run across two columns.
	longLine = 60
)

// marker matches what begins a list item.
var marker = regexp.MustCompile(`^(?:[•◦▪‣●■○*–-]|[(]?[0-9]{1,3}[.)]|[(]?[a-zA-Z][.)]|[(]?[ivx]+[.)])$`)

// split finds the cells of a line whose words stand far apart.
func (p *pageReader) split(l *line) {
	chars := p.chars[l.start : l.last+1]
	if l.turned != 0 || l.size == 0 || len(chars) < longLine && l.end-l.along < sparse*l.size*float64(len(chars)) {
		return
	}
	begun, from := 0, l.along
	for i := 1; i+1 < len(chars); i++ {
		if !unicode.IsSpace(chars[i]) || unicode.IsSpace(chars[i+1]) {
			continue
		}
		word := i
		for word > begun && unicode.IsSpace(chars[word-1]) {
			word--
		}
		end := l.start + max(word-1, begun)
		next, _ := p.origin(l.start + i + 1)
		if at, _ := p.origin(end); next <= at+cellGap*l.size {
			continue // not even from the beginning of the word's last character
		}
		if to, ok := p.end(end); ok && next > to+cellGap*l.size {
			l.cells = append(l.cells, cell{clean(string(chars[begun:i])), from, to})
			begun, from = i+1, next
		}
	}
	if len(l.cells) > 0 && !marker.MatchString(l.cells[0].text) {
		l.cells = append(l.cells, cell{clean(string(chars[begun:])), from, l.end})
	} else {
		l.cells = nil
	}
}

// end returns the position along the line of the end of a character.
func (p *pageReader) end(index int) (along float64, ok bool) {
	box, err := p.FPDFText_GetCharBox(&requests.FPDFText_GetCharBox{TextPage: p.text, Index: p.at(index)})
	if err != nil {
		return 0, false
	}
	return max(box.Left*p.cos, box.Right*p.cos) + max(box.Bottom*p.sin, box.Top*p.sin), true
}

// isArtifact reports whether a character is marked as an artifact (ISO 32000-1, 14.8.2.2).
func (p *pageReader) isArtifact(index int) bool {
	found, err := p.FPDFText_GetTextObject(&requests.FPDFText_GetTextObject{TextPage: p.text, Index: p.at(index)})
	if err != nil {
		return false
	}
	marks, err := p.FPDFPageObj_CountMarks(&requests.FPDFPageObj_CountMarks{PageObject: found.TextObject})
	if err != nil {
		return false
	}
	for i := range marks.Count {
		mark, err := p.FPDFPageObj_GetMark(&requests.FPDFPageObj_GetMark{PageObject: found.TextObject, Index: uint64(i)})
		if err != nil {
			continue
		}
		name, err := p.FPDFPageObjMark_GetName(&requests.FPDFPageObjMark_GetName{PageObjectMark: mark.Mark})
		if err == nil && name.Name == "Artifact" {
			return true
		}
	}
	return false
}

// size returns the font size of a character before it is scaled by its matrix.
func (p *pageReader) size(index int) float64 {
	font, err := p.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: p.text, Index: p.at(index)})
	if err != nil {
		return 0
	}
	return font.FontSize
}

// origin returns the position of a character along its line and that of its baseline.
func (p *pageReader) origin(index int) (along, across float64) {
	found, err := p.FPDFText_GetCharOrigin(&requests.FPDFText_GetCharOrigin{TextPage: p.text, Index: p.at(index)})
	if err != nil {
		return 0, 0
	}
	return found.X*p.cos + found.Y*p.sin, found.Y*p.cos - found.X*p.sin
}
