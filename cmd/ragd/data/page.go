package data

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func documentPage(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "page DOCUMENT",
		Short: "Write a picture of a page of a PDF file",
		Long: `Write a picture of a page of a PDF file to standard output or a file, as PNG. With
--start-byte and --end-byte, which are those of a source, that part of the text is
highlighted on it. With --link the command prints a link to the picture instead, which
needs no key and ends after 10 minutes.`,
		Example: `  ragd document page --uri handbook/travel.pdf --page 3 --output page.png
  ragd document page --uri handbook/travel.pdf --page 3 --start-byte 5120 --end-byte 5400 > page.png`,
	}
	named := newDocumentFlags(cmd)
	file := cmd.Flags().StringP("output", "o", "-", "file to write, - for standard output")
	page := cmd.Flags().Int32("page", 1, "number of the page, from 1")
	width := cmd.Flags().Int32("width", 1000, "width of the picture in pixels, 16 to 2400")
	start := cmd.Flags().Uint32("start-byte", 0, "with --end-byte: highlight the text from this byte on")
	end := cmd.Flags().Uint32("end-byte", 0, "highlight the text before this byte")
	link := cmd.Flags().Bool("link", false, "print a link to the picture")
	cmd.Args = named.arguments
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		document, err := named.find(ctx, c, args)
		if err != nil {
			return err
		}
		req := &ragdv1.RenderPageRequest{IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(), Page: *page, Width: *width, Link: *link}
		if *end > 0 {
			req.Highlights = []*ragdv1.ByteRange{{StartByte: *start, EndByte: *end}}
		}
		res, err := c.Documents.RenderPage(ctx, req)
		if err != nil {
			return err
		}
		content := res.GetImage()
		if *link {
			content = []byte(res.GetUrl() + "\n")
		}
		if *file == "-" {
			_, err = p.Out.Stdout.Write(content)
			return err
		}
		err = output.ReplaceFile(*file, 0o644, func(w io.Writer) error { _, err := w.Write(content); return err })
		if err != nil {
			return err
		}
		output.Note(p.Out.Stderr, "wrote %s: page %d of %d", *file, *page, res.GetPageCount())
		return nil
	})
	return cmd
}
