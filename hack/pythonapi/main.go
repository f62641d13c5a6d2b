// Command pythonapi writes the types and clients of the API for Python: a TypedDict for the JSON of
// each message, and for each service a client and an asynchronous one. It is a plugin of protoc, which
// `make generate` runs.
package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const head = `"""Messages and services of ragd's API. Messages are dictionaries with the names of the API's JSON."""

# Generated from proto/ragd/v1 by make generate. Do not edit.

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, TypedDict, cast

from .._transport import AsyncTransport, Transport`

func main() {
	protogen.Options{}.Run(func(plugin *protogen.Plugin) error {
		plugin.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		w := &writer{}
		w.printf("%s", head)
		for _, file := range plugin.Files {
			if !file.Generate {
				continue
			}
			for _, message := range file.Messages {
				w.message(message)
			}
		}
		for _, file := range plugin.Files {
			if !file.Generate {
				continue
			}
			for _, service := range file.Services {
				w.service(service, "")
				w.service(service, "Async")
			}
		}
		slices.Sort(w.names)
		w.printf("\n\n\n__all__ = [\n")
		for _, name := range w.names {
			w.printf("    %q,\n", name)
		}
		w.printf("]")
		plugin.NewGeneratedFile("__init__.py", "").P(w.text.String())
		return nil
	})
}

type writer struct {
	text  strings.Builder
	names []string // that the module exports
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.text, format, args...) }

// message writes a TypedDict. One with a field that is a keyword of Python is written as a call.
func (w *writer) message(m *protogen.Message) {
	for _, inner := range m.Messages {
		if !inner.Desc.IsMapEntry() {
			w.message(inner)
		}
	}
	name := nameOf(m)
	w.names = append(w.names, name)
	if slices.ContainsFunc(m.Fields, func(f *protogen.Field) bool { return isKeyword(f.Desc.JSONName()) }) {
		w.printf("\n\n\n%s = TypedDict(\n    %q,\n    {\n", name, name)
		for _, field := range m.Fields {
			w.comment("        ", field.Comments.Leading)
			w.printf("        %q: %q,\n", field.Desc.JSONName(), typeOf(field))
		}
		w.printf("    },\n    total=False,\n)")
		return
	}
	w.printf("\n\n\nclass %s(TypedDict, total=False):\n", name)
	w.docstring("    ", string(m.Comments.Leading), "The message "+name+".")
	for _, field := range m.Fields {
		w.printf("\n")
		w.comment("    ", field.Comments.Leading)
		w.printf("    %s: %s", field.Desc.JSONName(), typeOf(field))
	}
}

// service writes a client of a service, or with the prefix Async an asynchronous one.
func (w *writer) service(s *protogen.Service, prefix string) {
	name := prefix + s.GoName
	w.names = append(w.names, name)
	w.printf("\n\n\nclass %s:\n", name)
	w.docstring("    ", string(s.Comments.Leading), "The service "+s.GoName+".")
	w.printf("\n\n    def __init__(self, transport: %sTransport) -> None:\n        self._transport = transport", prefix)
	for _, m := range s.Methods {
		w.method(s, m, prefix)
	}
}

func (w *writer) method(s *protogen.Service, m *protogen.Method, prefix string) {
	input, output := nameOf(m.Input), nameOf(m.Output)
	path := fmt.Sprintf("%s/%s", s.Desc.FullName(), m.Desc.Name())
	define, wait, argument := "def", "", "request: "+input+" | None = None"
	sent, call, result := "request or {}", "unary", output
	switch {
	case m.Desc.IsStreamingClient():
		argument, sent, call = "requests: "+prefix+"Iterable["+input+"]", "requests", "client_stream"
	case m.Desc.IsStreamingServer():
		call, result = "server_stream", prefix+"Iterator["+output+"]"
	}
	if prefix != "" && !m.Desc.IsStreamingServer() {
		define, wait = "async def", "await "
	}
	key, idempotent := "", ""
	options, _ := m.Desc.Options().(*descriptorpb.MethodOptions)
	switch {
	case call != "unary":
	case options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS:
		idempotent = ", idempotent=True"
	default:
		key, idempotent = ", idempotency_key: str | None = None", ", idempotency_key=idempotency_key"
	}
	w.printf("\n\n    %s %s(self, %s, *, timeout: float | None = None, context: dict[str, Any] | None = None%s) -> %s:\n", define, snake(m.GoName), argument, key, result)
	w.docstring("        ", string(m.Comments.Leading), m.GoName+".")
	w.printf("\n        answer = %sself._transport.%s(%q, %s, timeout=timeout, context=context%s)", wait, call, path, sent, idempotent)
	w.printf("\n        return cast(%q, answer)", result)
}

// docstring writes a docstring.
func (w *writer) docstring(indent, text, otherwise string) {
	lines := linesOf(text)
	if len(lines) == 0 {
		lines = []string{otherwise}
	}
	w.printf("%s\"\"\"%s", indent, strings.Join(lines, "\n"+indent))
	if len(lines) > 1 {
		w.printf("\n%s", indent)
	}
	w.printf("\"\"\"")
}

// comment writes comment lines.
func (w *writer) comment(indent string, text protogen.Comments) {
	for _, line := range linesOf(string(text)) {
		w.printf("%s# %s\n", indent, line)
	}
}

func linesOf(comment string) (lines []string) {
	for line := range strings.Lines(strings.TrimSpace(strings.ReplaceAll(comment, `\`, `\\`))) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func nameOf(m *protogen.Message) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(m.Desc.FullName()), "ragd.v1."), ".", "")
}

// typeOf returns the type of a field in JSON.
func typeOf(f *protogen.Field) string {
	if f.Desc.IsMap() {
		return "dict[str, " + single(f.Message.Fields[1]) + "]"
	}
	if f.Desc.IsList() {
		return "list[" + single(f) + "]"
	}
	return single(f)
}

func single(f *protogen.Field) string {
	switch f.Desc.Kind() {
	case protoreflect.BoolKind:
		return "bool"
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return "int"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "float"
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return message(f.Message)
	default: // text; bytes are base64, 64-bit numbers decimal
		return "str"
	}
}

func message(m *protogen.Message) string {
	switch m.Desc.FullName() {
	case "google.protobuf.Struct":
		return "dict[str, Any]"
	case "google.protobuf.Value":
		return "Any"
	case "google.protobuf.ListValue":
		return "list[Any]"
	case "google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask":
		return "str"
	case "google.protobuf.Empty":
		return "dict[str, Any]"
	}
	return nameOf(m)
}

var upper = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func snake(name string) string {
	return strings.ToLower(upper.ReplaceAllString(name, "${1}_${2}"))
}

func isKeyword(name string) bool {
	return slices.Contains([]string{"from", "import", "in", "is", "not", "class", "global", "lambda", "pass", "with", "as", "def", "del", "async", "await", "and", "or", "if", "else", "for", "while", "return", "try", "except", "raise", "yield", "None", "True", "False"}, name)
}
