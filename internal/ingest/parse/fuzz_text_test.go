package parse

import (
	"strings"
	"testing"
)

// For any text, the readers of tables, subtitles, notebooks and mailboxes return a valid
// document or an Invalid error, and positions of every part of it can be found.
func FuzzTextFormats(f *testing.F) {
	for _, path := range files(f, "files") {
		for _, ending := range []string{".csv", ".tsv", ".srt", ".vtt", ".ipynb", ".mbox", ".jsonl", ".eml"} {
			if strings.HasSuffix(path, ending) {
				content := read(f, path)
				f.Add(content[:min(len(content), 4<<10)], ending)
			}
		}
	}
	f.Add([]byte("\"a;b\n'c|d\n\te,\"\"\n"), ".csv")
	f.Fuzz(func(t *testing.T, content []byte, ending string) {
		d, err := Parse(t.Context(), Source{Content: content, FileName: "a" + ending})
		if err != nil {
			if !isInvalid(err) || !strings.HasPrefix(err.Error(), "content: ") {
				t.Errorf("error %v", err)
			}
			return
		}
		check(t, d)
		spans := d.SpanIndex()
		for at := 0; at < len(d.Text); at += 7 {
			_ = spans.Metadata(at, min(at+20, len(d.Text)))
		}
	})
}
