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
	"time"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/frontmatter"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// sniffBytes is the size of a file's beginning that decides whether the rest is read.
const sniffBytes = 8 << 10

// Options say how files are found and named.
type Options struct {
	Base     string // folder that uris are relative to
	NoIgnore bool   // do not read .gitignore and .ragdignore
}

// Files returns the documents at paths: files, and the files in folders, each folder in
// the order of names. A document's uri is its path relative to the base, with slashes. For
// a path that is not below the base it is relative to the path itself if that is a folder,
// or the name of the file. It does not depend on how the path was written. Each member of
// an archive is a document, with a uri as if the archive were a folder. A file with the uri
// of another one at paths yields a *Problem.
//
// In a folder, hidden entries, folders of version control, what .gitignore and .ragdignore
// ignore, symbolic links and files in formats that the service cannot read yield a *Skip.
// The ignore files of the folders above apply too, up to the top of a Git repository. A
// file in paths itself is never skipped: if it cannot be read it yields a *Problem. The
// document that comes with an error has the uri of the file, as far as it is known and the
// file is not ignored, and no content.
func (o Options) Files(paths ...string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		var owners map[string]string // absolute paths by uri; two paths may have files of one uri
		if len(paths) > 1 {
			owners = map[string]string{}
		}
		for f, err := range o.walk(paths) {
			if err == nil {
				f.uri, err = uriOf(f.base, f.path)
			}
			if err == nil && owners != nil {
				err = claim(owners, f)
			}
			if err != nil {
				if !yield(Document{}, err) {
					return
				}
				continue
			}
			if !eachDocument(f, yield) {
				return
			}
		}
	}
}

// claim records the uri of a file in owners. It returns a *Problem if another file has it.
func claim(owners map[string]string, f file) error {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		return fmt.Errorf("resolve %q: %w", f.path, err)
	}
	if other, taken := owners[f.uri]; taken && other != abs {
		return problem(f.path, "would have the uri %s, as %s has: give a --base above both, or another --namespace or --index to one of them", f.uri, other)
	}
	owners[f.uri] = abs
	return nil
}

// Size returns the number of bytes that Files or LineFiles would read from paths. Files
// that cannot be read count as empty.
func (o Options) Size(paths ...string) int64 {
	var total int64
	for f, err := range o.walk(paths) {
		if err == nil {
			total += f.size
		}
	}
	return total
}

// Any reports whether there is a file in paths that is not ignored, readable or not, or a
// path that cannot be looked at.
func (o Options) Any(paths ...string) bool {
	for _, err := range o.walk(paths) {
		var skip *Skip
		if !errors.As(err, &skip) {
			return true
		}
	}
	return false
}

// file is a regular file at or below a path.
type file struct {
	path string
	base string // folder that the uri is relative to
	uri  string // once it is known
	size int64
	// modified is when it was changed.
	modified time.Time
	named    bool // one of the paths, not found in a folder
}

// walk returns the regular files at paths and in the folders among them.
func (o Options) walk(paths []string) iter.Seq2[file, error] {
	return func(yield func(file, error) bool) {
		for _, root := range paths {
			info, err := os.Stat(root)
			switch {
			case err != nil:
				if !yield(file{}, problem(root, "%v", reason(err))) {
					return
				}
			case info.IsDir():
				if !o.walkFolder(root, yield) {
					return
				}
			case !info.Mode().IsRegular():
				if !yield(file{}, problem(root, "is neither a regular file nor a folder")) {
					return
				}
			default:
				if !yield(file{path: root, base: o.baseOf(root, false), size: info.Size(), modified: info.ModTime(), named: true}, nil) {
					return
				}
			}
		}
	}
}

// walkFolder yields the files below root. It reports whether the caller wants more.
func (o Options) walkFolder(root string, yield func(file, error) bool) bool {
	w := &folderWalk{base: o.baseOf(root, true), yield: yield, more: true}
	if !o.NoIgnore {
		var err error
		if w.ignore, err = newIgnoreRules(root); err != nil {
			return yield(file{}, err)
		}
	}
	// WalkDir does not follow a root that is a symbolic link; with a slash it does.
	w.root = strings.TrimSuffix(root, string(filepath.Separator)) + string(filepath.Separator)
	_ = filepath.WalkDir(w.root, w.visit)
	return w.more
}

// folderWalk is a walk through a folder.
type folderWalk struct {
	root   string
	base   string
	ignore *ignoreRules // nil if nothing is ignored
	yield  func(file, error) bool
	more   bool // the caller wants more
}

