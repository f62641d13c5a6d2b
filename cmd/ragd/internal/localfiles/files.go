package localfiles

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/parse"
)

// sniffBytes is the size of a file's beginning that decides whether the rest is read.
const sniffBytes = 8 << 10

// Files returns the documents at paths: files, and the files in folders, each folder in
// the order of names. A document's uri is its path relative to base, with slashes, or its
// absolute path if it is not under base; it does not depend on how the path was written.
// Each member of an archive is a document, with a uri as if the archive were a folder.
//
// In a folder, hidden entries, symbolic links and files in formats that the service
// cannot read yield a *Skip. A file in paths itself is never skipped: if it cannot be
// read it yields a *Problem. The document that comes with an error has the uri of the
// file, as far as it is known, and no content.
func Files(base string, paths ...string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for f, err := range walk(paths) {
			if err != nil {
				if !yield(Document{}, err) {
					return
				}
				continue
			}
			if !eachDocument(base, f, yield) {
				return
			}
		}
	}
}

// Size returns the number of bytes that Files or LineFiles would read from paths. Files
// that cannot be read count as empty.
func Size(paths ...string) int64 {
	var total int64
	for f, err := range walk(paths) {
		if err == nil {
			total += f.size
		}
	}
	return total
}

// file is a regular file at or below a path.
type file struct {
	path  string
	size  int64
	named bool // one of the paths, not found in a folder
}

// walk returns the regular files at paths and in the folders among them.
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

// walkFolder yields the files below root. It reports whether the caller wants more.
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

// eachDocument yields the documents of a file and reports whether the caller wants
// more.
func eachDocument(base string, f file, yield func(Document, error) bool) bool {
	uri, err := uriOf(base, f.path)
	if err != nil {
		return yield(Document{}, err)
	}
	content, err := readContent(f)
	if err != nil {
		return yield(Document{URI: uri}, err)
	}
	doc := Document{Location: f.path, URI: uri, Content: content, InputBytes: int64(len(content))}
	format, err := suitable(parse.Source{Content: content, FileName: f.path})
	switch {
	case err != nil:
		return yield(Document{URI: uri}, f.unsuitable(err.Error()))
	case format.IsContainer():
		return eachMember(doc, yield)
	}
	return yield(doc, nil)
}

// eachMember yields the documents in an archive.
func eachMember(archive Document, yield func(Document, error) bool) bool {
	input := archive.InputBytes // counted with the first
	for member, err := range parse.Members(parse.Source{Content: archive.Content}) {
		doc := Document{
			Location: archive.Location + ":" + member.FileName, URI: path.Join(archive.URI, path.Join("/", strings.ReplaceAll(member.FileName, `\`, "/"))),
			Content: member.Content, InputBytes: input,
		}
		input = 0
		switch {
		case err != nil && member.FileName == "":
			err = problem(archive.Location, "is %s", plainReason(err))
		case err != nil:
			err = problem(doc.Location, "is %s", plainReason(err))
		case len(member.Content) > MaxDocument:
			err = problem(doc.Location, "has %d bytes, over the limit of %d for one document", len(member.Content), MaxDocument)
		case !utf8.ValidString(doc.URI):
			err = problem(archive.Location, "has a member whose name is not valid UTF-8")
		default:
			if _, unfit := suitable(member); unfit != nil {
				err = &Skip{doc.Location, unfit.Error()}
			}
		}
		if !yield(doc, err) {
			return false
		}
	}
	return true
}

// suitable returns the format of a file, or an error if the service cannot read it. The
// error's text completes a sentence that begins with "is".
func suitable(src parse.Source) (parse.Format, error) {
	format, err := parse.Detect(src)
	switch {
	case len(src.Content) == 0:
		return "", errors.New("empty")
	case err != nil && bytes.HasPrefix(src.Content, gzipMagic):
		return "", errors.New("compressed (only tar archives, and JSON Lines, are read compressed)")
	case err != nil:
		return "", errors.New(plainReason(err))
	case format.IsText() && !parse.IsEncoded(format, src.Content) && !utf8.Valid(src.Content):
		return "", errors.New("not UTF-8 text")
	}
	return format, nil
}

// plainReason returns the public message of an error without the field name that the
// service puts in front.
func plainReason(err error) string {
	return strings.TrimPrefix(fault.Public(err), "content: is ")
}

// unsuitable returns a *Problem for a named file, a *Skip for a file in a folder.
func (f file) unsuitable(reason string) error {
	if f.named {
		return problem(f.path, "is %s", reason)
	}
	return &Skip{f.path, reason}
}

// readContent returns the content of a file. If the beginning shows that the service
// cannot read the format, it reads no further.
func readContent(f file) ([]byte, error) {
	r, err := os.Open(f.path)
	if err != nil {
		return nil, problem(f.path, "%v", reason(err))
	}
	defer r.Close()
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, problem(f.path, "%v", reason(err))
	}
	head = head[:n]
	// A zip file is recognised by its end, compressed data only after decompression.
	if packed := bytes.HasPrefix(head, []byte("PK")) || bytes.HasPrefix(head, gzipMagic); !packed && n == sniffBytes {
		if _, err := parse.Detect(parse.Source{Content: head, FileName: f.path}); err != nil {
			return nil, f.unsuitable(plainReason(err))
		}
	}
	if f.size > MaxDocument {
		return nil, problem(f.path, "has %d bytes, over the limit of %d for one document", f.size, MaxDocument)
	}
	content := bytes.NewBuffer(make([]byte, 0, f.size+bytes.MinRead))
	content.Write(head)
	if _, err := content.ReadFrom(io.LimitReader(r, MaxDocument)); err != nil {
		return nil, problem(f.path, "%v", reason(err))
	}
	return content.Bytes(), nil
}

// Prefix returns the common prefix of the uris of a folder's documents, empty if the
// folder is base itself.
func Prefix(base, folder string) (string, error) {
	uri, err := uriOf(base, folder)
	if err != nil || uri == "." {
		return "", err
	}
	return strings.TrimSuffix(uri, "/") + "/", nil
}

// uriOf returns the uri of a file or folder, see Files.
func uriOf(base, name string) (string, error) {
	absBase, err := filepath.Abs(base)
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", base, err)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("resolve %q: %w", name, err)
	}
	uri := abs
	if rel, err := filepath.Rel(absBase, abs); err == nil && filepath.IsLocal(rel) {
		uri = rel
	}
	if !utf8.ValidString(uri) {
		return "", problem(name, "has a name that is not valid UTF-8")
	}
	return filepath.ToSlash(uri), nil
}

// reason returns a file error without its path, which the location names already.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
