package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/progress"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// firstIndex is the name of the index that an ingest creates for a tenant without one,
// unless --index is given.
const firstIndex = "documents"

func ingestCommand(p *command.Program) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "ingest PATH...",
		Short: "Upload files, folders or JSON Lines and wait until they are searchable",
		Long: `Upload documents and wait until they are searchable.

A PATH is a file or a folder. In a folder every file is taken that can be read:
text, source code, Markdown, HTML, JSON, CSV, LaTeX, PDF, Office, OpenDocument, RTF,
EPUB, email, and zip and tar archives, which are read as folders. What .gitignore and
.ragdignore ignore is skipped, and so are hidden files, symbolic links and everything
else; it says how much and why. A document is known by its uri, which is the file's
path relative to the present folder, or to --base. Of a PATH outside the present folder
it is the path in the folder given, or the name of the file.

Exports of Notion, Confluence, Slack, GitHub issues, MediaWiki, Discourse and Zendesk,
mailboxes and WARC files are read as folders of any size: each page, ticket, day of a
channel or message is a document, with its author, times and address in its metadata.

With --jsonl a PATH is a file of JSON Lines, - for standard input, compressed or not,
with one document a line: {"id": "a1", "title": "...", "text": "...", "metadata":
{...}}. The uri is the field uri, or else id. A field contentType is optional,
other fields are ignored.

Without --index the documents go to the tenant's only index, or to a new one
called "` + firstIndex + `". An index that is missing is made with the defaults of the
service, unless --create=false.

The same documents again change nothing, so a run that was interrupted is resumed
by running it again. It rides out a service that is busy or restarting for up to
two minutes. What failed is listed at the end.

With --sync the index has afterwards what the PATH has: only what is new or changed
is uploaded, and then the documents are deleted that the PATH has no more. Those are
looked for among the uris that begin as those of the folder do, or with --prefix; with
--whole-index, among all. Nothing is deleted when something could not be read, or
when there is nothing at all, unless --allow-empty; and no document whose file is
still there, but of a kind that is skipped; but what is ignored or hidden is deleted.
--dry-run says what would happen.

The exit code is 0 if every document is searchable, or with --wait=false stored; 1 if
one failed or there was nothing to read; 2 for a mistake in the command line; 130
after an interrupt.`,
		Example: `  ragd ingest handbook/ README.md
  ragd ingest --jsonl corpus.jsonl.gz --index papers --concurrency 8
  ragd ingest contracts/ --metadata '{"team": "legal"}' --strategy markdown
  ragd ingest handbook/ --extract '{"model": "openai/gpt-5-mini", "summary": true, "keywords": true}'
  my-export | ragd ingest --jsonl -
  ragd ingest slack-export.zip pages-articles.xml.bz2 takeout.zip
  ragd ingest --sync --dry-run handbook/`,
		Args: command.Arguments("PATH..."),
	})
	flags := cmd.Flags()
	o := ingestOptions{}
	flags.StringVar(&o.index, "index", "", "name of the index (default the tenant's only index)")
	flags.StringVar(&o.namespace, "namespace", "", "part of the index that the documents belong to (default \"default\")")
	flags.BoolVar(&o.create, "create", true, "make the index if it is missing")
	flags.IntVar(&o.concurrency, "concurrency", 4, "uploads at once")
	flags.BoolVar(&o.jsonl, "jsonl", false, "read JSON Lines")
	flags.StringVar(&o.files.Base, "base", ".", "folder that uris are relative to, above each PATH")
	flags.BoolVar(&o.files.NoIgnore, "no-ignore", false, "upload also what .gitignore and .ragdignore ignore")
	flags.BoolVar(&o.verbose, "verbose", false, "name every file that is skipped")
	flags.BoolVar(&o.sync.on, "sync", false, "delete what the path has no more")
	flags.BoolVar(&o.sync.dryRun, "dry-run", false, "with --sync: say what would happen")
	flags.StringVar(&o.sync.source.Prefix, "prefix", "", "with --sync: what the uris begin with (default the folder's)")
	flags.BoolVar(&o.sync.source.WholeIndex, "whole-index", false, "with --sync: the path is all that the index is to have")
	flags.BoolVar(&o.sync.source.AllowEmpty, "allow-empty", false, "with --sync: take a path without documents to be no mistake")
	wait := flags.Bool("wait", true, "wait until the documents are searchable")
	metadata := command.ObjectFlag(flags, "metadata", "metadata of every document, unless it has its own")
	chunking := command.ChunkingFlags(flags)
	extract := command.ObjectFlag(flags, "extract", "what to find out about chunks, such as {\"title\": true, \"keywords\": true}")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.paths, o.noWait, o.metadata, o.chunking, o.extract = args, !*wait, metadata().AsMap(), chunking(), extract()
		if err := o.checkBase(flags.Changed("base")); err != nil {
			return err
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		_, err = ingest(cmd.Context(), p, c, o)
		return err
	}
	return cmd
}

