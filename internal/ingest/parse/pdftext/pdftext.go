// Package pdftext reads the text layer of PDF files. It joins the text of a page to
// paragraphs, headings and tables by its position and font size. A Recognizer reads
// pages that are pictures.
//
// PDFium reads the file itself: its structure and repair, decryption, fonts and
// encodings, the order of the characters. It runs as WebAssembly, without access to the
// system, in an instance for each file, which bounds its memory. Its time is not bounded:
// only the end of the process stops it within a page.
package pdftext

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Errors for a caller to distinguish. Any other error means that the file is broken.
var (
	ErrEncrypted = errors.New("the file needs a password")
	ErrTooLarge  = errors.New("the file is larger inside than it may be")
)

// Limits of one file.
const (
	MaxPages     = 20_000
	maxTextBytes = 64 << 20
)

// File is the text and the metadata of a PDF file.
type File struct {
	// From the file's metadata, "" if missing.
	Title, Author, Subject, Keywords, Created, Modified, Language string
	// Pages are the texts of the pages in order, as Markdown: paragraphs separated by
	// blank lines, headings marked by #, tables. A page without text is "".
	Pages []string
	// Running is the title that stands at the edge of most pages and is left out of their texts, "" if there
	// is none.
	Running string
	// Labels are the numbers that the pages bear, such as iv, "" where that is the number of the page in
	// the file.
	Labels []string
	// Recognized are the numbers of pages whose text was read from pictures, Scanned those of
	// further pages without text that have large pictures. In order.
	Recognized, Scanned []int
	// Figures are the pictures with numbered captions, in the order of pages.
	Figures []Figure
	// Attachments are the files within the file.
	Attachments []Attachment
	// Unreadable is an estimate of the number of characters that the fonts of the file do
	// not map to text.
	Unreadable int
}

// Read reads a PDF file. A broken page is left out. It returns an error if no page can
// be read, and one of kind Unavailable if PDFium cannot be started. Pages without text that
// have large pictures are read by recognize, unless it is nil.
func Read(ctx context.Context, content []byte, recognize Recognizer) (File, error) {
	var f File
	err := with(ctx, content, func(d *document, count int) (err error) {
		d.recognize, d.recognized = recognize, map[int]string{}
		f, err = d.read(ctx, count)
		return err
	})
	return f, err
}

// document is an open PDF file.
type document struct {
	pdfium.Pdfium
	file       references.FPDF_DOCUMENT
	tagged     bool // marks what is an artifact
	recognize  Recognizer
	recognized map[int]string // by page
	scanned    []int
	textBytes  int
	linked     int // links looked at
	found      []Figure
	objects    int // looked at for pictures
	unreadable int
}

// open opens a file and returns the number of its pages.
func (d *document) open(content []byte) (pages int, err error) {
	opened, err := d.OpenDocument(&requests.OpenDocument{File: &content})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword) || errors.Is(err, pdfiumerrors.ErrSecurity):
		return 0, ErrEncrypted
	case err != nil:
		return 0, err
	}
	d.file = opened.Document
	if tagged, err := d.FPDFCatalog_IsTagged(&requests.FPDFCatalog_IsTagged{Document: d.file}); err == nil {
		d.tagged = tagged.IsTagged
	}
	counted, err := d.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: d.file})
	switch {
	case err != nil:
		return 0, err
	case counted.PageCount == 0:
		return 0, errors.New("it has no pages")
	case counted.PageCount > MaxPages:
		return 0, ErrTooLarge
	}
	return counted.PageCount, nil
}

func (d *document) read(ctx context.Context, count int) (File, error) {
	pages, err := d.pages(ctx, count)
	if err != nil {
		return File{}, err
	}
	labels := d.labels(count)
	texts, running := layout(pages, labels)
	f := File{Pages: texts, Running: running, Labels: labels, Scanned: d.scanned, Unreadable: d.unreadable, Figures: d.found}
	if d.hasForm() {
		for i := range f.Pages {
			f.Pages[i] = strings.Trim(f.Pages[i]+"\n\n"+d.values(i), "\n")
		}
	}
	f.Attachments = d.attachments()
	for number := range f.Pages {
		if text, ok := d.recognized[number+1]; ok {
			f.Pages[number] = text
			f.Recognized = append(f.Recognized, number+1)
		}
	}
	d.describe(&f)
	return f, ctx.Err()
}

func (d *document) pages(ctx context.Context, count int) ([][]line, error) {
	pages, outline := make([][]line, count), d.outline()
	var broken error
	readable := 0
	for i := range count {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		pages[i], err = d.page(i)
		outline.mark(i, pages[i])
		if err == nil && len(pages[i]) == 0 {
			err = d.scan(ctx, i)
		}
		switch {
		case errors.Is(err, ErrTooLarge) || fault.KindOf(err) == fault.Unavailable:
			return nil, err
		case err != nil:
			broken = fmt.Errorf("page %d: %w", i+1, err)
		default:
			readable++
		}
	}
	if readable == 0 && broken != nil {
		return nil, broken
	}
	return pages, nil
}

// maxLabel bounds the label of a page, in bytes.
const maxLabel = 64

// labels returns the label of each page that differs from its number, "" for the others.
func (d *document) labels(count int) []string {
	labels := make([]string, count)
	for i := range count {
		found, err := d.FPDF_GetPageLabel(&requests.FPDF_GetPageLabel{Document: d.file, Page: i})
		if err != nil {
			continue
		}
		if label := clean(found.Label); label != strconv.Itoa(i+1) && len(label) <= maxLabel {
			labels[i] = label
		}
	}
	return labels
}

// describe fills in the metadata of the file.
func (d *document) describe(f *File) {
	info, err := d.GetMetaData(&requests.GetMetaData{Document: d.file})
	if err != nil {
		return
	}
	for _, tag := range info.Tags {
		value := textlimit.OneLine(strings.TrimRight(tag.Value, "\x00"), len(tag.Value))
		switch tag.Tag {
		case "Title":
			f.Title = value
		case "Author":
			f.Author = value
		case "Subject":
			f.Subject = value
		case "Keywords":
			f.Keywords = value
		case "CreationDate":
			f.Created = date(value)
		case "ModDate":
			f.Modified = date(value)
		}
	}
	if found, err := d.FPDFCatalog_GetLanguage(&requests.FPDFCatalog_GetLanguage{Document: d.file}); err == nil {
		f.Language = clean(found.Language)
	}
}

var datePattern = regexp.MustCompile(`^(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([-+])(\d\d)'?(\d\d)?)?`)

// date returns a date of the form D:YYYYMMDDHHmmSSOHH'mm' (ISO 32000-1, 7.9.4) as RFC 3339,
// or "" for another text. What is missing is the beginning of the year, month or day.
func date(text string) string {
	m := datePattern.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	parts := []string{"0001", "01", "01", "00", "00", "00", "+", "00", "00"}
	for i := range parts {
		if m[i+1] != "" {
			parts[i] = m[i+1]
		}
	}
	zone := parts[6] + parts[7] + ":" + parts[8]
	t, err := time.Parse(time.RFC3339, parts[0]+"-"+parts[1]+"-"+parts[2]+"T"+parts[3]+":"+parts[4]+":"+parts[5]+zone)
	if err != nil {
		return ""
	}
	if zone == "+00:00" {
		t = t.UTC()
	}
	return t.Format(time.RFC3339)
}
