package connector

import (
	"context"
	"io"
	"maps"
	"path"

	"github.com/ragdhq/ragd/internal/ingest/export"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// exportSkipped is why an export has no document.
const exportSkipped = "it is an export of another system: each of its items is a document"

// exporter visits the items of exports of other systems among the files of a source.
type exporter struct {
	walking

	uri     func(name string) string
	pathKey string // the attribute with the path of an item
	visit   func(Item) error
	tooMany func() error        // the error for more items than maxItems
	count   func(n int64) error // counts bytes of items; nil if the file was counted
	seen    int                 // files and items
	partial bool                // something could not be read
}

// items visits the items of an export, each as a document below the path of its file, and then the file, which has no document of
// its own. known is false for any other file, and for one that is skipped or has failed.
func (e *exporter) items(ctx context.Context, name string, file Item, content io.ReaderAt, size int64) (known bool, err error) {
	if file.Skipped != "" || file.Failed != "" {
		return false, nil
	}
	opened, known := export.Open(name, content, size)
	if !known {
		return false, nil
	}
	for got, err := range opened.Items() {
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		if err != nil && got.Name == "" { // the rest of the export
			e.partial = true
			return true, e.visit(Item{ID: file.ID, Failed: fault.Public(err), State: State{Known: true}})
		}
		if e.seen++; e.seen > e.maxItems {
			return true, e.tooMany()
		}
		if err := e.item(ctx, name, file, got, err); err != nil {
			return true, err
		}
	}
	return true, e.visit(Item{ID: file.ID, Skipped: exportSkipped, State: State{Known: true, ETag: file.State.ETag, Skipped: exportSkipped, Export: true}})
}

// item visits an item of an export, or the failure to read it.
func (e *exporter) item(ctx context.Context, name string, file Item, got export.Item, failed error) error {
	within := path.Join(name, got.Name)
	item := Item{ID: e.uri(within), State: State{Known: true, ETag: file.State.ETag}}
	if why := unusablePath(within); why != "" {
		item.Skipped, item.State.Skipped = why, why
		return e.visit(item)
	}
	known, err := e.known(ctx, item.ID)
	if err != nil {
		return err
	}
	if failed != nil {
		known.Known = true
		return e.visit(Item{ID: item.ID, Failed: fault.Public(failed), State: known})
	}
	if item, ok := known.unchanged(item.ID, file.State.ETag); ok {
		return e.visit(item)
	}
	if e.count != nil {
		if err := e.count(int64(len(got.Content))); err != nil {
			return err
		}
	}
	item.Title, item.FileName, item.ContentType, item.Content = got.Title, path.Base(got.Name), got.ContentType, got.Content
	item.Attributes = map[string]any{}
	maps.Copy(item.Attributes, file.Attributes)
	item.Attributes[e.pathKey], item.Attributes["size"] = within, len(got.Content)
	item.Metadata = got.Origin.Metadata()
	return e.visit(item)
}