// visit is an fs.WalkDirFunc.
func (w *folderWalk) visit(path string, entry fs.DirEntry, err error) error {
	if err != nil {
		return w.next(file{}, problem(path, "%v", reason(err)))
	}
	if path != w.root {
		if why := w.skips(path, entry); why != "" {
			return w.skip(path, entry, why)
		}
	}
	if entry.IsDir() {
		return w.enter(path)
	}
	info, err := entry.Info()
	if err != nil {
		return w.next(file{}, problem(path, "%v", reason(err)))
	}
	return w.next(file{path: path, base: w.base, size: info.Size(), modified: info.ModTime()}, nil)
}

// next yields a file or an error. The result is for WalkDir.
func (w *folderWalk) next(f file, err error) error {
	if w.more = w.yield(f, err); !w.more {
		return fs.SkipAll
	}
	return nil
}

// skips returns why an entry is skipped, or "".
func (w *folderWalk) skips(path string, entry fs.DirEntry) string {
	ignoredBy := ""
	if w.ignore != nil {
		ignoredBy = w.ignore.ignored(path, entry.IsDir())
	}
	switch name := entry.Name(); {
	case strings.HasPrefix(name, "."):
		return "hidden"
	case entry.IsDir() && (name == "CVS" || name == "_darcs"):
		return "version control"
	case ignoredBy != "":
		return "ignored by " + ignoredBy
	case entry.Type()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case !entry.IsDir() && !entry.Type().IsRegular():
		return "not a regular file"
	}
	return ""
}

// skip yields a *Skip. The result is for WalkDir.
func (w *folderWalk) skip(path string, entry fs.DirEntry, why string) error {
	if !entry.IsDir() {
		return w.next(file{}, &Skip{path, why})
	}
	if err := w.next(file{}, &Skip{path + string(filepath.Separator), why}); err != nil {
		return err
	}
	return fs.SkipDir
}

// enter reads the ignore files of a folder. If one cannot be read the folder is skipped: it
// may hold what must not be uploaded.
func (w *folderWalk) enter(path string) error {
	if w.ignore == nil {
		return nil
	}
	if err := w.ignore.enter(path); err != nil {
		if err := w.next(file{}, err); err != nil {
			return err
		}
		return fs.SkipDir
	}
	return nil
}

// eachDocument yields the documents of a file and reports whether the caller wants
// more.
func eachDocument(f file, yield func(Document, error) bool) bool {
	if known, more := eachItem(f, yield); known {
		return more
	}
	content, err := readContent(f)
	if err != nil {
		return yield(Document{URI: f.uri}, err)
	}
	doc := Document{Location: f.path, URI: f.uri, Content: content, Modified: f.modified, InputBytes: int64(len(content))}
	format, err := suitable(parse.Source{Content: content, FileName: f.path, Pictures: f.named, Recordings: f.recordings()})
	switch {
	case err != nil:
		return yield(Document{URI: f.uri}, f.unsuitable(err.Error()))
	case format.IsContainer():
		return eachMember(doc, yield)
	}
	doc.Warning = warningOf(format, content)
	return yield(doc, nil)
}

// recordings returns the size of the largest recording that is sent: none that only a folder holds.
func (f file) recordings() int64 {
	if !f.named {
		return 0
	}
	return MaxDocument
}

// warningOf returns the warning about a document.
func warningOf(format parse.Format, content []byte) string {
	if format != parse.Markdown {
		return ""
	}
	head := content[:min(len(content), 2*frontmatter.MaxSize)]
	if _, err := frontmatter.Read(string(head)); err != nil {
		return err.Error()
	}
	return ""
}

