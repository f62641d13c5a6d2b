package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// packageName is in front of the names of messages.
const packageName = "ragd.v1."

// tidy changes what the generator writes in a document, and in everything below it, to what the service
// reads and answers, in the least complicated form.
func tidy(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			tidy(item)
		}
	case *object:
		flatten(value)
		if text, ok := value.values["description"].(string); ok {
			value.set("description", prose(text))
		}
		tidyRef(value)
		tidyType(value)
		if value.values["additionalProperties"] == false {
			value.delete("additionalProperties") // a later version may have more fields
		}
		for _, key := range value.keys {
			tidy(value.values[key])
		}
		for _, key := range []string{"schemas", "properties"} {
			rename(value, key)
		}
	}
}

// rename takes the package from the names of schemas, and the names of the proto file from properties.
func rename(parent *object, key string) {
	named, ok := parent.values[key].(*object)
	if !ok {
		return
	}
	out := newObject()
	for _, name := range named.keys {
		if schema, ok := named.values[name].(*object); ok {
			if _, ok := schema.values["title"].(string); ok {
				schema.delete("title")
			}
		}
		out.set(strings.TrimPrefix(name, packageName), named.values[name])
	}
	parent.set(key, out)
}

// flatten puts the fields of a oneof beside the others: that only one of them may be set is in their
// descriptions.
func flatten(schema *object) {
	all, ok := schema.values["allOf"].([]any)
	alternatives, oneOf := schema.values["oneOf"].([]any)
	if !ok && !oneOf || schema.text("type") != "object" {
		return
	}
	properties := newObject()
	collect := func(from any) {
		if part, ok := from.(*object); ok {
			properties.merge(part.at("properties"))
		}
	}
	collect(schema)
	for _, part := range append(all, alternatives...) {
		inner, _ := part.(*object)
		if inner == nil {
			continue
		}
		collect(inner)
		for _, key := range []string{"oneOf", "anyOf"} {
			list, _ := inner.values[key].([]any)
			for _, alternative := range list {
				collect(alternative)
			}
		}
	}
	schema.delete("allOf")
	schema.delete("oneOf")
	schema.set("properties", properties)
}

// wellKnown are the schemas of the types of Protocol Buffers that JSON has a form of its own for.
var wellKnown = map[string][][2]any{
	"Struct":    {{"type", "object"}, {"additionalProperties", true}},
	"Value":     {},
	"Timestamp": {{"type", "string"}, {"format", "date-time"}},
	"Duration":  {{"type", "string"}, {"pattern", `^-?[0-9]+(\.[0-9]{1,9})?s$`}, {"examples", []any{"1.5s"}}},
}

// tidyRef takes the package from what a schema refers to, and puts well-known types in its place.
func tidyRef(schema *object) {
	ref := schema.text("$ref")
	_, name, _ := strings.Cut(ref, "/google.protobuf.")
	fields, ok := wellKnown[name]
	if !ok {
		if ref != "" {
			schema.set("$ref", strings.Replace(ref, "/"+packageName, "/", 1))
		}
		return
	}
	schema.delete("$ref")
	for _, field := range fields {
		schema.set(field[0].(string), field[1])
	}
}

// tidyType simplifies the types of a schema: null counts as absent, and 64-bit integers are answered as text.
func tidyType(schema *object) {
	kinds, ok := schema.values["type"].([]any)
	if !ok {
		return
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind any) bool { return kind == "null" })
	switch {
	case slices.Contains(kinds, any("integer")) && slices.Contains(kinds, any("string")):
		schema.set("type", "string")
	case len(kinds) == 1:
		schema.set("type", kinds[0])
	}
}

var lineBreak = regexp.MustCompile(` ?\n ?`)

// prose joins the lines of a comment that are no list.
func prose(text string) string { return strings.TrimSpace(lineBreak.ReplaceAllString(text, " ")) }

// finisher completes the paths of a document.
type finisher struct {
	schemas  *object
	examples map[string]*object
}

