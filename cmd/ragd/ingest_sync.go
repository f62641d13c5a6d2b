package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
)

// syncOptions say how an index is made to have what a path has.
type syncOptions struct {
	on     bool
	dryRun bool
	source upload.Source
}

// completeSync checks the options and finds the prefix of a folder's uris.
func (o *ingestOptions) completeSync() error {
	s := &o.sync
	switch {
	case !s.on && (s.dryRun || s.source != upload.Source{}):
		return usagef("--dry-run, --prefix, --whole-index and --allow-empty need --sync")
	case !s.on:
		return nil
	case o.jsonl && slices.Contains(o.paths, "-"):
		return usagef("--sync reads its documents twice, which standard input cannot do")
	case s.source.WholeIndex || s.source.Prefix != "":
		return nil
	}
	if info, err := os.Stat(o.paths[0]); err != nil || len(o.paths) > 1 || !info.IsDir() {
		return usagef("--sync of anything but one folder needs --prefix or --whole-index")
	}
	var err error
	if s.source.Prefix, err = localfiles.Prefix(o.base, o.paths[0]); err == nil && s.source.Prefix == "" {
		return usagef("the uris of %s have no prefix: give a --base above it, or --whole-index if the index is to have nothing else", o.paths[0])
	}
	return err
}

// uploads is the client as internal/upload takes it.
func (c *client) uploads() upload.Client {
	return upload.Client{Documents: c.documents, Indexes: c.indexes}
}

// syncReport is what --json prints of a sync.
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

// syncSource makes the index have what docs has. Uploads go first, so that a
// document under another name is never missing, and deletions only when every document
// could be read.
func (p *program) syncSource(ctx context.Context, c *client, docs iter.Seq2[localfiles.Document, error], o syncOptions, cfg upload.Config) error {
	plan, err := upload.PlanSync(ctx, c.uploads(), docs, o.source, cfg)
	if err != nil {
		return err
	}
	report := syncReport{
		DryRun: o.dryRun, New: orEmpty(plan.New), Changed: orEmpty(plan.Changed), Unchanged: plan.Unchanged,
		Gone: orEmpty(plan.Gone), Kept: orEmpty(plan.Kept), Unread: plan.Unread,
	}
	for _, uri := range plan.Kept {
		note(p.stderr, "kept, though its file cannot be read any more: %s", oneLine(uri))
	}
	if o.dryRun {
		return p.showSync(cfg.Index, report, plan.GoneCount)
	}
	result, err := p.upload(ctx, c, plan.Due(docs), -1, cfg)
	if err != nil {
		return p.reportIngest(cfg.Index, result, err)
	}
	if plan.Unread == 0 {
		if report.Deleted, err = plan.Finish(ctx, c.uploads(), cfg); err != nil {
			return err
		}
	} else if plan.GoneCount > 0 {
		note(p.stderr, "nothing is deleted, as %s could not be read", count(plan.Unread, "document"))
	}
	if p.json {
		ingest := newIngestReport(cfg.Index, result, rateOf(result))
		report.Ingest = &ingest
		if err := p.printJSON(report); err != nil {
			return err
		}
		return failures(result)
	}
	err = p.reportIngest(cfg.Index, result, nil)
	fmt.Fprintf(p.stdout, "%d new, %d changed, %d unchanged, %d deleted\n", len(plan.New), len(plan.Changed), plan.Unchanged, report.Deleted)
	return err
}

// showSync prints what a sync would do.
func (p *program) showSync(index string, report syncReport, gone int) error {
	if p.json {
		return p.printJSON(report)
	}
	for _, part := range []struct {
		mark string
		uris []string
	}{{"new      ", report.New}, {"changed  ", report.Changed}, {"gone     ", report.Gone}} {
		for _, uri := range part.uris {
			fmt.Fprintln(p.stdout, part.mark+oneLine(uri))
		}
	}
	fmt.Fprintf(p.stdout, "would upload %d new and %d changed documents to index %s, delete %d and leave %d\n",
		len(report.New), len(report.Changed), index, gone, report.Unchanged)
	if report.Unread > 0 {
		note(p.stderr, "nothing would be deleted, as %s could not be read", count(report.Unread, "document"))
	}
	return nil
}

// orEmpty is a list that JSON writes as [] and not as null.
func orEmpty(list []string) []string { return append([]string{}, list...) }
