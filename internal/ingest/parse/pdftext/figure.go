package pdftext

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"

	"github.com/ragdhq/ragd/internal/ingest/parse/caption"
)

// Figure is a picture with a numbered caption.
type Figure struct {
	Page int // from 1
	// First and Last are the lines of the caption, the same if it has one.
	First, Last string
	Box         Box // of the picture, without its caption
	// Width and Height are those of the picture in pixels, 0 for one that is drawn of lines.
	Width, Height int
}

// Limits of the search for figures. Lengths are points.
const (
	maxFileObjects  = 200_000 // on pages with captions
	maxPagePictures = 200
	maxPageCaptions = 50
	maxCaptionLines = 15
	minFigureSide   = 24   // of a picture, which is 100 wide or high
	minFigureLength = 100  //
	minFigurePixels = 64   // wide and high
	maxPageShare    = 0.85 // of the area of a page; a larger picture is the page itself
	maxCaptionGap   = 72   // from a picture to its caption
	maxPanelGap     = 30   // between the pictures of one figure
	maxSideways     = 100  // from a picture in the middle of the page to a caption at its edge
	touching        = 2    // a gap between the pieces of one picture at most
)

// rect is a rectangle in the coordinates of a page's content.
type rect struct{ left, bottom, right, top float64 }

func (r rect) width() float64  { return r.right - r.left }
func (r rect) height() float64 { return r.top - r.bottom }

// with returns the rectangle around two.
func (r rect) with(o rect) rect {
	return rect{min(r.left, o.left), min(r.bottom, o.bottom), max(r.right, o.right), max(r.top, o.top)}
}

// apart returns the distance between two rectangles, 0 if they touch.
func (r rect) apart(o rect) float64 {
	return math.Hypot(max(0, r.left-o.right, o.left-r.right), max(0, r.bottom-o.top, o.bottom-r.top))
}

// across returns the share of the narrower of two rectangles that is above or below the other.
func (r rect) across(o rect) float64 {
	return max(0, min(r.right, o.right)-max(r.left, o.left)) / max(1, min(r.width(), o.width()))
}

// beside returns the share of the lower of two rectangles that is beside the other.
func (r rect) beside(o rect) float64 {
	return max(0, min(r.top, o.top)-max(r.bottom, o.bottom)) / max(1, min(r.height(), o.height()))
}

// captionLines are the lines of a caption: lines[first:after] of a page, or a cell of one.
type captionLines struct {
	rect
	first, after int
	cell         string // "" for whole lines
}

// texts returns the first and the last line.
func (c captionLines) texts(lines []line) (first, last string) {
	if c.cell != "" {
		return c.cell, c.cell
	}
	return lines[c.first].text, lines[c.after-1].text
}

// figures returns the figures of a page. A page without a caption is not looked at further, so that they cost most pages nothing.
func (p *pageReader) figures(page references.FPDF_PAGE, index int, lines []line) []Figure {
	captions := captionsOf(lines)
	if len(captions) == 0 {
		return nil
	}
	a, err := p.area(page)
	if err != nil {
		return nil
	}
	pictures, paths := p.picturesOf(page, a)
	of := pairFigures(captions, pictures, lines)
	var rest []captionLines // of drawings
	for n, c := range captions {
		if !slices.Contains(of, n+1) {
			rest = append(rest, c)
		}
	}
	return append(figuresOf(captions, pictures, of, lines, a, index), figuresOf(rest, paths, pairFigures(rest, paths, lines), lines, a, index)...)
}

// figuresOf returns the figures of captions and the pictures that have their numbers.
func figuresOf(captions []captionLines, pictures []pagePicture, of []int, lines []line, a area, index int) (found []Figure) {
	for n, c := range captions {
		var box rect
		var widest pagePicture
		for i, picture := range pictures {
			if of[i] != n+1 {
				continue
			}
			if widest.rect.width() == 0 {
				box = picture.rect
			}
			box = box.with(picture.rect)
			if picture.rect.width() > widest.rect.width() {
				widest = picture
			}
		}
		if widest.rect.width() > 0 {
			first, last := c.texts(lines)
			found = append(found, Figure{
				Page: index + 1, First: first, Last: last,
				Box: a.shown(box.left, box.bottom, box.right, box.top), Width: widest.width, Height: widest.height,
			})
		}
	}
	return found
}

