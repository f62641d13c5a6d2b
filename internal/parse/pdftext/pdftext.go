// Package pdftext reads the text layer of PDF files. It interprets the content streams
// of the pages, joins the text by its position to lines, and joins lines to paragraphs
// and headings. A Recognizer reads the pictures of pages without text.
//
// The package pdfcpu reads the file itself: cross references and their repair, object
// streams, filters, decryption. Read sets its limits.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/filter"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"

	"github.com/ragdhq/ragd/internal/textlimit"
)

// Errors for a caller to distinguish. Any other error means that the file is broken.
var (
	ErrEncrypted = errors.New("the file needs a password")
	ErrTooLarge  = errors.New("the file is larger inside than it may be")
)

// Limits of one file.
const (
	MaxPages        = 20_000
	maxStreamBytes  = 32 << 20  // of one stream, decoded
	maxContentBytes = 128 << 20 // of page contents interpreted, forms counted each time they are drawn
	maxTextBytes    = 64 << 20
)

// File is the text and the metadata of a PDF file.
type File struct {
	Title, Author, Subject, Keywords, Created string // from the file's metadata, "" if missing
	// Pages are the texts of the pages in order, as Markdown: paragraphs separated by
	// blank lines, headings marked by #. A page without text is "".
	Pages []string
	// Recognized are the numbers of pages whose text was read from pictures, Scanned those of
	// further pages without text that have large pictures. In order.
	Recognized, Scanned []int
	// Unreadable is the number of characters that the fonts of the file do not map to
	// text.
	Unreadable int
}

// withoutFolder stops pdfcpu from using a settings folder. It runs once.
var withoutFolder = sync.OnceFunc(api.DisableConfigDir)

// Read reads a PDF file. A broken page is left out. It returns an error if no page can
// be read. Pictures of pages without text are read by recognize, unless it is nil.
func Read(ctx context.Context, content []byte, recognize Recognizer) (File, error) {
	withoutFolder()
	conf := model.NewDefaultConfiguration()
	conf.ValidationMode = model.ValidationRelaxed
	conf.Offline = true
	conf.Limits.MaxStreamBytes = int64(len(content))
	conf.Limits.MaxDecodeBytes = maxStreamBytes
	conf.Limits.MaxObjectCount = 2_000_000
	conf.Limits.MaxXRefEntries = 2_000_000
	pdf, err := pdfcpu.ReadWithContext(ctx, bytes.NewReader(content), conf)
	if err == nil {
		err = pdf.EnsurePageCount()
	}
	switch {
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		return File{}, ErrEncrypted
	case errors.Is(err, filter.ErrDecodeLimitExceeded):
		return File{}, ErrTooLarge
	case err != nil:
		return File{}, err
	case pdf.PageCount > MaxPages:
		return File{}, ErrTooLarge
	}
	r := &reader{pdf: pdf, fonts: map[string]*font{}, recognize: recognize, recognized: map[int]string{}}
	pages, err := r.pages(ctx)
	if err != nil {
		return File{}, err
	}
	f := File{Pages: r.layout(pages), Scanned: r.scanned, Recognized: slices.Sorted(maps.Keys(r.recognized)), Unreadable: r.unreadable}
	for number, text := range r.recognized {
		f.Pages[number-1] = text
	}
	f.describe(pdf)
	return f, nil
}

// reader holds the state that the pages of a file share.
type reader struct {
	pdf         *model.Context
	fonts       map[string]*font // by object number, or by address for one without a number
	interpreted int              // bytes of content
	textBytes   int
	unreadable  int
	recognize   Recognizer
	recognized  map[int]string // by page
	scanned     []int
}

