package filter

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// uriField is the key of a filter object that selects by the uri of the document instead
// of by a metadata field.
const uriField = "$uri"

// uri is a condition on the uri of the document that a chunk belongs to, or of a document
// itself. It is unknown for a chunk without a document, and in memory.
type uri struct {
	texts  []string // the uri is one of them; not empty unless prefix is set
	prefix string   // the uri begins with it
}

// uri reads the value of $uri: a uri, a list of them, or an object of operators.
func (p *parser) uri(v any, at location) (node, error) {
	object, ok := v.(map[string]any)
	if _, isReference := reference(v); !ok || isReference {
		return p.uriOperator("$in", v, at)
	}
	if len(object) == 0 {
		return nil, at.refuse("has an empty condition; give a uri or {\"$startsWith\": \"folder/\"}")
	}
	if err := p.enter(at, object); err != nil {
		return nil, err
	}
	var children []node
	for _, key := range sortedKeys(object) {
		child, err := p.uriOperator(key, object[key], at.key(key))
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	return allOf(children), nil
}

// uriOperator reads one operator on the uri.
func (p *parser) uriOperator(key string, v any, at location) (node, error) {
	if err := p.countConditions(1); err != nil {
		return nil, err
	}
	if _, ok := reference(v); ok && slices.Contains([]string{"$eq", "$in", "$ne", "$nin", "$startsWith"}, key) {
		return p.unresolved(nil, v, at)
	}
	switch key {
	case "$eq", "$in":
		return p.uriIn(v, at)
	case "$ne", "$nin":
		n, err := p.uriIn(v, at)
		return negated(n, err)
	case "$startsWith":
		prefix, err := p.prefix(v, at)
		return uri{prefix: prefix}, err
	}
	return nil, at.refuse("is not an operator of %s; it has $eq, $ne, $in, $nin and $startsWith", uriField)
}

// uriIn reads a uri or a list of uris.
func (p *parser) uriIn(v any, at location) (node, error) {
	list := wrapped(v)
	if len(list) > MaxList {
		return nil, at.refuse("lists %d values; %d are allowed", len(list), MaxList)
	}
	list, left, err := p.split(nil, list, at)
	switch {
	case err != nil:
		return nil, err
	case left != nil:
		known, err := p.uriIn(list, at)
		return anyOf([]node{known, left}), err
	}
	texts := make([]string, 0, len(list))
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, at.refuse("must be a uri, which is a string, got %s", typeName(item))
		}
		if err := p.text(text, at); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return constant(false), nil
	}
	return uri{texts: texts}, nil
}

func (uri) truth(any) truth { return unknown }

// sql uses the Postgres index over the uris of documents, whose column has the collation
// "C".
func (n uri) sql(c *compiler, _ string, want bool) string {
	if c.column != ChunkMetadata {
		test := n.test(c, strings.TrimSuffix(c.column, ".metadata"))
		if want {
			return test
		}
		return "NOT (" + test + ")"
	}
	test := "EXISTS (SELECT FROM tenant.documents AS u WHERE u.document_id = c.document_id AND u.index_id = tenant.this_index" +
		" AND u.namespace = c.namespace AND " + n.test(c, "u") + ")"
	if want {
		return test
	}
	return "(c.document_id IS NOT NULL AND NOT " + test + ")"
}

// test returns the condition on the uri of documents with this alias.
func (n uri) test(c *compiler, alias string) string {
	if n.prefix == "" {
		return alias + ".uri = ANY (" + c.args.Add(n.texts) + "::text[])"
	}
	return c.startsWith(alias+".uri", n.prefix)
}

func (uri) needs(bool) [][]string { return nil }
func (uri) walk(func(path))       {}

// HasURI reports whether f tests the uri of documents.
func (f Filter) HasURI() bool { return f.root != nil && hasURI(f.root) }

func hasURI(n node) bool {
	var children []node
	switch n := n.(type) {
	case uri:
		return true
	case unresolved:
		return n.path == nil
	case and:
		children = n
	case or:
		children = n
	case not:
		children = []node{n.child}
	}
	for _, child := range children {
		if hasURI(child) {
			return true
		}
	}
	return false
}

// begins is true for a field whose printed text begins with a prefix.
type begins struct {
	path   path
	prefix string
}

// prefix reads the argument of $startsWith.
func (p *parser) prefix(v any, at location) (string, error) {
	text, ok := v.(string)
	switch {
	case !ok:
		return "", at.refuse("$startsWith requires a string, got %s", typeName(v))
	case text == "":
		return "", at.refuse("$startsWith cannot be empty; {\"$exists\": true} selects what has the field")
	case len(text) > MaxPrefixBytes:
		return "", at.refuse("is %d bytes long; $startsWith may have %d", len(text), MaxPrefixBytes)
	}
	return text, p.text(text, at)
}

func (n begins) truth(v any) truth {
	text, ok := printed(n.path.find(v))
	if !ok {
		return unknown
	}
	return truthOf(strings.HasPrefix(text, n.prefix))
}

func (n begins) sql(c *compiler, at string, want bool) string {
	test := c.startsWith(c.text(at, n.path)+` COLLATE "C"`, n.prefix)
	if want {
		return test
	}
	return "NOT (" + test + ")"
}

func (begins) needs(bool) [][]string   { return nil }
func (n begins) walk(visit func(path)) { visit(n.path) }

// startsWith returns SQL for a text with the collation "C" that begins with prefix, as a
// range that a Postgres index serves.
func (c *compiler) startsWith(text, prefix string) string {
	test := text + " >= " + c.args.Add(prefix) + "::text"
	if end := afterPrefix(prefix); end != "" {
		test = "(" + test + " AND " + text + " < " + c.args.Add(end) + "::text)"
	}
	return test
}

// afterPrefix returns the least text that sorts after all texts with the prefix, by code
// points; "" if there is none.
func afterPrefix(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch last {
		case utf8.MaxRune: // no code point follows
			continue
		case 0xd7ff: // surrogates follow
			last = 0xdfff
		}
		return prefix + string(last+1)
	}
	return ""
}
