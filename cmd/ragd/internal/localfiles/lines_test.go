package localfiles

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestLinesReadsEveryFieldPlainAndCompressed(t *testing.T) {
	t.Parallel()
	const text = "\xef\xbb\xbf" + `{"id":"a","title":"A","text":"one","metadata":{"n":1,"tags":["x"]}}

{"id":17,"uri":"u","text":"","contentType":"text/markdown","extra":true}` + "\r\n" + `{"id":17,"text":"three"}`
	want := []Document{
		{Location: "c:1", URI: "a", Title: "A", Text: "one", Metadata: map[string]any{"n": 1.0, "tags": []any{"x"}}},
		{Location: "c:3", URI: "u", ContentType: "text/markdown"},
		{Location: "c:4", URI: "17", Text: "three"},
	}
	for name, input := range map[string][]byte{"plain": []byte(text), "compressed": zipped(t, text)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []Document
			var size int64
			for doc, err := range Lines("c", bytes.NewReader(input)) {
				if err != nil {
					t.Fatal(err)
				}
				size += doc.InputBytes
				doc.InputBytes = 0
				got = append(got, doc)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if size != int64(len(input)) {
				t.Errorf("the documents account for %d of %d bytes", size, len(input))
			}
		})
	}
}

func TestLinesNamesTheLineOfEveryProblemAndGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, problem string }{
		{"cut off", `{"id":"x","text":"`, "is not valid JSON: unexpected end of JSON input"},
		{"two values", `{"id":"x","text":""} {}`, "is not valid JSON: invalid character '{' after top-level value"},
		{"not an object", `[1]`, "is a JSON array where an object was expected"},
		{"no id", `{"text":"t"}`, `has neither a field "id" nor a field "uri" that names the document`},
		{"null id", `{"id":null,"text":"t"}`, `has neither a field "id" nor a field "uri" that names the document`},
		{"object id", `{"id":{},"text":"t"}`, `field "id" must be a string or a number`},
		{"no text", `{"id":"x"}`, `has no field "text"`},
		{"text of another type", `{"id":"x","text":5}`, `field "text" must be a string, not a JSON number`},
		{"metadata of another type", `{"id":"x","text":"","metadata":[]}`, `field "metadata" must be an object, not a JSON array`},
		{"huge number", `{"id":"x","text":"","metadata":{"n":1e999}}`, `field "metadata" has a number out of range: number 1e999`},
		{"invalid UTF-8", "{\"id\":\"x\",\"text\":\"caf\xe9\"}", "is not valid UTF-8"},
		{"too long", strings.Repeat("x", MaxLine+1), "is longer than 32 MiB, the limit of one line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			input := `{"id":"before","text":"b"}` + "\n" + c.line + "\n" + `{"id":"after","text":"a"}`
			got := collect(Lines("c.jsonl", strings.NewReader(input)), "")
			want := []found{
				{URI: "before", Content: "b"},
				{URI: "c.jsonl:2", Problem: c.problem},
				{URI: "after", Content: "a"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLineReaderTakesALineOfExactlyTheLimit(t *testing.T) {
	t.Parallel()
	const size = 16 // of the buffer, the smallest there is
	for _, limit := range []int{size - 1, size, size + 1, 3 * size} {
		fits := strings.Repeat("a", limit-1)
		lines := &lineReader{r: bufio.NewReaderSize(strings.NewReader(fits+"\n"+fits+"b\nend"), size), limit: limit}
		for _, want := range []struct {
			line string
			err  error
		}{{fits, nil}, {"", errLongLine}, {"end", nil}, {"", io.EOF}, {"", io.EOF}} {
			if line, err := lines.next(); string(line) != want.line || !errors.Is(err, want.err) {
				t.Errorf("limit %d: got %q, %v, want %q, %v", limit, line, err, want.line, want.err)
			}
		}
	}
}

func TestLinesEndsWithAProblemWhereTheInputBreaks(t *testing.T) {
	t.Parallel()
	good := `{"id":"x","text":"t"}` + "\n"
	whole := zipped(t, strings.Repeat(good, 2000))
	for _, c := range []struct {
		name    string
		input   io.Reader
		problem string
	}{
		{"truncated gzip", bytes.NewReader(whole[:len(whole)-20]), "unexpected EOF"},
		{"broken gzip header", strings.NewReader("\x1f\x8bnonsense"), "gzip: invalid header"},
		{"failing read", io.MultiReader(strings.NewReader(good), iotest.ErrReader(errors.New("disk on fire"))), "disk on fire"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := collect(Lines("c", c.input), "")
			last := got[len(got)-1]
			if last.Problem != c.problem {
				t.Errorf("ended with %+v", last)
			}
		})
	}
}

func TestLineFilesReadsOneFileAfterTheOther(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"1.jsonl": `{"id":"a","text":"1"}`})
	if err := os.WriteFile(filepath.Join(root, "2.jsonl.gz"), zipped(t, `{"id":"b","text":"2"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	got := collect(LineFiles(root+"/1.jsonl", root+"/absent", root+"/2.jsonl.gz"), root)
	want := []found{
		{URI: "a", Content: "1"},
		{URI: "absent", Problem: "no such file or directory"},
		{URI: "b", Content: "2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"id":"a","text":"t","metadata":{"k":[1,null]}}` + "\n\n{"))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, input []byte) {
		for doc, err := range Lines("f", bytes.NewReader(input)) {
			if err == nil && doc.URI == "" {
				t.Error("a document without a uri")
			}
		}
	})
}
