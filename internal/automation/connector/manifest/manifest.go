// Package manifest reads manifests of web APIs: which requests list the records of an API, page by page, and
// which document each record becomes.
//
// The language is a subset of Airbyte's declarative manifests, with its names, so that such a manifest is read
// as it is if it uses this subset; what it uses beyond is refused by name. The block document of a stream says
// what becomes of a record, which Airbyte has no names for. Expressions in {{ }} are CEL.
//
// The package makes no requests: it says which ones to make, and what their answers mean.
package manifest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

// Field is the field that errors name.
const Field = "http.manifest"

// Limits.
const (
	// MaxBytes bounds a manifest.
	MaxBytes         = 100_000
	maxStreams       = 50
	maxParents       = 4      // streams of parents above each other
	maxValues        = 20_000 // of a manifest, those of references counted as often as they are used
	maxReferences    = 20     // after each other
	maxTemplateBytes = 4 << 10
	maxPageSize      = 10_000
	maxRetries       = 10
	maxListed        = 1000 // values of a ListPartitionRouter
	maxParts         = 10   // of a document
	maxShown         = 100  // bytes of a name in an error
)

// variables are what expressions can name.
var variables = []string{
	"config", "record", "response", "headers", "stream_partition", "stream_slice", "stream_interval",
	"next_page_token", "last_page_size", "last_record", "last_page_token_value", "parameters", "lookup", "attachment", "parent",
}

// Environment returns the environment in which the expressions of manifests are compiled. Long evaluations
// take a slot of enter; nil is no limit.
func Environment(enter expression.Enter) (*expression.Environment, error) {
	return expression.New(enter, variables...)
}

// Manifest is what is read of an API.
type Manifest struct {
	Streams []*Stream // that have documents
	// Lookups are read before the streams. Expressions find their values by their keys, as in
	// lookup.users[record.user].
	Lookups map[string]*Lookup
	// Delay is the time between the beginnings of two requests; 0 for none.
	Delay time.Duration
}

// Lookup is a stream of which one value of each record is kept by its key.
type Lookup struct {
	Stream     *Stream
	Key, Value Template
}

// Stream is a list of records.
type Stream struct {
	Name            string
	PrimaryKey      [][]string // paths in a record
	Requester       Requester
	Selector        Selector
	Paginator       *Paginator // nil: one page
	Partition       *Partition // nil: one list
	Cursor          *Cursor    // nil: each run reads all records
	Transformations []Transformation
	Document        *Document // nil: the record as JSON
}

// Selector is where the records of an answer are.
type Selector struct {
	Path   []string // * stands for all elements
	Filter Template // of records; zero: all
}

// Transformation adds a value to each record, or removes one.
type Transformation struct {
	Path   []string
	Value  Template
	Remove bool
}

// Partition is what a stream is read for, once each: records of another stream, or values.
type Partition struct {
	Field  string // in stream_partition
	Parent *Stream
	Key    []string // path in a record of the parent
	Values []string // without parent
	Option *Option
}

// Document is what a record becomes.
type Document struct {
	ID, Title, Text Template
	ContentType     string
	Modified        Template
	Version         Template // changes with each change of the document; zero: Modified
	Skip, Deleted   Template
	Metadata        map[string]Template
	Users, Groups   Template // who may see it; zero: not stated
	Access          []Access
	// AccessInCursor is set if a record has a new cursor when its users or groups change.
	AccessInCursor bool
	Parts          []Part
	Attachments    *Attachments
}

// Access is a stream of those who may see the documents of a partition.
type Access struct {
	Stream        *Stream
	Users, Groups Template // of each record
}

// Part is a stream whose records' texts are added to that of a document.
type Part struct {
	Stream  *Stream
	Key     []string // path in the record of the document
	Field   string   // in stream_partition
	Text    Template // of each record
	Recurse Template // whether a record has records below it
	When    Template // whether the record of the document has any; zero: yes
}

// Attachments are files of a record, each a document of its own.
type Attachments struct {
	Items                 Template // a list of objects
	ID, URL, Name, Skip   Template
	ContentType, Modified Template
	// Hosts beside that of the stream get the credentials of its requests.
	Hosts []string
}

