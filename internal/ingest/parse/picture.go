package parse

import (
	"bytes"
	"context"
	"net/http"
	"strings"
)

// PictureType returns the media type of binary content by its beginning.
func PictureType(content []byte) string {
	if bytes.HasPrefix(content, []byte("II*\x00")) || bytes.HasPrefix(content, []byte("MM\x00*")) {
		return "image/tiff"
	}
	return http.DetectContentType(content)
}

// picture reads the text in a picture.
func (p *parser) picture(ctx context.Context) error {
	if p.src.Recognize == nil {
		p.doc.Scanned = []int{1}
		return nil
	}
	text, err := p.src.Recognize(ctx, p.src.Content, PictureType(p.src.Content))
	if err != nil {
		return err
	}
	p.text.block(strings.ReplaceAll(storable(text), "\f", "\n\n")) // between the pages of a TIFF file
	return nil
}
