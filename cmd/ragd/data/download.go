package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func documentDownload(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "download DOCUMENT",
		Short: "Write a document as it was uploaded, or its text, to a file",
		Long: `Write a document to standard output or a file, byte by byte as it was uploaded. The
command checks the hash of what it received; with --output the file appears only
when it is complete.

With --text it writes the text that was read from the document, in which positions
of chunks are counted; with --max-tokens as much of it as fits, and how to read on.`,
		Example: `  ragd document download --uri handbook/travel.pdf --output travel.pdf
  ragd document download 01hx3e8g --index handbook > travel.pdf
  ragd document download --uri handbook/travel.pdf --text`,
	}
	named := newDocumentFlags(cmd)
	file := cmd.Flags().StringP("output", "o", "-", "file to write, - for standard output")
	text := cmd.Flags().Bool("text", false, "write the text that was read from the document")
	start := cmd.Flags().Uint32("start-byte", 0, "with --text: write from this byte of the text on")
	budget := budgetFlags(cmd.Flags(), "the text, with --text")
	cmd.Args = named.arguments
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		document, err := named.find(ctx, c, args)
		if err != nil {
			return err
		}
		write := downloadTo
		req := &ragdv1.ReadDocumentRequest{StartByte: *start}
		req.MaxTokens, req.EncodingName = budget()
		switch {
		case *text:
			write = func(ctx context.Context, c *client.Client, to io.Writer, document *ragdv1.Document) error {
				return readTo(ctx, p, c, to, document, req)
			}
		case *start > 0 || req.MaxTokens != nil || req.GetEncodingName() != "":
			return misuse.Errorf("--start-byte, --max-tokens and --encoding are for the text: give --text, too")
		}
		if *file == "-" {
			return write(ctx, c, p.Out.Stdout, document)
		}
		err = output.ReplaceFile(*file, 0o644, func(w io.Writer) error { return write(ctx, c, w, document) })
		if err != nil {
			return err
		}
		output.Note(p.Out.Stderr, "wrote %s", *file)
		return nil
	})
	return cmd
}

// downloadTo writes the content of a document as it was uploaded. Errors: also if what arrived
// has another size or hash.
func downloadTo(ctx context.Context, c *client.Client, to io.Writer, document *ragdv1.Document) error {
	stream, err := c.Documents.DownloadDocument(ctx, &ragdv1.DownloadDocumentRequest{IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId()})
	if err != nil {
		return err
	}
	sum := sha256.New()
	err = copyStream(io.MultiWriter(to, sum), sum, stream)
	return errors.Join(err, stream.Close())
}

// copyStream writes the content of a download, and checks it with sum, which hashes what is
// written.
func copyStream(to io.Writer, sum hash.Hash, stream *connect.ServerStreamForClient[ragdv1.DownloadDocumentResponse]) error {
	var sent *ragdv1.Document
	for stream.Receive() {
		if d := stream.Msg().GetDocument(); d != nil {
			sent = d
		}
		if _, err := to.Write(stream.Msg().GetContent()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != sent.GetContentSha256() {
		return fmt.Errorf("what arrived is not the document: its SHA-256 is %s instead of %s", got, sent.GetContentSha256())
	}
	return nil
}

// readTo writes the text that was read from a document, or what of it req asks for.
func readTo(ctx context.Context, p *command.Program, c *client.Client, to io.Writer, document *ragdv1.Document, req *ragdv1.ReadDocumentRequest) error {
	req.IndexName, req.DocumentId = document.GetIndexName(), document.GetDocumentId()
	for hash := document.GetContentSha256(); ; {
		res, err := c.Documents.ReadDocument(ctx, req)
		if err != nil {
			return err
		}
		if res.GetDocument().GetContentSha256() != hash {
			return errors.New("the document was changed meanwhile: read it again")
		}
		if _, err := io.WriteString(to, res.GetText()); err != nil {
			return err
		}
		if res.GetBudget() != nil {
			noteBudget(p, res.GetBudget())
			if res.GetEndByte() < res.GetByteSize() {
				output.Note(p.Out.Stderr, "read on with --start-byte %d", res.GetEndByte())
			}
			return nil
		}
		if req.StartByte = res.GetEndByte(); req.GetStartByte() >= res.GetByteSize() {
			return nil
		}
	}
}