// All returns the streams with their parents, parts and those of lookups and access, each at least once.
func (m *Manifest) All() (all []*Stream) {
	var add func(s *Stream)
	add = func(s *Stream) {
		all = append(all, s)
		if p := s.Partition; p != nil && p.Parent != nil {
			add(p.Parent)
		}
		if d := s.Document; d != nil {
			for _, of := range d.Access {
				add(of.Stream)
			}
			for _, of := range d.Parts {
				add(of.Stream)
			}
		}
	}
	for _, l := range m.Lookups {
		add(l.Stream)
	}
	for _, s := range m.Streams {
		add(s)
	}
	return all
}

// HasAccess reports whether the document says who may see it.
func (d *Document) HasAccess() bool {
	return d != nil && (!d.Users.IsZero() || !d.Groups.IsZero() || len(d.Access) > 0)
}

// Stateless reports whether nothing tells that a record is unchanged.
func (d *Document) Stateless() bool { return d == nil || d.Version.IsZero() && d.Modified.IsZero() }

// Parse returns the manifest in a text of YAML or JSON. Without an environment it does not check
// expressions. Errors: Invalid, naming what is wrong or not supported; those of the environment.
func Parse(env *expression.Environment, text string) (*Manifest, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fault.Field(Field, "is missing: give a manifest, or a recipe")
	}
	if err := textlimit.Check(Field, text, MaxBytes); err != nil {
		return nil, err
	}
	p := &parser{env: env, left: maxValues}
	if err := yaml.Unmarshal([]byte(text), &p.root); err != nil {
		return nil, fault.Field(Field, "is no YAML object: %s", textlimit.OneLine(err.Error(), maxShown))
	}
	m := p.manifest(p.node("", p.root, nil))
	return m, p.err
}

func (p *parser) manifest(n node) *Manifest {
	n.kind("DeclarativeSource")
	n.ignore("version", "check", "definitions", "schemas", "spec", "metadata", "description", "concurrency_level", "max_concurrent_async_job_count")
	m := &Manifest{Lookups: map[string]*Lookup{}}
	if budget, ok := n.object("api_budget"); ok {
		m.Delay = p.budget(budget)
	}
	if lookups, ok := n.object("lookups"); ok {
		for _, name := range slices.Sorted(maps.Keys(lookups.fields)) {
			l, _ := lookups.object(name)
			m.Lookups[name] = &Lookup{Stream: p.inner(l), Key: l.template("key"), Value: l.template("value")}
			l.close()
		}
	}
	streams := n.objects("streams")
	if len(streams) == 0 || len(streams) > maxStreams {
		n.fail("streams", "must be a list of 1 to %d", maxStreams)
	}
	seen := map[string]bool{}
	for _, one := range streams {
		s := p.stream(one, 0)
		if seen[s.Name] {
			one.fail("name", "is that of another stream: %q", textlimit.Shorten(s.Name, maxShown))
		}
		seen[s.Name] = true
		m.Streams = append(m.Streams, s)
	}
	n.close()
	return m
}

// budget returns the time between two requests that keeps to all rates.
func (p *parser) budget(n node) (delay time.Duration) {
	n.kind("HTTPAPIBudget")
	n.ignore("ratelimit_reset_header", "ratelimit_remaining_header", "status_codes_for_ratelimit_hit")
	for _, policy := range n.objects("policies") {
		policy.kind("MovingWindowCallRatePolicy")
		policy.ignore("matchers")
		for _, rate := range policy.objects("rates") {
			rate.kind("Rate")
			interval, err := parseDuration(rate.text("interval"))
			limit := rate.integer("limit", 0, 1_000_000)
			if err != nil || limit == 0 {
				rate.fail("", "must have a limit of 1 or more and an interval such as PT1M")
				continue
			}
			delay = max(delay, interval/time.Duration(limit))
			rate.close()
		}
		policy.close()
	}
	n.close()
	return delay
}

// inner returns the stream in a field of an object.
func (p *parser) inner(n node) *Stream {
	s, ok := n.object("stream")
	if !ok {
		n.fail("stream", "is missing")
		return &Stream{}
	}
	return p.stream(s, maxParents-1)
}

