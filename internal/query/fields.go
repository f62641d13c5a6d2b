package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// sampledChunks is the number of chunks whose fields are compared with those of a
	// filter that matches nothing.
	sampledChunks = 200
	// searchedChunks is the number of chunks that are searched for a field that no chunk of
	// the sample has.
	searchedChunks = 20_000
	// maxNamedFields limits the fields that a warning lists, and maxFieldBytes each name.
	maxNamedFields = 20
	maxFieldBytes  = 60
)

// fieldWarning returns a warning if the caller's filter, which matches nothing, has a reference
// without a value, or names a field that no chunk has, among the first searchedChunks of the
// namespace, else "". It shows
// only fields of chunks that the credential may see, and never the fields of a mandatory
// filter.
func fieldWarning(ctx context.Context, h *data.Handle, p prepared) (string, error) {
	if len(p.absent) > 0 {
		return fmt.Sprintf(`filter: {"$context": %q} has no value in this request, so its condition matches nothing`, p.absent[0]), nil
	}
	args := filter.NewArgs()
	sample := firstChunks(p, args, sampledChunks)
	keys, err := data.Value[[]string](ctx, h, `
		SELECT coalesce(array_agg(DISTINCT k.key), '{}')
		FROM (`+sample+`) AS c CROSS JOIN LATERAL jsonb_object_keys(c.metadata) AS k(key)
		WHERE `+p.access.SQL(filter.ChunkMetadata, args), args.Values()...)
	if err != nil || len(keys) == 0 {
		return "", err
	}
	slices.Sort(keys)
	for _, field := range p.asked.Keys() {
		if slices.Contains(keys, field) {
			continue
		}
		if exists, err := hasField(ctx, h, p, field); err != nil || exists {
			return "", err
		}
		return fmt.Sprintf("filter: none of the chunks looked at (up to %d) has the field %q%s; their fields are %s",
			searchedChunks, textlimit.Shorten(field, maxFieldBytes), nearest.Hint(field, keys), listFields(keys)), nil
	}
	return "", nil
}

// hasField reports whether one of the first searchedChunks that the credential may see has
// this field.
func hasField(ctx context.Context, h *data.Handle, p prepared, field string) (bool, error) {
	args := filter.NewArgs()
	chunks := firstChunks(p, args, searchedChunks)
	return data.Value[bool](ctx, h, `SELECT EXISTS (SELECT FROM (`+chunks+`) AS c
		WHERE c.metadata ? `+args.Add(field)+` AND `+p.access.SQL(filter.ChunkMetadata, args)+`)`, args.Values()...)
}

// firstChunks returns a statement that selects the metadata of up to n chunks.
func firstChunks(p prepared, args *filter.Args, n int) string {
	return `SELECT c.metadata, c.content_keys FROM tenant.chunk AS c WHERE c.namespace = ` + args.Add(p.scope.namespace) +
		` LIMIT ` + args.Add(n)
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
