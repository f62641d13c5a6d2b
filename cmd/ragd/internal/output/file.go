package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ReplaceFile calls write with a new file of the mode, which replaces that at path once it is complete.
func ReplaceFile(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".ragd-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := file.Chmod(mode); err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// WriteFile creates or replaces a file with the output of write.
func WriteFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close() //nolint:errcheck,gosec // the write has failed already
		return err
	}
	return file.Close()
}
