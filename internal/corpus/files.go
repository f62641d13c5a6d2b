package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// sniffed is how much of a file decides whether it is text.
const sniffed = 8 << 10

// Files returns the text files among paths and in the folders among them, each
// folder in the order of its names. A document's uri is its path relative to
// base, with slashes, or its absolute path if it is not under base: it does not
// depend on how the path was written.
//
// In a folder, hidden entries, symbolic links and files that are not UTF-8 text
// are passed over with a *Skip. A path that was named itself is never passed
// over: what cannot be read there is a *Problem.
func Files(base string, paths ...string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for f, err := range walk(paths) {
			var doc Document
			if err == nil {
				doc, err = readFile(base, f)
			}
			if !yield(doc, err) {
				return
			}
		}
	}
}

// Size returns the bytes of the files that Files, or Lines over each path, would
// read. What cannot be read counts nothing.
func Size(paths ...string) int64 {
	var total int64
	for f, err := range walk(paths) {
		if err == nil {
			total += f.size
		}
	}
	return total
}

// file is a regular file that a walk found.
type file struct {
	path  string
	size  int64
	named bool // on the command line, not found in a folder
}

func walk(paths []string) iter.Seq2[file, error] {
	return func(yield func(file, error) bool) {
		for _, root := range paths {
			info, err := os.Stat(root)
			switch {
			case err != nil:
				if !yield(file{}, problem(root, "%v", reason(err))) {
					return
				}
			case info.IsDir():
				if !walkFolder(root, yield) {
					return
				}
			case !info.Mode().IsRegular():
				if !yield(file{}, problem(root, "is neither a regular file nor a folder")) {
					return
				}
			default:
				if !yield(file{path: root, size: info.Size(), named: true}, nil) {
					return
				}
			}
		}
	}
}

// walkFolder reports whether the caller wants more.
func walkFolder(root string, yield func(file, error) bool) bool {
	more := true
	next := func(f file, err error) error {
		if more = yield(f, err); !more {
			return fs.SkipAll
		}
		return nil
	}
	// WalkDir does not follow a root that is a symbolic link; with a slash it does.
	root += string(filepath.Separator)
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return next(file{}, problem(path, "%v", reason(err)))
		case path != root && strings.HasPrefix(entry.Name(), "."):
			if err := next(file{}, &Skip{path, "hidden"}); err != nil || !entry.IsDir() {
				return err
			}
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			return next(file{}, &Skip{path, "a symbolic link"})
		case !entry.Type().IsRegular():
			return next(file{}, &Skip{path, "not a regular file"})
		}
		info, err := entry.Info()
		if err != nil {
			return next(file{}, problem(path, "%v", reason(err)))
		}
		return next(file{path: path, size: info.Size()}, nil)
	})
	return more
}

func readFile(base string, f file) (Document, error) {
	content, err := readText(f)
	if err != nil {
		return Document{}, err
	}
	uri, err := uriOf(base, f.path)
	if err != nil {
		return Document{}, err
	}
	return Document{Place: f.path, URI: uri, Content: content, InputBytes: int64(len(content))}, nil
}

// readText returns the content of a text file. It reads no more than it has to in
// order to know that a file is not one.
func readText(f file) ([]byte, error) {
	unsuitable := func(reason string) error {
		if f.named {
			return problem(f.path, "is %s", reason)
		}
		return &Skip{f.path, reason}
	}
	r, err := os.Open(f.path)
	if err != nil {
		return nil, problem(f.path, "%v", reason(err))
	}
	defer r.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, problem(f.path, "%v", reason(err))
	}
	head = head[:n]
	switch {
	case n == 0:
		return nil, unsuitable("empty")
	case bytes.HasPrefix(head, gzipMagic):
		return nil, unsuitable("compressed (only JSON Lines are read compressed)")
	case bytes.IndexByte(head, 0) >= 0:
		return nil, unsuitable("binary, not text")
	case f.size > MaxDocument:
		return nil, problem(f.path, "has %d bytes, over the limit of %d for one document", f.size, MaxDocument)
	}
	content, err := io.ReadAll(io.MultiReader(bytes.NewReader(head), io.LimitReader(r, MaxDocument)))
	if err != nil {
		return nil, problem(f.path, "%v", reason(err))
	}
	if !utf8.Valid(content) {
		return nil, unsuitable("not UTF-8 text")
	}
	return content, nil
}

func uriOf(base, path string) (string, error) {
	absBase, err := filepath.Abs(base)
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", base, err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", path, err)
	}
	uri := abs
	if rel, err := filepath.Rel(absBase, abs); err == nil && filepath.IsLocal(rel) {
		uri = rel
	}
	if !utf8.ValidString(uri) {
		return "", problem(path, "has a name that is not valid UTF-8")
	}
	return filepath.ToSlash(uri), nil
}

// reason takes the path out of a file error, which its place names already.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
