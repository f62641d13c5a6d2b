// Package filter implements the language in which callers select chunks and
// documents by metadata. Filters are JSON objects such as
//
//	{"category": "deck", "price": {"$gte": 60, "$lt": 240}, "$or": [{"tags": "sale"}, {"maker.name": "Nord"}]}
//
// Parse turns a filter into a tree, SQL turns the tree into an expression with
// parameters, and Match evaluates it in memory. Field names, values and patterns
// are bound as parameters; no text from a caller becomes part of the SQL.
//
// Truth is three-valued as in SQL. A comparison with a field that is missing or
// JSON null is unknown, the negation of unknown is unknown, and only true
// matches. docs/reference/filters.md has the table of operators.
//
// A value may be a reference to the request, {"$context": "claims.groups"}, which Resolve
// replaces.
//
// The package does no I/O. The code that runs the statement reports what only the
// database detects: SQLSTATE 2201B for an invalid $regex, and 57014 (statement
// timeout) for a $regex that takes too long.
package filter

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Limits on one filter. Parse rejects a larger one with an error that names the
// limit.
const (
	MaxBytes       = 1 << 20 // of JSON text, or of all names and strings in a decoded object
	MaxDepth       = 64      // levels of nesting, and of a field's path
	MaxConditions  = 1000    // comparisons, values of $all, and branches of $and, $or and $nor
	MaxList        = 10000   // values of $in and $nin
	MaxNameBytes   = 1024    // of one field name, dots included
	MaxRegexBytes  = 512     // of one $regex
	MaxTextBytes   = 512     // of one $contains
	MaxPrefixBytes = 2048    // of one $startsWith
	MaxDigits      = 1000    // of a number, written without exponent, on either side of the point
)

// Filter is a parsed filter. The zero value selects everything. Filters are
// immutable and safe for concurrent use.
type Filter struct {
	root    node // nil selects everything
	source  string
	trusted []string // keys of metadata that only an uploader may set; see Trusted

	references []string // that Resolve replaces; sorted and distinct
	relative   bool     // times in it depend on when it was parsed or resolved
	parsed     int64    // when that was, in microseconds since 1970; 0 unless relative
}

// from returns the Filter of a tree: the zero Filter if the tree is always true, as
// for an empty $and.
func from(root node, source string) Filter {
	if root == constant(true) {
		return Filter{}
	}
	return Filter{root: root, source: source}
}

// withReferences returns f with the paths that a parser has read.
func (f Filter) withReferences(p *parser) Filter {
	if f.root != nil {
		slices.Sort(p.references)
		f.references = slices.Compact(p.references)
		if f.relative = p.relative; f.relative {
			f.parsed = p.now.UnixMicro()
		}
	}
	return f
}

// And returns a filter that matches where all the given filters match.
func And(filters ...Filter) Filter {
	var roots []node
	var sources, trusted, references []string
	var one Filter
	var relative bool
	var parsed int64
	for _, f := range filters {
		if !f.IsZero() {
			roots = append(roots, f.root)
			sources = append(sources, f.source)
			trusted = append(trusted, f.trusted...)
			references = append(references, f.references...)
			one = f
			relative, parsed = relative || f.relative, max(parsed, f.parsed)
		}
	}
	if len(roots) == 1 {
		return one
	}
	all := from(allOf(roots), `{"$and":[`+strings.Join(sources, ",")+`]}`)
	all.trusted = trusted
	slices.Sort(references)
	all.references = slices.Compact(references)
	all.relative, all.parsed = relative, parsed
	return all
}

// Nothing returns a filter that matches nothing.
func Nothing() Filter { return from(constant(false), `{"$or":[]}`) }

// Trusted returns a filter that matches where f matches, except chunks whose content set a
// metadata key that f tests, such as a heading stored under that key. It is for filters
// that give access: only uploaders decide about access, not the authors of content.
func (f Filter) Trusted() Filter {
	if f.root == nil {
		return f
	}
	f.trusted = f.Keys()
	return f
}

