package randomcalls

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// vectorDimension is the dimension of the index of vectors that each tenant has.
const vectorDimension = 8

// generator makes random requests of one caller.
type generator struct {
	rng    *rand.Rand
	caller *caller
	method protoreflect.MethodDescriptor // the RPC that is called, or that the tool calls
	// wild requests contain values that are out of range or make no sense.
	wild bool
}

// request returns a random message.
func (g *generator) request(message protoreflect.MessageDescriptor) *dynamicpb.Message {
	m := dynamicpb.NewMessage(message)
	g.wild = g.rng.IntN(4) == 0
	const depth = 4
	g.fill(m, depth)
	return m
}

// fill sets random fields of a message, at most depth levels deep, and one field of each
// oneof.
func (g *generator) fill(m protoreflect.Message, depth int) {
	fields, chosen := m.Descriptor().Fields(), map[protoreflect.Name]int{}
	for i := range m.Descriptor().Oneofs().Len() {
		of := m.Descriptor().Oneofs().Get(i)
		chosen[of.Name()] = g.rng.IntN(of.Fields().Len())
	}
	for i := range fields.Len() {
		field := fields.Get(i)
		set := g.sets(field)
		if of := field.ContainingOneof(); of != nil && !of.IsSynthetic() {
			set = of.Fields().Get(chosen[of.Name()]) == field
		}
		switch {
		case !set || field.IsMap() || depth == 0 && field.Message() != nil:
		default:
			g.set(m, field, depth)
		}
	}
	if !g.wild {
		g.chooseOne(m, depth)
	}
}

func (g *generator) set(m protoreflect.Message, field protoreflect.FieldDescriptor, depth int) {
	if field.IsList() {
		g.fillList(m.Mutable(field).List(), field, depth)
	} else if v, ok := g.value(field, depth); ok {
		m.Set(field, v)
	}
}

// alternatives are fields of a request of which it takes exactly one.
var alternatives = [][]protoreflect.Name{
	{"document_id", "uri"}, {"document_ids", "uris", "filter"}, {"id", "filter"}, {"ids", "filter"}, {"uri_prefix", "whole_index"},
}

// chooseOne leaves one of each group of alternatives in a request.
func (g *generator) chooseOne(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for _, names := range alternatives {
		if slices.ContainsFunc(names, func(n protoreflect.Name) bool { return fields.ByName(n) == nil }) || m.Descriptor() != g.method.Input() {
			continue
		}
		for _, name := range names {
			m.Clear(fields.ByName(name))
		}
		g.set(m, fields.ByName(one(g, names...)), depth)
	}
}

// sets reports whether to set a field: mostly, if its message hardly makes sense without.
func (g *generator) sets(field protoreflect.FieldDescriptor) bool {
	switch field.Name() {
	case "index_name", "document_id", "job_id", "tenant_id", "api_key_id", "tool_name", "query_text", "entries", "id", "results", "texts", "kind", "documents", "values":
		return g.rng.IntN(12) > 0
	case "page_token", "namespace", "dry_run", "chunking", "extract", "sparse_values", "language", "weights", "encoding_name", "model_name":
		return g.rng.IntN(8) == 0
	}
	return g.rng.IntN(4) == 0
}

func (g *generator) fillList(list protoreflect.List, field protoreflect.FieldDescriptor, depth int) {
	n := 1 + g.rng.IntN(4)
	if g.wild {
		n--
	}
	if name := field.Name(); name == "values" || name == "query_vector" {
		if n = vectorDimension; g.wild {
			n = g.rng.IntN(10)
		}
	}
	for range n {
		if v, ok := g.value(field, depth); ok {
			list.Append(v)
		}
	}
}

// value returns a random value of a field, or of an element of a list.
func (g *generator) value(field protoreflect.FieldDescriptor, depth int) (protoreflect.Value, bool) {
	name := string(field.Name())
	switch field.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(g.rng.IntN(2) == 0), true
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(g.number(name)), true
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(g.number(name))), true
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(g.fraction()), true
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(g.fraction())), true
	case protoreflect.StringKind:
		if special := string(field.ContainingMessage().Name()) + "." + name; choices[special] != nil {
			name = special
		}
		return protoreflect.ValueOfString(g.text(name)), true
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(g.content())), true
	case protoreflect.MessageKind:
		return g.message(field, depth)
	}
	return protoreflect.Value{}, false
}

