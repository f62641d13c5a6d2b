package parse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Width and height in points of the pages of pdfOf, as they are stored.
const (
	testWidth  = 500
	testHeight = 700
)

// pdfOf returns a PDF file of one page that is shown turned clockwise by some degrees. content is drawn as the page is seen, in the
// fonts /F1 and /F2. What stands before endOfForm is drawn by "/X1 Do", in a form within a form, twice as large and 10 points to the right and 20 up.
func pdfOf(turned int, content string) []byte {
	upright := map[int]string{
		0: "", 90: fmt.Sprintf("0 1 -1 0 %d 0 cm\n", testWidth), 180: fmt.Sprintf("-1 0 0 -1 %d %d cm\n", testWidth, testHeight), 270: fmt.Sprintf("0 -1 1 0 0 %d cm\n", testHeight),
	}
	inForm, content, _ := strings.Cut(content, endOfForm)
	if content == "" {
		inForm, content = "", inForm
	}
	content = upright[turned] + content
	var out bytes.Buffer
	var offsets []int
	out.WriteString("%PDF-1.7\n")
	for i, object := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Rotate %d /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /X1 6 0 R >> >> >>", testWidth, testHeight, turned),
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [-%[1]d -%[1]d %[1]d %[1]d] /Matrix [2 0 0 2 10 0] /Resources << /XObject << /X2 7 0 R >> >> /Length %[2]d >>\nstream\nq 1 0 0 1 0 10 cm /X2 Do Q\nendstream", testHeight, 26),
		fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [-%[1]d -%[1]d %[1]d %[1]d] /Length %[2]d >>\nstream\n%[3]s\nendstream", testHeight, len(inForm), inForm),
	} {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return out.Bytes()
}

const endOfForm = "\nendOfForm\n"

// at draws a text whose baseline begins at a place.
func at(x, y int, text string) string {
	return fmt.Sprintf("BT /F1 10 Tf %d %d Td (%s) Tj ET\n", x, y, text)
}

// segment is a line of a table, along one axis.
type segment struct{ x1, y1, x2, y2 float64 }

// linesDrawn are ways in which programs draw the lines of a table.
var linesDrawn = map[string]func(lines []segment) string{
	"lines": func(lines []segment) string {
		return each(lines, func(s segment) string { return fmt.Sprintf("%g %g m %g %g l S\n", s.x1, s.y1, s.x2, s.y2) })
	},
	"one path of lines": func(lines []segment) string {
		return each(lines, func(s segment) string { return fmt.Sprintf("%g %g m %g %g l\n", s.x1, s.y1, s.x2, s.y2) }) + "S\n"
	},
	"filled rectangles": func(lines []segment) string {
		return each(lines, func(s segment) string { return thin(s) + " f\n" })
	},
	"one path of filled rectangles": func(lines []segment) string { return each(lines, thin) + "f\n" },
	"a path in a matrix": func(lines []segment) string {
		return "q 2 0 0 2 10 20 cm\n" + each(lines, func(s segment) string {
			return fmt.Sprintf("%g %g m %g %g l\n", s.x1/2-5, s.y1/2-10, s.x2/2-5, s.y2/2-10)
		}) + "S Q\n"
	},
	"lines in a form": func(lines []segment) string {
		return "0.5 w\n" + each(lines, func(s segment) string {
			return fmt.Sprintf("%g %g m %g %g l S\n", s.x1/2-5, s.y1/2-10, s.x2/2-5, s.y2/2-10)
		}) + endOfForm + "/X1 Do\n"
	},
	"one path in a form in a matrix": func(lines []segment) string {
		return each(lines, func(s segment) string {
			return fmt.Sprintf("%g %g m %g %g l\n", s.x1-5, s.y1-10, s.x2-5, s.y2-10)
		}) + "S\n" + endOfForm + "q 0.5 0 0 0.5 0 0 cm /X1 Do Q\n"
	},
}

func each(lines []segment, draw func(segment) string) string {
	var out strings.Builder
	for _, s := range lines {
		out.WriteString(draw(s))
	}
	return out.String()
}

// thin returns the rectangle of a line that is one point wide.
func thin(s segment) string {
	return fmt.Sprintf("%g %g %g %g re\n", s.x1-0.5, s.y1-0.5, s.x2-s.x1+1, s.y2-s.y1+1)
}

func TestTablesOfPDFFilesByTheirLines(t *testing.T) {
	t.Parallel()
	// The first cell of the head is over two rows and its second over two columns; a cell of the body is over two rows.
	lines := []segment{
		{40, 500, 400, 500}, {120, 480, 400, 480}, {40, 460, 400, 460}, {40, 420, 400, 420}, {40, 380, 400, 380}, {120, 340, 400, 340}, {40, 300, 400, 300},
		{40, 300, 40, 500}, {120, 300, 120, 500}, {260, 300, 260, 480}, {400, 300, 400, 500},
	}
	text := at(40, 550, "The berths of the outer harbour are as follows.") +
		at(45, 476, "Berth") + at(225, 486, "What it takes") + at(125, 466, "Depth") + at(265, 466, "Length") +
		at(45, 436, "North") + at(125, 446, "Eleven metres, and") + at(125, 430, "nine at low water") + at(265, 436, "Two hundred metres") +
		at(45, 396, "South") + at(125, 396, "Seven metres") + at(265, 406, "Ninety metres, or a") + at(265, 390, "hundred in summer") +
		at(45, 336, "Fish") + at(125, 356, "Four metres") + at(265, 356, "Forty metres") + at(125, 316, "Two metres") + at(265, 326, "Twenty metres, for") + at(265, 310, "boats alone") +
		at(40, 250, "All depths are those of the chart.")
	const want = "The berths of the outer harbour are as follows.\n\n" +
		"| Berth | What it takes |  |\n| --- | --- | --- |\n|  | Depth | Length |\n" +
		"| North | Eleven metres, and nine at low water | Two hundred metres |\n| South | Seven metres | Ninety metres, or a hundred in summer |\n" +
		"| Fish | Four metres | Forty metres |\n|  | Two metres | Twenty metres, for boats alone |\n\nAll depths are those of the chart."
	for name, draw := range linesDrawn {
		for _, turned := range []int{0, 90, 180, 270} {
			t.Run(fmt.Sprintf("%s turned by %d", name, turned), func(t *testing.T) {
				t.Parallel()
				d, err := Parse(t.Context(), Source{Content: pdfOf(turned, draw(lines)+text), FileName: "table.pdf"})
				if err != nil || d.Text != want {
					t.Errorf("%v, %s", err, d.Text)
				}
			})
		}
	}
}
