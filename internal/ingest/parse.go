package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/tenant"
)

// ParseFunc turns a file of a tenant into text, as parse.Parse does.
type ParseFunc func(context.Context, tenant.ID, parse.Source) (parse.Document, error)

// ParseHere is a ParseFunc that reads files in this process.
func ParseHere(ctx context.Context, _ tenant.ID, src parse.Source) (parse.Document, error) {
	return parse.Parse(ctx, src)
}

// keepsSource reports whether a document is split without being converted to text first:
// an HTML page, by the strategy that splits at its markup.
func keepsSource(asked chunk.Settings, format parse.Format) bool {
	return format == parse.HTML && asked.Strategy == chunk.HTML
}

// textType returns the content type of the text that is split, which may differ from the
// document's.
func textType(asked chunk.Settings, format parse.Format, contentType string) string {
	if made := format.TextType(); made != "" && !keepsSource(asked, format) {
		return made
	}
	return contentType
}

// includesHidden reports whether the text of a file is to have what is not shown.
func includesHidden(asked chunk.Settings) bool {
	return asked.IncludeHidden != nil && *asked.IncludeHidden
}

// file is an uploaded document before it is read.
type file struct {
	parse.Source
	Chunking chunk.Settings
}

// split reads a file and splits its text into chunks, whose offsets are bytes of that text.
// Their positions in the file, where known, are in their metadata under positionKey. The
// work in this process is done in a slot of the processor.
func (f file) split(ctx context.Context, id tenant.ID, read ParseFunc, processor *limit.Processor) (parsed parse.Document, chunks []chunk.Chunk, err error) {
	if parsed, err = f.parse(ctx, id, read); err != nil {
		return parsed, nil, err
	}
	err = processor.Run(ctx, string(id), func(ctx context.Context) error {
		chunks, err = f.cut(ctx, parsed)
		return err
	})
	return parsed, chunks, err
}

// cut splits the text of the file into chunks.
func (f file) cut(ctx context.Context, parsed parse.Document) ([]chunk.Chunk, error) {
	options, err := f.Chunking.RetrievalOptions(parsed.ContentType, parse.NameWithin(f.FileName))
	if err != nil {
		return nil, fault.Under("chunking", err)
	}
	body := parsed.Text[parsed.Body:]
	chunks, err := f.pieces(ctx, parsed, options)
	if err != nil {
		return nil, err
	}
	if parsed.Format.TextType() == "" || keepsSource(f.Chunking, parsed.Format) {
		chunk.Locate(body, options, chunks)
	}
	chunk.Shift(chunks, parsed.Text[:parsed.Body])
	chunks = withFigures(chunks, parsed, options)
	spans := parsed.SpanIndex()
	for i := range chunks {
		position := spans.Metadata(chunks[i].StartByte, chunks[i].EndByte)
		if position == nil {
			continue
		}
		if chunks[i].Metadata == nil {
			chunks[i].Metadata = map[string]any{}
		}
		chunks[i].Metadata[positionKey] = position
	}
	return chunks, nil
}

// pieces splits the body of a text: source code at its functions and types, unless a strategy
// was asked for, and long rows of spreadsheets at their cells.
func (f file) pieces(ctx context.Context, parsed parse.Document, options chunk.Options) ([]chunk.Chunk, error) {
	if len(parsed.Tables) > 0 {
		tables := make([]chunk.Records, len(parsed.Tables))
		for i, t := range parsed.Tables {
			tables[i] = chunk.Records{Start: t.Start, End: t.End, Names: t.Columns}
		}
		return chunk.SplitRecords(ctx, parsed.Text, options, tables)
	}
	if len(parsed.Units) == 0 || f.Chunking.Strategy != "" || len(f.Chunking.Separators) > 0 {
		return chunk.SplitApart(ctx, parsed.Text[parsed.Body:], options, f.apart(parsed, options))
	}
	units := make([]chunk.Unit, len(parsed.Units))
	for i, u := range parsed.Units {
		units[i] = chunk.Unit(u)
	}
	return chunk.SplitUnits(ctx, parsed.Text, options, units)
}

