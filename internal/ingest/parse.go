package ingest

import (
	"context"
	"maps"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/parse"
)

// ParseFunc turns a file into text, as parse.Parse does.
type ParseFunc func(context.Context, parse.Source) (parse.Document, error)

// keepsSource reports whether a document is cut as it was sent: a page whose
// markup the split wants to see.
func keepsSource(asked chunk.Settings, format parse.Format) bool {
	return format == parse.HTML && asked.Strategy == chunk.HTML
}

// textType is the content type of the text that is cut, which need not be the
// document's.
func textType(asked chunk.Settings, format parse.Format, contentType string) string {
	if made := format.TextType(); made != "" && !keepsSource(asked, format) {
		return made
	}
	return contentType
}

// file is a document as it came, on its way to being cut.
type file struct {
	parse.Source
	Chunking chunk.Settings
}

// split turns a file into chunks. What is known about their places in the file is
// in their metadata under "position"; their offsets count in the parsed text.
func (f file) split(ctx context.Context, read ParseFunc) (parse.Document, []chunk.Chunk, error) {
	parsed, err := f.parse(ctx, read)
	if err != nil {
		return parsed, nil, err
	}
	options, err := f.Chunking.RetrievalOptions(parsed.ContentType, f.FileName)
	if err != nil {
		return parsed, nil, fault.Under("chunking", err)
	}
	chunks, err := chunk.Split(parsed.Text, options)
	if err != nil {
		return parsed, nil, err
	}
	if parsed.Format.TextType() == "" || keepsSource(f.Chunking, parsed.Format) {
		chunk.Locate(parsed.Text, options, chunks) // lines of what was sent
	}
	places := parsed.Places()
	for i := range chunks {
		place := places.Of(chunks[i].StartByte, chunks[i].EndByte)
		if place == nil {
			continue
		}
		if chunks[i].Metadata == nil {
			chunks[i].Metadata = map[string]any{}
		}
		chunks[i].Metadata[positionKey] = place
	}
	return parsed, chunks, nil
}

func (f file) parse(ctx context.Context, read ParseFunc) (parse.Document, error) {
	if format, known := parse.FormatOf(f.ContentType); known && keepsSource(f.Chunking, format) {
		return parse.Document{Format: format, ContentType: f.ContentType, Text: string(f.Content)}, nil
	}
	return read(ctx, f.Source)
}

// The keys of metadata that come from the file. What is in a file was chosen by
// whoever wrote it, so it never takes the place of what the uploader says.
const (
	positionKey = "position"
	fileKey     = "file"
)

// ofFile adds what a file says about itself to the metadata of its document.
func ofFile(metadata map[string]any, parsed parse.Document) map[string]any {
	if _, taken := metadata[fileKey]; taken || len(parsed.Properties)+len(parsed.References) == 0 {
		return metadata
	}
	properties := make(map[string]any, len(parsed.Properties)+1)
	for key, value := range parsed.Properties {
		properties[key] = value
	}
	if len(parsed.References) > 0 {
		properties["references"] = parsed.References
	}
	out := maps.Clone(metadata)
	if out == nil {
		out = map[string]any{}
	}
	out[fileKey] = properties
	return out
}

// givePlace takes the positions out of chunks whose document has a field of that
// name.
func givePlace(metadata map[string]any, chunks []chunk.Chunk) {
	if _, taken := metadata[positionKey]; !taken {
		return
	}
	for _, c := range chunks {
		delete(c.Metadata, positionKey)
	}
}
