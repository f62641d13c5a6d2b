package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Limits of looking at the pages of files. Sizes are bytes.
const (
	maxLocated      = 50       // passages of one answer
	maxLocatedBytes = 64 << 20 // of the files of one answer
	maxViewedBytes  = 64 << 20 // of a file whose page is drawn
	maxViewedAtOnce = 256 << 20
	defaultWidth    = 1000
	maxMarked       = 50       // highlights of a page
	maxMarkedBytes  = 64 << 10 // of text in them
	// besideMarked is how much text around a highlight helps to find it on the page, where the same words may be twice.
	besideMarked  = 400
	pictureBytes  = 64 << 20 // of the pictures in memory
	largestCached = 4 << 20
)

// Viewer looks at the pages of a tenant's PDF files, as parse.Locate and parse.Draw do.
type Viewer interface {
	Locate(ctx context.Context, tenant string, content []byte, passages []pdftext.Passage) ([]pdftext.Located, error)
	Draw(ctx context.Context, tenant string, content []byte, drawing pdftext.Drawing) (pdftext.Picture, error)
}

// viewHere is a Viewer that reads files in this process.
type viewHere struct{}

// Locate implements Viewer.
func (viewHere) Locate(ctx context.Context, _ string, content []byte, passages []pdftext.Passage) ([]pdftext.Located, error) {
	return parse.Locate(ctx, content, passages)
}

// Draw implements Viewer.
func (viewHere) Draw(ctx context.Context, _ string, content []byte, drawing pdftext.Drawing) (pdftext.Picture, error) {
	return parse.Draw(ctx, content, drawing)
}

// viewing is what a Service has for looking at pages.
type viewing struct {
	memory   *limit.Limiter[tenant.ID] // bytes of files whose pages are being looked at
	pictures *cache.Cache[pictureKey, pdftext.Picture]
}

func newViewing() viewing {
	return viewing{
		memory: limit.New[tenant.ID](maxViewedAtOnce, maxViewedAtOnce/2),
		pictures: cache.New(cache.Config[pictureKey, pdftext.Picture]{
			Bytes: pictureBytes, Weigh: func(k pictureKey, p pdftext.Picture) int { return len(k.tenant) + sha256.Size + len(p.PNG) },
		}),
	}
}

// pictureKey is all that a picture depends on.
type pictureKey struct {
	tenant tenant.ID
	drawn  [sha256.Size]byte // of the content and what is drawn of it
}

// Passage is a passage of a document that a caller has found.
type Passage struct {
	IndexName  string // as of the request
	DocumentID string
	pdftext.Passage
}

// Locate returns where passages stand on the pages of their PDF files: nil for a passage of another document, and for all
// beyond the limits. Warnings tell of those, and of files that cannot be read. Errors: those of the credential; that of ctx.
func (s *Service) Locate(ctx context.Context, passages []Passage) (located []pdftext.Located, warnings []string, err error) {
	type document struct{ index, id string }
	var order []document
	of := map[document][]int{}
	taken := 0
	for n, p := range passages {
		if p.DocumentID == "" || p.First < 1 {
			continue
		}
		if taken++; taken > maxLocated {
			warnings = append(warnings, fmt.Sprintf("only the first %d sources have boxes", maxLocated))
			break
		}
		d := document{p.IndexName, p.DocumentID}
		if of[d] == nil {
			order = append(order, d)
		}
		of[d] = append(of[d], n)
	}
	located = make([]pdftext.Located, len(passages))
	left := int64(maxLocatedBytes)
	for _, d := range order {
		err := s.onIndex(ctx, access.Read, d.index, func(t target) error {
			return s.locate(ctx, t, d.id, of[d], passages, &left, located)
		})
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("sources of the document %s have no boxes: %s", d.id, fault.Public(err)))
		}
	}
	return located, warnings, nil
}

// locate locates the passages with these numbers, of one document. It takes its size from what is left.
func (s *Service) locate(ctx context.Context, t target, id string, numbers []int, passages []Passage, left *int64, located []pdftext.Located) error {
	d, err := documentByRef(ctx, t.handle, t.index.ID, Ref{DocumentID: id}, t.visible)
	if err != nil || !hasPages(d) {
		return err
	}
	if d.ByteSize > *left {
		return fault.New(fault.Exhausted, "the files of an answer have at most %d bytes together", maxLocatedBytes)
	}
	*left -= d.ByteSize
	wanted := make([]pdftext.Passage, len(numbers))
	for i, n := range numbers {
		wanted[i] = passages[n].Passage
	}
	return s.withContent(ctx, t, d, func(content []byte) error {
		found, err := s.Viewer.Locate(ctx, string(t.tenant), content, wanted)
		if err != nil {
			return err
		}
		for i, n := range numbers {
			located[n] = found[i]
		}
		return nil
	})
}

// hasPages reports whether the document is a file whose pages can be looked at.
func hasPages(d Document) bool {
	format, _ := parse.FormatOf(d.ContentType)
	return format == parse.PDF
}

