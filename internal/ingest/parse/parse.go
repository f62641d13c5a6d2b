// Package parse turns files into text: Markdown where the format has structure, the
// source itself where it is text already. Spans of the text record the pages, slides,
// sheets, sections and members of archives that it came from.
//
//	doc, err := parse.Parse(ctx, parse.Source{Content: content, FileName: "plan.docx"})
//
// Detect finds the format of a file by its content. The name and the declared content
// type only decide between text formats.
//
// Parse does no I/O, keeps no state and is safe for concurrent use. Limits bound its
// memory and time, but third-party parsers may still crash or loop: read files of
// callers in a process of their own, see package subprocess.
//
// An error caused by the file is a fault of kind Invalid on the field content. It says
// what to do.
package parse

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/chunk/frontmatter"
	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits of one file. Sizes are bytes.
const (
	MaxText     = 64 << 20  // of the text of a file
	maxUnpacked = 256 << 20 // of all data unpacked from a file
	maxMember   = 32 << 20  // of one member of an archive or a package
	maxMembers  = 10_000    // of an archive
	maxNesting  = 2         // archives in archives, attachments in attachments
)

// Source is a file.
type Source struct {
	Content []byte
	// ContentType is the declared media type, "" if there is none.
	ContentType string
	// Modified is when the file was changed, zero if that is not known; Parse does not use it.
	Modified time.Time
	// FileName is a name, path or URL, "" if there is none.
	FileName string
	// Hidden means that the text has also what is not shown: comments of Markdown, HTML and LaTeX, front matter, hidden and deleted text, hidden sheets,
	// rows, columns and slides.
	Hidden bool
	// Pictures means that pictures are files that can be read, by Recognize.
	Pictures bool
	// Recognize reads the text in a picture or a picture of a page; nil leaves these unread.
	Recognize Recognizer
	// Recordings is the size in bytes of the largest recording that can be read; 0 means that none can.
	Recordings int64
	// Transcripts are those of the recordings in the file, by RecordingKey. Others are returned in Document.Unheard.
	Transcripts map[string]Transcript
	// Convert converts files of Office before 2007; nil rejects them.
	Convert Converter
}

// Recognizer returns the text in a picture, which may be "". Its error ends Parse.
type Recognizer func(ctx context.Context, picture []byte, mediaType string) (string, error)

// Document is the text of a file and its metadata.
type Document struct {
	// Format is the detected format, of a compressed file that of what it holds.
	Format Format
	// ContentType is the media type of Text: text/markdown, or the type of the source if
	// Text is the source.
	ContentType string
	// Title is the title in the document's metadata unless a generator wrote it, else its first heading, else the
	// readable name of the file, or "".
	Title string
	// Text is valid UTF-8 without null characters. It is never blank, but "" if the file is a picture or consists
	// of Scanned pages, or has nothing but Unheard recordings.
	Text string
	// Body is the position in Text where the text begins that is searched: after the front
	// matter of a Markdown file, else 0.
	Body int
	// FrontMatter is the front matter of a Markdown file as a JSON object, nil if there is
	// none.
	FrontMatter []byte
	// Spans record which pages, sections and so on the text comes from, in order of
	// Start. Spans of one kind do not overlap.
	Spans []Span
	// Units are where the functions, types and the like of source code begin, with the
	// comments above them, in order. Those at the outermost level have the depth 1.
	Units []Unit
	// Tables are the rows of CSV files and spreadsheets whose columns have names, in order.
	Tables []Table
	// Grids are the tables with typed values, in order: of CSV files, of sheets and of texts in Markdown, but not those within
	// members of an archive or attachments.
	Grids []grid.Table
	// Figures are the pictures that have captions or alternative texts, in the order of those. Those of attachments and of
	// members of an archive are among them.
	Figures []Figure
	// Pages is the number of pages or slides as the file says, 0 if it does not.
	Pages int
	// Properties are the metadata of the file: author, subject, keywords, description, created and modified
	// (ISO 8601), modifiedBy, language; programmingLanguage; columns of a table; hiddenSlides, their
	// numbers, and hiddenSheets, their names; runningTitle; formulasWithoutResults, their number; frontMatterError, why something that looks like
	// front matter belongs to the text; for a message from, to, cc, date, messageId and inReplyTo,
	// ids without their brackets. Nil if there are none.
	Properties map[string]string
	// References are the ids of the messages above a message in its thread, the oldest
	// first.
	References []string
	// Scanned are the numbers of pages that are pictures and could not be read, in order, of the file or a member of it; 1 for
	// a picture.
	Scanned []int
	// Unheard are the recordings in the file, or the file itself, that have no transcript yet. Parse the file again with
	// Transcripts.
	Unheard [][]byte
	// Skipped are the members of an archive and the attachments of a message that
	// could not be read, with the reason. Nil if there are none.
	Skipped []string
}

