package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) toolCall() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL",
		Short: "Call a tool as an agent does",
		Long: `Call a tool of the tenant, or a builtin one, as an agent does over MCP, and print what
a model would read; with --json also the answer for programs. Progress goes to
standard error. A value of --arg that is JSON, such as 5 or true or {"a": 1}, is
passed as such, any other as text.`,
		Example: `  ragd tool call ask_handbook --arg queryText="How long is the notice period?"
  ragd tool call vector_query --arguments '{"queryText": "notice", "topK": 3}' --json`,
		Args: arguments("TOOL"),
	}
	flags := cmd.Flags()
	single := flags.StringArray("arg", nil, "one argument as NAME=VALUE; may be repeated")
	all := objectFlag(flags, "arguments", "all arguments, such as {\"queryText\": \"notice\"}")
	request := objectFlag(flags, "context", contextUsage)
	through := toolServerFlag(flags)
	cmd.RunE = p.call(credentials.forTenant, func(ctx context.Context, c *client, args []string) error {
		given, err := withArguments(all(), *single)
		if err != nil {
			return err
		}
		stream, err := c.tools.CallToolStream(through(ctx), &ragdv1.CallToolStreamRequest{Call: &ragdv1.CallToolRequest{
			ToolName: args[0], Arguments: given, Context: request(),
		}})
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		for stream.Receive() {
			if now := stream.Msg().GetProgress(); now != nil {
				output.Note(p.out.Stderr, "%s", now.GetMessage())
				continue
			}
			res := stream.Msg().GetResponse()
			return p.out.Show(res, func(w io.Writer) { showResult(w, res) })
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
		fmt.Fprintln(w, output.CompactJSON(block))
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
			return nil, usagef("--arg must be NAME=VALUE, got %q", argument)
		}
		value := &structpb.Value{}
		if !json.Valid([]byte(text)) || protojson.Unmarshal([]byte(text), value) != nil {
			value = structpb.NewStringValue(text)
		}
		merged.Fields[name] = value
	}
	return merged, nil
}