// withContent calls do with the content of a document, when there is memory for it.
func (s *Service) withContent(ctx context.Context, t target, d Document, do func(content []byte) error) error {
	if err := s.viewing.memory.AcquireN(ctx, t.tenant, d.ByteSize); err != nil {
		return err
	}
	defer s.viewing.memory.Release(t.tenant, d.ByteSize)
	content := make([]byte, 0, d.ByteSize)
	err := t.download(ctx, d, Range{End: d.ByteSize}, func(piece []byte) error {
		content = append(content, piece...)
		return nil
	})
	if err != nil {
		return err
	}
	return do(content)
}

// View says which page of a document to draw, and how.
type View struct {
	Page       int     // from 1; 0 for the first
	Width      int     // in pixels; 0 for the default
	Highlights []Range // of the text that was read from the document
}

// check fills in the defaults. Errors: Invalid.
func (v *View) check() error {
	if v.Page == 0 {
		v.Page = 1
	}
	if v.Width == 0 {
		v.Width = defaultWidth
	}
	if v.Width < pdftext.MinWidth || v.Width > pdftext.MaxWidth {
		return fault.Field("width", "must be from %d to %d pixels, got %d", pdftext.MinWidth, pdftext.MaxWidth, v.Width)
	}
	if v.Page < 0 || v.Page > pdftext.MaxPages {
		return fault.Field("page", "must be from 1 to the number of pages of the file, got %d", v.Page)
	}
	if len(v.Highlights) > maxMarked {
		return fault.Field("highlights", "may be at most %d, got %d", maxMarked, len(v.Highlights))
	}
	bytes := int64(0)
	for _, r := range v.Highlights {
		if r.End <= r.Start {
			return fault.Field("highlights", "endByte must be greater than startByte, got %d and %d", r.Start, r.End)
		}
		bytes += r.End - r.Start
	}
	if bytes > maxMarkedBytes {
		return fault.Field("highlights", "may have at most %d bytes of text together, got %d", maxMarkedBytes, bytes)
	}
	return nil
}

// RenderPage returns a picture of a page of a PDF file as PNG, with its highlights. Errors: NotFound, also for a document
// that the mandatory filter hides; Invalid for a page that the file does not have, and for a file that cannot be drawn within the
// limits of time and memory; Precondition for another document than a PDF file of up to 64 MiB.
func (s *Service) RenderPage(ctx context.Context, indexName string, ref Ref, view View) (picture pdftext.Picture, err error) {
	if err := view.check(); err != nil {
		return picture, err
	}
	err = s.onIndex(ctx, access.Read, indexName, func(t target) error {
		if err := ref.check(); err != nil {
			return err
		}
		d, err := documentByRef(ctx, t.handle, t.index.ID, ref, t.visible)
		switch {
		case err != nil:
			return err
		case !hasPages(d):
			return fault.New(fault.Precondition, "the document has no pages that can be drawn: it is %s, and only PDF files have; read its text with ReadDocument", d.ContentType)
		case d.ByteSize > maxViewedBytes:
			return fault.New(fault.Precondition, "the file has %d bytes: pages of files of at most %d bytes can be drawn; download it", d.ByteSize, maxViewedBytes)
		}
		picture, err = s.render(ctx, t, d, view)
		return err
	})
	return picture, err
}

func (s *Service) render(ctx context.Context, t target, d Document, view View) (pdftext.Picture, error) {
	drawing := pdftext.Drawing{Page: view.Page, Width: view.Width}
	for _, r := range view.Highlights {
		p, err := t.marked(ctx, d, r)
		if err != nil {
			return pdftext.Picture{}, err
		}
		drawing.Marked = append(drawing.Marked, p)
	}
	key := pictureKey{t.tenant, sumOf(d, drawing)}
	if picture, ok := s.viewing.pictures.Get(key); ok {
		return picture, nil
	}
	var picture pdftext.Picture
	err := s.withContent(ctx, t, d, func(content []byte) (err error) {
		picture, err = s.Viewer.Draw(ctx, string(t.tenant), content, drawing)
		return err
	})
	if err == nil && len(picture.PNG) <= largestCached {
		s.viewing.pictures.Put(key, picture)
	}
	return picture, err
}

// marked returns a range of the text of a document with the text around it.
func (t target) marked(ctx context.Context, d Document, r Range) (pdftext.Passage, error) {
	text, err := t.text(ctx, Ref{DocumentID: d.DocumentID, Namespace: d.Namespace}, Range{max(0, r.Start-besideMarked), r.End + besideMarked})
	if fault.KindOf(err) == fault.Invalid {
		err = fault.Field("highlights", "must be within the text of the document, got bytes %d to %d", r.Start, r.End)
	}
	if err != nil {
		return pdftext.Passage{}, err
	}
	part := pdftext.Part{Start: int(r.Start - text.Range.Start), End: int(min(r.End, text.Range.End) - text.Range.Start)}
	return pdftext.Passage{Text: text.Text, Parts: []pdftext.Part{part}}, nil
}

// sumOf returns a hash of a document's content and of what is drawn of it.
func sumOf(d Document, drawing pdftext.Drawing) [sha256.Size]byte {
	var all strings.Builder
	all.Write(d.ContentSHA256)
	number := func(n int) { all.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	number(drawing.Page)
	number(drawing.Width)
	for _, p := range drawing.Marked {
		number(len(p.Text))
		all.WriteString(p.Text)
		for _, part := range p.Parts {
			number(part.Start)
			number(part.End)
		}
	}
	return sha256.Sum256([]byte(all.String()))
}
