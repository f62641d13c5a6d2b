package query

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of a description of fields.
const (
	maxFields       = 12
	maxFieldsBytes  = 300
	maxFieldName    = 64 // bytes; fields with longer names are left out
	maxFieldValue   = 40 // bytes; longer texts are not shown
	maxFieldValues  = 3
	maxCountedField = 1000 // different values that are counted
)

// ownFields are the fields that ragd adds to chunks, and those in which texts are extracted:
// they say nothing of what one could filter by.
var ownFields = []string{
	"text", "headings", "position", "file", "xpath", "tokenCount", "startIndex", "documentTitle", "title",
	"sectionSummary", "prevSectionSummary", "nextSectionSummary", "questionsThisExcerptCanAnswer", "excerptKeywords", "excerptContext",
}

// DescribeFields names the metadata fields that most chunks of an index have, with the most
// frequent of their values in a sample, in at most 300 bytes, such as
//
//	kind ("guide", "reference"); tags (list of "api", "sdk"); year (2019 to 2026)
//
// It returns nothing for a caller with a filter, who must not see values that it hides.
// Errors: NotFound for an unknown index.
func (s *Service) DescribeFields(ctx context.Context, indexName string) (text string, err error) {
	err = s.sampled(ctx, indexName, func(i index.Index, sampled *sample) {
		if declared := declaredFields(i.MetadataSchema); len(declared) > 0 {
			text = describeDeclared(declared, sampled.fields())
		} else {
			text = describeFields(sampled.fields())
		}
	})
	return text, err
}

// sampled calls read with a sample of an index, unless the caller has a filter.
func (s *Service) sampled(ctx context.Context, indexName string, read func(index.Index, *sample)) error {
	r, err := access.Require(ctx, access.Read)
	if err != nil || !r.Principal.MandatoryFilter.IsZero() || !r.Overrides.Filter.IsZero() {
		return err
	}
	return s.indexes.Use(ctx, r.Tenant, indexName, func(i index.Index, tables *data.Handle) error {
		now, err := contentsOf(ctx, tables, i)
		if err != nil {
			return err
		}
		s.estimates.samples.changed(r.Tenant, i, now)
		sampled, err := s.estimates.samples.of(ctx, r.Tenant, tables, i)
		if err == nil {
			read(i, sampled)
		}
		return err
	})
}

// Field is a metadata field of an index, as it is in a sample of the chunks.
type Field struct {
	Name    string   // as filters name it
	Types   []string // of its values, or of the elements of lists: text, number, boolean, time or object; sorted
	List    bool     // some values are lists
	Share   float64  // of the chunks that have it, above 0, to 1
	Indexed bool     // one of the index's metadataIndexes
	Values  []any    // the most frequent short ones, at most 10
	// Declared reports whether the index's schema of metadata has the field, and Description is what it says of it.
	Declared    bool
	Description string
	Least       any // of numbers and of times, the first and the last; else nil
	Most        any
}

// describeDeclared describes the fields that a schema declares, and then those that it does not.
func describeDeclared(declared []Field, seen []fieldSummary) string {
	var b strings.Builder
	add := func(described string) {
		if b.Len() > 0 {
			described = "; " + described
		}
		if b.Len()+len(described) <= maxFieldsBytes {
			b.WriteString(described)
		}
	}
	for _, field := range declared[:min(len(declared), maxFields)] {
		add(field.describe())
	}
	for _, field := range seen {
		if !slices.ContainsFunc(declared, func(d Field) bool { return d.Name == field.Name }) {
			add(field.described)
		}
	}
	return b.String()
}

const (
	maxListedFields = 50
	maxListedValues = 10
)

// Fields returns the metadata fields that chunks of an index have, those of most chunks first, at most 50. It
// returns nothing for a caller with a filter, who must not see values that it hides. Errors: NotFound for an
// unknown index.
func (s *Service) Fields(ctx context.Context, indexName string) (fields []Field, err error) {
	err = s.sampled(ctx, indexName, func(i index.Index, sampled *sample) {
		declared := declaredFields(i.MetadataSchema)
		fields = declared[:min(len(declared), maxListedFields)]
		for n := range fields {
			fields[n].Indexed = slices.Contains(i.MetadataIndexes, fields[n].Name)
		}
		for _, seen := range sampled.fields() {
			field := seen.Field
			at := slices.IndexFunc(fields, func(d Field) bool { return d.Name == field.Name })
			if at < 0 && len(fields) >= maxListedFields {
				continue
			}
			field.Indexed = slices.Contains(i.MetadataIndexes, field.Name)
			if at < 0 {
				fields = append(fields, field)
				continue
			}
			field.Declared, field.Description = true, fields[at].Description
			if len(fields[at].Values) > 0 {
				field.Values = fields[at].Values
			}
			fields[at] = field
		}
	})
	return fields, err
}

// typeTime is the type of texts that state a time.
const typeTime = "time"

// stated is a time as a text states it.
type stated struct {
	text string
	at   int64
}

func contentsOf(ctx context.Context, h *data.Handle, i index.Index) (now contents, err error) {
	b := h.Batch()
	b.Query(func(rows pgx.Rows) error {
		now, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[contents])
		return err
	}, contentsSQL, i.ID)
	return now, b.Run(ctx)
}

// fieldSummary is a metadata field of a sample, and how a description of tools names it.
type fieldSummary struct {
	Field
	described string
}