func (r *reader) pages(ctx context.Context) ([][]line, error) {
	var pages [][]line
	var broken error
	readable := 0
	for number := 1; number <= r.pdf.PageCount; number++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lines, pictures, err := r.page(number)
		if err == nil && len(lines) == 0 && len(pictures) > 0 {
			if err := r.scan(ctx, number, pictures); err != nil {
				return nil, err
			}
		}
		switch {
		case errors.Is(err, ErrTooLarge) || errors.Is(err, filter.ErrDecodeLimitExceeded):
			return nil, ErrTooLarge
		case err != nil:
			broken = fmt.Errorf("page %d: %w", number, err)
		default:
			readable++
		}
		pages = append(pages, lines)
	}
	if readable == 0 && broken != nil {
		return nil, broken
	}
	return pages, nil
}

// page returns the lines of a page, and of one without lines its pictures.
func (r *reader) page(number int) ([]line, []*types.StreamDict, error) {
	dict, _, inherited, err := r.pdf.PageDict(number, false)
	if err != nil {
		return nil, nil, err
	}
	if dict == nil {
		return nil, nil, errors.New("is not there")
	}
	content, err := r.content(dict["Contents"])
	if err != nil {
		return nil, nil, err
	}
	resources := r.dict(dict["Resources"])
	if resources == nil && inherited != nil {
		resources = inherited.Resources
	}
	in := &interpreter{reader: r}
	err = in.run(content, resources, identity, 0)
	lines := in.lines.finish()
	if len(lines) > 0 {
		return lines, nil, err
	}
	return nil, r.pictures(resources, 0), err
}

// content returns the content stream of a page, joined if it consists of several
// streams. Corrupt streams among several are left out.
func (r *reader) content(o types.Object) ([]byte, error) {
	parts, several := r.object(o).(types.Array)
	if !several {
		return r.stream(o)
	}
	var all []byte
	for _, part := range parts {
		data, err := r.stream(part)
		if errors.Is(err, filter.ErrDecodeLimitExceeded) || len(all)+len(data) > maxStreamBytes {
			return nil, ErrTooLarge
		}
		all = append(append(all, data...), '\n')
	}
	return all, nil
}

// describe fills in the metadata of the file.
func (f *File) describe(pdf *model.Context) {
	if pdf.Info == nil {
		return
	}
	info, err := pdf.DereferenceDict(*pdf.Info)
	if err != nil || info == nil {
		return
	}
	text := func(key string) string {
		s, err := pdf.DereferenceText(info[key])
		if err != nil {
			return ""
		}
		return textlimit.OneLine(s, len(s))
	}
	f.Title, f.Author, f.Subject, f.Keywords = text("Title"), text("Author"), text("Subject"), text("Keywords")
	if created, ok := types.DateTime(text("CreationDate"), true); ok {
		f.Created = created.Format("2006-01-02T15:04:05Z07:00")
	}
}

// The following methods resolve a value of an expected type. They return nil, "" or 0 for
// a value of another type.

func (r *reader) object(o types.Object) types.Object {
	if o == nil {
		return nil
	}
	found, err := r.pdf.Dereference(o)
	if err != nil {
		return nil
	}
	return found
}

func (r *reader) dict(o types.Object) types.Dict {
	switch o := r.object(o).(type) {
	case types.Dict:
		return o
	case types.StreamDict:
		return o.Dict
	}
	return nil
}

func (r *reader) array(o types.Object) types.Array {
	a, _ := r.object(o).(types.Array)
	return a
}

func (r *reader) name(o types.Object) string {
	n, _ := r.object(o).(types.Name)
	return string(n)
}

func (r *reader) number(o types.Object) float64 {
	switch o := r.object(o).(type) {
	case types.Integer:
		return float64(o)
	case types.Float:
		return float64(o)
	}
	return 0
}

// stream returns the decoded bytes of a stream, nil if there are none.
func (r *reader) stream(o types.Object) ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	found, _, err := r.pdf.DereferenceStreamDict(o)
	if err != nil || found == nil {
		return nil, err
	}
	if err := found.DecodeWithLimit(maxStreamBytes); err != nil {
		return nil, err
	}
	return found.Content, nil
}