// stream returns a stream. depth is how many streams it is the parent of.
func (p *parser) stream(n node, depth int) *Stream {
	s := &Stream{}
	if depth > maxParents {
		n.fail("", "has more than %d parents above each other", maxParents)
		return s
	}
	n.kind("DeclarativeStream")
	n.ignore("schema_loader", "state_migrations")
	n.inherit("name", "primary_key")
	s.Name = n.text("name")
	if s.Name == "" {
		n.fail("name", "is missing")
	}
	s.PrimaryKey = n.paths("primary_key")
	retriever, ok := n.object("retriever")
	if !ok {
		n.fail("retriever", "is missing")
		return s
	}
	p.retriever(retriever, s, depth)
	if cursor, ok := n.object("incremental_sync"); ok {
		s.Cursor = p.cursor(cursor)
	}
	for _, one := range n.objects("transformations") {
		s.Transformations = append(s.Transformations, p.transformations(one)...)
	}
	if d, ok := n.object("document"); ok {
		s.Document = p.document(d)
	}
	n.close()
	return s
}

// inherit sets fields that the node lacks to the parameters of their names.
func (n node) inherit(names ...string) {
	for _, name := range names {
		if value, ok := n.parameters[name]; ok && !n.has(name) {
			n.fields[name] = value
		}
	}
}

// paths returns paths in a record: a name, a list of names, or a list of lists of names.
func (n node) paths(name string) (paths [][]string) {
	value := n.value(name)
	list, ok := value.([]any)
	if text, isText := value.(string); isText && text != "" {
		return [][]string{strings.Split(text, ".")}
	}
	if value != nil && !ok {
		n.fail(name, "must be a name or a list of names")
	}
	for _, one := range list {
		switch one := one.(type) {
		case string:
			paths = append(paths, strings.Split(one, "."))
		case []any:
			var path []string
			for _, step := range one {
				text, ok := step.(string)
				if !ok {
					n.fail(name, "must be names")
				}
				path = append(path, text)
			}
			paths = append(paths, path)
		default:
			n.fail(name, "must be names")
		}
	}
	return paths
}

func (p *parser) retriever(n node, s *Stream, depth int) {
	n.kind("SimpleRetriever")
	n.ignore("ignore_stream_slicer_parameters_on_paginated_requests")
	if decoder, ok := n.object("decoder"); ok {
		decoder.kind("JsonDecoder")
		decoder.close()
	}
	requester, ok := n.object("requester")
	if !ok {
		n.fail("requester", "is missing")
		return
	}
	s.Requester = p.requester(requester)
	if selector, ok := n.object("record_selector"); ok {
		s.Selector = p.selector(selector)
	}
	if paginator, ok := n.object("paginator"); ok {
		s.Paginator = p.paginator(paginator)
	}
	if n.has("partition_router") {
		s.Partition = p.partition(n, depth)
	}
	n.close()
}

func (p *parser) selector(n node) (s Selector) {
	n.kind("RecordSelector")
	n.ignore("schema_normalization", "transform_before_filtering")
	if extractor, ok := n.object("extractor"); ok {
		extractor.kind("DpathExtractor")
		s.Path = extractor.texts("field_path")
		extractor.close()
	}
	if filter, ok := n.object("record_filter"); ok {
		filter.kind("RecordFilter")
		s.Filter = filter.template("condition")
		filter.close()
	}
	n.close()
	return s
}

// partition returns the router of a retriever.
func (p *parser) partition(retriever node, depth int) *Partition {
	const field = "partition_router"
	if list, ok := retriever.value(field).([]any); ok {
		if len(list) != 1 {
			retriever.fail(field, "must be one: several are not supported")
			return nil
		}
		return p.router(p.node(retriever.at(field)+"[0]", list[0], retriever.parameters), depth)
	}
	n, _ := retriever.object(field)
	return p.router(n, depth)
}

