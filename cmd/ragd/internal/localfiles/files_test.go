package localfiles

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// found is one element of a sequence, in short.
type found struct {
	URI, Content, Skip, Problem string
}

func collect(docs iter.Seq2[Document, error], root string) []found {
	var all []found
	for doc, err := range docs {
		var skip *Skip
		var bad *Problem
		short := func(path string) string { return strings.TrimPrefix(filepath.ToSlash(path), root+"/") }
		switch {
		case errors.As(err, &skip):
			all = append(all, found{URI: short(skip.Location), Skip: skip.Reason})
		case errors.As(err, &bad):
			all = append(all, found{URI: short(bad.Location), Problem: bad.Reason})
		default:
			all = append(all, found{URI: doc.URI, Content: string(doc.Content) + doc.Text})
		}
	}
	return all
}

// tree writes files below a fresh folder; a path that ends in a slash is a folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFilesWalksFoldersInOrderAndSaysWhatItPassesOver(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"docs/b.md":         "# b",
		"docs/a/deep.txt":   "déjà",
		"docs/.git/config":  "[core]",
		"docs/.hidden":      "x",
		"docs/logo.png":     "\x89PNG\r\n\x1a\n\x00\x00",
		"docs/latin1.txt":   "caf\xe9",
		"docs/late.txt":     strings.Repeat("a", sniffBytes) + "\xff",
		"docs/empty.txt":    "",
		"docs/lines.txt.gz": "\x1f\x8b\x08",
		"other.txt":         "not walked",
	})
	if err := os.Symlink(filepath.Join(root, "other.txt"), filepath.Join(root, "docs/link.txt")); err != nil {
		t.Fatal(err)
	}
	got := collect(Files(root, filepath.Join(root, "docs")), root)
	want := []found{
		{URI: "docs/.git", Skip: "hidden"},
		{URI: "docs/.hidden", Skip: "hidden"},
		{URI: "docs/a/deep.txt", Content: "déjà"},
		{URI: "docs/b.md", Content: "# b"},
		{URI: "docs/empty.txt", Skip: "empty"},
		{URI: "docs/late.txt", Skip: "not UTF-8 text"},
		{URI: "docs/latin1.txt", Skip: "not UTF-8 text"},
		{URI: "docs/lines.txt.gz", Skip: "compressed (only tar archives, and JSON Lines, are read compressed)"},
		{URI: "docs/link.txt", Skip: "a symbolic link"},
		{URI: "docs/logo.png", Skip: "of the kind image, which cannot be read: only what has text can be searched"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesTakesNamedPathsAtTheirWord(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		".notes":   "hidden but named",
		"logo.png": "\x89PNG\x00",
		"sub/x.md": "x",
	})
	if err := os.Symlink(filepath.Join(root, "sub"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	paths := []string{"absent", ".notes", "logo.png", "sub/../sub/x.md", "link"}
	for i := range paths {
		paths[i] = root + "/" + paths[i]
	}
	got := collect(Files(root, paths...), root)
	want := []found{
		{URI: "absent", Problem: "no such file or directory"},
		{URI: ".notes", Content: "hidden but named"},
		{URI: "logo.png", Problem: "is binary data of no known format, which cannot be read: send text, Markdown, HTML, PDF, an Office document, an email or an archive of these"},
		{URI: "sub/x.md", Content: "x"},
		{URI: "link/x.md", Content: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesOutsideTheBaseKeepTheirAbsolutePath(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/x.md": "x", "b/y.md": "y"})
	got := collect(Files(filepath.Join(root, "a"), root), root)
	want := []found{{URI: "x.md", Content: "x"}, {URI: filepath.ToSlash(root) + "/b/y.md", Content: "y"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesRefusesAFileOverTheLimitUnread(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"big.txt": "text"})
	path := filepath.Join(root, "big.txt")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("a", sniffBytes)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, MaxDocument+1); err != nil { // sparse
		t.Fatal(err)
	}
	got := collect(Files(root, root), root)
	want := []found{{URI: "big.txt", Problem: "has 268435457 bytes, over the limit of 268435456 for one document"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if size := Size(root); size != MaxDocument+1 {
		t.Errorf("size is %d", size)
	}
}

func TestFilesTakesWhatTheServiceCanRead(t *testing.T) {
	t.Parallel()
	const samples = "../../../../internal/parse/testdata/files"
	var formats, members []string
	for doc, err := range Files(samples, samples) {
		var skip *Skip
		switch {
		case errors.As(err, &skip):
			members = append(members, "skipped "+filepath.Base(skip.Location))
		case err != nil:
			t.Fatal(err)
		case strings.HasPrefix(doc.URI, "archive."):
			members = append(members, doc.URI)
		default:
			formats = append(formats, doc.URI)
		}
	}
	wantFormats := []string{
		"berths.csv", "berths.xlsx", "gate.go", "gate.json", "handbook.pdf", "intro.pptx", "message.eml", "notes.jsonl",
		"notes.txt", "plan.docx", "reply.eml", "tales.epub", "tides.html", "tides.md", "tides.tex", "utf16.txt",
	}
	if diff := cmp.Diff(wantFormats, formats); diff != "" {
		t.Error(diff)
	}
	wantMembers := []string{
		"archive.tar/docs/tides.md", "archive.tar/docs/notes.txt",
		"archive.tar.gz/docs/tides.md", "archive.tar.gz/docs/notes.txt",
		"archive.zip/docs/tides.md", "archive.zip/docs/handbook.pdf", "skipped archive.zip:logo.png",
	}
	if diff := cmp.Diff(wantMembers, members); diff != "" {
		t.Error(diff)
	}
}

func TestFilesStopsWhenTheCallerDoes(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/1": "1", "a/2": "2", "b/3": "3"})
	var uris []string
	for doc, err := range Files(root, root+"/a", root+"/b") {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, doc.URI)
		break
	}
	if diff := cmp.Diff([]string{"a/1"}, uris); diff != "" {
		t.Error(diff)
	}
}
