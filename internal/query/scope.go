package query

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/filter"
	"github.com/ragdhq/ragd/internal/index"
)

// scope is the part of an index that a search is over.
type scope struct {
	namespace string
	filter    filter.Filter // over the metadata
	document  filter.Filter // over {"text": the chunk's text}
}

const maxNamespaceBytes = 255

func (s *scope) check() error {
	if len(s.namespace) > maxNamespaceBytes || !utf8.ValidString(s.namespace) || strings.ContainsRune(s.namespace, 0) {
		return fault.Field("namespace", "must be at most %d bytes of UTF-8 without null characters", maxNamespaceBytes)
	}
	s.namespace = cmp.Or(s.namespace, index.DefaultNamespace)
	return nil
}

// sql is the condition on a chunk c.
func (s scope) sql(i index.Index, args *filter.Args) string {
	where := "c.namespace = " + args.Add(s.namespace)
	if !s.filter.IsZero() {
		where += " AND " + s.filter.SQL("c.metadata", args, i.MetadataIndexes...)
	}
	if !s.document.IsZero() {
		where += " AND " + s.document.SQL("jsonb_build_object('text', c.text)", args)
	}
	return where
}

// filtered reports whether the scope is less than a namespace.
func (s scope) filtered() bool { return !s.filter.IsZero() || !s.document.IsZero() }

// String tells scopes apart.
func (s scope) String() string {
	return s.namespace + "\x00" + s.filter.String() + "\x00" + s.document.String()
}
