package sleep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// folder is a Store in a folder of the machine, or of a network file system.
type folder string

// Put implements Store.
func (f folder) Put(ctx context.Context, name string, from io.Reader) (bytes int64, err error) {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, fmt.Errorf("make a folder for archives: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".writing-*") // with mode 0600
	if err != nil {
		return 0, fmt.Errorf("make an archive: %w", err)
	}
	defer os.Remove(file.Name())
	bytes, err = io.Copy(file, from)
	if err = errors.Join(err, file.Sync(), file.Close(), ctx.Err()); err != nil {
		return 0, fmt.Errorf("write an archive: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return 0, fmt.Errorf("write an archive: %w", err)
	}
	return bytes, syncFolders(filepath.Dir(path), string(f))
}

// syncFolders makes the names in two folders durable.
func syncFolders(paths ...string) error {
	for _, path := range paths {
		dir, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("write a folder of archives: %w", err)
		}
		if err := errors.Join(dir.Sync(), dir.Close()); err != nil {
			return fmt.Errorf("write a folder of archives: %w", err)
		}
	}
	return nil
}

// Get implements Store.
func (f folder) Get(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMissing
	}
	if err != nil {
		return nil, fmt.Errorf("open an archive: %w", err)
	}
	return file, nil
}

// Delete implements Store.
func (f folder) Delete(_ context.Context, name string) error {
	path := f.path(name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete an archive: %w", err)
	}
	_ = os.Remove(filepath.Dir(path)) // fails while the tenant has another archive
	return nil
}

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }
