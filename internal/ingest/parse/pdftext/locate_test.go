package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// pier is a page with two columns of text, whose lines PDFium joins, and a table below. Its words stand at known places.
const pier = "BT /F 10 Tf 12 TL " +
	"1 0 0 1 100 700 Tm (The keeper opens the upper gate at nine,) Tj T* (and the lower one as soon as the lock) Tj T* (is empty. Nobody may pass before that.) Tj T* (Dogs wait ashore.) Tj " +
	"1 0 0 1 330 700 Tm (Fees are due on the day of arrival. A) Tj T* (boat that stays for a week pays for six) Tj T* (days only. Winter berths are let by the) Tj T* (month, and paid in advance.) Tj " +
	"1 0 0 1 100 500 Tm (Berth) Tj 1 0 0 1 200 500 Tm (Depth) Tj 1 0 0 1 300 500 Tm (Crane) Tj " +
	"1 0 0 1 100 486 Tm (North) Tj 1 0 0 1 200 486 Tm (4 m) Tj 1 0 0 1 300 486 Tm (none) Tj " +
	"1 0 0 1 100 472 Tm (South) Tj 1 0 0 1 200 472 Tm (4 m) Tj 1 0 0 1 300 472 Tm (none) Tj ET"

// partOf returns the range of words in a text.
func partOf(t *testing.T, text, words string) Part {
	t.Helper()
	start := strings.Index(text, words)
	if start < 0 {
		t.Fatalf("%q is not in %q", words, text)
	}
	return Part{start, start + len(words)}
}

// pagesOf returns the text of the pages of a file.
func pagesOf(t *testing.T, content []byte) []string {
	t.Helper()
	f, err := Read(t.Context(), content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.Pages
}

func TestPassagesStandInTheirBoxes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		page          string
		width, height float64
		shown         func(x, y float64) (left, top float64)
	}{
		"upright":    {"", 595, 842, func(x, y float64) (float64, float64) { return x, 842 - y }},
		"cut":        {"/CropBox [80 400 560 800]", 480, 400, func(x, y float64) (float64, float64) { return x - 80, 800 - y }},
		"clockwise":  {"/Rotate 90", 842, 595, func(x, y float64) (float64, float64) { return y, x }},
		"head down":  {"/Rotate 180", 595, 842, func(x, y float64) (float64, float64) { return 595 - x, y }},
		"turned cut": {"/Rotate 270 /CropBox [80 400 560 800]", 400, 480, func(x, y float64) (float64, float64) { return 800 - y, 560 - x }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := pdfOf([]byte(pier), []byte(test.page))
			text := pagesOf(t, content)[0]
			sentence, row := partOf(t, text, "Nobody may pass before that."), partOf(t, text, text[strings.LastIndex(text, "\n")+1:])
			located, err := Locate(t.Context(), content, []Passage{{Text: text, First: 1, Last: 1, Parts: []Part{{0, len(text)}, sentence, row}}})
			if err != nil {
				t.Fatal(err)
			}
			within := func(part int, x, y float64) bool {
				left, top := test.shown(x, y)
				return slices.ContainsFunc(located[0][part][0].Boxes, func(b Box) bool { return left > b.Left && left < b.Right && top > b.Top && top < b.Bottom })
			}
			if area := located[0][0][0]; area.Page != 1 || area.Width != test.width || area.Height != test.height {
				t.Errorf("page %d is %g by %g", area.Page, area.Width, area.Height)
			}
			for _, at := range []struct {
				part int
				x, y float64
				want bool
			}{
				{0, 110, 703, true}, {0, 340, 691, true}, {0, 305, 489, true}, {0, 110, 600, false}, // the text as a whole, and the gap in it
				{1, 160, 679, true}, {1, 108, 679, false}, {1, 350, 679, false}, {1, 160, 691, false}, {1, 160, 667, false}, // the sentence, before it, beside it, above and below it
				{2, 110, 475, true}, {2, 205, 475, true}, {2, 305, 475, true}, {2, 110, 489, false}, // the row, and the one above
			} {
				if got := within(at.part, at.x, at.y); got != at.want {
					t.Errorf("part %d is at %g, %g: %v; its boxes are %v", at.part, at.x, at.y, got, located[0][at.part])
				}
			}
		})
	}
}

