package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChunk(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	path := file(t, "a.md", "# one\ntwo\n")
	s.want(t, step{args: append(args("chunk --max-size 6"), path), stdout: `
#0  bytes 0-5  {"headings":["one"],"position":{"line":1,"section":"one"}}
   # one

#1  bytes 6-9  {"headings":["one"],"position":{"line":2,"section":"one"}}
   two

`})
	s.stdin = "from stdin"
	s.want(t, step{args: args("chunk - --json"), stdout: `..."text":"from stdin"`})
	s.want(t, step{args: args("chunk absent.md"), code: 1, stderr: "ragd: absent.md: no such file or directory\n"})
}

func TestChunkPreviewsWhatIngestStores(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	folder := t.TempDir()
	for _, name := range []string{"handbook.pdf", "tides.html", "plan.docx", "berths.xlsx"} {
		content, err := os.ReadFile(filepath.Join("../../internal/ingest/parse/testdata/files", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("## Berths\n\n"+strings.Repeat("The harbour has a berth for every boat. ", 40)+"\n\n", 8)
	for name, content := range map[string]string{
		"long.md": long, "front.md": "---\ntitle: Berths\n---\n" + long, "long.txt": long, "code.go": strings.Repeat("// Berth is a berth.\nfunc Berth() {}\n\n", 200),
		"rows.csv": "berth,length\n" + strings.Repeat("A1,12\n", 500), "data.json": `{"berths": [` + strings.Repeat(`{"name": "A1", "length": 12},`, 300) + `{}]}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, index := range []string{"plain", "small"} {
		create := args("index create " + index)
		if index == "small" {
			create = append(create, "--strategy", "recursive", "--max-size", "300", "--overlap", "0")
		}
		s.want(t, step{args: create, stdout: anything})
		s.want(t, step{args: args("ingest --index " + index + " --base " + folder + " " + folder), stdout: anything, stderr: anything}) // progress, where it takes long
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			_, stored, _ := s.run("document", "chunks", "--json", "--index", index, "--uri", entry.Name())
			code, preview, stderr := s.run("chunk", "--json", "--index", index, filepath.Join(folder, entry.Name()))
			if got, want := strings.Count(preview, "\n"), strings.Count(stored, "\n"); code != 0 || got != want || want == 0 {
				t.Errorf("%s in %s: %d chunks previewed, %d stored: %s", entry.Name(), index, got, want, stderr)
			}
		}
	}
}
