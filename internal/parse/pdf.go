package parse

import (
	"context"
	"errors"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/parse/pdftext"
)

// pdf reads the text layer of a PDF file.
func (p *parser) pdf(ctx context.Context) error {
	file, err := pdftext.Read(ctx, p.src.Content)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pdftext.ErrEncrypted):
		return encrypted(p.format)
	case errors.Is(err, pdftext.ErrTooLarge):
		return tooLarge(p.format, "its pages unpack to too much, or it has more than %d", pdftext.MaxPages)
	case err != nil:
		return broken(p.format, err)
	}
	p.doc.Title = file.Title
	p.property("author", file.Author)
	p.property("subject", file.Subject)
	p.property("keywords", file.Keywords)
	p.property("created", file.Created)
	for i, page := range file.Pages {
		if err := p.text.span(Span{Kind: Page, Number: i + 1}, func() error { p.text.block(page); return nil }); err != nil {
			return err
		}
	}
	if p.text.Len() < file.Unreadable {
		return fault.Field("content", "is a PDF file whose fonts do not say what their characters mean: print it to a new PDF with text, or run character recognition over it")
	}
	return nil
}