// captionsOf returns the numbered captions of figures among the lines of a page.
func captionsOf(lines []line) (captions []captionLines) {
	for i := 0; i < len(lines) && len(captions) < maxPageCaptions; i++ {
		if lines[i].angle != 0 || !caption.IsFigure(lines[i].text) {
			continue
		}
		if cells := cellCaptions(lines[i], i); len(cells) > 1 {
			captions = append(captions, cells...)
			continue
		}
		c := captionLines{rect: rectOf(lines[i]), first: i, after: i + 1}
		for c.after < len(lines) && c.after-c.first < maxCaptionLines && continues(lines, c) {
			c.rect = c.with(rectOf(lines[c.after]))
			c.after++
		}
		captions = append(captions, c)
		i = c.after - 1
	}
	return captions
}

// cellCaptions returns the captions that stand beside each other in a line.
func cellCaptions(l line, number int) (captions []captionLines) {
	for _, c := range l.cells {
		if caption.IsFigure(c.text) {
			r := rectOf(l)
			r.left, r.right = c.from, c.to
			captions = append(captions, captionLines{rect: r, first: number, after: number + 1, cell: c.text})
		}
	}
	return captions
}

// continues reports whether the line after a caption is one of it: close below in the same size, where a line before has no room for
// its first word.
func continues(lines []line, c captionLines) bool {
	const wide, growth, sameSize, letter = 1.6, 1.15, 0.1, 0.45 // in font sizes
	last, next := lines[c.after-1], lines[c.after]
	gap := last.across - next.across
	if next.angle != 0 || gap <= 0 || gap > wide*last.size || math.Abs(next.size-last.size) > sameSize*last.size ||
		c.across(rectOf(next)) == 0 || caption.IsFigure(next.text) || caption.IsTable(next.text) {
		return false
	}
	if c.after-c.first > 1 && gap > growth*(lines[c.after-2].across-last.across) {
		return false
	}
	word, _, _ := strings.Cut(next.text, " ")
	return next.end-last.end <= letter*last.size*float64(1+utf8.RuneCountInString(word))
}

func rectOf(l line) rect {
	return rect{l.along, l.across - boxBelow*l.size, l.end, l.across + boxAbove*l.size}
}

// pagePicture is a picture of a page, a form, or a drawing.
type pagePicture struct {
	rect
	width, height int // in pixels, 0 for a form and a drawing
}

// picturesOf returns the pictures and forms of a page that are no decoration, and the drawings, which are paths. Those that touch
// are one.
func (p *pageReader) picturesOf(page references.FPDF_PAGE, a area) (pictures, paths []pagePicture) {
	counted, err := p.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: requests.Page{ByReference: &page}})
	if err != nil {
		return nil, nil
	}
	for i := range min(counted.Count, maxObjects) {
		if p.objects++; p.objects > maxFileObjects {
			break
		}
		got, err := p.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: requests.Page{ByReference: &page}, Index: i})
		if err != nil {
			continue
		}
		if len(pictures) < maxPagePictures {
			pictures = p.addPicture(pictures, got.PageObject, a)
		}
		if kind, err := p.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: got.PageObject}); err == nil && kind.Type == enums.FPDF_PAGEOBJ_PATH {
			if r, ok := p.bounds(got.PageObject); ok && !a.isWhole(r) {
				paths = append(paths, pagePicture{rect: r})
			}
		}
	}
	return a.withoutDecoration(joinedPieces(pictures)), a.withoutDecoration(joinedPieces(paths))
}

func (a area) withoutDecoration(pictures []pagePicture) []pagePicture {
	return slices.DeleteFunc(pictures, func(one pagePicture) bool {
		return one.rect.width() < minFigureSide || one.rect.height() < minFigureSide ||
			one.rect.width() < minFigureLength && one.rect.height() < minFigureLength ||
			one.width > 0 && (one.width < minFigurePixels || one.height < minFigurePixels) || a.isWhole(one.rect)
	})
}

// isWhole reports whether a rectangle is most of the page.
func (a area) isWhole(r rect) bool {
	return r.width()*r.height() > maxPageShare*(a.right-a.left)*(a.top-a.bottom)
}

// addPicture adds a picture or a form. Of a form that is the whole page it adds the pictures in it.
func (p *pageReader) addPicture(all []pagePicture, object references.FPDF_PAGEOBJECT, a area) []pagePicture {
	kind, err := p.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object})
	if err != nil || kind.Type != enums.FPDF_PAGEOBJ_IMAGE && kind.Type != enums.FPDF_PAGEOBJ_FORM {
		return all
	}
	r, ok := p.bounds(object)
	if !ok {
		return all
	}
	one := pagePicture{rect: r}
	if kind.Type == enums.FPDF_PAGEOBJ_FORM {
		if !a.isWhole(one.rect) {
			return append(all, one)
		}
		return p.addWithin(all, object)
	}
	if size, err := p.FPDFImageObj_GetImagePixelSize(&requests.FPDFImageObj_GetImagePixelSize{ImageObject: object}); err == nil {
		one.width, one.height = int(size.Width), int(size.Height)
	}
	return append(all, one)
}

