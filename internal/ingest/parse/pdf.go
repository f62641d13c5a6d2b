package parse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Prepare compiles the reader of PDF files into the user's cache directory, unless it is there
// already. Files can be read without it: every process then compiles it.
func Prepare() error { return pdftext.Prepare() }

// CacheDirectory returns the directory below a user's cache directory that Prepare writes to.
func CacheDirectory(dir string) string { return pdftext.CacheDirectory(dir) }

// Locate returns where passages of the text of a PDF file stand on its pages. Errors: those of Parse.
func Locate(ctx context.Context, content []byte, passages []pdftext.Passage) ([]pdftext.Located, error) {
	found, err := pdftext.Locate(ctx, content, passages)
	return found, pdfError(ctx, err)
}

// Draw returns a picture of a page of a PDF file. Errors: those of Parse; Invalid for a page that the file does not
// have.
func Draw(ctx context.Context, content []byte, drawing pdftext.Drawing) (pdftext.Picture, error) {
	picture, err := pdftext.Draw(ctx, content, drawing)
	if errors.Is(err, pdftext.ErrNoPage) {
		return picture, fault.Field("page", "must be from 1 to %d, the number of pages of the file, got %d", picture.Pages, drawing.Page)
	}
	return picture, pdfError(ctx, err)
}

// pdfError returns what is wrong with a PDF file, nil for nil.
func pdfError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pdftext.ErrEncrypted):
		return encrypted(PDF)
	case errors.Is(err, pdftext.ErrTooLarge):
		return tooLarge(PDF, "its pages unpack to too much, or it has more than %d", pdftext.MaxPages)
	case err != nil && fault.KindOf(err) != fault.Unavailable:
		return broken(PDF, err)
	}
	return err
}

// pdf reads the text layer of a PDF file.
func (p *parser) pdf(ctx context.Context) error {
	file, err := pdftext.Read(ctx, p.src.Content, pdftext.Recognizer(p.src.Recognize))
	if err := pdfError(ctx, err); err != nil {
		return err
	}
	p.doc.Title = cmp.Or(ownTitle(file.Title, p.src.FileName), largestHeading(file.Pages))
	p.property("runningTitle", file.Running)
	p.property("author", file.Author)
	p.property("subject", file.Subject)
	p.property("keywords", file.Keywords)
	p.property("created", file.Created)
	p.property("modified", file.Modified)
	p.property("language", file.Language)
	p.doc.Pages = len(file.Pages)
	p.property("scannedPages", ranges(file.Scanned))
	p.property("recognizedPages", ranges(file.Recognized))
	p.doc.Scanned = file.Scanned
	isContents := false // the page before is
	for i, page := range file.Pages {
		var text string
		var start, end int
		text, start, end, isContents = contentsOf(strings.Trim(page, "\n"), isContents)
		if err := p.text.span(Span{Kind: Page, Number: i + 1, Name: file.Labels[i]}, func() error { p.text.block(text); return nil }); err != nil {
			return err
		}
		p.pageFigures(file.Figures, i+1, text)
		if at := p.text.Len() - len(text); isContents && !p.text.full {
			p.addContents(at+start, at+end)
		}
	}
	if p.text.Len() < file.Unreadable {
		return fault.Field("content", "is a PDF file whose fonts do not say what their characters mean: print it to a new PDF with text, or run character recognition over it")
	}
	if p.doc.Title == "" && TitleOf(markdownType, p.text.String()) == "" {
		p.doc.Title = file.Running // its words are in no page
	}
	var attached []Source
	for _, a := range file.Attachments {
		attached = append(attached, Source{Content: a.Content, FileName: a.Name})
	}
	return p.attachments(ctx, attached)
}

// pageFigures adds the figures of a page, whose text was written last.
func (p *parser) pageFigures(all []pdftext.Figure, page int, text string) {
	if p.text.full {
		return
	}
	at := p.text.Len() - len(text)
	for _, f := range all {
		if f.Page != page || len(p.doc.Figures) >= MaxFigures {
			continue
		}
		start := strings.Index(text, f.First)
		if start < 0 {
			continue // it is not in the text, as a running line
		}
		end := len(text)
		if next := strings.Index(text[start:], "\n\n"); next >= 0 {
			end = start + next
		}
		if last := strings.Index(text[start:end], f.Last); last >= 0 {
			end = start + last + len(f.Last)
		}
		if end-start <= maxCaption {
			p.doc.Figures = append(p.doc.Figures, Figure{Start: at + start, End: at + end, Captioned: true, Width: f.Width, Height: f.Height, Box: f.Box})
		}
	}
}

// largestHeading returns the heading of the highest level on the first page that has text, "" if that has
// none.
func largestHeading(pages []string) (title string) {
	highest := 0
	for _, page := range pages {
		if page == "" {
			continue
		}
		for h := range headings(page) {
			if highest == 0 || h.level < highest {
				title, highest = h.text, h.level
			}
		}
		break
	}
	return title
}

// ranges returns ascending numbers for people, such as 1-3, 7.
func ranges(numbers []int) string {
	var all []string
	for i := 0; i < len(numbers); i++ {
		first := numbers[i]
		for i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			i++
		}
		if first == numbers[i] {
			all = append(all, fmt.Sprint(first))
		} else {
			all = append(all, fmt.Sprintf("%d-%d", first, numbers[i]))
		}
	}
	return strings.Join(all, ", ")
}
