package pdftext

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

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

// pageReader reads the characters of a page. Their indexes are of two kinds: in the text
// that PDFium returns, and in its list of characters, which includes some without text.
type pageReader struct {
	*document
	text references.FPDF_TEXTPAGE
	same bool // both indexes are the same
}

func (p *pageReader) lines() ([]line, error) {
	counted, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: p.text})
	if err != nil || counted.Count <= 0 {
		return nil, err
	}
	if p.textBytes += counted.Count; p.textBytes > maxTextBytes {
		return nil, ErrTooLarge
	}
	got, err := p.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: p.text, Count: counted.Count})
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(got.Text, "\x00")
	p.same = utf8.RuneCountInString(text) == counted.Count
	var lines []line
	at := 0 // index in the text, in code points
	for part := range strings.SplitAfterSeq(text, "\n") {
		if l := (line{text: clean(part)}); l.text != "" && !p.measure(&l, part, at) {
			lines = append(lines, l)
		}
		at += utf8.RuneCountInString(part)
	}
	return lines, nil
}

// measure sets the size and position of a line from some of its characters, and reports
// whether the line is an artifact, such as a running title. raw is its text as PDFium
// returns it, which begins at the index start.
func (p *pageReader) measure(l *line, raw string, start int) (artifact bool) {
	var at []int // indexes of visible characters
	i := start
	for _, r := range raw {
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			at = append(at, i)
		}
		i++
	}
	if len(at) == 0 {
		return false
	}
	first, last := p.index(at[0]), p.index(at[len(at)-1])
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
	wrong, err := p.FPDFText_HasUnicodeMapError(&requests.FPDFText_HasUnicodeMapError{TextPage: p.text, Index: middle})
	if err == nil && wrong.HasUnicodeMapError {
		p.unreadable += len(at)
	}
	return p.tagged && p.isArtifact(first)
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

// index returns the index in the list of characters of one in the text.
func (p *pageReader) index(inText int) int {
	if p.same {
		return inText
	}
	found, err := p.FPDFText_GetCharIndexFromTextIndex(&requests.FPDFText_GetCharIndexFromTextIndex{TextPage: p.text, NTextIndex: inText})
	if err != nil {
		return 0
	}
	return max(found.CharIndex, 0)
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