func (p *parser) router(n node, depth int) *Partition {
	out := &Partition{}
	if n.kind("SubstreamPartitionRouter", "ListPartitionRouter") == "ListPartitionRouter" {
		if text, ok := n.value("values").(string); ok {
			n.fail("values", "must be a list, not the expression %s", textlimit.Shorten(text, maxShown))
		}
		out.Field, out.Values, out.Option = n.text("cursor_field"), n.texts("values"), p.option(n, "request_option")
		if len(out.Values) > maxListed {
			n.fail("values", "must be at most %d", maxListed)
		}
		n.close()
		return out
	}
	parents := n.objects("parent_stream_configs")
	if len(parents) != 1 {
		n.fail("parent_stream_configs", "must be one: several are not supported")
		return out
	}
	of := parents[0]
	of.kind("ParentStreamConfig")
	of.ignore("incremental_dependency")
	out.Field, out.Key, out.Option = of.text("partition_field"), first(of.paths("parent_key")), p.option(of, "request_option")
	if out.Field == "" || len(out.Key) == 0 {
		of.fail("", "must have parent_key and partition_field")
	}
	stream, ok := of.object("stream")
	if !ok {
		of.fail("stream", "is missing")
		return out
	}
	out.Parent = p.stream(stream, depth+1)
	of.close()
	n.close()
	return out
}

func first(paths [][]string) []string {
	if len(paths) == 0 {
		return nil
	}
	return paths[0]
}

// transformations returns what one of a stream does.
func (p *parser) transformations(n node) (out []Transformation) {
	if n.kind("AddFields", "RemoveFields") == "RemoveFields" {
		for _, path := range n.paths("field_pointers") {
			out = append(out, Transformation{Path: path, Remove: true})
		}
		n.close()
		return out
	}
	for _, field := range n.objects("fields") {
		field.kind("AddedFieldDefinition")
		field.ignore("value_type")
		out = append(out, Transformation{Path: field.texts("path"), Value: field.template("value")})
		field.close()
	}
	n.close()
	return out
}

// contentTypes are what texts can be.
var contentTypes = []string{"text/plain", "text/markdown", "text/html", "application/json"}

func (p *parser) document(n node) *Document {
	n.kind("Document")
	d := &Document{
		ID: n.template("id"), Title: n.template("title"), Text: n.template("text"), ContentType: n.text("content_type"),
		Modified: n.template("modified"), Version: n.template("version"), Skip: n.template("skip"), Deleted: n.template("deleted"),
		Metadata: n.templates("metadata"),
	}
	if d.ContentType == "" {
		d.ContentType = contentTypes[0]
	}
	if !slices.Contains(contentTypes, d.ContentType) {
		n.fail("content_type", "must be one of %s", strings.Join(contentTypes, ", "))
	}
	if acl, ok := n.object("acl"); ok {
		d.Users, d.Groups = acl.template("users"), acl.template("groups")
		d.AccessInCursor = acl.flag("in_cursor")
		for _, from := range acl.objects("from") {
			d.Access = append(d.Access, Access{Stream: p.inner(from), Users: from.template("users"), Groups: from.template("groups")})
			from.close()
		}
		acl.close()
	}
	for _, part := range n.objects("parts") {
		d.Parts = append(d.Parts, p.part(part))
	}
	if len(d.Parts) > maxParts {
		n.fail("parts", "must be at most %d", maxParts)
	}
	if a, ok := n.object("attachments"); ok {
		d.Attachments = &Attachments{
			Items: a.template("items"), ID: a.template("id"), URL: a.template("url"), Name: a.template("name"), Skip: a.template("skip"),
			ContentType: a.template("content_type"), Modified: a.template("modified"), Hosts: a.texts("authenticate_hosts"),
		}
		for _, needed := range []string{"items", "url"} {
			if !a.has(needed) {
				a.fail(needed, "is missing")
			}
		}
		a.close()
	}
	n.close()
	return d
}

func (p *parser) part(n node) Part {
	out := Part{
		Stream: p.inner(n), Key: first(n.paths("parent_key")), Field: n.text("partition_field"), Text: n.template("text"),
		Recurse: n.template("recurse_when"), When: n.template("when"),
	}
	if len(out.Key) == 0 || out.Field == "" {
		n.fail("", "must have parent_key and partition_field")
	}
	if out.Stream.Partition != nil {
		n.fail("stream", "must have no partition_router: its records are those of parent_key")
	}
	n.close()
	return out
}
