package data

import (
	"context"
	"iter"
	"path"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// listPage and deletePage are the documents of one call.
const (
	listPage   = 1000
	deletePage = 1000
)

// renamed holds the documents of an index whose uris are the absolute paths of files that are
// ingested now under other uris. An earlier ragd named files outside its folder so. Once a
// file is ready under its new uri, the document with the old one is deleted.
type renamed struct {
	index, namespace string
	uris             map[string]string // new ones by old ones
	seen             map[string]bool   // new uris that this run ingests
	deleted          int
}

// findRenamed returns the documents of the index that were named by the absolute paths of
// what is ingested.
func findRenamed(ctx context.Context, c *client.Client, o ingestOptions, index string) (*renamed, error) {
	found := &renamed{index: index, namespace: o.namespace, uris: map[string]string{}, seen: map[string]bool{}}
	if o.jsonl {
		return found, nil
	}
	for _, name := range o.paths {
		former, now, err := o.files.Former(name)
		if err != nil || former == "" {
			continue // the upload says what is wrong with the path; / was the base of all
		}
		if err := found.list(ctx, c, former, now); err != nil {
			if connect.CodeOf(err) == connect.CodePermissionDenied {
				return found, nil // a key that may only write
			}
			return nil, err
		}
	}
	return found, nil
}

// list adds the documents that former names, or that are below it.
func (r *renamed) list(ctx context.Context, c *client.Client, former, now string) error {
	within := command.Object("$uri", structpb.NewStructValue(command.Object("$startsWith", structpb.NewStringValue(former))))
	req := &ragdv1.ListDocumentsRequest{IndexName: r.index, Namespace: r.namespace, Filter: within, PageSize: listPage}
	if req.GetNamespace() == "" {
		req.Namespace = "default"
	}
	for {
		var page *ragdv1.ListDocumentsResponse
		err := upload.Retry(ctx, nil, func(ctx context.Context) (err error) {
			page, err = c.Documents.ListDocuments(ctx, req)
			return err
		})
		if err != nil {
			return err
		}
		for _, document := range page.GetDocuments() {
			rest, ok := strings.CutPrefix(document.GetUri(), former)
			if ok && (rest == "" || rest[0] == '/') {
				r.uris[document.GetUri()] = path.Join(now, rest)
			}
		}
		if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
			return nil
		}
	}
}

// watch returns docs and records their uris as they are read.
func (r *renamed) watch(docs iter.Seq2[localfiles.Document, error]) iter.Seq2[localfiles.Document, error] {
	if len(r.uris) == 0 {
		return docs
	}
	return func(yield func(localfiles.Document, error) bool) {
		for doc, err := range docs {
			if err == nil {
				r.seen[doc.URI] = true
			}
			if !yield(doc, err) {
				return
			}
		}
	}
}

// delete deletes the documents with old uris whose files are ready under their new ones, and
// says so. It is called after the upload, which had these failures.
func (r *renamed) delete(ctx context.Context, p *command.Program, c *client.Client, failures []upload.Failure) error {
	for _, failure := range failures {
		delete(r.seen, failure.URI)
	}
	var old []string
	for former, now := range r.uris {
		if r.seen[now] {
			old = append(old, former)
		}
	}
	slices.Sort(old)
	for batch := range slices.Chunk(old, deletePage) {
		err := upload.Retry(ctx, nil, func(ctx context.Context) error {
			res, err := c.Documents.DeleteDocuments(ctx, &ragdv1.DeleteDocumentsRequest{IndexName: r.index, Namespace: r.namespace, Uris: batch})
			r.deleted += int(res.GetDeletedCount())
			return err
		})
		if err != nil {
			return err
		}
	}
	if r.deleted > 0 {
		output.Note(p.Out.Stderr, "renamed %s: uris are no longer absolute paths, as %s was, now %s",
			output.Count(r.deleted, "document"), output.OneLine(old[0]), output.OneLine(r.uris[old[0]]))
	}
	return nil
}
