package index

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// metadataSchemaField names the setting in errors.
const metadataSchemaField = "metadataSchema"

// checkMetadataSchema checks a JSON Schema of metadata, or an empty object, which removes one. Errors: Invalid.
func checkMetadataSchema(raw json.RawMessage) error {
	if removes(raw) {
		return nil
	}
	_, err := schema.Compile(metadataSchemaField, raw)
	return err
}

// removes reports whether a schema of a change or of a spec stands for none.
func removes(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "{}" }

// storeMetadataSchema stores the schema of the metadata of an index. Errors: Precondition in a schema of the database without the
// column, which is a migration behind.
func storeMetadataSchema(ctx context.Context, tx *data.Tx, indexID int64, raw json.RawMessage) error {
	if err := requireColumn(ctx, tx, "metadata_schema", metadataSchemaField); err != nil {
		return err
	}
	var value *string
	if !removes(raw) {
		text := string(raw)
		value = &text
	}
	_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET metadata_schema = $2::jsonb WHERE index_id = $1`, indexID, value)
	return err
}

// CheckMetadata checks the metadata of an upload against the schema of the index, if it has one. Errors: Invalid, naming the
// fields below metadata.
func (i Index) CheckMetadata(fields map[string]any) error {
	if i.metadataSchema == nil {
		return nil
	}
	if fields == nil {
		fields = map[string]any{}
	}
	raw, err := metadata.Marshal("metadata", fields)
	if err != nil {
		return err
	}
	value, err := schema.Decode(raw)
	if err != nil {
		return fault.Field("metadata", "%s", err)
	}
	return i.metadataSchema.Validate("metadata", value)
}

// DateFields returns the fields of the metadata that are dates by the schema of the index: texts at its top with the format date or
// date-time, in the order of their names. None without a schema.
func (i Index) DateFields() (fields []string) {
	var s struct {
		Properties map[string]struct {
			Type   any    `json:"type"`
			Format string `json:"format"`
		} `json:"properties"`
	}
	if len(i.MetadataSchema) == 0 || json.Unmarshal(i.MetadataSchema, &s) != nil {
		return nil
	}
	for name, p := range s.Properties {
		if (p.Type == nil || p.Type == "string") && (p.Format == "date" || p.Format == "date-time") && filter.CheckField(metadataSchemaField, name) == nil {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}
