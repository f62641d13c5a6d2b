package chunk

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/ragdhq/ragd/internal/chunk/markdown"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// compareSections compares chunks with a reference that lists sections by tag instead
// of in document order, joins sections that are neighbours in its list, and gives each
// section only its own title. Each section of the reference must be a chunk with at
// least the metadata of the reference.
func compareSections(t *testing.T, c goldenCase, chunks []Chunk) {
	t.Helper()
	left := slices.Clone(chunks)
	for _, want := range c.Chunks {
		for i, text := range strings.Split(want.Text, "  \n") {
			at := slices.IndexFunc(left, func(c Chunk) bool { return c.Text == text })
			if at < 0 {
				t.Errorf("no chunk has the text %q", text)
				continue
			}
			for key, value := range want.Metadata {
				if _, ok := c.Document[key]; !ok && (i == 0 || key != "xpath") && left[at].Metadata[key] != value {
					t.Errorf("%q: %s is %v, want %v", text, key, left[at].Metadata[key], value)
				}
			}
			left = slices.Delete(left, at, at+1)
		}
	}
	if len(left) > 0 {
		t.Errorf("%d chunks too many, among them %q", len(left), left[0].Text)
	}
}

// checkNothingLost checks that the chunks have the whole content of the source, as the
// strategy defines it.
func checkNothingLost(t *testing.T, text string, opts Options, chunks []Chunk) {
	t.Helper()
	switch {
	case opts.Strategy == JSON:
		checkLeaves(t, text, opts, chunks)
	case opts.Strategy == HTML:
		checkHTMLText(t, text, opts, chunks)
	case opts.Strategy == Markdown && opts.StripHeaders && len(opts.Headers) > 0:
		checkMarkdownLines(t, text, opts, chunks)
	default:
		checkCoverage(t, text, opts, chunks)
	}
}

// checkMarkdownLines checks that every line that is neither blank nor a heading is in
// the chunks once and in order.
func checkMarkdownLines(t *testing.T, text string, opts Options, chunks []Chunk) {
	t.Helper()
	var lines []string
	for _, c := range chunks {
		lines = append(lines, visibleLines(c.Text)...)
	}
	titles := map[string]bool{}
	for _, h := range markdown.Read(text, nil).Headings {
		if slices.ContainsFunc(opts.Headers, func(key HeaderKey) bool { return key.Marker == strings.Repeat("#", h.Level) }) {
			for _, line := range visibleLines(text[h.Start:h.End]) {
				titles[line] = true
			}
		}
	}
	for _, line := range visibleLines(text) {
		switch {
		case len(lines) > 0 && lines[0] == line:
			lines = lines[1:]
		case !titles[line] && !slices.ContainsFunc(opts.Headers, func(h HeaderKey) bool { return h.Marker == "<" && strings.HasPrefix(line, "<") }):
			t.Errorf("%q is in no chunk, or not in its place", line)
			return
		}
	}
	if len(lines) > 0 {
		t.Errorf("%d lines too many, first %q", len(lines), lines[0])
	}
}

// visibleLines returns the trimmed lines of a text that are not blank.
func visibleLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if start, end := textspan.Trim(line, 0, len(line)); start < end {
			lines = append(lines, line[start:end])
		}
	}
	return lines
}

// checkHTMLText checks that the chunks have the text that the tokenizer of x/net/html
// finds outside of headers, once and in order. Chunks that overlap may repeat text.
func checkHTMLText(t *testing.T, text string, opts Options, chunks []Chunk) {
	t.Helper()
	headers := opts.Headers
	if len(headers) == 0 {
		headers = opts.Sections
	}
	var want, got strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	header, hidden := "", ""
	for z.Next() != html.ErrorToken {
		token := z.Token()
		switch token.Type {
		case html.TextToken:
			if header == "" && hidden == "" {
				want.WriteString(token.Data)
			}
		case html.StartTagToken:
			if slices.ContainsFunc(headers, func(h HeaderKey) bool { return h.Marker == token.Data }) {
				header = token.Data
			}
			if slices.Contains(hiddenElements, token.Data) {
				hidden = token.Data
			}
		case html.EndTagToken:
			if token.Data == header {
				header = ""
			}
			if token.Data == hidden {
				hidden = ""
			}
		}
	}
	for _, c := range chunks {
		got.WriteString(c.Text)
	}
	if w, g := withoutSpace(want.String()), withoutSpace(got.String()); opts.Overlap == 0 && w != g {
		t.Errorf("text (-want +got):\n%s", cmp.Diff(w, g))
	} else if !isSubsequence(w, g) {
		t.Error("text is missing")
	}
}

// hiddenElements are the elements whose content is not text.
var hiddenElements = []string{"script", "style", "noscript", "iframe", "noembed", "noframes"}

func isSubsequence(short, long string) bool {
	for i := 0; i < len(long) && short != ""; i++ {
		if long[i] == short[0] {
			short = short[1:]
		}
	}
	return short == ""
}

// checkLeaves checks that the chunks are JSON and together have each scalar of the
// source, as often as the source. Of strings that were cut, the segments are compared.
func checkLeaves(t *testing.T, text string, _ Options, chunks []Chunk) {
	t.Helper()
	want := leavesOf(t, text)
	var got []any
	for _, c := range chunks {
		got = append(got, leavesOf(t, c.Text)...)
	}
	sortLeaves(want)
	sortLeaves(got)
	if !reflect.DeepEqual(want, got) {
		t.Errorf("leaves (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// leavesOf returns the scalars and the empty containers below the root of a JSON
// text.
func leavesOf(t *testing.T, text string) []any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		t.Fatalf("not JSON: %v: %q", err, text)
	}
	return appendLeaves(nil, root, 0)
}

func appendLeaves(leaves []any, value any, depth int) []any {
	switch v := value.(type) {
	case map[string]any:
		for _, child := range v {
			leaves = appendLeaves(leaves, child, depth+1)
		}
		if len(v) > 0 || depth == 0 {
			return leaves
		}
		return append(leaves, "{}")
	case []any:
		for _, child := range v {
			leaves = appendLeaves(leaves, child, depth+1)
		}
		if len(v) > 0 || depth == 0 {
			return leaves
		}
		return append(leaves, "{}") // lists are written as objects if they are converted
	}
	return append(leaves, value)
}

func sortLeaves(leaves []any) {
	key := func(v any) string {
		data, _ := json.Marshal(v)
		return string(data)
	}
	slices.SortFunc(leaves, func(a, b any) int { return strings.Compare(key(a), key(b)) })
}
