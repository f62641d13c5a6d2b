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

// sniffed is how much of a file decides whether the rest of it is read.
const sniffed = 8 << 10

// Files returns the documents among paths and in the folders among them, each
// folder in the order of its names. A document's uri is its path relative to
// base, with slashes, or its absolute path if it is not under base: it does not
// depend on how the path was written. An archive is as many documents as it has
// members, each with a uri as if the archive were a folder.
//
// In a folder, hidden entries, symbolic links and files of formats that the service
// cannot read are passed over with a *Skip. A path that was named itself is never
// passed over: what cannot be read there is a *Problem. The uri that a file would
// have had comes with its error.
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
	doc := Document{Place: f.path, URI: uri, Content: content, InputBytes: int64(len(content))}
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
			Place: archive.Place + ":" + member.FileName, URI: path.Join(archive.URI, path.Join("/", strings.ReplaceAll(member.FileName, `\`, "/"))),
			Content: member.Content, InputBytes: input,
		}
		input = 0
		switch {
		case err != nil && member.FileName == "":
			err = problem(archive.Place, "is %s", plainReason(err))
		case err != nil:
			err = problem(doc.Place, "is %s", plainReason(err))
		case len(member.Content) > MaxDocument:
			err = problem(doc.Place, "has %d bytes, over the limit of %d for one document", len(member.Content), MaxDocument)
		case !utf8.ValidString(doc.URI):
			err = problem(archive.Place, "has a member whose name is not valid UTF-8")
		default:
			if _, unfit := suitable(member); unfit != nil {
				err = &Skip{doc.Place, unfit.Error()}
			}
		}
		if !yield(doc, err) {
			return false
		}
	}
	return true
}

// suitable returns the format of a file that the service can read. Its error is a
// reason that goes on from "is".
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

// plainReason is what an error says about a file, without the field of an upload
// that it would blame.
func plainReason(err error) string {
	return strings.TrimPrefix(fault.Public(err), "content: is ")
}

func (f file) unsuitable(reason string) error {
	if f.named {
		return problem(f.path, "is %s", reason)
	}
	return &Skip{f.path, reason}
}

// readContent returns the content of a file. It reads no more than it has to in
// order to know that nobody can read the file.
func readContent(f file) ([]byte, error) {
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
	// A zip file is known by its end, and a page's encoding may be anything.
	if packed := bytes.HasPrefix(head, []byte("PK")) || bytes.HasPrefix(head, gzipMagic); !packed && n == sniffed {
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

// Prefix returns what the uris of a folder's documents begin with, empty if the
// folder is base itself.
func Prefix(base, folder string) (string, error) {
	uri, err := uriOf(base, folder)
	if err != nil || uri == "." {
		return "", err
	}
	return strings.TrimSuffix(uri, "/") + "/", nil
}

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

// reason takes the path out of a file error, which its place names already.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