func TestTurnedTextHasBoxes(t *testing.T) {
	t.Parallel()
	content := pdfOf([]byte("BT /F 12 Tf 0 1 -1 0 300 200 Tm (Beware of the tide) Tj 1 0 0 1 72 700 Tm (Level text below it) Tj ET"), nil)
	located, err := Locate(t.Context(), content, []Passage{{Text: "Beware of the tide", First: 1, Last: 1, Parts: []Part{{0, 18}}}})
	if err != nil || len(located[0][0]) != 1 || len(located[0][0][0].Boxes) != 1 {
		t.Fatalf("%v, %v", located, err)
	}
	b := located[0][0][0].Boxes[0]
	if b.Left < 285 || b.Right > 305 || b.Bottom < 635 || b.Bottom > 645 || b.Bottom-b.Top < 80 {
		t.Errorf("a line that is written upwards at 300, 642 is at %v", b)
	}
}

// The texts of the test files, whatever made them, are found on the pages that they were read from.
func TestTextsOfFilesAreLocated(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"files/handbook.pdf", "pdf/arabic.pdf", "pdf/columns.pdf", "pdf/notice-groff.pdf", "pdf/notice-libreoffice.pdf", "pdf/rows.pdf", "pdf/turned.pdf", "pdf/type3.pdf"} {
		content, err := os.ReadFile("../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for n, text := range pagesOf(t, content) {
			letters := lettersIn(text)
			if len(letters) == 0 {
				continue
			}
			found := 0
			err := with(t.Context(), content, func(d *document, count int) error {
				v := &viewed{document: d, count: count, pages: map[int]*sheet{}}
				defer v.close()
				s, err := v.sheet(n + 1)
				if err != nil || s == nil {
					return fmt.Errorf("page %d: %w", n+1, err)
				}
				for _, at := range align(letters, s.letters) {
					if at >= 0 {
						found++
					}
				}
				return nil
			})
			if share := float64(found) / float64(len(letters)); err != nil || share < 0.9 {
				t.Errorf("%s: %.3f of the letters of page %d are on it: %v", name, share, n+1, err)
			}
		}
	}
}