// maxContents is the size of the largest table of contents that is one chunk, in UTF-16 code units.
const maxContents = 8_000

// apart returns the tables of contents in the body of a text: each is a chunk of its own, unless it is
// too large or the caller has said how large a chunk may be. A strategy that tells each chunk
// the headings above it reads the text as a whole.
func (f file) apart(parsed parse.Document, options chunk.Options) (parts []chunk.Part) {
	if len(options.Headers) > 0 {
		return nil
	}
	most := maxContents
	if f.Chunking.MaxSize != nil || f.Chunking.Size != nil {
		most = 0
	}
	for _, s := range parsed.Spans {
		if s.Kind == parse.Contents && s.Start >= parsed.Body {
			parts = append(parts, chunk.Part{Start: s.Start - parsed.Body, End: s.End - parsed.Body, MaxSize: most})
		}
	}
	return parts
}

func (f file) parse(ctx context.Context, id tenant.ID, read ParseFunc) (parse.Document, error) {
	if format, known := parse.FormatOf(f.ContentType); known && keepsSource(f.Chunking, format) {
		text := string(f.Content)
		return parse.Document{Format: format, ContentType: f.ContentType, Text: text, Spans: []parse.Span{parse.Lines(text)}}, nil
	}
	parsed, err := read(ctx, id, f.Source)
	if err == nil && parsed.Text == "" {
		err = errNeedsOCR
	}
	return parsed, err
}

// errNeedsOCR is the error for a document of which nothing could be read but pictures of pages.
var errNeedsOCR = fault.Field("content", "is a picture or consists of scanned pages: an operator can let the service recognize characters with the setting ocr; or run character recognition over it and upload the result")

// Metadata keys for values read from the file.
const (
	positionKey = "position"
)

// fileMetadata returns the front matter of the file, and its properties under metadata.File; nil
// if it has neither.
func fileMetadata(parsed parse.Document) (map[string]any, error) {
	var all map[string]any
	if parsed.FrontMatter != nil {
		if err := json.Unmarshal(parsed.FrontMatter, &all); err != nil {
			return nil, fmt.Errorf("read the front matter: %w", err)
		}
	}
	if len(parsed.Properties)+len(parsed.References)+parsed.Pages == 0 {
		return all, nil
	}
	properties := make(map[string]any, len(parsed.Properties)+2)
	for key, value := range parsed.Properties {
		properties[key] = value
	}
	if parsed.Pages > 0 {
		properties["pages"] = parsed.Pages
	}
	if len(parsed.References) > 0 {
		properties["references"] = parsed.References
	}
	if all == nil {
		all = map[string]any{}
	}
	all[metadata.File] = properties
	return all, nil
}

// withFile returns the metadata that an uploader gave, with the properties that were read from the file
// below its object metadata.File, if it gave one: its own values stay. merged is false if it gave none.
func withFile(given, fromFile map[string]any) (all map[string]any, merged bool) {
	own, isObject := given[metadata.File].(map[string]any)
	read, _ := fromFile[metadata.File].(map[string]any)
	if !isObject || len(read) == 0 {
		return given, false
	}
	properties := maps.Clone(read)
	maps.Copy(properties, own)
	all = maps.Clone(given)
	all[metadata.File] = properties
	return all, true
}

// withoutFileTime returns metadata without the time of the file, which says nothing about its content.
func withoutFileTime(given map[string]any) map[string]any {
	own, _ := given[metadata.File].(map[string]any)
	if _, has := own[metadata.Modified]; !has {
		return given
	}
	all, file := maps.Clone(given), maps.Clone(own)
	delete(file, metadata.Modified)
	all[metadata.File] = file
	if len(file) == 0 {
		delete(all, metadata.File)
	}
	return all
}