// Keys returns the keys of the metadata that f tests, without those below them: for
// "maker.name" it is maker. They are sorted.
func (f Filter) Keys() []string {
	if f.root == nil {
		return nil
	}
	var keys []string
	f.root.walk(func(p path) { keys = append(keys, p[0]) })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// ChunkMetadata is the column for SQL that holds the metadata of a chunk c. The column
// c.content_keys lists the keys of it that were read from the content.
const ChunkMetadata = "c.metadata"

// IsZero reports whether f selects everything because it states no condition:
// it is the zero value, or was parsed from something like {} or {"$and": []}.
// Callers check it before a delete, so that a blank filter deletes nothing.
func (f Filter) IsZero() bool { return f.root == nil }

// Match reports whether f selects the metadata, with the same result as SQL.
// Numbers may be float64, json.Number, int or int64; a value of a type that JSON
// decoding does not produce counts as null. A condition on $uri is unknown, because the
// metadata does not hold the uri.
//
// $regex uses Go's regular expressions. A pattern that only PostgreSQL supports,
// such as one with a back reference, evaluates to unknown and never matches.
func (f Filter) Match(metadata map[string]any) bool {
	return f.root == nil || f.root.truth(metadata) == yes
}

// MatchChunk reports whether f selects a chunk, with the same result as SQL over
// ChunkMetadata. contentKeys are the keys of the metadata that were read from the content.
// It is like Match otherwise.
func (f Filter) MatchChunk(metadata map[string]any, contentKeys []string) bool {
	for _, key := range contentKeys {
		if slices.Contains(f.trusted, key) {
			return false
		}
	}
	return f.Match(metadata)
}

// SQL returns a boolean expression over column, an SQL expression of type jsonb
// that holds the metadata, such as "c.metadata". column becomes SQL text: it
// must be a constant of the calling code. Parameters are added to args. A condition on
// $uri tests the column uri of the same table, and for ChunkMetadata the document of the
// chunk c, with the stand-in names of data.Handle.
//
// The expression is true for the rows that match, and false or NULL for the
// others, so it must not be negated. It can be joined with other conditions by AND
// or OR without parentheses. For the zero Filter it is "true".
//
// Equality, $in, $all and $elemMatch are written as containment (@>), which a
// GIN index over column with jsonb_path_ops serves. indexed lists the fields
// with Postgres indexes of their own, over TextIndex and NumberIndex; these
// serve equality on the listed fields, and $gt, $gte, $lt and $lte in any case.
//
// The planner can match a bound field name to an index, and use a hash table for
// $in, only when it knows the parameters: with plan_cache_mode =
// force_custom_plan, or for a statement that is not kept prepared.
func (f Filter) SQL(column string, args *Args, indexed ...string) string {
	if f.root == nil {
		return "true"
	}
	c := newCompiler(column, args)
	for _, name := range indexed {
		c.indexed[parsePath(name).String()] = true
	}
	sql := f.root.sql(c, column, true)
	if column == ChunkMetadata && len(f.trusted) > 0 {
		sql = "(" + sql + " AND NOT coalesce(c.content_keys && " + args.Add(f.trusted) + "::text[], false))"
	}
	return sql
}

// JSON returns f as JSON text that Parse accepts: the parsed text without
// insignificant white space, or {} for the zero Filter.
func (f Filter) JSON() []byte { return []byte(f.String()) }

// String returns the text of JSON as a string.
func (f Filter) String() string {
	if f.root == nil {
		return "{}"
	}
	return f.source
}

// Identity returns a text that differs for filters that select different chunks: unlike
// String, it tells a filter from its Trusted, and one with relative times from itself at another time.
func (f Filter) Identity() string {
	if f.relative {
		return strings.Join(append([]string{f.String(), strconv.FormatInt(f.parsed, 10)}, f.trusted...), "\x00")
	}
	return strings.Join(append([]string{f.String()}, f.trusted...), "\x00")
}

// Equal reports whether f and g have the same JSON text. Filters that are written
// differently but select the same rows are not equal.
func (f Filter) Equal(g Filter) bool { return f.String() == g.String() }

// Within reports whether f has every condition of g, so that f matches only where g
// matches. Conditions count if all the others must hold too, as in And(g, other). A false
// result does not mean that f matches elsewhere: conditions are only compared, not
// understood.
func (f Filter) Within(g Filter) bool {
	if f.root == constant(false) {
		return true
	}
	has := map[string]bool{}
	for condition := range f.conditions() {
		has[condition] = true
	}
	for condition := range g.conditions() {
		if !has[condition] {
			return false
		}
	}
	return true
}

// conditions yields the conditions of which f is the conjunction, as texts that are equal
// for equal conditions only.
func (f Filter) conditions() iter.Seq[string] {
	return func(yield func(string) bool) {
		all, ok := f.root.(and)
		if !ok && f.root != nil {
			all = and{f.root}
		}
		for _, condition := range all {
			if !yield(Condition{node: condition}.Identity()) {
				return
			}
		}
	}
}

// Fields returns the distinct names of the metadata fields that f tests, sorted.
// Fields inside $elemMatch are not included.
func (f Filter) Fields() []string {
	if f.root == nil {
		return nil
	}
	var names []string
	f.root.walk(func(p path) { names = append(names, p.String()) })
	slices.Sort(names)
	return slices.Compact(names)
}
