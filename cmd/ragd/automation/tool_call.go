package automation

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func toolCall(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL",
		Short: "Call a tool as an agent does",
		Long: `Call a tool of the tenant, or a builtin one, as an agent does over MCP, and print what
a model would read; with --json also the answer for programs. Progress goes to
standard error. A value of --arg that is JSON, such as 5 or true or {"a": 1}, is
passed as such, unless the tool wants a text; any other as text.`,
		Example: `  ragd tool call ask_handbook --arg queryText="How long is the notice period?"
  ragd tool call vector_query --arguments '{"queryText": "notice", "topK": 3}' --json`,
		Args: command.Arguments("TOOL"),
	}
	flags := cmd.Flags()
	single := flags.StringArray("arg", nil, "one argument as NAME=VALUE; may be repeated")
	all := command.ObjectFlag(flags, "arguments", "all arguments, such as {\"queryText\": \"notice\"}")
	request := command.ObjectFlag(flags, "context", command.ContextUsage)
	through := toolServerFlag(flags)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		given, err := withArguments(all(), *single)
		if err != nil {
			return err
		}
		keepTexts(given, *single, func() *structpb.Struct {
			tool, _ := c.Tools.GetTool(through(ctx), &ragdv1.GetToolRequest{ToolName: args[0]}) // the call tells what is wrong
			return tool.GetInputSchema()
		})
		stream, err := c.Tools.CallToolStream(through(ctx), &ragdv1.CallToolStreamRequest{Call: &ragdv1.CallToolRequest{
			ToolName: args[0], Arguments: given, Context: request(),
		}})
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		for stream.Receive() {
			if now := stream.Msg().GetProgress(); now != nil {
				output.Note(p.Out.Stderr, "%s", now.GetMessage())
				continue
			}
			res := stream.Msg().GetResponse()
			return p.Out.Show(res, func(w io.Writer) { showResult(w, res) })
		}
		if err := stream.Err(); err != nil {
			return err
		}
		return errors.New("the server ended the call without an answer")
	})
	return cmd
}

// showResult prints what a model would read.
func showResult(w io.Writer, res *ragdv1.CallToolResponse) {
	if len(res.GetContent()) == 0 {
		fmt.Fprintln(w, strings.TrimRight(res.GetText(), "\n"))
		return
	}
	for _, block := range res.GetContent() {
		if text := block.GetStructValue().GetFields()["text"].GetStringValue(); text != "" {
			fmt.Fprintln(w, text)
			continue
		}
		fmt.Fprintln(w, blockSummary(block))
	}
}

// blockSummary returns a block that is no text as JSON, with the size of images and audio in place of
// their data.
func blockSummary(block *structpb.Value) string {
	data, err := base64.StdEncoding.DecodeString(block.GetStructValue().GetFields()["data"].GetStringValue())
	if err != nil || len(data) == 0 {
		return output.CompactJSON(block)
	}
	return fmt.Sprintf("(%s, %d bytes: --json shows it)", block.GetStructValue().GetFields()["mimeType"].GetStringValue(), len(data))
}

// keepTexts passes arguments of the form NAME=VALUE as texts where the tool's schema wants a text
// and the value is a number or a boolean, such as the number of an order. schema is called if
// there are such values.
func keepTexts(given *structpb.Struct, single []string, schema func() *structpb.Struct) {
	var properties map[string]*structpb.Value
	for _, argument := range single {
		name, text, _ := strings.Cut(argument, "=")
		switch given.GetFields()[name].GetKind().(type) {
		case *structpb.Value_NumberValue, *structpb.Value_BoolValue:
		default:
			continue
		}
		if properties == nil {
			properties = schema().GetFields()["properties"].GetStructValue().GetFields()
		}
		if properties[name].GetStructValue().GetFields()["type"].GetStringValue() == "string" {
			given.Fields[name] = structpb.NewStringValue(text)
		}
	}
}

// withArguments adds arguments of the form NAME=VALUE to an object, which may be nil.
func withArguments(all *structpb.Struct, single []string) (*structpb.Struct, error) {
	if len(single) == 0 {
		return all, nil
	}
	merged := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, value := range all.GetFields() {
		merged.Fields[name] = value
	}
	for _, argument := range single {
		name, text, ok := strings.Cut(argument, "=")
		if !ok || name == "" {
			return nil, misuse.Errorf("--arg must be NAME=VALUE, got %q", argument)
		}
		value := &structpb.Value{}
		if !json.Valid([]byte(text)) || protojson.Unmarshal([]byte(text), value) != nil {
			value = structpb.NewStringValue(text)
		}
		merged.Fields[name] = value
	}
	return merged, nil
}
