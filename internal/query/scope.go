package query

import (
	"encoding/json"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// scope is the part of an index that is searched.
type scope struct {
	namespace string
	filter    filter.Filter // over the metadata
	document  filter.Filter // over {"text": the chunk's text}
}

// textSQL is the text of a chunk c. That of a ready-made vector without one is the text in
// its metadata, where clients of vector stores keep it.
const textSQL = "CASE WHEN c.text = '' AND c.document_id IS NULL AND jsonb_typeof(c.metadata->'text') = 'string' THEN c.metadata->>'text' ELSE c.text END"

// metadataText returns the text of a ready-made vector as textSQL does.
func metadataText(metadata string) string {
	var m struct{ Text any }
	if !strings.Contains(metadata, `"text"`) || json.Unmarshal([]byte(metadata), &m) != nil {
		return ""
	}
	text, _ := m.Text.(string)
	return text
}

// check validates the namespace and fills in the default. Errors: Invalid.
func (s *scope) check() (err error) {
	s.namespace, err = index.Namespace(s.namespace)
	return err
}

// sql returns the condition on a chunk c.
func (s scope) sql(i index.Index, args *filter.Args) string {
	where := "c.namespace = " + args.Add(s.namespace)
	if !s.filter.IsZero() {
		where += " AND " + s.filter.SQL(filter.ChunkMetadata, args, i.MetadataIndexes...)
	}
	if !s.document.IsZero() {
		where += " AND " + s.document.SQL("jsonb_build_object('text', "+textSQL+")", args)
	}
	return where
}

// filtered reports whether the scope is a part of a namespace.
func (s scope) filtered() bool { return !s.filter.IsZero() || !s.document.IsZero() }

// needsDatabase reports whether only PostgreSQL can tell whether a chunk is in the scope: the
// conditions are not on the metadata alone.
func (s scope) needsDatabase() bool { return !s.document.IsZero() || s.filter.HasURI() }

// String returns a text that differs for different scopes.
func (s scope) String() string {
	return s.namespace + "\x00" + s.filter.Identity() + "\x00" + s.document.Identity()
}
