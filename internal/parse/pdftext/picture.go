package pdftext

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// Recognizer returns the text in a picture, which may be "". Its error ends Read.
type Recognizer func(ctx context.Context, picture []byte, mediaType string) (string, error)

const (
	// minPicturePixels is the size from which on a picture may show a page of text: 100 dots per
	// inch on a page of A6.
	minPicturePixels = 400 * 550
	maxPictures      = 32 // of one page
	maxPictureBytes  = 64 << 20
)

// pictures returns the pictures of a page without text that may show one, in the order of
// their names, with those of its forms.
func (r *reader) pictures(resources types.Dict, depth int) (found []*types.StreamDict) {
	objects := r.dict(resources["XObject"])
	for _, name := range sortedKeys(objects) {
		stream, _, err := r.pdf.DereferenceStreamDict(objects[name])
		if err != nil || stream == nil {
			continue
		}
		switch r.name(stream.Dict["Subtype"]) {
		case "Image":
			if r.number(stream.Dict["Width"])*r.number(stream.Dict["Height"]) >= minPicturePixels {
				found = append(found, stream)
			}
		case "Form":
			if depth < maxFormDepth {
				found = append(found, r.pictures(r.dict(stream.Dict["Resources"]), depth+1)...)
			}
		}
		if len(found) >= maxPictures {
			return found[:maxPictures]
		}
	}
	return found
}

func sortedKeys(d types.Dict) []string {
	keys := make([]string, 0, len(d))
	for key := range d {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// scan reads the text in the pictures of a page without a text layer.
func (r *reader) scan(ctx context.Context, number int, pictures []*types.StreamDict) error {
	r.scanned = append(r.scanned, number)
	if r.recognize == nil {
		return nil
	}
	var texts []string
	for _, picture := range pictures {
		content, mediaType, err := r.picture(picture)
		if err != nil {
			continue // damaged, or of a kind that the library does not know
		}
		text, err := r.recognize(ctx, content, mediaType)
		if err != nil {
			return fmt.Errorf("recognize page %d: %w", number, err)
		}
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	r.scanned = r.scanned[:len(r.scanned)-1]
	r.recognized[number] = strings.Join(texts, "\n\n")
	return nil
}

// picture returns a picture as a file.
func (r *reader) picture(stream *types.StreamDict) (content []byte, mediaType string, err error) {
	defer func() {
		if p := recover(); p != nil { // the library trusts the widths and depths that a picture states
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	found, err := pdfcpu.ExtractImage(r.pdf, stream, false, "", 0, false)
	if err != nil {
		return nil, "", err
	}
	if found == nil || found.Reader == nil {
		return nil, "", ErrTooLarge
	}
	content, err = io.ReadAll(io.LimitReader(found, maxPictureBytes+1))
	if err == nil && len(content) > maxPictureBytes {
		err = ErrTooLarge
	}
	mediaTypes := map[string]string{"jpg": "image/jpeg", "png": "image/png", "tif": "image/tiff", "jpx": "image/jp2"}
	return content, mediaTypes[found.FileType], err
}
