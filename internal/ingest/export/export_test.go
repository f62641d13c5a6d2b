package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/ingest/export"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

var update = flag.Bool("update", false, "write the golden files")

// zipped returns a folder as a zip file.
func zipped(t testing.TB, folder string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := w.AddFS(os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samples returns the exports in testdata by name.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			t.Fatal(err)
		case filepath.Ext(path) == ".golden" || info.IsDir() && filepath.Ext(path) != ".zip":
			continue
		case info.IsDir():
			all[filepath.Base(path)] = zipped(t, path)
			continue
		}
		if all[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// shown returns the items of an export as text.
func shown(t testing.TB, exported *export.Export) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "system: %s\n", exported.System)
	for item, err := range exported.Items() {
		fmt.Fprintf(&out, "\n=== %s\n", item.Name)
		if err != nil {
			fmt.Fprintf(&out, "error: %s\n", fault.Public(err))
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %v is no fault of the file", item.Name, err)
			}
			continue
		}
		metadata := item.Origin.Metadata()
		if item.Origin.System == "notion" || item.Origin.System == "" {
			if origin, ok := metadata["origin"].(map[string]any); ok {
				delete(origin, "updated") // the time of a file of the checkout
			}
		}
		text, err := json.Marshal(metadata)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "title: %s\ntype: %s\n%s\n---\n%s\n", item.Title, item.ContentType, text, item.Content)
	}
	return out.String()
}

func TestExports(t *testing.T) {
	t.Parallel()
	for name, content := range samples(t) {
		exported, ok := export.Open(name, bytes.NewReader(content), int64(len(content)))
		if !ok {
			t.Errorf("%s is not recognised", name)
			continue
		}
		got, golden := shown(t, exported), "testdata/"+name+".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestOtherFilesAreNoExports(t *testing.T) {
	t.Parallel()
	plain := func(members map[string]string) string {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for name, content := range members {
			f, err := w.Create(name)
			if err == nil {
				_, err = io.WriteString(f, content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for name, content := range map[string]string{
		"empty.json":    "",
		"settings.json": `{"title": "x", "body": "y", "number": 3}`,
		"list.json":     `[{"id": 1, "title": "a"}, {"id": 2}]`,
		"broken.json":   `[{"number": 1,`,
		"page.html":     "<html><body>mediawiki</body></html>",
		"feed.xml":      `<?xml version="1.0"?><rss><channel/></rss>`,
		"letter.txt":    "From Ana to Bo\n\nHello.",
		"pages.zip":     plain(map[string]string{"a.md": "# A", "b/users.json": "[]", "c.html": "<p>x</p>"}),
		"broken.zip":    "PK\x03\x04 and no more",
		"broken.gz":     "\x1f\x8b\x08 and no more",
	} {
		if exported, ok := export.Open(name, strings.NewReader(content), int64(len(content))); ok {
			t.Errorf("%s is taken for an export of %s", name, exported.System)
		}
	}
}

func TestABrokenExportSaysSoAfterWhatCouldBeRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github.json", "wiki.xml", "web.warc.gz", "zendesk-articles.json"} {
		content := samples(t)[name]
		content = content[:len(content)-20]
		exported, ok := export.Open(name, bytes.NewReader(content), int64(len(content)))
		if !ok {
			t.Errorf("%s is not recognised", name)
			continue
		}
		items, last := 0, error(nil)
		for item, err := range exported.Items() {
			if item.Name == "" {
				last = err
			} else {
				items++
			}
		}
		var broken *fault.Error
		if items == 0 || !errors.As(last, &broken) || broken.Kind != fault.Invalid {
			t.Errorf("%s: %d items, then %v", name, items, last)
		}
	}
}

func TestItemsOverTheLimitAreErrorsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const postmark = "From a@example.org Mon Jan  1 12:00:00 2024\nFrom: a@example.org\nDate: Mon, 1 Jan 2024 12:00:00 +0000\nMIME-Version: 1.0\n\n"
	content := []byte(postmark)
	content = append(content, bytes.Repeat([]byte(strings.Repeat("x", 79)+"\n"), export.MaxItem/80)...)
	content = append(content, "\n"+postmark+"short\n"...)
	exported, ok := export.Open("all.mbox", bytes.NewReader(content), int64(len(content)))
	if !ok {
		t.Fatal("it is not recognised")
	}
	var got []string
	for item, err := range exported.Items() {
		got = append(got, fmt.Sprint(item.Name, ": ", err != nil))
	}
	if want := []string{"message 1.eml: true", "message 2.eml: false"}; !cmp.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestARecordThatCannotBeUnpackedIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	for n, body := range []string{"\x1f\x8b\x07broken", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03broken", "<p>Plain.</p>"} {
		answer := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n" + body
		fmt.Fprintf(&file, "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/%d\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", n, len(answer), answer)
	}
	exported, ok := export.Open("a.warc", strings.NewReader(file.String()), int64(file.Len()))
	if !ok {
		t.Fatal("it is not recognised")
	}
	var got []string
	for item, err := range exported.Items() {
		got = append(got, fmt.Sprint(item.Name, " ", string(item.Content), err != nil && fault.KindOf(err) == fault.Invalid))
	}
	if want := []string{"a.example/0 true", "a.example/1 true", "a.example/2 <p>Plain.</p>false"}; !cmp.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzExport(f *testing.F) {
	for name, content := range samples(f) {
		f.Add(name, content)
	}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		exported, ok := export.Open(name, bytes.NewReader(content), int64(len(content)))
		if !ok {
			return
		}
		for item, err := range exported.Items() {
			if err != nil && fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %v is no fault of the file", item.Name, err)
			}
			if strings.HasPrefix(item.Name, "../") || strings.HasPrefix(item.Name, "/") {
				t.Errorf("the name %q leads out of the export", item.Name)
			}
			_ = item.Origin.Metadata()
		}
	})
}