// Converter returns the content of a file with the ending .doc, .xls or .ppt as that of a .docx, .xlsx
// or .pptx file. Its error ends Parse; one that is not a fault or that of ctx means that the file is broken.
type Converter func(ctx context.Context, content []byte, ending string) ([]byte, error)

// Unit is where a piece of source code begins.
type Unit struct{ Start, Depth int }

// Table are the rows Text[Start:End] of a table, a line for each, whose cells are "name: value", joined by "; ".
type Table struct {
	Start, End int
	Columns    []string // names, "" for a column without one
}

// Kind is the kind of a span.
type Kind string

// The kinds of spans. Sheets, sections and members have names, the others numbers.
const (
	Page    Kind = "page"
	Slide   Kind = "slide"
	Sheet   Kind = "sheet"
	Row     Kind = "row"     // of a sheet, with the columns that the text is from
	Line    Kind = "line"    // of a text file
	Cell    Kind = "cell"    // of a notebook
	Time    Kind = "time"    // of a recording, in milliseconds from its start
	Section Kind = "section" // the headings above, joined by SectionSeparator
	Member  Kind = "file"    // of an archive, or an attachment
	// Contents is a table of contents within a document, which says its headings once more.
	Contents Kind = "contents"
)

// SectionSeparator separates the headings in the name of a Section.
const SectionSeparator = " > "

// Span is the part Text[Start:End] of a document's text that came from one page, slide,
// sheet, section or member, or from one or several rows, lines or cells. Start and End are
// bytes on code point boundaries.
type Span struct {
	Kind       Kind
	Start, End int
	Number     int // from 1; a Time begins at 0
	// Last is the last number of a span over several, or the end of a Time; 0 for Number.
	Last int
	// Lines means that every line of the text is one row, line or cell, counted from Number.
	// One span then stands for many; Last is 0.
	Lines bool
	// Columns are the first and the last column of rows, from 1; 0 if they have none.
	Columns [2]int
	Name    string // of a sheet, section or member; the label of a page if that is not its number
}

// Parse reads a file. Errors: Invalid for a file that is encrypted, damaged, empty, too
// large when unpacked or of an unknown format; the error of ctx when that ends.
func Parse(ctx context.Context, src Source) (Document, error) {
	return parseWithin(ctx, src, newBudget(), maxNesting)
}

// parseWithin is Parse for a member of a file whose members share a budget.
func parseWithin(ctx context.Context, src Source, b *budget, nesting int) (Document, error) {
	if err := ctx.Err(); err != nil {
		return Document{}, err
	}
	format, err := Detect(src)
	if err != nil {
		return Document{}, err
	}
	p := &parser{src: src, format: format, budget: b, nesting: nesting}
	if format.IsCompressed() {
		return p.compressed(ctx)
	}
	p.doc.Format = format
	p.doc.ContentType = format.TextType()
	if err := p.parse(ctx); err != nil {
		return Document{}, err
	}
	return p.finish()
}

const markdownType = "text/markdown"

// parser reads one file.
type parser struct {
	src     Source
	format  Format
	budget  *budget
	nesting int // how many levels of members may still follow

	// answered are the ids, ascending, of messages whose quotations are left out.
	answered []string

	notes    int // of a book
	drawings drawings

	doc  Document
	text textBuilder
}

func (p *parser) parse(ctx context.Context) error {
	switch p.format {
	case HTML:
		return p.html()
	case JSONLines:
		return p.jsonLines()
	case CSV:
		return p.csv(ctx)
	case XML, RST, Man, AsciiDoc, Org, MediaWiki:
		return p.markup()
	case PDF:
		return p.pdf(ctx)
	case DOCX:
		return p.docx(ctx)
	case PPTX:
		return p.pptx(ctx)
	case XLSX:
		return p.xlsx(ctx)
	case ODT, ODS, ODP:
		return p.odf(ctx)
	case DOC, XLS, PPT:
		return p.oldOffice(ctx)
	case RTF:
		return p.rtf(ctx)
	case EPUB:
		return p.epub(ctx)
	case Email:
		return p.email(ctx)
	case Outlook:
		return p.outlook(ctx)
	case Mailbox:
		return p.joinMailbox(ctx)
	case Notebook:
		return p.notebook(ctx)
	case Subtitles:
		return p.subtitles()
	case Zip, Tar:
		return p.archive(ctx)
	case Picture:
		return p.picture(ctx)
	case Recording:
		return p.recording()
	case Markdown:
		return p.markdown()
	case LaTeX:
		return p.latex()
	case Code, Text:
		return p.code()
	}
	return p.plain()
}