// paths completes the calls. Streams are left out, as their messages are framed.
func (f *finisher) paths(paths *object) {
	for _, path := range slices.Clone(paths.keys) {
		post := paths.at(path).at("post")
		if len(post.keys) == 0 {
			paths.delete(path)
			continue
		}
		parameters, _ := post.values["parameters"].([]any)
		post.delete("parameters") // of the protocol: none is needed
		if len(parameters) == 0 {
			continue
		}
		description := post.text("description")
		if first, _, ok := strings.Cut(description, ". "); ok {
			post.set("summary", first)
		} else {
			post.set("summary", strings.TrimSuffix(description, "."))
		}
		body := post.at("requestBody").at("content").at("application/json")
		_, message, _ := strings.Cut(body.at("schema").text("$ref"), "/schemas/")
		if example := f.examples[message]; example != nil {
			body.set("example", example)
		}
		f.responses(post.at("responses"), description)
	}
}

// statuses are the HTTP statuses of the codes that comments name.
var statuses = map[string]int{
	"INVALID_ARGUMENT": http.StatusBadRequest, "FAILED_PRECONDITION": http.StatusBadRequest, "OUT_OF_RANGE": http.StatusBadRequest,
	"UNAUTHENTICATED": http.StatusUnauthorized, "PERMISSION_DENIED": http.StatusForbidden, "NOT_FOUND": http.StatusNotFound,
	"ALREADY_EXISTS": http.StatusConflict, "ABORTED": http.StatusConflict, "RESOURCE_EXHAUSTED": http.StatusTooManyRequests,
	"UNIMPLEMENTED": http.StatusNotImplemented, "INTERNAL": http.StatusInternalServerError,
	"UNAVAILABLE": http.StatusServiceUnavailable, "DEADLINE_EXCEEDED": http.StatusGatewayTimeout,
}

var codeName = regexp.MustCompile(`\b[A-Z]+(?:_[A-Z]+)*\b`)

// responses sets the errors of a call: those that its comment names, those of every call, and a default.
func (f *finisher) responses(responses *object, description string) {
	named := map[int][]string{}
	for _, code := range append([]string{"UNAUTHENTICATED", "RESOURCE_EXHAUSTED"}, codeName.FindAllString(description, -1)...) {
		status, ok := statuses[code]
		if code = strings.ToLower(code); ok && !slices.Contains(named[status], code) {
			named[status] = append(named[status], code)
		}
	}
	answer := responses.values["200"]
	for _, key := range slices.Clone(responses.keys) {
		responses.delete(key)
	}
	responses.set("200", answer)
	sorted := make([]int, 0, len(named))
	for status := range named {
		sorted = append(sorted, status)
	}
	slices.Sort(sorted)
	for _, status := range sorted {
		responses.set(strconv.Itoa(status), failure("Errors with the code "+strings.Join(named[status], " or ")))
	}
	responses.set("default", failure("Another error"))
}

// failure is the response of an error.
func failure(description string) *object {
	response := newObject()
	response.set("description", description)
	response.at("content").at("application/json").at("schema").set("$ref", "#/components/schemas/Error")
	return response
}

// prune deletes the schemas that nothing refers to.
func (f *finisher) prune(document *object) {
	schemas := document.at("components").at("schemas")
	used := map[string]bool{}
	var visit func(any)
	visit = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				visit(item)
			}
		case *object:
			if _, name, ok := strings.Cut(value.text("$ref"), "#/components/schemas/"); ok && !used[name] {
				used[name] = true
				visit(schemas.values[name])
			}
			for _, key := range value.keys {
				visit(value.values[key])
			}
		}
	}
	visit(document.at("paths"))
	for _, name := range slices.Clone(schemas.keys) {
		if !used[name] {
			schemas.delete(name)
		}
		delete(used, name)
	}
	if len(used) > 0 {
		panic(fmt.Sprint("schemas that are referred to and not there: ", used))
	}
}
