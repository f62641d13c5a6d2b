// Command apidoc writes the reference of the API as Markdown, one page for each service,
// from the comments of the proto files. It is a plugin of protoc, which `make generate` runs.
package main

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	protogen.Options{}.Run(func(plugin *protogen.Plugin) error {
		plugin.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		pages := pagesOf(plugin)
		for _, file := range plugin.Files {
			if !file.Generate {
				continue
			}
			for _, service := range file.Services {
				p := page{pages: pages, file: pages[file.Desc.Path()], printed: map[protoreflect.FullName]bool{}}
				p.write(file, service)
				out := plugin.NewGeneratedFile(p.file, "")
				out.P(strings.TrimSpace(p.text.String()))
			}
		}
		return nil
	})
}

// pagesOf maps the path of each proto file to the name of the page that documents it.
func pagesOf(plugin *protogen.Plugin) map[string]string {
	pages := map[string]string{}
	for _, file := range plugin.Files {
		if len(file.Services) > 0 {
			name := string(file.Services[0].Desc.Name())
			pages[file.Desc.Path()] = strings.ToLower(strings.TrimSuffix(name, "Service")) + "-service.md"
		}
	}
	return pages
}

// page is the page of one service while it is written.
type page struct {
	pages   map[string]string // names of pages by proto file
	file    string
	text    strings.Builder
	printed map[protoreflect.FullName]bool // messages that have a section already
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

// write writes a service: a list of its calls, a section for each call with the messages
// that only it uses, and a section for each other message.
func (p *page) write(file *protogen.File, service *protogen.Service) {
	p.printf("# %s\n\n<!-- Generated from proto/%s by make generate. -->\n\n", service.Desc.Name(), file.Desc.Path())
	p.printf("%s\n\n| call | |\n|---|---|\n", prose(service.Comments.Leading))
	for _, method := range service.Methods {
		p.printf("| [%s](#%s) | %s |\n", method.Desc.Name(), anchor(method.Desc), sentence(method.Comments.Leading))
	}
	uses := countUses(service)
	for _, method := range service.Methods {
		p.writeMethod(service, method)
		for _, message := range []*protogen.Message{method.Input, method.Output} {
			if uses[message.Desc.FullName()] == 1 && message.Desc.ParentFile() == file.Desc {
				p.writeMessage("###", message)
			}
		}
	}
	p.printf("\n## Messages\n")
	for _, message := range file.Messages {
		if !p.printed[message.Desc.FullName()] {
			p.writeMessage("###", message)
		}
	}
}

// countUses counts how often the calls of a service take or return each message.
func countUses(service *protogen.Service) map[protoreflect.FullName]int {
	uses := map[protoreflect.FullName]int{}
	for _, method := range service.Methods {
		uses[method.Input.Desc.FullName()]++
		uses[method.Output.Desc.FullName()]++
	}
	return uses
}

// writeMethod writes the section of a call.
func (p *page) writeMethod(service *protogen.Service, method *protogen.Method) {
	p.printf("\n## %s\n\n`POST /%s/%s`: ", method.Desc.Name(), service.Desc.FullName(), method.Desc.Name())
	p.printf("%s → %s.", p.stream(method.Desc.IsStreamingClient(), method.Input), p.stream(method.Desc.IsStreamingServer(), method.Output))
	options, _ := method.Desc.Options().(*descriptorpb.MethodOptions)
	if options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
		p.printf(" Changes nothing, so `GET` is accepted too.")
	}
	p.printf("\n\n%s\n", prose(method.Comments.Leading))
}

// stream returns a link to a message, and whether there is a stream of them.
func (p *page) stream(streams bool, message *protogen.Message) string {
	if streams {
		return "stream of " + p.link(message.Desc)
	}
	return p.link(message.Desc)
}

