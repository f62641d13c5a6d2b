package connector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// FoldersSetting is the name of the setting with the folders that connectors may read.
const FoldersSetting = "connector-folders"

const maxFolderBytes = 1000

// Folder is the files of a folder of the machine, which the operator allows.
type Folder struct {
	Path    string   `json:"path"`
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// complete implements kind.
func (f *Folder) complete(*outbound.Guard) error {
	if err := checkMachinePath("folder.path", f.Path, "/srv/handbook"); err != nil {
		return err
	}
	for field, patterns := range map[string][]string{"folder.include": f.Include, "folder.exclude": f.Exclude} {
		if err := checkPatterns(field, patterns); err != nil {
			return err
		}
	}
	return nil
}

// checkMachinePath checks the form of a path of the machine in a field.
func checkMachinePath(field, path, example string) error {
	if err := textlimit.Check(field, path, maxFolderBytes); err != nil {
		return err
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fault.Field(field, "must be an absolute path without .. and double slashes, such as %s", example)
	}
	return nil
}

// allowPath checks that the caller may use what is at a path of the machine, which a field names. Errors: as allowedFolder.
func (s *Service) allowPath(ctx context.Context, field, path string) error {
	_, _, err := s.allowedFolder(ctx, field, path)
	return err
}

// allowedFolder returns the allowed folder that a path of the machine is in, and the path from there. Errors: Denied
// unless the caller is an operator; Precondition for a path that the operator does not allow.
func (s *Service) allowedFolder(ctx context.Context, field, path string) (allowed, below string, err error) {
	if r, ok := access.FromContext(ctx); !ok || !r.Principal.Has(access.Operator) {
		return "", "", fault.New(fault.Denied, "only a credential with the scope operator can use connectors of folders and files of the server")
	}
	if len(s.Folders) == 0 {
		return "", "", fault.New(fault.Precondition, "connectors cannot read folders of this server: the setting %s names those that they may read", FoldersSetting)
	}
	for _, root := range s.Folders {
		below, err := filepath.Rel(filepath.Clean(root), path)
		if err == nil && filepath.IsLocal(below) {
			return root, below, nil
		}
	}
	return "", "", fault.New(fault.Precondition, "%s is in none of the folders that the setting %s names", field, FoldersSetting)
}

// openFolder opens a folder. What is opened below it cannot leave it, neither by .. nor by symbolic links, and
// it cannot leave the allowed folder. Errors: as allowedFolder.
func (s *Service) openFolder(ctx context.Context, f *Folder) (*os.Root, error) {
	allowed, below, err := s.allowedFolder(ctx, "folder.path", f.Path)
	if err != nil {
		return nil, err
	}
	outer, err := os.OpenRoot(allowed)
	if err != nil {
		return nil, fault.Wrap(fault.Precondition, err, "the folder cannot be opened: %s", plainly(err))
	}
	defer func() { _ = outer.Close() }()
	inner, err := outer.OpenRoot(below)
	if err != nil {
		return nil, fault.Wrap(fault.Precondition, err, "the folder cannot be opened: %s", plainly(err))
	}
	return inner, nil
}

// plainly returns why a file cannot be read, without its path.
func plainly(err error) string {
	var broken *fs.PathError
	if errors.As(err, &broken) {
		err = broken.Err
	}
	return textlimit.OneLine(err.Error(), maxReasonBytes)
}

// folderWalk is a walk of a folder.
type folderWalk struct {
	exporter

	root    *os.Root
	chosen  selection
	entries int
	waiting []folderFile
}

// folderFile is a file of a folder.
type folderFile struct {
	name  string
	entry fs.DirEntry
}

// walk implements kind. Files with the size and time of the last walk are not read.
func (f *Folder) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	root, err := w.open(ctx, f)
	if err != nil {
		return listing{}, err
	}
	defer func() { _ = root.Close() }()
	walk := &folderWalk{root: root, exporter: exporter{
		walking: w, visit: visit, pathKey: "path", count: w.fetch.countBytes,
		uri: func(name string) string { return pathURI(url.URL{Scheme: "folder", Host: w.connector}, name) },
		tooMany: func() error {
			return fault.New(fault.Exhausted, "the folder has more than %d files and items of exports: name those that matter with include and exclude, or raise maxItems", w.maxItems)
		},
	}}
	if walk.chosen, err = newSelection(f.Include, f.Exclude); err != nil {
		return listing{}, err
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		return walk.entry(ctx, name, entry, err)
	})
	if err == nil {
		err = walk.files(ctx)
	}
	return listing{keepOthers: walk.partial}, err
}

