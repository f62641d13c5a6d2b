package pdftext

import (
	"context"
	"errors"
	"slices"
	"unicode"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Passage is a part of the text that was read from a file, of which parts are located.
type Passage struct {
	Text string
	// First and Last are the numbers of the pages that it is from, from 1.
	First, Last int
	// Parts are ranges of Text.
	Parts []Part
}

// Part is the range of bytes [Start, End) of a text.
type Part struct{ Start, End int }

// Area is where a part of a text stands on one page: Boxes has one for each line or cell, in the order of the page.
type Area struct {
	Page          int     // from 1
	Width, Height float64 // of the page as it is shown, in points
	Boxes         []Box
}

// Located are the areas of the parts of a passage, by page, for each part. A part that is not on the pages, such as one that
// was read from a picture, has none.
type Located [][]Area

// maxLocatedPages bounds the pages of one passage that are looked at.
const maxLocatedPages = 50

// Locate returns where passages of the text of a file stand on its pages. It reads these pages again and finds the
// letters of each passage on them, so it works for texts that were read by an earlier version. Errors: ErrEncrypted, ErrTooLarge; of kind
// Unavailable if PDFium cannot be started; that of ctx when it ends; any other means that the file is broken.
func Locate(ctx context.Context, content []byte, passages []Passage) ([]Located, error) {
	var found []Located
	err := with(ctx, content, func(d *document, count int) error {
		v := &viewed{document: d, count: count, pages: map[int]*sheet{}}
		defer v.close()
		for _, p := range passages {
			located, err := v.locate(ctx, p)
			if err != nil {
				return err
			}
			found = append(found, located)
		}
		return nil
	})
	return found, err
}

// with opens a file, calls do with its number of pages, and closes the file.
func with(ctx context.Context, content []byte, do func(d *document, count int) error) error {
	pool, err := engine()
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "the reader of PDF files cannot be started")
	}
	instance, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "the reader of PDF files cannot be started")
	}
	d := &document{Pdfium: instance}
	defer func() { _ = d.Close() }() // with its memory
	count, err := d.open(content)
	if err != nil {
		return err
	}
	return do(d, count)
}

// viewed are the pages of a file that were looked at.
type viewed struct {
	*document
	count int
	pages map[int]*sheet // by number
}

// sheet is a page with its letters.
type sheet struct {
	reader  *pageReader
	page    references.FPDF_PAGE
	area    area
	lines   []line
	letters []letter // at is the number of a character of the page
	lineOf  []int    // of each letter
}

func (v *viewed) close() {
	for _, s := range v.pages {
		if s != nil {
			s.close()
		}
	}
}

func (s *sheet) close() {
	_, _ = s.reader.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: s.reader.text})
	_, _ = s.reader.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: s.page})
}

// sheet returns a page, nil if it is broken or does not exist.
func (v *viewed) sheet(number int) (*sheet, error) {
	if number < 1 || number > v.count {
		return nil, nil
	}
	if s, ok := v.pages[number]; ok {
		return s, nil
	}
	s, err := v.load(number)
	if errors.Is(err, ErrTooLarge) {
		return nil, err
	}
	v.pages[number] = s
	return s, nil
}

func (v *viewed) load(number int) (*sheet, error) {
	loaded, err := v.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: v.file, Index: number - 1})
	if err != nil {
		return nil, err
	}
	opened, err := v.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &loaded.Page}})
	if err != nil {
		_, _ = v.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
		return nil, err
	}
	s := &sheet{reader: &pageReader{document: v.document, text: opened.TextPage}, page: loaded.Page}
	if s.area, err = v.area(loaded.Page); err == nil {
		s.lines, err = s.reader.lines()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	for n, l := range s.lines {
		if l.glyphs == nil {
			for i := l.start; i <= l.last; i++ {
				s.add(n, i, s.reader.chars[i])
			}
			continue
		}
		for _, g := range l.glyphs {
			for _, r := range g.text {
				s.add(n, g.number, r)
			}
		}
	}
	return s, nil
}

// add adds a character of a line to the letters of the page.
func (s *sheet) add(line, number int, r rune) {
	for _, f := range folded(r) {
		s.letters, s.lineOf = append(s.letters, letter{f, number}), append(s.lineOf, line)
	}
}

// locate returns the areas of the parts of a passage.
func (v *viewed) locate(ctx context.Context, p Passage) (Located, error) {
	var sheets []*sheet
	var numbers, starts []int
	var page []letter
	for number := p.First; number <= min(p.Last, p.First+maxLocatedPages-1); number++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := v.sheet(number)
		if err != nil {
			return nil, err
		}
		if s != nil {
			sheets, numbers, starts = append(sheets, s), append(numbers, number), append(starts, len(page))
			page = append(page, s.letters...)
		}
	}
	text := lettersIn(p.Text)
	at := align(text, page)
	found := make(Located, len(p.Parts))
	for n, part := range p.Parts {
		var matched []int
		for i, l := range text {
			if at[i] >= 0 && l.at >= part.Start && l.at < part.End {
				matched = append(matched, at[i])
			}
		}
		slices.Sort(matched)
		for k, s := range sheets {
			first, _ := slices.BinarySearch(matched, starts[k])
			last, _ := slices.BinarySearch(matched, starts[k]+len(s.letters))
			if boxes := s.boxes(matched[first:last], starts[k]); len(boxes) > 0 {
				width, height := s.area.size()
				found[n] = append(found[n], Area{numbers[k], width, height, boxes})
			}
		}
	}
	return found, nil
}

// maxSkipped is how many letters of a line may be between two of a part for both to be in one box.
const maxSkipped = 3

// boxes returns the boxes of letters of the page, which are ascending positions less start: one for each run of them in a line.
func (s *sheet) boxes(matched []int, start int) (found []Box) {
	for from := 0; from < len(matched); {
		to := from + 1
		first := matched[from] - start
		for to < len(matched) && s.lineOf[matched[to]-start] == s.lineOf[first] && matched[to]-matched[to-1] <= maxSkipped+1 {
			to++
		}
		l := &s.lines[s.lineOf[first]]
		if box, ok := s.reader.box(s.area, l, s.characters(l, first, matched[to-1]-start)); ok {
			found = append(found, box)
		}
		from = to
	}
	return found
}

// characters returns the characters of the letters from first to last, which are in one line, with the punctuation right
// before and after them.
func (s *sheet) characters(l *line, first, last int) (numbers []int) {
	for _, letter := range s.letters[first : last+1] {
		numbers = append(numbers, letter.at)
	}
	if l.glyphs != nil {
		return numbers
	}
	isMark := func(i int) bool {
		r := s.reader.chars[i]
		return s.reader.visible(i) && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}
	for from := numbers[0]; from > l.start && isMark(from-1); from-- {
		numbers = append(numbers, from-1)
	}
	for to := s.letters[last].at; to < l.last && isMark(to+1); to++ {
		numbers = append(numbers, to+1)
	}
	return numbers
}
