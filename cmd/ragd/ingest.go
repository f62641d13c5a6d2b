package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// firstIndex is the index that an ingest makes for a tenant that has none and
// names none.
const firstIndex = "documents"

func (p *program) ingestCommand() *cobra.Command {
	cmd := p.clientFlags(&cobra.Command{
		Use:   "ingest PATH...",
		Short: "Upload files, folders or JSON Lines and wait until they are searchable",
		Long: `Upload documents and wait until they are searchable.

A PATH is a file or a folder. In a folder every file is taken that can be read:
text, source code, Markdown, HTML, JSON, CSV, LaTeX, PDF, DOCX, PPTX, XLSX, EPUB,
email, and zip and tar archives, which are read as folders. Hidden files, symbolic
links and everything else are skipped, and it says so. A document is known by its
uri, which is the file's path relative to the present folder, or to --base.

With --jsonl a PATH is a file of JSON Lines, - for standard input, gzip or not,
with one document a line: {"id": "a1", "title": "...", "text": "...", "metadata":
{...}}. The uri is the field uri, or else id. A field contentType is optional,
other fields are ignored.

Without --index the documents go to the tenant's only index, or to a new one
called "` + firstIndex + `". An index that is missing is made with the defaults of the
service, unless --create=false.

The same documents again change nothing, so a run that was interrupted is resumed
by running it again. It rides out a service that is busy or restarting for up to
two minutes. What failed is listed at the end, and makes the command fail.

With --sync the index has afterwards what the PATH has: only what is new or changed
is uploaded, and then the documents are deleted that the PATH has no more. Those are
looked for among the uris that begin as those of the folder do, or with --prefix; with
--whole-index, among all. Nothing is deleted when something could not be read, or
when there is nothing at all, unless --allow-empty; and no document whose file is
still there, but of a kind that is skipped. --dry-run says what would happen.`,
		Example: `  ragd ingest handbook/ README.md
  ragd ingest --jsonl corpus.jsonl.gz --index papers --concurrency 8
  ragd ingest contracts/ --metadata '{"team": "legal"}' --strategy markdown
  ragd ingest handbook/ --extract '{"model": "openai/gpt-5-mini", "summary": true, "keywords": true}'
  my-export | ragd ingest --jsonl -
  ragd ingest --sync --dry-run handbook/`,
		Args: arguments("PATH..."),
	})
	flags := cmd.Flags()
	o := ingestOptions{}
	flags.StringVar(&o.index, "index", "", "name of the index (default the tenant's only index)")
	flags.StringVar(&o.namespace, "namespace", "", "part of the index that the documents belong to (default \"default\")")
	flags.BoolVar(&o.create, "create", true, "make the index if it is missing")
	flags.IntVar(&o.concurrency, "concurrency", 4, "uploads at once")
	flags.BoolVar(&o.jsonl, "jsonl", false, "read JSON Lines")
	flags.StringVar(&o.base, "base", ".", "folder that uris are relative to")
	flags.BoolVar(&o.sync.on, "sync", false, "delete what the path has no more")
	flags.BoolVar(&o.sync.dryRun, "dry-run", false, "with --sync: say what would happen")
	flags.StringVar(&o.sync.source.Prefix, "prefix", "", "with --sync: what the uris begin with (default the folder's)")
	flags.BoolVar(&o.sync.source.WholeIndex, "whole-index", false, "with --sync: the path is all that the index is to have")
	flags.BoolVar(&o.sync.source.AllowEmpty, "allow-empty", false, "with --sync: take a path without documents to be no mistake")
	wait := flags.Bool("wait", true, "wait until the documents are searchable")
	metadata := objectFlag(flags, "metadata", "metadata of every document, unless it has its own")
	chunking := chunkingFlags(flags)
	extract := objectFlag(flags, "extract", "what to find out about chunks, such as {\"title\": true, \"keywords\": true}")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.paths, o.noWait, o.metadata, o.chunking, o.extract = args, !*wait, metadata().AsMap(), chunking(), extract()
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		_, err = p.ingest(cmd.Context(), c, o)
		return err
	}
	return cmd
}