// writeMessage writes the section of a message under a heading of the given level.
func (p *page) writeMessage(level string, message *protogen.Message) {
	p.printed[message.Desc.FullName()] = true
	p.printf("\n%s %s\n\n", level, message.Desc.Name())
	if comment := prose(message.Comments.Leading); comment != "" {
		p.printf("%s\n\n", comment)
	}
	if len(message.Fields) == 0 {
		p.printf("No fields.\n")
		return
	}
	p.printf("| field | type | |\n|---|---|---|\n")
	for _, field := range message.Fields {
		p.printf("| `%s` | %s | %s |\n", field.Desc.JSONName(), p.typeOf(field.Desc), p.meaning(field))
	}
}

// meaning returns what the comment of a field says, and which fields exclude it.
func (p *page) meaning(field *protogen.Field) string {
	text := prose(field.Comments.Leading)
	if oneof := field.Oneof; oneof != nil && !oneof.Desc.IsSynthetic() {
		var others []string
		for _, other := range oneof.Fields {
			if other != field {
				others = append(others, "`"+other.Desc.JSONName()+"`")
			}
		}
		text = strings.TrimSpace(text + " Excludes " + strings.Join(others, ", ") + ".")
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// typeOf returns the type of a field as it is in JSON.
func (p *page) typeOf(field protoreflect.FieldDescriptor) string {
	if field.IsMap() {
		return "object of " + p.scalar(field.MapValue())
	}
	if field.IsList() {
		return "list of " + p.scalar(field)
	}
	return p.scalar(field)
}

// scalar returns the type of one value of a field.
func (p *page) scalar(field protoreflect.FieldDescriptor) string {
	if message := field.Message(); message != nil {
		return p.link(message)
	}
	switch field.Kind() {
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind:
		return "integer, as text"
	case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.Sint32Kind:
		return "integer"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "number"
	case protoreflect.BoolKind:
		return "boolean"
	case protoreflect.BytesKind:
		return "bytes, in base64"
	default:
		return field.Kind().String()
	}
}

// wellKnown holds what the messages of protobuf itself are in JSON.
var wellKnown = map[protoreflect.FullName]string{
	"google.protobuf.Struct":    "object",
	"google.protobuf.Value":     "any JSON",
	"google.protobuf.Timestamp": "time (RFC 3339)",
	"google.protobuf.Duration":  "duration, such as `1.5s`",
}

// link returns a link to the section of a message.
func (p *page) link(message protoreflect.MessageDescriptor) string {
	if name, ok := wellKnown[message.FullName()]; ok {
		return name
	}
	target := p.pages[message.ParentFile().Path()]
	if target == p.file {
		target = ""
	}
	return fmt.Sprintf("[%s](%s#%s)", message.Name(), target, anchor(message))
}

// anchor returns the anchor of the heading of a call or message.
func anchor(d protoreflect.Descriptor) string { return strings.ToLower(string(d.Name())) }

var (
	identifier = regexp.MustCompile(`(^|[ (\[])([a-z]+[A-Z]\w*(?:\.\w+)*|[A-Z]+_[A-Z_]+|[A-Z]{8,})`)
	docsPage   = regexp.MustCompile(`docs/([\w-]+)/([\w-]+)\.md`)
	markup     = strings.NewReplacer("<", "&lt;", "*", `\*`)
)

// prose returns a comment as one paragraph of Markdown: names of fields and codes of
// errors as code, and pages as links.
func prose(comment protogen.Comments) string {
	paragraphs := strings.Split(strings.TrimSpace(string(comment)), "\n\n")
	for i, text := range paragraphs {
		text = markup.Replace(strings.Join(strings.Fields(text), " "))
		text = identifier.ReplaceAllString(text, "$1`$2`")
		paragraphs[i] = docsPage.ReplaceAllString(text, "[$2](../../$1/$2.md)")
	}
	return strings.Join(paragraphs, " ")
}

// sentence returns the first sentence of a comment, for a table.
func sentence(comment protogen.Comments) string {
	text, _, _ := strings.Cut(prose(comment), ". ")
	return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", `\|`)
}
