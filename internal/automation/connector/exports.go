package connector

import (
	"context"
	"net/url"
	"os"
	"path"

	"github.com/ragdhq/ragd/internal/ingest/export"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// exported visits the items of an export of another system, each as a document below the path of its file. known is false for any
// other file. The file may have any size, since it is not read as a whole. Items of a file that has not changed are listed, and
// not uploaded.
func (w *folderWalk) exported(ctx context.Context, name string, file *os.File, stamped string, size int64) (known bool, err error) {
	opened, known := export.Open(name, file, size)
	if !known {
		return false, nil
	}
	for got, err := range opened.Items() {
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		if err != nil && got.Name == "" { // the rest of the export
			w.partial = true
			return true, w.visit(Item{ID: w.uri(name), Failed: fault.Public(err), State: State{Known: true}})
		}
		if w.seen++; w.seen > w.maxItems {
			return true, w.tooMany()
		}
		if err := w.exportedItem(ctx, name, stamped, got, err); err != nil {
			return true, err
		}
	}
	if after, err := file.Stat(); err != nil || stamp(after) != stamped {
		w.partial = true // it is being written: the next run reads it again
	}
	return true, nil
}

// exportedItem visits an item of an export, or the failure to read it.
func (w *folderWalk) exportedItem(ctx context.Context, name, stamped string, got export.Item, failed error) error {
	within := path.Join(name, got.Name)
	item := Item{ID: w.uri(within), State: State{Known: true, ETag: stamped}}
	if why := unusablePath(within); why != "" {
		item.Skipped, item.State.Skipped = why, why
		return w.visit(item)
	}
	known, err := w.known(ctx, item.ID)
	if err != nil {
		return err
	}
	if failed != nil {
		known.Known = true
		return w.visit(Item{ID: item.ID, Failed: fault.Public(failed), State: known})
	}
	if item, ok := known.unchanged(item.ID, stamped); ok {
		return w.visit(item)
	}
	if err := w.fetch.countBytes(int64(len(got.Content))); err != nil {
		return err
	}
	item.Title, item.FileName, item.ContentType, item.Content = got.Title, path.Base(got.Name), got.ContentType, got.Content
	item.Attributes = map[string]any{"path": within, "size": len(got.Content)}
	item.Metadata = got.Origin.Metadata()
	return w.visit(item)
}

// uri returns the uri of the item with a path in the folder.
func (w *folderWalk) uri(name string) string {
	return pathURI(url.URL{Scheme: "folder", Host: w.connector}, name)
}

func (w *folderWalk) tooMany() error {
	return fault.New(fault.Exhausted, "the folder has more than %d files and items of exports: name those that matter with include and exclude, or raise maxItems", w.maxItems)
}