// message returns a random message of a field. It copies the types that are known
// elsewhere into dynamic ones.
func (g *generator) message(field protoreflect.FieldDescriptor, depth int) (protoreflect.Value, bool) {
	m := dynamicpb.NewMessage(field.Message())
	var known proto.Message
	switch field.Message().FullName() {
	case "google.protobuf.Struct":
		known, _ = structpb.NewStruct(g.object(string(field.Name())))
	case "google.protobuf.Value":
		known, _ = structpb.NewValue(g.object(string(field.Name())))
		if g.wild {
			known, _ = structpb.NewValue([]any{nil, 1, "a", true}[g.rng.IntN(4)])
		}
	case "google.protobuf.Timestamp":
		known = timestamppb.New(time.Now().Add(time.Duration(g.rng.IntN(7200)-600) * time.Second))
	default:
		g.fill(m, depth-1)
		return protoreflect.ValueOfMessage(m), true
	}
	wire, err := proto.Marshal(known)
	if err != nil || proto.Unmarshal(wire, m) != nil {
		return protoreflect.Value{}, false
	}
	return protoreflect.ValueOfMessage(m), true
}

// one returns one of the values.
func one[T any](g *generator, values ...T) T { return values[g.rng.IntN(len(values))] }

func (g *generator) number(name string) int32 {
	if g.wild && g.rng.IntN(2) == 0 {
		return one[int32](g, -1, 0, 1001, 100_000, math.MaxInt32, math.MinInt32)
	}
	switch name {
	case "page_size":
		return one[int32](g, 0, 1, 2, 10, 1000)
	case "top_k", "candidates":
		return one[int32](g, 1, 3, 10, 100, 1000)
	case "dimension":
		return one[int32](g, 0, vectorDimension, 512)
	case "max_size", "size", "target_size":
		return one[int32](g, 300, 1000, 4000)
	case "overlap", "min_size":
		return one[int32](g, 0, 10, 50)
	}
	return 1 + int32(g.rng.IntN(10))
}

func (g *generator) fraction() float64 {
	if g.wild && g.rng.IntN(20) == 0 {
		return one(g, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1)
	}
	return g.rng.Float64()
}

// temporary are names of indexes, tenants and tools that a run creates and deletes.
func (g *generator) temporary(prefix string) string {
	return fmt.Sprintf("%s%d", prefix, g.rng.IntN(4))
}

// choices are the values that fields of a name know, beside which any text may be sent.
var choices = map[string][]string{
	"strategy":            {"recursive", "character", "token", "markdown", "semantic-markdown", "html", "json", "latex", "sentence"},
	"separator_position":  {"start", "end"},
	"language":            {"go", "python", "markdown"},
	"metric":              {"cosine", "euclidean", "dotproduct", "hamming", "jaccard"},
	"vector_type":         {"vector", "halfvec", "bit", "sparsevec"},
	"type":                {"hnsw", "ivfflat", "flat"},
	"search_mode":         {"vector", "keyword", "hybrid"},
	"fusion":              {"weighted", "rrf"},
	"edge_types":          {"mention", "next", "similar"},
	"kind":                {"vector_query", "graph_rag", "document_chunker"},
	"Reranker.kind":       {"lexical"},
	"Reranker.model":      {"builtin/lexical"},
	"model":               {"builtin/lexical", "builtin/hash-512", "builtin/hash-256"},
	"embedding_model":     {"builtin/hash-512", "builtin/hash-256"},
	"text_language":       {"english", "simple", "german"},
	"content_type":        {"text/plain", "text/markdown", "text/html", "application/json", "text/csv"},
	"vector_store_name":   {"ragd", "pgvector", "pinecone", "chroma"},
	"status":              {"queued", "running", "succeeded", "failed", "cancelled"},
	"scopes":              {"read", "write", "admin"},
	"metadata_indexes":    {"team", "n", "marker", "deep.field"},
	"fields":              {"team", "n", "marker", "deep.field"},
	"arguments":           {"queryText", "topK", "filter", "text", "indexName"},
	"separators":          {"\n\n", " ", "", "a+"},
	"encoding_name":       {"cl100k_base", "o200k_base"},
	"path":                {"section", "p", "h1"},
	"key":                 {"heading", "section", "team"},
	"sentence_enders":     {".", "!"},
	"extraction_language": {"english"},
}

