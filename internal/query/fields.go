package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/nearest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/textlimit"
)

const (
	// sampledChunks is the number of chunks whose fields are compared with those of a
	// filter that matches nothing.
	sampledChunks = 200
	// maxNamedFields limits the fields that a warning lists, and maxFieldBytes each name.
	maxNamedFields = 20
	maxFieldBytes  = 60
)

// fieldWarning returns a warning if the caller's filter, which matches nothing, names a
// field that no chunk of a sample has, else "". It shows only fields of chunks that the
// credential may see, and never the fields of a mandatory filter.
func fieldWarning(ctx context.Context, h *tenant.Handle, p prepared) (string, error) {
	args := filter.NewArgs()
	sample := `SELECT c.metadata, c.content_keys FROM tenant.chunk AS c WHERE c.namespace = ` + args.Add(p.scope.namespace) +
		` LIMIT ` + args.Add(sampledChunks)
	keys, err := tenant.Value[[]string](ctx, h, `
		SELECT coalesce(array_agg(DISTINCT k.key), '{}')
		FROM (`+sample+`) AS c CROSS JOIN LATERAL jsonb_object_keys(c.metadata) AS k(key)
		WHERE `+p.access.SQL(filter.ChunkMetadata, args), args.Values()...)
	if err != nil || len(keys) == 0 {
		return "", err
	}
	slices.Sort(keys)
	for _, field := range p.asked.Keys() {
		if !slices.Contains(keys, field) {
			return fmt.Sprintf("filter: none of the chunks looked at (up to %d) has the field %q%s; their fields are %s",
				sampledChunks, textlimit.Shorten(field, maxFieldBytes), nearest.Hint(field, keys), listFields(keys)), nil
		}
	}
	return "", nil
}

// listFields joins the first names of a list.
func listFields(keys []string) string {
	var names []string
	for _, key := range keys[:min(len(keys), maxNamedFields)] {
		names = append(names, textlimit.Shorten(key, maxFieldBytes))
	}
	if more := len(keys) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}
