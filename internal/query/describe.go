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
	"sectionSummary", "prevSectionSummary", "nextSectionSummary", "questionsThisExcerptCanAnswer", "excerptKeywords",
}

// DescribeFields names the metadata fields that most chunks of an index have, with the most
// frequent of their values in a sample, in at most 300 bytes, such as
//
//	kind ("guide", "reference"); tags (list of "api", "sdk"); year (2019 to 2026)
//
// It returns nothing for a caller with a filter, who must not see values that it hides.
// Errors: NotFound for an unknown index.
func (s *Service) DescribeFields(ctx context.Context, indexName string) (text string, err error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil || !r.Principal.MandatoryFilter.IsZero() || !r.Overrides.Filter.IsZero() {
		return "", err
	}
	err = s.indexes.Use(ctx, r.Tenant, indexName, func(i index.Index, tables *data.Handle) error {
		now, err := contentsOf(ctx, tables, i)
		if err != nil {
			return err
		}
		s.estimates.samples.changed(r.Tenant, i, now)
		sampled, err := s.estimates.samples.of(ctx, r.Tenant, tables, i)
		if err == nil {
			text = sampled.fields()
		}
		return err
	})
	return text, err
}

func contentsOf(ctx context.Context, h *data.Handle, i index.Index) (now contents, err error) {
	b := h.Batch()
	b.Query(func(rows pgx.Rows) error {
		now, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[contents])
		return err
	}, contentsSQL, i.ID)
	return now, b.Run(ctx)
}

// fields describes the fields of a sample.
func (s *sample) fields() string {
	s.describe.Do(func() { s.described = describeFields(s.chunks) })
	return s.described
}

// seenField is a metadata field of a sample.
type seenField struct {
	name     string
	chunks   int
	list     bool
	values   map[string]int // by their JSON; how many chunks have each
	least    float64
	greatest float64
	numbers  bool // all values are numbers
}

func describeFields(chunks []sampledChunk) string {
	seen := map[string]*seenField{}
	for _, chunk := range chunks {
		for name, value := range chunk.metadata {
			if slices.Contains(ownFields, name) {
				continue
			}
			if nested, ok := value.(map[string]any); ok {
				for inner, value := range nested {
					countField(seen, name+"."+inner, value)
				}
				continue
			}
			countField(seen, name, value)
		}
	}
	fields := slices.SortedFunc(maps.Values(seen), func(a, b *seenField) int {
		return cmp.Or(cmp.Compare(b.chunks, a.chunks), strings.Compare(a.name, b.name))
	})
	var b strings.Builder
	for i, field := range fields {
		described := field.String()
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
		f = &seenField{name: name, values: map[string]int{}, numbers: true}
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
	number, isNumber := value.(float64)
	if isNumber && f.numbers {
		if len(f.values) == 0 {
			f.least, f.greatest = number, number
		}
		f.least, f.greatest = min(f.least, number), max(f.greatest, number)
	}
	f.numbers = f.numbers && isNumber
	switch v := value.(type) {
	case string:
		if len(v) > maxFieldValue || !isPlain(v) {
			return
		}
	case map[string]any, []any:
		return
	}
	raw, err := json.Marshal(value)
	if err == nil && len(f.values) < maxCountedField {
		f.values[string(raw)]++
	}
}

// isPlain reports whether a text can stand in a description: data must not pass for text of
// ours.
func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// String returns the name and values of the field.
func (f *seenField) String() string {
	if f.numbers && len(f.values) > maxFieldValues {
		return fmt.Sprintf("%s (%s to %s)", f.name, strconv.FormatFloat(f.least, 'g', -1, 64), strconv.FormatFloat(f.greatest, 'g', -1, 64))
	}
	values := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.values[b], f.values[a]), strings.Compare(a, b))
	})
	values = values[:min(len(values), maxFieldValues)]
	switch {
	case len(values) == 0:
		return f.name
	case f.list:
		return fmt.Sprintf("%s (list of %s)", f.name, strings.Join(values, ", "))
	}
	return fmt.Sprintf("%s (%s)", f.name, strings.Join(values, ", "))
}
