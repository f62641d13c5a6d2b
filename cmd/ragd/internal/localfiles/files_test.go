package localfiles

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	got := collect(Options{Base: root}.Files(filepath.Join(root, "docs")), root)
	want := []found{
		{URI: "docs/.git/", Skip: "hidden"},
		{URI: "docs/.hidden", Skip: "hidden"},
		{URI: "docs/a/deep.txt", Content: "déjà"},
		{URI: "docs/b.md", Content: "# b"},
		{URI: "docs/empty.txt", Skip: "empty"},
		{URI: "docs/late.txt", Skip: "not UTF-8 text, and its encoding is not certain: convert it, for example with `iconv -f WINDOWS-1251 -t UTF-8`"},
		{URI: "docs/latin1.txt", Content: "caf\xe9"},
		{URI: "docs/lines.txt.gz", Skip: "a broken gzip file: open it in the program that made it and save it again"},
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
	got := collect(Options{Base: root}.Files(paths...), root)
	want := []found{
		{URI: "absent", Problem: "no such file or directory"},
		{URI: ".notes", Content: "hidden but named"},
		{URI: "logo.png", Problem: "is a broken picture file: open it in the program that made it and save it again"},
		{URI: "sub/x.md", Content: "x"},
		{URI: "link/x.md", Content: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesOutsideTheBaseAreNamedFromTheFolderGiven(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/x.md": "x", "b/y.md": "y", "b/low/z.md": "z"})
	for _, c := range []struct {
		base   string
		path   string
		prefix string
		want   []found
	}{
		{"a", "b", "", []found{{URI: "low/z.md", Content: "z"}, {URI: "y.md", Content: "y"}}},
		{"a", "b/low/../low", "", []found{{URI: "z.md", Content: "z"}}},
		{"a", "", "", []found{{URI: "a/x.md", Content: "x"}, {URI: "b/low/z.md", Content: "z"}, {URI: "b/y.md", Content: "y"}}},
		{"b", "b/low", "low/", []found{{URI: "low/z.md", Content: "z"}}},
		{"a", "b/y.md", "", []found{{URI: "y.md", Content: "y"}}},
	} {
		o := Options{Base: root + "/" + c.base}
		got := collect(o.Files(root+"/"+c.path), root)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s from %s: %s", c.path, c.base, diff)
		}
		if prefix, err := o.Prefix(root + "/" + c.path); !strings.HasSuffix(c.path, ".md") && (err != nil || prefix != c.prefix) {
			t.Errorf("%s from %s: prefix %q, %v; want %q", c.path, c.base, prefix, err, c.prefix)
		}
	}
}

func TestFilesOfOneURIAreAProblem(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/x.md": "x", "b/x.md": "y", "c": "c"})
	got := collect(Options{Base: root + "/c"}.Files(root+"/a", root+"/b", root+"/a/x.md"), root)
	want := []found{
		{URI: "x.md", Content: "x"},
		{URI: "b/x.md", Problem: "would have the uri x.md, as " + root + "/a/x.md has: give a --base above both, or another --namespace or --index to one of them"},
		{URI: "x.md", Content: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFormerURIs(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/x.md": "x", "b/y.md": "y"})
	for _, c := range [][3]string{{"b", "b", "."}, {"b/y.md", "b/y.md", "y.md"}, {"a", "a", "."}, {"a/x.md", "a/x.md", "x.md"}} {
		former, now, err := Options{Base: root + "/a"}.Former(root + "/" + c[0])
		if err != nil || former != filepath.ToSlash(root)+"/"+c[1] || now != c[2] {
			t.Errorf("%s: %q is now %q, %v", c[0], former, now, err)
		}
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
	got := collect(Options{Base: root}.Files(root), root)
	want := []found{{URI: "big.txt", Problem: "has 268435457 bytes, over the limit of 268435456 for one document"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if size := (Options{}).Size(root); size != MaxDocument+1 {
		t.Errorf("size is %d", size)
	}
}

func TestFilesTakesWhatTheServiceCanRead(t *testing.T) {
	t.Parallel()
	const samples = "../../../../internal/ingest/parse/testdata/files"
	var formats, members []string
	for doc, err := range (Options{Base: samples}).Files(samples) {
		var skip *Skip
		switch {
		case errors.As(err, &skip):
			members = append(members, "skipped "+filepath.Base(skip.Location))
		case err != nil:
			t.Fatal(err)
		case strings.HasPrefix(doc.URI, "archive."), strings.HasPrefix(doc.URI, "harbour.mbox/"):
			members = append(members, doc.URI)
		default:
			formats = append(formats, doc.URI)
		}
	}
	var wantFormats []string
	files, err := filepath.Glob(filepath.Join(samples, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !strings.HasPrefix(name, "archive.") && name != "harbour.mbox" {
			wantFormats = append(wantFormats, name)
		}
	}
	if diff := cmp.Diff(wantFormats, formats); diff != "" {
		t.Error(diff)
	}
	wantMembers := []string{
		"archive.tar/docs/tides.md", "archive.tar/docs/notes.txt",
		"archive.tar.gz/docs/tides.md", "archive.tar.gz/docs/notes.txt",
		"archive.tar.xz/docs/tides.md", "archive.tar.xz/docs/notes.txt",
		"archive.tar.zst/docs/tides.md", "archive.tar.zst/docs/notes.txt",
		"archive.zip/docs/tides.md", "archive.zip/docs/handbook.pdf", "skipped archive.zip:logo.png",
		"harbour.mbox/1@example.org.eml", "harbour.mbox/2@example.org.eml", "harbour.mbox/3@example.org.eml", "harbour.mbox/4@example.org.eml",
	}
	if diff := cmp.Diff(wantMembers, members); diff != "" {
		t.Error(diff)
	}
}

func TestFilesStopsWhenTheCallerDoes(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/1": "1", "a/2": "2", "b/3": "3"})
	var uris []string
	for doc, err := range (Options{Base: root}).Files(root+"/a", root+"/b") {
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

// Git itself says what its ignore files ignore.
func TestFilesIgnoresWhatGitIgnores(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	files := map[string]string{
		".gitignore": "# a comment\n*.log\n!keep.log\n/top.txt\nbuild/\ndocs/**/draft.md\n**/deep/*.txt\na/**\n\\#hash.md\n\\!bang.md\ntrailing.md   \n" +
			"[!x]1.md\nq?.md\n{b}.md\nfoo**bar.md\n*.tmp/\nnested/*\n!nested/yes.md\n[broken\n/**/any/\r\n\xef\xbb\xbf\n",
		"sub/.gitignore":     "*.md\n!/index.md\nonly/\n",
		"sub/low/.gitignore": "!again.md\n",
		".git/info/exclude":  "private.md\n",
	}
	for _, path := range strings.Fields(`x.log keep.log top.txt sub/top.txt build/a.md sub/build/a.md docs/draft.md docs/a/b/draft.md docs/a/b/final.md deep/x.txt z/deep/x.txt
		z/deep/y/x.txt a/b.md z/a/b.md #hash.md !bang.md trailing.md x1.md y1.md qq.md q.md {b}.md b.md fooxbar.md foo.md t.tmp/x.md t.tmp2/x.md nested/yes.md nested/no.md
		nested/in/yes.md [broken any/x.md u/any/x.md sub/index.md sub/other.md sub/low/index.md sub/low/again.md sub/only/x.txt sub/x.txt private.md z/private.md with.space.md`) {
		files[path] = "x"
	}
	root := tree(t, files)
	for _, args := range [][]string{{"init", "-q"}, {"-c", "core.excludesFile=/dev/null", "ls-files", "-z", "--others", "--exclude-standard"}} {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if args[0] == "init" {
			continue
		}
		want := slices.DeleteFunc(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), func(path string) bool { return strings.Contains(path, ".gitignore") })
		slices.Sort(want)
		for _, from := range []string{root, filepath.Join(root, "sub")} { // the rules above a folder count too
			var got, under []string
			for doc, err := range (Options{Base: root}).Files(from) {
				if err == nil {
					got = append(got, doc.URI)
				}
			}
			slices.Sort(got)
			for _, path := range want {
				if from == root || strings.HasPrefix(path, "sub/") {
					under = append(under, path)
				}
			}
			if diff := cmp.Diff(under, got); diff != "" {
				t.Errorf("%s (-git +got)\n%s", from, diff)
			}
		}
	}
}

func TestRagdignoreWinsOverGitignore(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"docs/.gitignore": "generated/\n*.csv\n", "docs/.ragdignore": "!generated/\nsecret.md\n",
		"docs/generated/a.md": "a", "docs/b.csv": "b,c", "docs/secret.md": "s", "docs/d.md": "d",
	})
	got := collect(Options{Base: root}.Files(filepath.Join(root, "docs")), root)
	want := []found{
		{URI: "docs/.gitignore", Skip: "hidden"},
		{URI: "docs/.ragdignore", Skip: "hidden"},
		{URI: "docs/b.csv", Skip: "ignored by .gitignore"},
		{URI: "docs/d.md", Content: "d"},
		{URI: "docs/generated/a.md", Content: "a"},
		{URI: "docs/secret.md", Skip: "ignored by .ragdignore"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	all := 0
	for _, err := range (Options{Base: root, NoIgnore: true}).Files(filepath.Join(root, "docs")) {
		if err == nil {
			all++
		}
	}
	if all != 4 {
		t.Errorf("%d documents without the ignore files, want 4", all)
	}
}

func TestFilesSkipsAFolderWhoseIgnoreFileIsUnreadable(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"docs/a.md": "a", "docs/sub/b.md": "b", "docs/sub/.ragdignore": strings.Repeat("#", maxIgnoreFile+1)})
	got := collect(Options{Base: root}.Files(filepath.Join(root, "docs")), root)
	want := []found{
		{URI: "docs/a.md", Content: "a"},
		{URI: "docs/sub/.ragdignore", Problem: "is over the limit of 1048576 bytes for a file of this name"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// changing is a file that grows while it is read.
type changing struct {
	fs.File
	path string
}

func (c changing) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	if err == nil {
		err = os.Truncate(c.path, int64(n)+1)
	}
	return n, err
}

func TestAFileThatKeepsChangingIsAProblem(t *testing.T) {
	t.Parallel()
	for changes, want := range map[int]string{readAttempts: "changes while it is read: ingest it when it is complete", readAttempts - 1: ""} {
		path := filepath.Join(tree(t, map[string]string{"a.txt": "a"}), "a.txt")
		opened := 0
		_, err := file{path: path}.readUnchanged(func() (fs.File, error) {
			f, err := os.Open(path)
			if opened++; opened > changes {
				return f, err
			}
			if err := os.Truncate(path, 1); err != nil {
				return nil, err
			}
			return changing{f, path}, err
		})
		var bad *Problem
		if errors.As(err, &bad) != (want != "") || bad != nil && bad.Reason != want || opened != readAttempts {
			t.Errorf("%d changes: opened %d times, %v", changes, opened, err)
		}
	}
}