// bounds returns the rectangle around an object of a page.
func (d *document) bounds(object references.FPDF_PAGEOBJECT) (r rect, ok bool) {
	b, err := d.FPDFPageObj_GetBounds(&requests.FPDFPageObj_GetBounds{PageObject: object})
	if err != nil {
		return rect{}, false
	}
	return rect{float64(b.Left), float64(b.Bottom), float64(b.Right), float64(b.Top)}, true
}

// addWithin adds the pictures in a form.
func (p *pageReader) addWithin(all []pagePicture, form references.FPDF_PAGEOBJECT) []pagePicture {
	m, err := p.matrixOf(form)
	if err != nil {
		return all
	}
	counted, err := p.FPDFFormObj_CountObjects(&requests.FPDFFormObj_CountObjects{PageObject: form})
	if err != nil {
		return all
	}
	for i := range min(counted.Count, maxObjects) {
		if p.objects++; p.objects > maxFileObjects {
			break
		}
		got, err := p.FPDFFormObj_GetObject(&requests.FPDFFormObj_GetObject{PageObject: form, Index: uint64(i)})
		if err != nil || len(all) >= maxPagePictures {
			continue
		}
		before := len(all)
		all = p.addPicture(all, got.PageObject, area{right: math.Inf(1), top: math.Inf(1)})
		if len(all) > before {
			all[before].rect = m.rect(all[before].rect)
		}
	}
	return all
}

// joinedPieces joins pictures that touch each other, as the strips do of which some programs make one.
func joinedPieces(all []pagePicture) []pagePicture {
	for i := 0; i < len(all); i++ {
		for k := i + 1; k < len(all); k++ {
			if all[i].apart(all[k].rect) > touching {
				continue
			}
			all[i].rect = all[i].with(all[k].rect)
			all[i].width, all[i].height = max(all[i].width, all[k].width), all[i].height+all[k].height
			all = slices.Delete(all, k, k+1)
			k = i // the larger picture may touch others
		}
	}
	return all
}

// pairFigures returns the number of the caption of each picture, from 1; 0 for none. The nearest go together first; pictures that are
// left over and close to one with a caption belong to that.
func pairFigures(captions []captionLines, pictures []pagePicture, lines []line) []int {
	type pair struct {
		caption, picture int
		distance         float64
	}
	var all []pair
	for n, c := range captions {
		for i, picture := range pictures {
			if d, ok := captionDistance(c, picture.rect, lines); ok {
				all = append(all, pair{n, i, d})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b pair) int { return cmp.Compare(a.distance, b.distance) })
	of, taken := make([]int, len(pictures)), make([]bool, len(captions))
	for _, one := range all {
		if of[one.picture] == 0 && !taken[one.caption] {
			of[one.picture], taken[one.caption] = one.caption+1, true
		}
	}
	for i := range pictures {
		for k := range pictures {
			if of[i] == 0 && of[k] > 0 && pictures[i].apart(pictures[k].rect) <= maxPanelGap && pictures[i].beside(pictures[k].rect) > 0 {
				of[i] = of[k]
			}
		}
	}
	return of
}

// captionDistance returns how far a caption is from a picture. Below is nearer than above, and that than beside; lines between them
// keep them apart.
func captionDistance(c captionLines, picture rect, lines []line) (distance float64, ok bool) {
	const share, reach, above, beside, between = 0.3, 6, 6, 20, 30
	sideways := max(0, c.left-picture.right, picture.left-c.right)
	switch {
	case c.beside(picture) >= share && sideways > 0:
		return beside + sideways, sideways <= maxPanelGap
	case sideways > maxSideways:
		return 0, false
	case c.top <= picture.bottom+reach:
		distance = max(0, picture.bottom-c.top)
	case c.bottom >= picture.top-reach:
		distance = above + max(0, c.bottom-picture.top)
	default:
		return 0, false
	}
	if c.across(picture) < share {
		distance += beside
	}
	if distance > maxCaptionGap {
		return 0, false
	}
	low, high := min(c.top, picture.top), max(c.bottom, picture.bottom)
	for i, l := range lines {
		if (i < c.first || i >= c.after) && l.angle == 0 && l.across > low && l.across < high && c.across(rectOf(l)) > 0 {
			distance += between
		}
	}
	return distance, distance <= maxCaptionGap
}