// markdown reads a Markdown text without its comments, and its front matter.
func (p *parser) markdown() error {
	if err := p.plain(); err != nil {
		return err
	}
	front, err := frontmatter.Read(p.doc.Text)
	if err != nil {
		p.property("frontMatterError", err.Error())
	}
	p.doc.Body, p.doc.FrontMatter, p.doc.Title = front.Body, front.JSON, front.Title
	if p.src.Hidden {
		p.doc.Body = 0
		return nil
	}
	p.without(commentsOf(p.doc.Text, p.doc.Body))
	return nil
}

// finish completes and checks the document that a parser made.
func (p *parser) finish() (Document, error) {
	d := &p.doc
	if p.format != Email && p.format != Outlook && p.format != Notebook {
		d.Title = ownTitle(d.Title, p.src.FileName)
	}
	if p.text.full {
		return Document{}, tooLarge(p.format, "its text is over the limit of %d bytes", MaxText)
	}
	d.Text = cmp.Or(d.Text, p.text.String())
	d.Spans = append(d.Spans, p.text.spans...)
	d.Tables = p.text.tables
	p.placeFigures()
	d.Figures = sortedFigures(d.Figures)
	if strings.TrimSpace(d.Text) == "" && len(d.Scanned)+len(d.Unheard) > 0 {
		return Document{Format: d.Format, ContentType: d.ContentType, Scanned: d.Scanned, Unheard: d.Unheard}, nil
	}
	if strings.TrimSpace(d.Text) == "" {
		return Document{}, noText(p.format, d.Skipped)
	}
	if d.ContentType == markdownType {
		found := shifted(sections(d.Text[d.Body:]), d.Body)
		if lead := p.lead(found); lead.End > 0 {
			d.Spans = append(d.Spans, lead)
		}
		d.Spans = append(d.Spans, found...)
		withHeadings(d.Text, d.Spans)
	}
	if d.ContentType == markdownType && p.format != XLSX && p.format != ODS {
		p.text.grids.Markdown(d.Text, d.Body)
	}
	d.Grids = p.text.grids.Tables()
	if p.format == LaTeX {
		d.Spans = append(d.Spans, latexSections(d.Text)...)
	}
	slices.SortStableFunc(d.Spans, func(a, b Span) int { return a.Start - b.Start })
	if d.Title == "" && d.ContentType != joinedType && p.format != XLSX && p.format != ODS { // their headings are names of sheets
		d.Title = TitleOf(d.ContentType, d.Text)
	}
	d.Title = cmp.Or(textlimit.OneLine(d.Title, maxTitle), nameTitle(p.src.FileName, p.format))
	return *d, nil
}

// lead returns the section of the text before the first heading: the title that the file gives
// itself. A format that has lines or pages has positions without it. The zero Span is for no such
// text.
func (p *parser) lead(found []Span) Span {
	d := &p.doc
	title := textlimit.OneLine(d.Title, maxSectionPath)
	switch d.Format {
	case HTML, DOCX, ODT, RTF, EPUB, DOC, RST, Man, AsciiDoc, Org, MediaWiki:
	default:
		return Span{}
	}
	end := len(d.Text)
	if len(found) > 0 {
		end = found[0].Start
	}
	end = len(strings.TrimRight(d.Text[:end], " \t\r\n"))
	start := end - len(strings.TrimLeft(d.Text[:end], " \t\r\n"))
	if title == "" || start >= end {
		return Span{}
	}
	return Span{Kind: Section, Start: start, End: end, Name: title}
}

// property stores a property of the file unless it is empty.
func (p *parser) property(key, value string) {
	value = textlimit.OneLine(value, maxProperty)
	switch strings.Trim(value, "()") {
	case "", "anonymous", "unspecified", "Un-named", "Unknown", "python-docx", "generated by python-docx", "generated using python-pptx", "openpyxl",
		"Apache POI", "PptxGenJS", "PptxGenJS Presentation": // as some programs write where nobody has said anything
		return
	}
	if p.doc.Properties == nil {
		p.doc.Properties = map[string]string{}
	}
	p.doc.Properties[key] = value
}

// pages stores the number of pages that a file says it has.
func (p *parser) pages(text string) {
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n > 0 {
		p.doc.Pages = n
	}
}

const (
	maxTitle    = 1024
	maxProperty = 512
)

// baseName returns the last segment of a path.
func baseName(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }
