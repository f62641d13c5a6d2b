package pdftext

import (
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// point is a place on a page.
type point struct{ x, y float64 }

// boundsOf returns the bounds of points.
func boundsOf(points []point) rect {
	if len(points) == 0 {
		return rect{}
	}
	b := rect{points[0].x, points[0].y, points[0].x, points[0].y}
	for _, p := range points[1:] {
		b = b.with(rect{p.x, p.y, p.x, p.y})
	}
	return b
}

// matrix moves a point to where it is drawn.
type matrix struct{ a, b, c, d, e, f float64 }

var unmoved = matrix{a: 1, d: 1}

func (m matrix) move(p point) point {
	return point{m.a*p.x + m.c*p.y + m.e, m.b*p.x + m.d*p.y + m.f}
}

// after returns the matrix that moves a point as m does and then as outer does.
func (m matrix) after(outer matrix) matrix {
	origin := outer.move(point{m.e, m.f})
	return matrix{
		outer.a*m.a + outer.c*m.b, outer.b*m.a + outer.d*m.b,
		outer.a*m.c + outer.c*m.d, outer.b*m.c + outer.d*m.d, origin.x, origin.y,
	}
}

// rect returns the bounds of a rectangle that is moved.
func (m matrix) rect(b rect) rect {
	if m == unmoved {
		return b
	}
	return boundsOf([]point{m.move(point{b.left, b.bottom}), m.move(point{b.left, b.top}), m.move(point{b.right, b.bottom}), m.move(point{b.right, b.top})})
}

// matrixOf returns the matrix of an object.
func (d *document) matrixOf(object references.FPDF_PAGEOBJECT) (matrix, error) {
	got, err := d.FPDFPageObj_GetMatrix(&requests.FPDFPageObj_GetMatrix{PageObject: object})
	if err != nil {
		return matrix{}, err
	}
	m := got.Matrix
	return matrix{float64(m.A), float64(m.B), float64(m.C), float64(m.D), float64(m.E), float64(m.F)}, nil
}