// ingestOptions say what goes where.
type ingestOptions struct {
	paths       []string
	jsonl       bool
	base        string
	index       string
	namespace   string
	create      bool
	concurrency int
	noWait      bool
	metadata    map[string]any
	chunking    *ragdv1.Chunking
	extract     *structpb.Struct
	sync        syncOptions
}

// ingest uploads, reports and returns the name of the index. What failed to be
// uploaded is an error.
func (p *program) ingest(ctx context.Context, c *client, o ingestOptions) (string, error) {
	if o.concurrency < 1 {
		return "", usagef("--concurrency must be at least 1, got %d", o.concurrency)
	}
	if err := o.completeSync(); err != nil {
		return "", err
	}
	docs, size, err := p.open(o)
	if err != nil {
		return "", err
	}
	var index string
	err = upload.Retry(ctx, nil, func(ctx context.Context) (err error) {
		index, err = p.ensureIndex(ctx, c, o.index, o.create)
		return err
	})
	if err != nil {
		return "", err
	}
	cfg := upload.Config{Index: index, Namespace: o.namespace, Concurrency: o.concurrency, Chunking: o.chunking, Metadata: o.metadata, Extract: o.extract, NoWait: o.noWait}
	if o.sync.on {
		return index, p.syncSource(ctx, c, docs, o.sync, cfg)
	}
	result, err := p.upload(ctx, c, docs, size, cfg)
	return index, p.reportIngest(index, result, err)
}

// upload uploads under a meter.
func (p *program) upload(ctx context.Context, c *client, docs iter.Seq2[localfiles.Document, error], size int64, cfg upload.Config) (*upload.Result, error) {
	meter := p.meter(size)
	defer meter.finish()
	cfg.Progress, cfg.Retrying = meter.progress, meter.retrying
	return upload.Run(ctx, c.uploads(), docs, cfg)
}

// open returns the documents and how many bytes they are read from, -1 if that
// cannot be known. A path that does not exist is an error before anything is done.
func (p *program) open(o ingestOptions) (iter.Seq2[localfiles.Document, error], int64, error) {
	fromStdin := o.jsonl && slices.Contains(o.paths, "-")
	for _, path := range o.paths {
		if _, err := os.Stat(path); err != nil && (!o.jsonl || path != "-") {
			return nil, 0, err
		}
	}
	size := int64(-1)
	if p.animates && !fromStdin {
		size = localfiles.Size(o.paths...)
	}
	if !o.jsonl {
		return localfiles.Files(o.base, o.paths...), size, nil
	}
	return func(yield func(localfiles.Document, error) bool) {
		for _, path := range o.paths {
			docs := localfiles.LineFiles(path)
			if path == "-" {
				docs = localfiles.Lines("stdin", p.stdin)
			}
			for doc, err := range docs {
				if !yield(doc, err) {
					return
				}
			}
		}
	}, size, nil
}

// ensureIndex returns the index that name means, made if need be and allowed.
func (p *program) ensureIndex(ctx context.Context, c *client, name string, create bool) (string, error) {
	name, err := c.onlyIndex(ctx, name)
	if err != nil {
		return "", err
	}
	if name == "" {
		name = firstIndex
	}
	_, err = c.indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: name})
	if connect.CodeOf(err) != connect.CodeNotFound || err == nil {
		return name, err
	}
	if !create {
		return "", fmt.Errorf("index %q not found; `ragd index create %s` makes it", name, name)
	}
	index, err := c.indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: name})
	if err != nil {
		return "", err
	}
	note(p.stderr, "made index %s (%s, %d dimensions)", name, oneLine(index.GetEmbeddingModel()), index.GetDimension())
	return name, nil
}
