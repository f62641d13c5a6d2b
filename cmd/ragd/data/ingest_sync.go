package data

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
)

// syncOptions are the flags of ingest --sync.
type syncOptions struct {
	on     bool
	dryRun bool
	source upload.Source
}

// completeSync checks the flags of --sync and sets the prefix of the uris if it follows
// from the folder.
func (o *ingestOptions) completeSync() error {
	s := &o.sync
	switch {
	case !s.on && (s.dryRun || s.source != upload.Source{}):
		return misuse.Errorf("--dry-run, --prefix, --whole-index and --allow-empty need --sync")
	case !s.on:
		return nil
	case o.jsonl && slices.Contains(o.paths, "-"):
		return misuse.Errorf("--sync reads its documents twice, which standard input cannot do")
	case s.source.WholeIndex || s.source.Prefix != "":
		return nil
	}
	if info, err := os.Stat(o.paths[0]); err != nil || len(o.paths) > 1 || !info.IsDir() {
		return misuse.Errorf("--sync of anything but one folder needs --prefix or --whole-index")
	}
	var err error
	if s.source.Prefix, err = o.files.Prefix(o.paths[0]); err == nil && s.source.Prefix == "" {
		return misuse.Errorf("the uris of %s have no prefix: give a --base above it, such as %s, or --whole-index if the index is to have nothing else", o.paths[0], filepath.Dir(filepath.Clean(o.paths[0])))
	}
	return err
}

// uploads returns the client for package upload.
func uploads(c *client.Client) upload.Client {
	return upload.Client{Documents: c.Documents, Indexes: c.Indexes}
}

// syncReport is the output of ingest --sync with --json.
type syncReport struct {
	DryRun    bool          `json:"dryRun"`
	New       []string      `json:"new"`
	Changed   []string      `json:"changed"`
	Unchanged int           `json:"unchanged"`
	Gone      []string      `json:"gone"`
	Kept      []string      `json:"kept"`
	Unread    int           `json:"unread"`
	Deleted   int           `json:"deleted"`
	Ingest    *ingestReport `json:"ingest,omitempty"`
}

// syncSource makes the index contain exactly docs, within the configured source. It
// uploads first, so that a renamed document is never missing, and deletes only if every
// document could be read.
func syncSource(ctx context.Context, p *command.Program, c *client.Client, docs iter.Seq2[localfiles.Document, error], o ingestOptions, cfg upload.Config, old *renamed) error {
	plan, err := upload.PlanSync(ctx, uploads(c), docs, o.sync.source, cfg)
	if err != nil {
		return err
	}
	report := syncReport{
		DryRun: o.sync.dryRun, New: output.OrEmpty(plan.New), Changed: output.OrEmpty(plan.Changed), Unchanged: plan.Unchanged,
		Gone: output.OrEmpty(plan.Gone), Kept: output.OrEmpty(plan.Kept), Unread: plan.Unread,
	}
	for _, uri := range plan.Kept {
		output.Note(p.Out.Stderr, "kept, though its file cannot be read any more: %s", output.OneLine(uri))
	}
	if o.sync.dryRun {
		return showSync(p, cfg.Index, report, plan.GoneCount)
	}
	result, err := uploadAll(ctx, p, c, plan.Due(docs), -1, cfg)
	if err != nil {
		return reportIngest(p, cfg.Index, result, old, o.verbose, err)
	}
	if plan.Unread == 0 {
		if report.Deleted, err = plan.Finish(ctx, uploads(c), cfg); err != nil {
			return err
		}
	} else if plan.GoneCount > 0 {
		output.Note(p.Out.Stderr, "nothing is deleted, as %s could not be read", output.Count(plan.Unread, "document"))
	}
	if !o.noWait {
		if err := old.delete(ctx, p, c, result.Failures); err != nil {
			return err
		}
	}
	if p.Out.JSON {
		ingest := newIngestReport(cfg.Index, result, old, rateOf(result))
		report.Ingest = &ingest
		if err := p.Out.Value(report); err != nil {
			return err
		}
		return failures(result)
	}
	err = reportIngest(p, cfg.Index, result, old, o.verbose, nil)
	fmt.Fprintf(p.Out.Stdout, "%d new, %d changed, %d unchanged, %d deleted\n", len(plan.New), len(plan.Changed), plan.Unchanged, report.Deleted)
	return err
}

// showSync prints the plan of a sync, for --dry-run.
func showSync(p *command.Program, index string, report syncReport, gone int) error {
	if p.Out.JSON {
		return p.Out.Value(report)
	}
	for _, group := range []struct {
		mark string
		uris []string
	}{{"new      ", report.New}, {"changed  ", report.Changed}, {"gone     ", report.Gone}} {
		for _, uri := range group.uris {
			fmt.Fprintln(p.Out.Stdout, group.mark+output.OneLine(uri))
		}
	}
	fmt.Fprintf(p.Out.Stdout, "would upload %d new and %d changed documents to index %s, delete %d and leave %d\n",
		len(report.New), len(report.Changed), index, gone, report.Unchanged)
	if report.Unread > 0 {
		output.Note(p.Out.Stderr, "nothing would be deleted, as %s could not be read", output.Count(report.Unread, "document"))
	}
	return nil
}
