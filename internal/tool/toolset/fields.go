package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// fieldDescriber is an API that knows which metadata fields an index has. It returns nothing
// for a caller who may not see values of all documents.
type fieldDescriber interface {
	DescribeFields(ctx context.Context, indexName string) (string, error)
}

const (
	// maxDescribedIndexes limits the indexes whose fields the builtin tools name.
	maxDescribedIndexes = 3
	// maxFieldsBytes limits the fields of all indexes in one description, as JSON. Each index
	// may take an equal part.
	maxFieldsBytes = 540
	// describeTimeout limits the time that a list of tools waits for the fields. The first
	// sample of a large index takes longer, and the next list has it.
	describeTimeout = 300 * time.Millisecond
)

// describesFields are the builtin tools whose filter names the fields; the others say that
// they take the same.
var describesFields = []string{"search", "vector_query"}

// addFields adds the metadata fields of the indexes to the descriptions of filters.
func (s *Set) addFields(ctx context.Context, tools []*tool, shown []Definition, names []string) {
	api, ok := s.api.(fieldDescriber)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	known := map[string]string{}
	fields := func(index string) string {
		text, ok := known[index]
		if !ok {
			text, _ = api.DescribeFields(ctx, index) // only a help: without it the tool works as well
			known[index] = text
		}
		return text
	}
	all := ""
	if len(names) <= maxDescribedIndexes {
		for _, name := range names {
			if text := firstFields(fields(name), maxFieldsBytes/len(names)); text != "" && len(names) > 1 {
				all += " Fields of " + name + ": " + text + "."
			} else if text != "" {
				all = " Fields: " + text + "."
			}
		}
	}
	for i, t := range tools {
		text := ""
		index, named := t.indexIn(ctx)
		switch {
		case t.filtered || named && index == "":
		case named:
			if found := fields(index); found != "" {
				text = " Fields: " + found + "."
			}
		case slices.Contains(describesFields, t.definition.Kind):
			text = all
		}
		if text != "" {
			shown[i].InputSchema = describeFilter(shown[i].InputSchema, text)
		}
	}
}

// firstFields returns the first fields of a description, separated by semicolons, that take at most
// the given number of bytes as JSON.
func firstFields(text string, most int) string {
	for text != "" {
		inJSON, err := json.Marshal(text)
		isWhole := (strings.Count(text, `"`)-strings.Count(text, `\"`))%2 == 0 // no value is cut
		if err == nil && len(inJSON)-len(`""`) <= most && isWhole {
			break
		}
		text = text[:max(strings.LastIndex(text, "; "), 0)]
	}
	return text
}

// filterStart is the start of the shared entry filter in a schema, up to its description.
var filterStart = []byte(`"filter":{"anyOf":[{"type":"object","additionalProperties":{}},{"type":"string"}],"description":"`)

// describeFilter adds a text to the description of the argument filter.
func describeFilter(schema json.RawMessage, text string) json.RawMessage {
	start := bytes.Index(schema, filterStart)
	if start < 0 {
		return schema
	}
	end := start + len(filterStart)
	for end < len(schema) && schema[end] != '"' {
		if schema[end] == '\\' {
			end++
		}
		end++
	}
	quoted, err := json.Marshal(text)
	if err != nil || end >= len(schema) {
		return schema
	}
	return slices.Concat(schema[:end], quoted[1:len(quoted)-1], schema[end:])
}
