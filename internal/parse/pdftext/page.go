package pdftext

import (
	"cmp"
	"math"
	"regexp"
	"slices"
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
	p := &pageReader{document: d, text: opened.TextPage}
	defer func() { _, _ = d.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: p.text}) }()
	return p.lines()
}

// pageReader reads the characters of a page.
type pageReader struct {
	*document
	text references.FPDF_TEXTPAGE
}

func (p *pageReader) lines() ([]line, error) {
	chars, err := p.chars()
	if err != nil {
		return nil, err
	}
	var lines []line
	for start := 0; start < len(chars); {
		end := start + 1
		for end < len(chars) && chars[end-1] != '\n' {
			end++
		}
		if l := (line{text: clean(string(chars[start:end]))}); l.text != "" && !p.measure(&l, chars, start, end) {
			lines = append(lines, l)
		}
		start = end
	}
	return lines, nil
}

// chars returns the characters of a page at their indexes. A hyphen at the end of a line is
// a hyphen, one that PDFium removed to join the lines is 0.
func (p *pageReader) chars() ([]rune, error) {
	counted, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: p.text})
	if err != nil || counted.Count <= 0 {
		return nil, err
	}
	if p.textBytes += counted.Count; p.textBytes > maxTextBytes {
		return nil, ErrTooLarge
	}
	chars := make([]rune, counted.Count)
	for i := range chars {
		found, err := p.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: p.text, Index: i})
		if err != nil {
			return nil, err
		}
		chars[i] = rune(found.Unicode)
		if i > 0 && utf16.IsSurrogate(chars[i-1]) { // PDFium gives some characters as two
			chars[i-1], chars[i] = 0, utf16.DecodeRune(chars[i-1], chars[i])
		}
		if i > 0 && (chars[i-1] == 0x02 || chars[i-1] == 0xfffe) {
			chars[i-1] = 0
			if unicode.IsSpace(chars[i]) {
				chars[i-1] = '-'
			}
		}
	}
	return chars, nil
}

// measure sets the size and position of a line from some of its characters, those from start
// up to end, and reports whether it is an artifact, such as a running title.
func (p *pageReader) measure(l *line, chars []rune, start, end int) (artifact bool) {
	visible := func(i int) bool { return unicode.IsGraphic(chars[i]) && !unicode.IsSpace(chars[i]) }
	first, last := start, end-1
	for first < last && !visible(first) {
		first++
	}
	for first < last && !visible(last) {
		last--
	}
	middle := first + (last-first)/2
	matrix, err := p.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: p.text, Index: first})
	if err != nil {
		return false
	}
	m := matrix.Matrix
	l.size = max(p.size(first), p.size(middle), p.size(last)) * math.Hypot(float64(m.C), float64(m.D))
	l.turned = math.Atan2(float64(m.B), float64(m.A))
	sin, cos := math.Sincos(l.turned)
	x, y := p.origin(first)
	l.along, l.across = x*cos+y*sin, y*cos-x*sin
	x, y = p.origin(last)
	l.end = x*cos + y*sin + l.size/2
	if slices.ContainsFunc(chars[first:last+1], isRightToLeft) {
		p.reorder(l, chars, start, end)
	}
	l.bold = p.isBold(first) && p.isBold(last)
	p.split(l, chars[start:last+1], start)
	wrong, err := p.FPDFText_HasUnicodeMapError(&requests.FPDFText_HasUnicodeMapError{TextPage: p.text, Index: middle})
	if err == nil && wrong.HasUnicodeMapError {
		p.unreadable += last - first + 1
	}
	return p.tagged && p.isArtifact(first)
}

// reorder sets the text of a line with words written from right to left, and its position from
// its leftmost to its rightmost character.
func (p *pageReader) reorder(l *line, chars []rune, start, end int) {
	sin, cos := math.Sincos(l.turned)
	var words [][]glyph
	var word []rune
	var at []float64
	l.along, l.end = math.Inf(1), math.Inf(-1)
	for i := start; i <= end; i++ {
		if i == end || unicode.IsSpace(chars[i]) {
			if len(word) > 0 {
				words = append(words, glyphs(word, at))
			}
			word, at = nil, nil
			continue
		}
		if clean(string(chars[i])) == "" {
			continue
		}
		x, y := p.origin(i)
		word, at = append(word, chars[i]), append(at, x*cos+y*sin)
		l.along, l.end = min(l.along, at[len(at)-1]), max(l.end, at[len(at)-1]+l.size/2)
	}
	slices.SortStableFunc(words, func(a, b []glyph) int { return cmp.Compare(a[0].at, b[0].at) })
	l.text = clean(logical(words))
}

// boldNames matches the names of bold fonts, with those of TeX.
var boldNames = regexp.MustCompile(`(?i)bold|black|heavy|demi|cmbx|sfbx|ecbx`)

// isBold reports whether the font of a character is bold.
func (p *pageReader) isBold(index int) bool {
	font, err := p.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: p.text, Index: index})
	return err == nil && boldNames.MatchString(font.FontName)
}

const (
	cellGap = 1.1 // a larger gap between two words, in font sizes, separates cells
	// sparse is the mean width of the characters of a line, in font sizes, below which its
	// gaps are not looked at.
	sparse = 0.47
)

// marker matches what begins a list item.
var marker = regexp.MustCompile(`^(?:[•◦▪‣●■○*–-]|[(]?[0-9]{1,3}[.)]|[(]?[a-zA-Z][.)]|[(]?[ivx]+[.)])$`)

// split finds the cells of a line whose words stand far apart. chars are its characters,
// the first with the index start.
func (p *pageReader) split(l *line, chars []rune, start int) {
	if l.turned != 0 || l.size == 0 || l.end-l.along < sparse*l.size*float64(len(chars)) {
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
		box, err := p.FPDFText_GetCharBox(&requests.FPDFText_GetCharBox{TextPage: p.text, Index: start + max(word-1, begun)})
		if err != nil {
			return
		}
		if next, _ := p.origin(start + i + 1); next > box.Right+cellGap*l.size {
			l.cells = append(l.cells, cell{clean(string(chars[begun:i])), from, box.Right})
			begun, from = i+1, next
		}
	}
	if len(l.cells) > 0 && !marker.MatchString(l.cells[0].text) {
		l.cells = append(l.cells, cell{clean(string(chars[begun:])), from, l.end})
	} else {
		l.cells = nil
	}
}

// isArtifact reports whether a character is marked as an artifact (ISO 32000-1, 14.8.2.2).
func (p *pageReader) isArtifact(index int) bool {
	found, err := p.FPDFText_GetTextObject(&requests.FPDFText_GetTextObject{TextPage: p.text, Index: index})
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
	font, err := p.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: p.text, Index: index})
	if err != nil {
		return 0
	}
	return font.FontSize
}

func (p *pageReader) origin(index int) (x, y float64) {
	found, err := p.FPDFText_GetCharOrigin(&requests.FPDFText_GetCharOrigin{TextPage: p.text, Index: index})
	if err != nil {
		return 0, 0
	}
	return found.X, found.Y
}
