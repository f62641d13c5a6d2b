package pdftext

import (
	"context"
	"fmt"
	"strings"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// Recognizer returns the text in a picture, which may be "". Its error ends Read.
type Recognizer func(ctx context.Context, picture []byte, mediaType string) (string, error)

const (
	// minPicturePixels is the size from which on a picture may show a page of text: 100 dots per
	// inch on a page of A6.
	minPicturePixels = 400 * 550
	scanResolution   = 300 // dots per inch at which a page is drawn for character recognition
	maxScanPixels    = 40 << 20
	maxObjects       = 1000 // looked at for pictures, of one page
)

// scan reads the text of a page without a text layer, if that has large pictures: it draws
// the page and asks the recognizer.
func (d *document) scan(ctx context.Context, index int) error {
	loaded, err := d.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.file, Index: index})
	if err != nil {
		return err
	}
	defer func() { _, _ = d.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page}) }()
	page := requests.Page{ByReference: &loaded.Page}
	if !d.hasPicture(page) {
		return nil
	}
	d.scanned = append(d.scanned, index+1)
	if d.recognize == nil {
		return nil
	}
	picture, err := d.draw(page)
	if err != nil {
		return nil //nolint:nilerr // the page stays on the list of those that were not read
	}
	text, err := d.recognize(ctx, picture, "image/png")
	if err != nil {
		return fmt.Errorf("recognize page %d: %w", index+1, err)
	}
	if text = strings.TrimSpace(text); text != "" {
		d.scanned = d.scanned[:len(d.scanned)-1]
		d.recognized[index+1] = text
	}
	return nil
}

// draw returns a page as a PNG file in shades of grey.
func (d *document) draw(page requests.Page) ([]byte, error) {
	size, err := d.GetPageSize(&requests.GetPageSize{Page: page})
	if err != nil {
		return nil, err
	}
	resolution := scanResolution
	for resolution > 50 && size.Width/72*float64(resolution)*size.Height/72*float64(resolution) > maxScanPixels {
		resolution /= 2
	}
	drawn, err := d.RenderToFile(&requests.RenderToFile{
		RenderPageInDPI: &requests.RenderPageInDPI{Page: page, DPI: resolution, ImageFormat: requests.RenderImageFormatGrayscale},
		OutputFormat:    requests.RenderToFileOutputFormatPNG, OutputTarget: requests.RenderToFileOutputTargetBytes,
	})
	if err != nil {
		return nil, err
	}
	return *drawn.ImageBytes, nil
}

// hasPicture reports whether a page has a picture, or a form, which may have one.
func (d *document) hasPicture(page requests.Page) bool {
	counted, err := d.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return false
	}
	for i := range min(counted.Count, maxObjects) {
		got, err := d.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if err == nil && d.isPicture(got.PageObject) {
			return true
		}
	}
	return false
}

func (d *document) isPicture(object references.FPDF_PAGEOBJECT) bool {
	kind, err := d.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object})
	if err != nil || kind.Type != enums.FPDF_PAGEOBJ_IMAGE {
		return err == nil && kind.Type == enums.FPDF_PAGEOBJ_FORM
	}
	size, err := d.FPDFImageObj_GetImagePixelSize(&requests.FPDFImageObj_GetImagePixelSize{ImageObject: object})
	return err == nil && size.Width*size.Height >= minPicturePixels
}
