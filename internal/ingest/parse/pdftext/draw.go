package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"
)

// ErrNoPage means that the file does not have the page.
var ErrNoPage = errors.New("the file does not have this page")

// Limits of the picture of a page, in pixels.
const (
	MinWidth  = 16
	MaxWidth  = 2400
	MaxPixels = 8 << 20 // a page that is too high for its width gets a narrower picture
)

// Drawing says what to draw.
type Drawing struct {
	Page  int // from 1
	Width int // of the picture, in pixels, from MinWidth to MaxWidth
	// Marked are passages whose parts on the page are highlighted.
	Marked []Passage
}

// Picture is a picture of a page.
type Picture struct {
	PNG           []byte
	Width, Height int // in pixels
	Pages         int // of the file
}

// Draw draws a page of a file, with its annotations. Errors: those of Locate; ErrNoPage, with the number of pages in the
// picture.
func Draw(ctx context.Context, content []byte, drawing Drawing) (Picture, error) {
	var picture Picture
	err := with(ctx, content, func(d *document, count int) error {
		picture.Pages = count
		if drawing.Page < 1 || drawing.Page > count {
			return ErrNoPage
		}
		v := &viewed{document: d, count: count, pages: map[int]*sheet{}}
		defer v.close()
		var boxes []Box
		for _, p := range drawing.Marked {
			p.First, p.Last = drawing.Page, drawing.Page
			located, err := v.locate(ctx, p)
			if err != nil {
				return err
			}
			for _, areas := range located {
				for _, area := range areas {
					boxes = append(boxes, area.Boxes...)
				}
			}
		}
		return d.paint(drawing, boxes, &picture)
	})
	return picture, err
}

// paint draws a page and boxes on it.
func (d *document) paint(drawing Drawing, boxes []Box, picture *Picture) error {
	loaded, err := d.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.file, Index: drawing.Page - 1})
	if err != nil {
		return err
	}
	defer func() { _, _ = d.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page}) }()
	page := requests.Page{ByReference: &loaded.Page}
	size, err := d.GetPageSize(&requests.GetPageSize{Page: page})
	if err != nil {
		return err
	}
	width, height, err := fit(size.Width, size.Height, drawing.Width)
	if err != nil {
		return err
	}
	drawn, err := d.RenderPageInPixels(&requests.RenderPageInPixels{Page: page, Width: width, Height: height, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT})
	if err != nil {
		return err
	}
	defer drawn.Cleanup()
	canvas, ok := drawn.Result.RenderedImage.(*image.RGBA)
	if !ok {
		return fmt.Errorf("a page was drawn as %T", drawn.Result.RenderedImage)
	}
	scale := float64(canvas.Rect.Dx()) / size.Width
	for _, b := range boxes {
		mark(canvas, image.Rect(int(b.Left*scale), int(b.Top*scale), int(math.Ceil(b.Right*scale)), int(math.Ceil(b.Bottom*scale))))
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, canvas); err != nil {
		return fmt.Errorf("encode the picture: %w", err)
	}
	picture.PNG, picture.Width, picture.Height = out.Bytes(), canvas.Rect.Dx(), canvas.Rect.Dy()
	return nil
}

// fit returns the size in pixels of the picture of a page, whose size is given in points: as wide as asked, unless that
// makes more than MaxPixels.
func fit(width, height float64, asked int) (w, h int, err error) {
	if !(width > 0 && height > 0) || math.IsInf(width, 1) || math.IsInf(height, 1) {
		return 0, 0, fmt.Errorf("page of %g by %g points", width, height)
	}
	x := math.Min(float64(asked), math.Sqrt(MaxPixels*width/height))
	x = math.Max(1, math.Floor(x))
	y := math.Max(1, math.Round(x*height/width))
	if x*y > MaxPixels {
		return 0, 0, fmt.Errorf("page of %g by %g points", width, height)
	}
	return int(x), int(y), nil
}

// highlight is the color of what is marked: the share of red, green and blue that stays, of 255. Text in it stays black.
var highlight = [3]uint32{255, 226, 77}

// mark colors a rectangle of a picture as a marker on paper does.
func mark(canvas *image.RGBA, area image.Rectangle) {
	area = area.Intersect(canvas.Rect)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		row := canvas.Pix[canvas.PixOffset(area.Min.X, y):canvas.PixOffset(area.Max.X, y)]
		for i := 0; i+3 < len(row); i += 4 {
			for c, share := range highlight {
				row[i+c] = uint8(uint32(row[i+c]) * share / 255)
			}
		}
	}
}