func TestPassagesThatAreNotOnThePage(t *testing.T) {
	t.Parallel()
	content := pdfOf([]byte(pier), nil)
	passages := []Passage{
		{Text: "Ein ganz anderer Text", First: 1, Last: 1, Parts: []Part{{0, 21}}},
		{Text: "The keeper opens", First: 2, Last: 3, Parts: []Part{{0, 16}}},
		{Text: "The keeper opens", First: 0, Last: 1_000_000_000, Parts: []Part{{0, 16}, {40, 90}, {9, 3}}},
		{Text: "", First: 1, Last: 1, Parts: []Part{{0, 5}}},
	}
	located, err := Locate(t.Context(), content, passages)
	if err != nil {
		t.Fatal(err)
	}
	for n, parts := range located {
		for k, areas := range parts {
			if want := n == 2 && k == 0; (len(areas) > 0) != want {
				t.Errorf("part %d of passage %d is at %v", k, n, areas)
			}
		}
	}
	if _, err := Locate(t.Context(), []byte("%PDF-1.7\n"), passages); err == nil {
		t.Error("a broken file has boxes")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Locate(ctx, content, passages); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestPiecesAreAlignedInAnyOrder(t *testing.T) {
	t.Parallel()
	page := lettersIn("upper gate opens | fees are due today lower gate follows | winter berths are let row one of two row one of two")
	for text, want := range map[string]string{
		"upper gate opens\nlower gate follows":                                  "upper gate opens lower gate follows",
		"fees are due [today](https://example.org/a/long/index)\nwinter berths": "fees are due today winter berths",
		"| row | one of two |\n| row | one of two |":                            "row one of two row one of two",
		"Lower‐gate‐follows":                                                    "lower gate follows",
		"gaté FOLLOWS":                                                          "gate follows",
		"nothing of this":                                                       "",
	} {
		at := align(lettersIn(text), page)
		var got []rune
		last, ascending := -1, true
		for _, n := range at {
			if n >= 0 {
				got = append(got, page[n].r)
				ascending = ascending && n > last
				last = n
			}
		}
		if string(got) != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%q is found as %q", text, string(got))
		}
		if strings.HasPrefix(text, "|") && !ascending {
			t.Errorf("rows that are the same are found at %v", at)
		}
	}
}

// For any two texts, letters are aligned with the same letters, each once.
func FuzzAlign(f *testing.F) {
	f.Add("the tide turns at nine", "at nine the tide turns")
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaabaaaaaaaaaaaaaaaaaa")
	f.Add("ﬁrst ½ ß Å 東京", "first 12 ss a 東京")
	f.Fuzz(func(t *testing.T, text, page string) {
		a, b := lettersIn(text), lettersIn(page)
		seen := map[int]bool{}
		at := align(a, b)
		for i, n := range at {
			if n < 0 {
				continue
			}
			if seen[n] || a[i].r != b[n].r {
				t.Errorf("letter %d is aligned with %d", i, n)
			}
			seen[n] = true
		}
		if len(at) != len(a) {
			t.Errorf("%d letters of %d", len(at), len(a))
		}
	})
}

func TestPagesAreDrawnWithHighlights(t *testing.T) {
	t.Parallel()
	content := pdfOf([]byte(pier), nil)
	text := pagesOf(t, content)[0]
	picture, err := Draw(t.Context(), content, Drawing{Page: 1, Width: 595, Marked: []Passage{{Text: text, Parts: []Part{partOf(t, text, "Nobody may pass before that.")}}}})
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := png.Decode(bytes.NewReader(picture.PNG))
	if err != nil || drawn.Bounds() != image.Rect(0, 0, 595, 842) || picture.Width != 595 || picture.Height != 842 || picture.Pages != 1 {
		t.Fatalf("picture of %v, %d by %d of %d pages: %v", drawn.Bounds(), picture.Width, picture.Height, picture.Pages, err)
	}
	marked, inked := 0, 0
	for y := range 842 {
		for x := range 595 {
			r, _, b, _ := drawn.At(x, y).RGBA()
			if r > 0xf000 && b < 0x6000 {
				marked++
				if x < 140 || x > 300 || y < 150 || y > 175 {
					t.Fatalf("%d, %d is marked", x, y)
				}
			}
			if r < 0x8000 {
				inked++
			}
		}
	}
	if marked < 300 || inked < 300 {
		t.Errorf("%d pixels are marked, %d have ink", marked, inked)
	}
}

func TestPagesThatCannotBeDrawn(t *testing.T) {
	t.Parallel()
	content := pdfOf([]byte(pier), nil)
	for _, number := range []int{-1, 0, 2, math.MaxInt32} {
		if picture, err := Draw(t.Context(), content, Drawing{Page: number, Width: 100}); !errors.Is(err, ErrNoPage) || picture.Pages != 1 {
			t.Errorf("page %d of %d: %v", number, picture.Pages, err)
		}
	}
	// Pages as large as files can say, and larger, take no more memory than others.
	for _, box := range []string{"[0 0 1000000 1000000]", "[0 0 1 14400]", "[0 0 14400 1]", "[0 0 3e38 3e38]", "[0 0 0 0]", "[0 0 1e-9 9]", "[-1e9 -1e9 1e9 1e9]"} {
		picture, err := Draw(t.Context(), pdfOf([]byte(pier), []byte("/MediaBox "+box+" /CropBox "+box)), Drawing{Page: 1, Width: MaxWidth})
		if err == nil && (picture.Width*picture.Height > MaxPixels || picture.Width > MaxWidth || picture.Width < 1 || picture.Height < 1) {
			t.Errorf("a page of %s is drawn with %d by %d pixels", box, picture.Width, picture.Height)
		}
	}
}

func TestPicturesFitTheirLimits(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]float64{{595, 842}, {1, 1}, {1e6, 1}, {1, 1e6}, {1e-6, 1e6}, {14400, 14400}} {
		for _, width := range []int{MinWidth, 1000, MaxWidth} {
			w, h, err := fit(size[0], size[1], width)
			if err == nil && (w < 1 || h < 1 || w > width || w*h > MaxPixels) {
				t.Errorf("a page of %v, %d wide, is %d by %d", size, width, w, h)
			}
		}
	}
	if w, h, err := fit(595, 842, MaxWidth); err != nil || w != 2400 || h != 3396 {
		t.Errorf("A4 is %d by %d: %v", w, h, err)
	}
	for _, size := range [][2]float64{{0, 1}, {1, 0}, {-1, 1}, {math.NaN(), 1}, {math.Inf(1), 1}, {1, math.Inf(1)}} {
		if _, _, err := fit(size[0], size[1], 1000); err == nil {
			t.Errorf("a page of %v can be drawn", size)
		}
	}
}
