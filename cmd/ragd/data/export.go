package data

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func indexExport(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export INDEX",
		Short: "Write the chunks of an index that a filter selects, as lines of JSON",
		Long: `Write all chunks and ready-made vectors of an index that a filter selects to standard output or a
file, a JSON object a line, in the order of their ids. If the command is interrupted it prints how
to go on: with --resume, which appends to the file of --output.

Fields are documentId, uri, title, ordinal, text, metadata, startByte, endByte, tokenCount and
vector; by default all but the vector. Values that are 0 or empty are left out.`,
		Example: `  ragd index export handbook > chunks.jsonl
  ragd index export handbook --filter '{"team": "legal"}' --field uri --field text --output legal.jsonl
  ragd index export handbook --output chunks.jsonl --resume TOKEN`,
		Args: command.Arguments("INDEX"),
	}
	flags := cmd.Flags()
	file := flags.StringP("output", "o", "-", "file to write, - for standard output")
	namespaces := flags.StringArray("namespace", nil, "namespace, repeatable (default default)")
	fields := flags.StringArray("field", nil, "field of the chunks, repeatable (default all but vector)")
	resume := flags.String("resume", "", "go on where an export with the same flags broke off, with the token that it printed")
	selected := command.FilterFlags(flags, "filter over the metadata, a JSON object")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		req := &ragdv1.ExportChunksRequest{IndexName: args[0], Namespaces: *namespaces, Fields: *fields, PageToken: *resume}
		if f := selected(); f != nil {
			req.Filter = structpb.NewStructValue(f)
		}
		to := p.Out.Stdout
		if *file != "-" {
			mode := os.O_TRUNC
			if *resume != "" {
				mode = os.O_APPEND
			}
			opened, err := os.OpenFile(*file, os.O_CREATE|os.O_WRONLY|mode, 0o600)
			if err != nil {
				return err
			}
			defer func() { _ = opened.Close() }() // what it wrote was flushed and synced
			to = opened
		}
		next, err := exportTo(ctx, c, to, req)
		if err != nil && next != *resume {
			output.Note(p.Out.Stderr, "the export broke off: go on with --resume %s", next)
		}
		return err
	})
	return cmd
}

// exportTo writes chunks as lines of JSON. It returns the token with which an export goes on after what was written, if it did not end.
func exportTo(ctx context.Context, c *client.Client, to io.Writer, req *ragdv1.ExportChunksRequest) (next string, err error) {
	next = req.GetPageToken()
	stream, err := c.Documents.ExportChunks(ctx, req)
	if err != nil {
		return next, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	lines, ended := bufio.NewWriter(to), false
	for stream.Receive() {
		for _, one := range stream.Msg().GetChunks() {
			if _, err := lines.WriteString(output.CompactJSON(one) + "\n"); err != nil {
				return next, err
			}
		}
		if err := lines.Flush(); err != nil {
			return next, err
		}
		next = stream.Msg().GetNextPageToken()
		ended = next == ""
	}
	if err := stream.Err(); err != nil {
		return next, err
	}
	if !ended {
		return next, errors.New("the stream ended before the export did")
	}
	return "", nil
}
