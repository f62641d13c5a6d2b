package index

import (
	"context"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// EmbeddedForm is the version of what is embedded of a chunk. Version 1 has the headings above the chunk, but for the
// builtin model; before there were versions it was title and text.
const EmbeddedForm = 1

// embeddedEarlier reports whether chunks may have been embedded in an earlier form that differs from the present one.
func (i Index) embeddedEarlier() bool {
	return i.embeddedForm != nil && *i.embeddedForm < EmbeddedForm && i.EmbeddingModel != "" && !i.BuiltinModel()
}

// oldEmbeddingsSample is the number of chunks among which one with headings is looked for.
const oldEmbeddingsSample = 1000

// oldEmbeddings reports whether an index has chunks that were embedded in an earlier form: some of a sample have
// headings above them beside the title. An index that is being embedded anew has none that matter.
func oldEmbeddings(ctx context.Context, h *data.Handle, i Index) (bool, error) {
	if !i.embeddedEarlier() || i.Next != nil {
		return false, nil
	}
	return data.Value[bool](ctx, h.OfIndex(i.ID, i.Generation), `
		SELECT EXISTS (SELECT FROM (
			SELECT c.title, c.metadata, c.content_keys FROM tenant.chunk AS c WHERE c.document_id IS NOT NULL LIMIT $1
		) AS c WHERE CASE
			WHEN '`+chunk.HeadingsKey+`' = ANY (c.content_keys) AND jsonb_typeof(c.metadata -> '`+chunk.HeadingsKey+`') = 'array' THEN
				c.metadata -> '`+chunk.HeadingsKey+`' NOT IN ('[]', jsonb_build_array(coalesce(c.title, '')))
			ELSE 'position' = ANY (c.content_keys) AND c.metadata #>> '{position,section}' <> coalesce(c.title, '')
		END)`,
		oldEmbeddingsSample)
}
