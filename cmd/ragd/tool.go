package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) toolCommands() *cobra.Command {
	return p.clientFlags(p.group("tool", "Make tools of one's own for agents", `
A tool is a search or a chunker with a name, a description and settings of its own.
Over MCP the agents of the tenant see it beside the builtin ones.`,
		p.toolCreate(), p.toolUpdate(), p.toolGet(), p.toolList(), p.toolDelete(),
	))
}

// toolFlags are what create and update have in common.
type toolFlags struct {
	flags                     *pflag.FlagSet
	title, description, index *string
	arguments                 *[]string
	fixed                     *bool
	settings, filter          func() *structpb.Struct
}

func newToolFlags(flags *pflag.FlagSet) *toolFlags {
	return &toolFlags{
		flags:       flags,
		title:       flags.String("title", "", "name for people"),
		description: flags.String("description", "", "for models: what is found here, and when to use it"),
		index:       flags.String("index", "", "index that is searched; short for a setting"),
		filter:      objectFlag(flags, "filter", "filter that always holds; short for a setting"),
		settings:    objectFlag(flags, "settings", `other fields of the request, such as {"topK": 5}`),
		arguments:   flags.StringSlice("arguments", nil, "what the model may give (default queryText,topK,filter, or text)"),
		fixed:       flags.Bool("fixed", false, "keep the request context from changing the settings"),
	}
}

// all returns the settings with those that have a flag of their own; nil if none
// was given.
func (f *toolFlags) all() *structpb.Struct {
	settings, filter := f.settings(), f.filter()
	if settings == nil && filter == nil && *f.index == "" {
		return nil
	}
	all := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, value := range settings.GetFields() {
		all.Fields[name] = value
	}
	if *f.index != "" {
		all.Fields["indexName"] = structpb.NewStringValue(*f.index)
	}
	if filter != nil {
		all.Fields["filter"] = structpb.NewStructValue(filter)
	}
	return all
}

// given returns a flag's value if it was given.
func given[T any](f *toolFlags, name string, value *T) *T {
	if !f.flags.Changed(name) {
		return nil
	}
	return value
}

func showTool(tool *ragdv1.Tool) func(io.Writer) {
	return func(w io.Writer) {
		field(w, "tool", tool.GetToolName())
		field(w, "kind", tool.GetKind())
		field(w, "title", tool.GetTitle())
		field(w, "description", tool.GetDescription())
		field(w, "settings", compactJSON(tool.GetSettings()))
		field(w, "arguments", strings.Join(tool.GetArguments(), ", "))
		if tool.GetFixed() {
			field(w, "fixed", "yes")
		}
		field(w, "created", stamp(tool.GetCreateTime()))
		field(w, "updated", stamp(tool.GetUpdateTime()))
	}
}
