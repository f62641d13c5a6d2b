package pdftext

import (
	"math"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// Box is a rectangle on a page, in points from the top left corner of the page as it is shown: turned as the file says,
// and cut to its crop box.
type Box struct{ Left, Top, Right, Bottom float64 }

// area is what is shown of a page, in the coordinates of its content, and how often it is turned by 90 degrees
// clockwise.
type area struct {
	left, bottom, right, top float64
	turns                    int
}

// area returns what is shown of a page.
func (d *document) area(page references.FPDF_PAGE) (area, error) {
	by := requests.Page{ByReference: &page}
	found, err := d.FPDF_GetPageBoundingBox(&requests.FPDF_GetPageBoundingBox{Page: by})
	if err != nil {
		return area{}, err
	}
	turned, err := d.FPDFPage_GetRotation(&requests.FPDFPage_GetRotation{Page: by})
	if err != nil {
		return area{}, err
	}
	r := found.Rect
	return area{
		left: float64(min(r.Left, r.Right)), right: float64(max(r.Left, r.Right)),
		bottom: float64(min(r.Bottom, r.Top)), top: float64(max(r.Bottom, r.Top)), turns: int(turned.PageRotation) % 4,
	}, nil
}

// size returns the width and height of the page as it is shown, in points.
func (a area) size() (width, height float64) {
	width, height = a.right-a.left, a.top-a.bottom
	if a.turns%2 == 1 {
		width, height = height, width
	}
	return width, height
}

// shown returns a rectangle of the content as it is shown, within the page.
func (a area) shown(left, bottom, right, top float64) Box {
	var b Box
	switch a.turns {
	case 1:
		b = Box{bottom - a.bottom, left - a.left, top - a.bottom, right - a.left}
	case 2:
		b = Box{a.right - right, bottom - a.bottom, a.right - left, top - a.bottom}
	case 3:
		b = Box{a.top - top, a.right - right, a.top - bottom, a.right - left}
	default:
		b = Box{left - a.left, a.top - top, right - a.left, a.top - bottom}
	}
	width, height := a.size()
	within := func(v, most float64) float64 { return math.Round(min(max(v, 0), most)*100) / 100 }
	return Box{within(b.Left, width), within(b.Top, height), within(b.Right, width), within(b.Bottom, height)}
}

// The least height of the box of a line: from below to above its baseline, in font sizes.
const (
	boxBelow = 0.2
	boxAbove = 0.75
)

// box returns the rectangle around characters of a line. It is upright on the page: that of slanted text also has what is
// beside it. ok is false if no character has an extent.
func (p *pageReader) box(a area, l *line, numbers []int) (b Box, ok bool) {
	p.sin, p.cos = math.Sincos(l.angle)
	along, across := newInterval(), newInterval()
	for _, i := range numbers {
		if !p.visible(i) {
			continue
		}
		ink, err := p.FPDFText_GetCharBox(&requests.FPDFText_GetCharBox{TextPage: p.text, Index: p.at(i)})
		if err != nil {
			continue
		}
		for _, corner := range [][2]float64{{ink.Left, ink.Bottom}, {ink.Left, ink.Top}, {ink.Right, ink.Bottom}, {ink.Right, ink.Top}} {
			along.add(corner[0]*p.cos + corner[1]*p.sin)
			across.add(corner[1]*p.cos - corner[0]*p.sin)
		}
		from, base := p.origin(i)
		along.add(from)
		size := p.size(i) * l.scale
		across.add(base - boxBelow*size)
		across.add(base + boxAbove*size)
	}
	if along.from > along.to {
		return Box{}, false
	}
	x, y := newInterval(), newInterval()
	for _, s := range []float64{along.from, along.to} {
		for _, t := range []float64{across.from, across.to} {
			x.add(s*p.cos - t*p.sin)
			y.add(s*p.sin + t*p.cos)
		}
	}
	b = a.shown(x.from, y.from, x.to, y.to)
	return b, b.Left < b.Right && b.Top < b.Bottom
}

// interval is a range of positions, empty where from is greater than to.
type interval struct{ from, to float64 }

func newInterval() interval { return interval{math.Inf(1), math.Inf(-1)} }

// add widens the interval to a position.
func (i *interval) add(at float64) { i.from, i.to = min(i.from, at), max(i.to, at) }