// ingestOptions are the flags and arguments of an ingest.
type ingestOptions struct {
	paths       []string
	jsonl       bool
	files       localfiles.Options
	verbose     bool
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

// checkBase returns a usage error if a path is not below the base that is given.
func (o *ingestOptions) checkBase(given bool) error {
	if !given || o.jsonl {
		return nil
	}
	for _, path := range o.paths {
		if !o.files.Below(path) {
			return misuse.Errorf("%s is not below the folder %s of --base", path, o.files.Base)
		}
	}
	return nil
}

// ingest uploads the documents, prints a report and returns the name of the index. If a
// document failed it is an error.
func ingest(ctx context.Context, p *command.Program, c *client.Client, o ingestOptions) (string, error) {
	if o.concurrency < 1 {
		return "", misuse.Errorf("--concurrency must be at least 1, got %d", o.concurrency)
	}
	if err := o.completeSync(); err != nil {
		return "", err
	}
	docs, size, err := open(p, o)
	if err != nil {
		return "", err
	}
	if !o.jsonl && !o.files.Any(o.paths...) && !o.sync.source.AllowEmpty {
		return "", nothingToIngest(p, docs, o.verbose)
	}
	var index string
	err = upload.Retry(ctx, nil, func(ctx context.Context) (err error) {
		index, err = ensureIndex(ctx, p, c, o.index, o.create)
		return err
	})
	if err != nil {
		return "", err
	}
	cfg := upload.Config{Index: index, Namespace: o.namespace, Concurrency: o.concurrency, Chunking: o.chunking, Metadata: o.metadata, Extract: o.extract, NoWait: o.noWait}
	old, err := findRenamed(ctx, c, o, index)
	if err != nil {
		return "", err
	}
	docs = old.watch(docs)
	if o.sync.on {
		return index, syncSource(ctx, p, c, docs, o, cfg, old)
	}
	result, err := uploadAll(ctx, p, c, docs, size, cfg)
	if err == nil && result.Uploaded+len(result.Failures) == 0 {
		err = errNothingToIngest
	}
	if err == nil && !o.noWait {
		err = old.delete(ctx, p, c, result.Failures)
	}
	return index, reportIngest(p, index, result, old, o.verbose, err)
}

// IngestLines ingests a file of JSON Lines into an index, which it makes if it is missing, and
// returns the name of the index.
func IngestLines(ctx context.Context, p *command.Program, c *client.Client, path, index string, concurrency int) (string, error) {
	return ingest(ctx, p, c, ingestOptions{paths: []string{path}, jsonl: true, index: index, create: true, concurrency: concurrency})
}

// errNothingToIngest is the error for paths without a document.
var errNothingToIngest = errors.New("nothing was ingested: there is no document that can be read")

// nothingToIngest prints what is skipped of paths without any document and returns the
// error of the command.
func nothingToIngest(p *command.Program, docs iter.Seq2[localfiles.Document, error], verbose bool) error {
	var skips []localfiles.Skip
	for _, err := range docs {
		var skip *localfiles.Skip
		if !errors.As(err, &skip) {
			return err
		}
		skips = append(skips, *skip)
	}
	printSkips(p, skips, verbose)
	return errNothingToIngest
}

// uploadAll uploads documents while it shows the progress.
func uploadAll(ctx context.Context, p *command.Program, c *client.Client, docs iter.Seq2[localfiles.Document, error], size int64, cfg upload.Config) (*upload.Result, error) {
	meter := progress.New(p.Out.Stderr, size, p.StderrTerminal)
	defer meter.Finish()
	cfg.Progress, cfg.Retrying = meter.Update, meter.Retrying
	return upload.Run(ctx, uploads(c), docs, cfg)
}

// open returns the documents and the number of bytes that they are read from, -1 if it
// is not known. A path that does not exist is an error.
func open(p *command.Program, o ingestOptions) (iter.Seq2[localfiles.Document, error], int64, error) {
	fromStdin := o.jsonl && slices.Contains(o.paths, "-")
	for _, path := range o.paths {
		if _, err := os.Stat(path); err != nil && (!o.jsonl || path != "-") {
			return nil, 0, err
		}
	}
	size := int64(-1)
	if !fromStdin {
		size = o.files.Size(o.paths...)
	}
	if !o.jsonl {
		return o.files.Files(o.paths...), size, nil
	}
	return func(yield func(localfiles.Document, error) bool) {
		for _, path := range o.paths {
			docs := localfiles.LineFiles(path)
			if path == "-" {
				docs = localfiles.Lines("stdin", p.Stdin)
			}
			for doc, err := range docs {
				if !yield(doc, err) {
					return
				}
			}
		}
	}, size, nil
}

// ensureIndex returns the name of the index to ingest into. It creates the index if it
// does not exist and create is set, else that is an error.
func ensureIndex(ctx context.Context, p *command.Program, c *client.Client, name string, create bool) (string, error) {
	name, err := c.OnlyIndex(ctx, name)
	if err != nil {
		return "", err
	}
	if name == "" {
		name = firstIndex
	}
	_, err = c.Indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: name})
	if connect.CodeOf(err) != connect.CodeNotFound || err == nil {
		return name, err
	}
	if !create {
		return "", fmt.Errorf("index %q not found; `ragd index create %s` makes it", name, name)
	}
	index, err := c.Indexes.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: name})
	if err != nil {
		return "", err
	}
	output.Note(p.Out.Stderr, "made index %s (%s, %d dimensions)", name, output.OneLine(index.GetEmbeddingModel()), index.GetDimension())
	return name, nil
}