// text returns a text for a field of the name.
func (g *generator) text(name string) string {
	if g.wild && g.rng.IntN(5) == 0 {
		return one(g, "", "x", "null", "../..", "a\n\"b\"", strings.Repeat("long ", 1000), "é漢\U0001F600", "%00", "'; drop table x; --")
	}
	switch name {
	case "index_name":
		return g.indexName()
	case "document_id", "document_ids", "job_id", "api_key_id", "page_token":
		return g.known(strings.TrimSuffix(name, "s"))
	case "tenant_id":
		return g.tenantID()
	case "tool_name":
		return g.temporary("tool_")
	case "uri", "uris":
		return fmt.Sprintf("%s/%d", g.caller.marker, g.rng.IntN(40))
	case "uri_prefix":
		return one(g, g.caller.marker+"/1", g.caller.marker+"/", "elsewhere/")
	case "namespace":
		return one(g, "default", "other")
	case "id":
		return fmt.Sprintf("%s-%d", g.caller.marker, g.rng.IntN(40))
	case "marker":
		return one(g, "#", "##", "h1", "h2")
	}
	if known := choices[name]; known != nil {
		return one(g, known...)
	}
	return fmt.Sprintf("The %s of harbour %d and quarry LD-%d.", g.caller.marker, g.rng.IntN(40), g.rng.IntN(10))
}

// indexName returns the name of an index. Calls that remove an index, or all that it
// contains, get the temporary ones.
func (g *generator) indexName() string {
	if !g.wild || g.method.Name() == "DeleteIndex" || g.method.Name() == "TruncateIndex" {
		switch g.method.Name() {
		case "CreateIndex", "DeleteIndex", "TruncateIndex":
			return g.temporary("index_")
		case "Upsert", "Update", "Query", "Delete":
			return "vectors"
		}
	}
	return one(g, "docs", "docs", "docs", "vectors", "vectors", g.temporary("index_"))
}

// known returns an id or token from an earlier answer, sometimes from one to the other
// tenant.
func (g *generator) known(name string) string {
	if g.caller.other != nil && g.rng.IntN(6) == 0 {
		if id := g.caller.other.known.pick(g.rng, name); !strings.Contains(id, g.caller.other.marker) {
			return id
		}
	}
	return g.caller.known.pick(g.rng, name)
}

// tenantID returns the id of a temporary tenant, or for a tenant's calls also its own or
// the other's. The operator never names the two tenants: it would delete them.
func (g *generator) tenantID() string {
	if g.caller.operator {
		return g.temporary("passing-")
	}
	return one(g, g.caller.id, g.caller.id, g.caller.other.id, g.temporary("passing-"))
}

// content returns the content of a document.
func (g *generator) content() string {
	text := g.text("text")
	return one(g,
		strings.Repeat(text+" ", 1+g.rng.IntN(100)),
		"# "+text+"\n\n"+strings.Repeat(text+"\n\n", g.rng.IntN(20)),
		"<html><body><h1>"+text+"</h1><p>"+text+"</p></body></html>",
		`{"`+g.caller.marker+`": [1, 2, {"a": "b"}]}`,
		"%PDF-1.7 "+text, "PK\x03\x04"+text, "\xff\xfe"+text, " ",
	)
}

// object returns the JSON object of a field: a filter, settings or metadata.
func (g *generator) object(name string) map[string]any {
	team := one(g, "red", "blue")
	switch {
	case strings.Contains(name, "filter") || name == "where":
		return one(g,
			map[string]any{"team": team},
			map[string]any{"n": map[string]any{"$gt": g.rng.IntN(5)}},
			map[string]any{"$or": []any{map[string]any{"team": team}, map[string]any{"marker": g.caller.marker}}},
			map[string]any{"team": map[string]any{"$in": []any{"red", "blue", nil, 1}}},
			map[string]any{"$not": map[string]any{"team": team}},
			map[string]any{"deep.field": map[string]any{"$exists": true}},
			g.nonsense(),
		)
	case name == "where_document":
		return map[string]any{one(g, "$contains", "$regex", "$not_contains"): one(g, "harbour", "h.*r", "(")}
	case name == "settings":
		return one(g, map[string]any{"indexName": "docs", "topK": 3}, map[string]any{"indexName": "docs"}, map[string]any{"indexName": "vectors"}, g.nonsense())
	case name == "extract":
		return map[string]any{one(g, "title", "summary", "nonsense"): true, "model": "openai/chat"}
	}
	return map[string]any{"team": team, "n": float64(g.rng.IntN(10)), "marker": g.caller.marker, "deep": map[string]any{"field": []any{1.5, "a", nil}}}
}

// nonsense returns an object without meaning in wild requests, else one with the team.
func (g *generator) nonsense() map[string]any {
	if g.wild {
		return one(g, map[string]any{"$nonsense": 1}, map[string]any{"unknown": nil}, map[string]any{})
	}
	return map[string]any{"team": "red"}
}