// fields returns the fields of a sample, those of most chunks first. They are found once, as it takes milliseconds.
func (s *sample) fields() []fieldSummary {
	s.summarize.Do(func() { s.summaries = summarize(s.chunks) })
	return s.summaries
}

func summarize(chunks []sampledChunk) []fieldSummary {
	seen := seenFields(chunks)
	summaries := make([]fieldSummary, len(seen))
	for n, f := range seen {
		summaries[n] = fieldSummary{f.summary(len(chunks)), f.String()}
	}
	return summaries
}

// seenField is a metadata field of a sample.
type seenField struct {
	name     string
	chunks   int
	list     bool
	values   map[string]int // by their JSON; how many chunks have each
	least    float64
	greatest float64
	types    map[string]int // how many values have each
	first    stated         // and last, of the times
	last     stated
}

// only reports whether all values have this type.
func (f *seenField) only(kind string) bool { return len(f.types) == 1 && f.types[kind] > 0 }

// frequent returns the most frequent of the short values, as JSON.
func (f *seenField) frequent(most int) []string {
	values := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.values[b], f.values[a]), strings.Compare(a, b))
	})
	return values[:min(len(values), most)]
}

// summary returns the field as callers see it, of a sample of so many chunks.
func (f *seenField) summary(chunks int) Field {
	field := Field{Name: f.name, Types: slices.Sorted(maps.Keys(f.types)), List: f.list, Share: float64(f.chunks) / float64(chunks)}
	for _, raw := range f.frequent(maxListedValues) {
		var value any
		if json.Unmarshal([]byte(raw), &value) == nil {
			field.Values = append(field.Values, value)
		}
	}
	switch {
	case len(field.Types) != 1:
	case field.Types[0] == "number":
		field.Least, field.Most = f.least, f.greatest
	case field.Types[0] == typeTime:
		field.Least, field.Most = f.first.text, f.last.text
	}
	return field
}

// seenFields returns the fields of a sample, those of most chunks first, without ragd's own.
func seenFields(chunks []sampledChunk) []*seenField {
	seen := map[string]*seenField{}
	for _, chunk := range chunks {
		for name, value := range chunk.metadata {
			if slices.Contains(ownFields, name) {
				continue
			}
			if nested, ok := value.(map[string]any); ok {
				for inner, value := range nested {
					countField(seen, filter.FieldName(name, inner), value)
				}
				continue
			}
			countField(seen, filter.FieldName(name), value)
		}
	}
	return slices.SortedFunc(maps.Values(seen), func(a, b *seenField) int {
		return cmp.Or(cmp.Compare(b.chunks, a.chunks), strings.Compare(a.name, b.name))
	})
}

// describeFields describes fields in at most maxFieldsBytes.
func describeFields(seen []fieldSummary) string {
	var b strings.Builder
	for i, field := range seen {
		described := field.described
		if i > 0 {
			described = "; " + described
		}
		if i == maxFields || b.Len()+len(described) > maxFieldsBytes {
			break
		}
		b.WriteString(described)
	}
	return b.String()
}

func countField(seen map[string]*seenField, name string, value any) {
	if len(name) > maxFieldName || !isPlain(name) || value == nil {
		return
	}
	f := seen[name]
	if f == nil {
		f = &seenField{name: name, values: map[string]int{}, types: map[string]int{}}
		seen[name] = f
	}
	f.chunks++
	values, list := value.([]any)
	if f.list = f.list || list; !list {
		values = []any{value}
	}
	for _, v := range values {
		f.count(v)
	}
}

func (f *seenField) count(value any) {
	switch v := value.(type) {
	case float64:
		if f.types["number"]++; f.types["number"] == 1 {
			f.least, f.greatest = v, v
		}
		f.least, f.greatest = min(f.least, v), max(f.greatest, v)
	case bool:
		f.types["boolean"]++
	case string:
		if at, ok := filter.Instant(v); ok {
			f.countTime(stated{v, at})
		} else {
			f.types["text"]++
		}
		if len(v) > maxFieldValue || !isPlain(v) {
			return
		}
	case map[string]any, []any:
		f.types["object"]++
		return
	}
	raw, err := json.Marshal(value)
	if err == nil && len(f.values) < maxCountedField {
		f.values[string(raw)]++
	}
}

func (f *seenField) countTime(t stated) {
	if f.types[typeTime]++; f.types[typeTime] == 1 {
		f.first, f.last = t, t
	}
	if t.at < f.first.at {
		f.first = t
	}
	if t.at > f.last.at {
		f.last = t
	}
}

// isPlain reports whether a text can stand in a description: data must not pass for text of
// ours.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// String returns the name and values of the field.
func (f *seenField) String() string {
	if f.only(typeTime) && !f.list && len(f.values) > maxFieldValues {
		return fmt.Sprintf("%s (times %s to %s)", f.name, f.first.text, f.last.text)
	}
	if f.only("number") && len(f.values) > maxFieldValues {
		return fmt.Sprintf("%s (%s to %s)", f.name, strconv.FormatFloat(f.least, 'g', -1, 64), strconv.FormatFloat(f.greatest, 'g', -1, 64))
	}
	values := f.frequent(maxFieldValues)
	switch {
	case len(values) == 0:
		return f.name
	case f.list:
		return fmt.Sprintf("%s (list of %s)", f.name, strings.Join(values, ", "))
	}
	return fmt.Sprintf("%s (%s)", f.name, strings.Join(values, ", "))
}
