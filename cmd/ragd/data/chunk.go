package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/jobs"
	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func chunkCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "chunk FILE",
		Short: "Show how a file would be cut into chunks",
		Long: `Show the chunks that "ragd ingest" would make of a file, without storing anything:
each chunk's number, the bytes of the text it was made from, its metadata and its
text. FILE has any format that ingest reads, or is - for standard input.

The settings are those that ingest would use: those of the index that --index names,
or of the tenant's only index; the defaults of the service if there is no index or
there are several. --strategy, --max-size, --overlap and --chunking replace them all.
A file has at most 10 MiB here.`,
		Example: `  ragd chunk README.md
  ragd chunk report.pdf --index handbook
  ragd chunk notes.txt --strategy recursive --max-size 400 --overlap 40
  ragd chunk page.html --chunking '{"headers": [{"marker": "h2", "key": "section"}]}'`,
		Args: command.Arguments("FILE"),
	})
	flags := cmd.Flags()
	index := flags.String("index", "", "index whose settings apply (default the tenant's only index)")
	contentType := flags.String("content-type", "", "such as text/markdown (default by the file's name and content)")
	chunking := command.ChunkingFlags(flags)
	extract := command.ObjectFlag(flags, "extract", "metadata to extract, such as {\"title\": true, \"keywords\": true} (default nothing)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		name, err := previewIndex(ctx, p, c, *index)
		if err != nil {
			return err
		}
		for doc, err := range previewed(ctx, p, args[0]) {
			if err != nil {
				return err
			}
			res, err := c.Chunks.ChunkText(ctx, &ragdv1.ChunkTextRequest{
				Source:      &ragdv1.ChunkTextRequest_Content{Content: doc.Content},
				ContentType: *contentType, Chunking: chunking(), Extract: extract(),
				Upload: &ragdv1.UploadPreview{IndexName: name, Uri: doc.URI},
			})
			if err != nil {
				return err
			}
			if err := printChunks(p, paging.All(res.GetChunks())); err != nil {
				return err
			}
			noteExtraction(p, res.GetExtraction())
		}
		return nil
	})
	return cmd
}

// noteExtraction prints what an extraction took, and why it failed for some chunks.
func noteExtraction(p *command.Program, e *ragdv1.Extraction) {
	if e == nil {
		return
	}
	output.Note(p.Out.Stderr, "extraction: %s", jobs.ExtractionLine(int(e.GetCalls()), int(e.GetInputTokens()), int(e.GetOutputTokens()), int(e.GetFailed())))
	for _, f := range e.GetFailures() {
		output.Note(p.Out.Stderr, "chunk %d: %s: %s", f.GetOrdinal(), f.GetField(), f.GetReason())
	}
}

// previewIndex returns the index whose settings apply to a preview, or an empty string for
// the defaults of the service.
func previewIndex(ctx context.Context, p *command.Program, c *client.Client, name string) (string, error) {
	name, err := c.OnlyIndex(ctx, name)
	var several misuse.Error
	if errors.As(err, &several) {
		output.Note(p.Out.Stderr, "there are several indexes: these are the chunks with the defaults of the service; --index names an index")
		return "", nil
	}
	return name, err
}

// previewed returns the documents that an ingest would make of a file: one, or the members
// of an archive. For "-" it is standard input, without a uri.
func previewed(ctx context.Context, p *command.Program, path string) iter.Seq2[localfiles.Document, error] {
	if path != "-" {
		return localfiles.Options{Base: "."}.Files(path)
	}
	return func(yield func(localfiles.Document, error) bool) {
		content, err := command.Await(ctx, func() ([]byte, error) { return io.ReadAll(p.Stdin) })
		yield(localfiles.Document{Content: content}, err)
	}
}

// printChunks prints each chunk with its byte range, or with --json one object per line.
func printChunks(p *command.Program, chunks iter.Seq2[*ragdv1.Chunk, error]) error {
	for chunk, err := range chunks {
		if err != nil {
			return err
		}
		if p.Out.JSON {
			err = p.Out.MessageLine(chunk)
		} else {
			err = printChunk(p.Out.Stdout, chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func printChunk(w io.Writer, chunk *ragdv1.Chunk) error {
	head := fmt.Sprintf("#%d  bytes %d-%d", chunk.GetOrdinal(), chunk.GetStartByte(), chunk.GetEndByte())
	if chunk.GetTokenCount() > 0 {
		head += fmt.Sprintf("  %d tokens", chunk.GetTokenCount())
	}
	if metadata := output.CompactJSON(chunk.GetMetadata()); metadata != "" {
		head += "  " + output.OneLine(metadata)
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", head, output.Indent(output.Wrap(chunk.GetText())))
	return err
}