// eachMember yields the documents in an archive.
func eachMember(archive Document, yield func(Document, error) bool) bool {
	input := archive.InputBytes // counted with the first
	for member, err := range parse.Members(parse.Source{Content: archive.Content}) {
		doc := Document{
			Location: archive.Location + ":" + member.FileName, URI: path.Join(archive.URI, path.Join("/", strings.ReplaceAll(member.FileName, `\`, "/"))),
			Content: member.Content, Modified: member.Modified, InputBytes: input,
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
			err = doc.checkMember(member)
		}
		if !yield(doc, err) {
			return false
		}
	}
	return true
}

// checkMember sets the warning about a member of an archive. It returns a *Skip for one that the service cannot read.
func (d *Document) checkMember(member parse.Source) error {
	format, unfit := suitable(member)
	if unfit != nil {
		return &Skip{d.Location, unfit.Error()}
	}
	d.Warning = warningOf(format, member.Content)
	return nil
}

// suitable returns the format of a file, or an error if the service cannot read it. The
// error's text completes a sentence that begins with "is".
func suitable(src parse.Source) (parse.Format, error) {
	format, err := parse.Detect(src)
	switch {
	case len(src.Content) == 0:
		return "", errors.New("empty")
	case err != nil:
		return "", errors.New(plainReason(err))
	case format.IsText() && !parse.IsEncoded(format, src) && !utf8.Valid(src.Content):
		return "", errors.New(plainReason(parse.NotUTF8(src.Content)))
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

// readAttempts is how often a file is read that changes while it is read.
const readAttempts = 3

// readContent returns the content of a file. If the beginning shows that the service
// cannot read the format, it reads no further.
func readContent(f file) ([]byte, error) {
	return f.readUnchanged(func() (fs.File, error) { return os.Open(f.path) })
}

// readUnchanged is readContent with a function that opens the file.
func (f file) readUnchanged(open func() (fs.File, error)) ([]byte, error) {
	for range readAttempts {
		content, changed, err := f.readOnce(open)
		if err != nil || !changed {
			return content, err
		}
	}
	return nil, problem(f.path, "changes while it is read: ingest it when it is complete")
}

// readOnce reads the file and reports whether it changed meanwhile.
func (f file) readOnce(open func() (fs.File, error)) (content []byte, changed bool, err error) {
	r, err := open()
	if err != nil {
		return nil, false, problem(f.path, "%v", reason(err))
	}
	defer r.Close()
	before, err := r.Stat()
	if err != nil {
		return nil, false, problem(f.path, "%v", reason(err))
	}
	if content, err = f.read(r, before.Size()); err != nil {
		return nil, false, err
	}
	after, err := r.Stat()
	if err != nil {
		return nil, false, problem(f.path, "%v", reason(err))
	}
	return content, after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()), nil
}

// read returns the content of the open file, which has size bytes.
func (f file) read(r io.Reader, size int64) ([]byte, error) {
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, problem(f.path, "%v", reason(err))
	}
	head = head[:n]
	// A zip file is recognised by its end, compressed data only after decompression.
	if packed := bytes.HasPrefix(head, []byte("PK")) || parse.IsCompressed(head); !packed && n == sniffBytes {
		if _, err := parse.Detect(parse.Source{Content: head, FileName: f.path, Pictures: f.named, Recordings: f.recordings()}); err != nil {
			return nil, f.unsuitable(plainReason(err))
		}
	}
	if size > MaxDocument {
		return nil, problem(f.path, "has %d bytes, over the limit of %d for one document", size, MaxDocument)
	}
	content := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	content.Write(head)
	if _, err := content.ReadFrom(io.LimitReader(r, MaxDocument)); err != nil {
		return nil, problem(f.path, "%v", reason(err))
	}
	return content.Bytes(), nil
}

// Prefix returns the common prefix of the uris of a folder's documents, empty if they are
// relative to the folder itself.
func (o Options) Prefix(folder string) (string, error) {
	uri, err := uriOf(o.baseOf(folder, true), folder)
	if err != nil || uri == "." {
		return "", err
	}
	return strings.TrimSuffix(uri, "/") + "/", nil
}

// Below reports whether a path is the base or below it.
func (o Options) Below(name string) bool {
	_, below := relative(o.Base, name)
	return below
}

// Former returns what the uris of the documents at a path began with when the path was not
// below the base and ragd named such documents by absolute paths, and what they begin with
// now: a uri former+"/a.md" is now path.Join(now, "a.md").
func (o Options) Former(name string) (former, now string, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", "", err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", "", fmt.Errorf("resolve %q: %w", name, err)
	}
	now, err = uriOf(o.baseOf(name, info.IsDir()), name)
	return strings.TrimSuffix(filepath.ToSlash(abs), "/"), now, err
}

// baseOf returns the folder that the uris of a path are relative to, see Files.
func (o Options) baseOf(name string, folder bool) string {
	switch {
	case o.Below(name):
		return o.Base
	case folder:
		return name
	}
	return filepath.Dir(name)
}

// uriOf returns the uri of a file or folder, see Files.
func uriOf(base, name string) (string, error) {
	uri, below := relative(base, name)
	switch {
	case !below:
		return "", problem(name, "has a path that cannot be resolved")
	case !utf8.ValidString(uri):
		return "", problem(name, "has a name that is not valid UTF-8")
	}
	return filepath.ToSlash(uri), nil
}

// relative returns a path relative to base and whether it is base or below it.
func relative(base, name string) (string, bool) {
	absBase, err := filepath.Abs(base)
	if err != nil {
		return "", false
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	rel, err := filepath.Rel(absBase, abs)
	return rel, err == nil && filepath.IsLocal(rel)
}

// reason returns a file error without its path, which the location names already.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
