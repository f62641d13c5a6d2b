package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) chunkCommand() *cobra.Command {
	cmd := p.clientFlags(&cobra.Command{
		Use:   "chunk FILE",
		Short: "Show how a file would be cut into chunks",
		Long: `Show how a file would be cut into chunks, without storing anything: each chunk's
number, the bytes of the file it was made from, its metadata and its text. FILE
may be - for standard input.`,
		Example: `  ragd chunk README.md
  ragd chunk notes.txt --strategy recursive --max-size 400 --overlap 40
  ragd chunk page.html --chunking '{"headers": [{"marker": "h2", "key": "section"}]}'`,
		Args: arguments("FILE"),
	})
	contentType := cmd.Flags().String("content-type", "", "such as text/markdown (default by the file's name)")
	chunking := chunkingFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		content, err := p.readInput(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if *contentType == "" {
			*contentType = contentTypeOf(args[0])
		}
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		res, err := c.chunks.ChunkText(cmd.Context(), &ragdv1.ChunkTextRequest{
			Source:      &ragdv1.ChunkTextRequest_Content{Content: content},
			ContentType: *contentType, Chunking: chunking(),
		})
		if err != nil {
			return err
		}
		return p.printChunks(func(yield func(*ragdv1.Chunk, error) bool) {
			for _, chunk := range res.GetChunks() {
				if !yield(chunk, nil) {
					return
				}
			}
		})
	}
	return cmd
}

// contentTypeOf returns the content type that a file's extension stands for, if the
// service chunks that type specially; else an empty string.
func contentTypeOf(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".html", ".htm":
		return "text/html"
	case ".json":
		return "application/json"
	case ".tex":
		return "application/x-latex"
	}
	return ""
}

// readInput reads a file, or standard input for "-".
func (p *program) readInput(ctx context.Context, path string) ([]byte, error) {
	if path == "-" {
		return await(ctx, func() ([]byte, error) { return io.ReadAll(p.stdin) })
	}
	return os.ReadFile(path)
}

// printChunks prints each chunk with its byte range, or with --json one object per line.
func (p *program) printChunks(chunks iter.Seq2[*ragdv1.Chunk, error]) error {
	for chunk, err := range chunks {
		if err != nil {
			return err
		}
		if p.out.JSON {
			err = p.out.MessageLine(chunk)
		} else {
			err = printChunk(p.out.Stdout, chunk)
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
