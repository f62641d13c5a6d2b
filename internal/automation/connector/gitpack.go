package connector

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Limits of packs.
const (
	maxRefsBytes       = 16 << 20
	maxPackObjects     = 200_000
	maxPackObjectBytes = 32 << 20 // one object is in memory
	packCacheBytes     = 16 << 20
	maxVarintBytes     = 10
)

// pack is objects of a repository in a temporary file, which has no name, so that it is gone with the
// process.
type pack struct {
	file    packFile
	objects *packfile.Packfile
}

// packFile is a file as go-git uses it.
type packFile struct{ *os.File }

func (packFile) Lock() error   { return nil }
func (packFile) Unlock() error { return nil }

// largeError is why a pack is not read: an object, or all of them, take too much memory or disk.
type largeError struct{ fault *fault.Error }

func (e *largeError) Error() string { return e.fault.Error() }
func (e *largeError) Unwrap() error { return e.fault }

func large(format string, args ...any) error {
	return &largeError{fault.New(fault.Exhausted, format, args...)}
}

// isLocal reports whether an error is about the temporary file.
func isLocal(err error) bool {
	var local *fs.PathError
	return errors.As(err, &local)
}

// readPack reads a pack. Errors: largeError; that of the reader.
func readPack(from io.Reader) (_ *pack, err error) {
	file, err := temporary("ragd-git-*.pack")
	if err != nil {
		return nil, fmt.Errorf("store a pack: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()
	if _, err := io.Copy(file, from); err != nil {
		return nil, fmt.Errorf("store a pack: %w", err)
	}
	if err := checkPack(file); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read a pack: %w", err)
	}
	var writer idxfile.Writer
	parser, err := packfile.NewParser(packfile.NewScanner(file), &writer)
	if err != nil {
		return nil, fmt.Errorf("read a pack: %w", err)
	}
	if _, err := parser.Parse(); err != nil {
		return nil, fmt.Errorf("read a pack: %w", err)
	}
	index, err := writer.Index()
	if err != nil {
		return nil, fmt.Errorf("read a pack: %w", err)
	}
	f := packFile{file}
	return &pack{f, packfile.NewPackfileWithCache(index, nil, f, cache.NewObjectLRU(packCacheBytes), 0)}, nil
}

// temporary returns a file without a name, which is gone when it is closed.
func temporary(pattern string) (*os.File, error) {
	file, err := os.CreateTemp("", pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// checkPack reads through a pack with little memory. A pack of few bytes may stand for objects of very
// many: compressed ones, and those that are described as changes of others. Errors: largeError.
func checkPack(file *os.File) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read a pack: %w", err)
	}
	scanner := packfile.NewScanner(file)
	_, count, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("read a pack: %w", err)
	}
	if count > maxPackObjects {
		return large("the repository has more than %d objects", maxPackObjects)
	}
	var total int64
	add := func(bytes int64) error {
		if bytes < 0 || bytes > maxPackObjectBytes {
			return large("the repository has an object of more than %d bytes, which its server cannot leave out", maxPackObjectBytes)
		}
		if total += bytes; total > maxRunBytes {
			return large("the repository has more than %d bytes", int64(maxRunBytes))
		}
		return nil
	}
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return fmt.Errorf("read a pack: %w", err)
		}
		if err := add(header.Length); err != nil {
			return err
		}
		var begin headWriter
		if _, _, err := scanner.NextObject(&begin); err != nil {
			return fmt.Errorf("read a pack: %w", err)
		}
		if header.Type == plumbing.OFSDeltaObject || header.Type == plumbing.REFDeltaObject {
			if err := add(begin.target()); err != nil {
				return err
			}
		}
	}
	return nil
}

// headWriter keeps the beginning of what is written: the two sizes of a delta.
type headWriter struct {
	head [2 * maxVarintBytes]byte
	n    int
}

// Write implements io.Writer.
func (w *headWriter) Write(p []byte) (int, error) {
	w.n += copy(w.head[w.n:], p)
	return len(p), nil
}

// target returns the size of the object that a delta makes, -1 if it has none.
func (w *headWriter) target() int64 {
	rest := w.head[:w.n]
	_, rest = varint(rest)
	size, _ := varint(rest)
	return size
}

// varint returns a number in groups of seven bits, the lowest first, and what follows it; -1 for none.
func varint(b []byte) (int64, []byte) {
	var n uint64
	for i, c := range b[:min(len(b), maxVarintBytes-1)] {
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return int64(n), b[i+1:]
		}
	}
	return -1, nil
}