// entry visits an entry of a folder. Symbolic links are not followed.
func (w *folderWalk) entry(ctx context.Context, name string, entry fs.DirEntry, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if w.entries++; w.entries > maxTreeEntries {
		return fault.New(fault.Exhausted, "the folder has more than %d files and folders", maxTreeEntries)
	}
	switch {
	case err != nil && name == ".":
		return fault.Wrap(fault.Precondition, err, "the folder cannot be read: %s", plainly(err))
	case err != nil: // a folder within it, whose files stay as they are
		w.partial = true
		return nil
	case entry.IsDir():
		if strings.Count(name, "/") >= maxTreeDepth {
			return fault.New(fault.Exhausted, "the folder has folders nested deeper than %d", maxTreeDepth)
		}
		if w.watch != nil {
			w.watch(name)
		}
		return nil
	case !w.chosen.has(name) || !entry.Type().IsRegular() && entry.Type()&fs.ModeSymlink == 0:
		return nil // pipes and devices are not files
	}
	if w.seen++; w.seen > w.maxItems {
		return w.tooMany()
	}
	if w.waiting = append(w.waiting, folderFile{name, entry}); len(w.waiting) < statesAtOnce {
		return nil
	}
	return w.files(ctx)
}

// files visits the files that wait.
func (w *folderWalk) files(ctx context.Context) error {
	ids := make([]string, len(w.waiting))
	for i, f := range w.waiting {
		ids[i] = w.uri(f.name)
	}
	if err := w.expect(ctx, ids); err != nil {
		return err
	}
	for _, f := range w.waiting {
		if err := w.file(ctx, f.name, f.entry); err != nil {
			return err
		}
	}
	w.waiting = w.waiting[:0]
	return nil
}

// file visits a file.
func (w *folderWalk) file(ctx context.Context, name string, entry fs.DirEntry) error {
	item := Item{ID: w.uri(name), State: State{Known: true}}
	why := unusablePath(name)
	if why == "" && entry.Type()&fs.ModeSymlink != 0 {
		why = "it is a symbolic link"
	}
	if why != "" {
		item.Skipped, item.State.Skipped = why, why
		return w.visit(item)
	}
	known, err := w.known(ctx, item.ID)
	if err != nil {
		return err
	}
	// O_NONBLOCK: a pipe that has just taken its place must not block.
	file, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was deleted meanwhile
	}
	var before fs.FileInfo
	if err == nil {
		defer func() { _ = file.Close() }()
		before, err = file.Stat()
	}
	switch {
	case err != nil:
		known.Known = true
		return w.visit(Item{ID: item.ID, Failed: "cannot be read: " + plainly(err), State: known})
	case !before.Mode().IsRegular():
		return nil
	}
	item.State.ETag = stamp(before)
	if item, ok := known.unchanged(item.ID, item.State.ETag); ok {
		return w.visit(item)
	}
	item.FileName, item.Modified = path.Base(name), before.ModTime()
	item.Attributes = map[string]any{"path": name, "size": before.Size()}
	if known, err := w.items(ctx, name, item, file, before.Size()); known || err != nil {
		w.partial = w.partial || isWritten(file, item.State.ETag) // the next run reads it again
		return err
	}
	if before.Size() > maxItemBytes {
		return w.visit(item.tooLarge())
	}
	item.Content, err = io.ReadAll(io.LimitReader(file, maxItemBytes+1))
	if err := w.fetch.countBytes(int64(len(item.Content))); err != nil {
		return err
	}
	switch {
	case err != nil:
		known.Known = true
		return w.visit(Item{ID: item.ID, Failed: "cannot be read: " + plainly(err), State: known})
	case len(item.Content) > maxItemBytes:
		return w.visit(item.tooLarge())
	}
	if isWritten(file, item.State.ETag) {
		item.State.ETag = "" // the next run reads it again
	}
	return w.visit(item)
}

// isWritten reports whether a file has changed since it had a stamp.
func isWritten(file *os.File, stamped string) bool {
	after, err := file.Stat()
	return err != nil || stamp(after) != stamped
}

// stamp returns what changes when a file is written.
func stamp(info fs.FileInfo) string {
	return fmt.Sprintf("%d-%d", info.ModTime().UnixNano(), info.Size())
}
