package ingest

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// order says what a list of documents is sorted by. Documents with equal values are in the order of
// their ids.
type order struct {
	field      string // as callers name it
	expression string // over tenant.documents AS d
	sqlType    string // of its values
	descending bool
}

// orders are the fields that documents can be sorted by, the default first.
var orders = []order{
	{field: "createTime", expression: "d.created_at", sqlType: "timestamptz"},
	{field: "updateTime", expression: "d.updated_at", sqlType: "timestamptz"},
	{field: "uri", expression: "d.uri", sqlType: "text"},
	{field: "title", expression: "lower(CASE WHEN d.title = '' THEN d.uri ELSE d.title END)", sqlType: "text"},
	{field: "contentType", expression: "d.content_type", sqlType: "text"},
	{field: "status", expression: "d.status", sqlType: "text"},
	{field: "byteSize", expression: "d.byte_size", sqlType: "bigint"},
	{field: "chunkCount", expression: "d.chunk_count", sqlType: "int"},
}

// parseOrder reads an orderBy: the name of a field, and " desc" for the other direction. Empty is the
// order of creation. Errors: Invalid.
func parseOrder(text string) (order, error) {
	if text == "" {
		return orders[0], nil
	}
	field, direction, found := strings.Cut(text, " ")
	at := slices.IndexFunc(orders, func(o order) bool { return o.field == field })
	if at < 0 || found && direction != "asc" && direction != "desc" {
		var known []string
		for _, o := range orders {
			known = append(known, o.field)
		}
		return order{}, fault.Field("orderBy", "cannot sort by %q; known are %s, each also followed by a space and desc", textlimit.Shorten(text, 100), strings.Join(known, ", "))
	}
	o := orders[at]
	o.descending = direction == "desc"
	return o, nil
}

// after is the operator between the rows after a row and that row.
func (o order) after() string {
	if o.descending {
		return "<"
	}
	return ">"
}

// direction is that of ORDER BY.
func (o order) direction() string {
	if o.descending {
		return " DESC"
	}
	return ""
}

// String returns the order as parseOrder reads it.
func (o order) String() string {
	if o.descending {
		return o.field + " desc"
	}
	return o.field
}
