package service

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// validExporter exports spans whose texts are valid UTF-8. Paths, header fields and names
// come from callers as they are, and the exporter drops a whole batch in which one text
// is not UTF-8.
type validExporter struct{ sdktrace.SpanExporter }

// ExportSpans implements sdktrace.SpanExporter.
func (e validExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	valid := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		valid[i] = validSpan{s}
	}
	return e.SpanExporter.ExportSpans(ctx, valid)
}

// validSpan is a span in which invalid bytes are replaced by U+FFFD.
type validSpan struct{ sdktrace.ReadOnlySpan }

// Name implements sdktrace.ReadOnlySpan.
func (s validSpan) Name() string { return validText(s.ReadOnlySpan.Name()) }

// Attributes implements sdktrace.ReadOnlySpan.
func (s validSpan) Attributes() []attribute.KeyValue {
	return validAttributes(s.ReadOnlySpan.Attributes())
}

// Events implements sdktrace.ReadOnlySpan.
func (s validSpan) Events() []sdktrace.Event {
	events := slices.Clone(s.ReadOnlySpan.Events())
	for i := range events {
		events[i].Name, events[i].Attributes = validText(events[i].Name), validAttributes(events[i].Attributes)
	}
	return events
}

// Links implements sdktrace.ReadOnlySpan.
func (s validSpan) Links() []sdktrace.Link {
	links := slices.Clone(s.ReadOnlySpan.Links())
	for i := range links {
		links[i].Attributes = validAttributes(links[i].Attributes)
	}
	return links
}

// Status implements sdktrace.ReadOnlySpan.
func (s validSpan) Status() sdktrace.Status {
	status := s.ReadOnlySpan.Status()
	status.Description = validText(status.Description)
	return status
}

func validText(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// validAttributes returns the attributes with valid keys and values. It copies them only
// if there is something to replace.
func validAttributes(given []attribute.KeyValue) []attribute.KeyValue {
	if !slices.ContainsFunc(given, isInvalid) {
		return given
	}
	valid := slices.Clone(given)
	for i, a := range valid {
		valid[i].Key = attribute.Key(validText(string(a.Key)))
		switch a.Value.Type() {
		case attribute.STRING:
			valid[i].Value = attribute.StringValue(validText(a.Value.AsString()))
		case attribute.STRINGSLICE:
			texts := slices.Clone(a.Value.AsStringSlice())
			for j := range texts {
				texts[j] = validText(texts[j])
			}
			valid[i].Value = attribute.StringSliceValue(texts)
		}
	}
	return valid
}

func isInvalid(a attribute.KeyValue) bool {
	invalid := func(s string) bool { return !utf8.ValidString(s) }
	switch {
	case invalid(string(a.Key)):
		return true
	case a.Value.Type() == attribute.STRING:
		return invalid(a.Value.AsString())
	case a.Value.Type() == attribute.STRINGSLICE:
		return slices.ContainsFunc(a.Value.AsStringSlice(), invalid)
	}
	return false
}
