package connector

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

// mapping has the expressions of metadata.
type mapping map[string]*expression.Expression

// mapping compiles the expressions of a definition. Errors: Invalid.
func (s *Service) mapping(ctx context.Context, texts map[string]string) (mapping, error) {
	m := mapping{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		x, err := s.env.For(ctx).Compile("metadata."+name, texts[name])
		if err != nil {
			return nil, err
		}
		m[name] = x
	}
	return m, nil
}

// of returns the metadata of the document of an item. An expression that names what the item does not have
// leaves its name out. Errors: Invalid for an expression that fails.
func (m mapping) of(ctx context.Context, connector string, item Item) (map[string]any, error) {
	values := map[string]any{"id": item.ID, "title": cmp.Or(item.Title, item.FileName), "contentType": item.ContentType, "modifiedTime": nil, "attributes": map[string]any{}}
	if !item.Modified.IsZero() {
		values["modifiedTime"] = item.Modified.UTC().Format(time.RFC3339)
	}
	if item.Attributes != nil {
		values["attributes"] = item.Attributes
	}
	out := map[string]any{}
	maps.Copy(out, item.Metadata)
	out[ownMetadata] = connector
	for name, x := range m {
		value, err := x.JSON(ctx, map[string]any{"item": values})
		if errors.Is(err, expression.ErrMissing) {
			continue
		}
		if err != nil {
			return nil, fault.Under("metadata", err)
		}
		if value != nil {
			out[name] = value
		}
	}
	return out, nil
}
