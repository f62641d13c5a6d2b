package chunk

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// describe returns a line for each chunk: its text, its metadata and its source.
func describe(text string, chunks []Chunk) []string {
	var out []string
	for _, c := range chunks {
		out = append(out, fmt.Sprintf("%q %v %q", c.Text, c.Metadata, text[c.StartByte:c.EndByte]))
	}
	return out
}

func mustSplit(t *testing.T, text string, raw map[string]any) []Chunk {
	t.Helper()
	o, err := parseOptions(raw)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Split(t.Context(), text, o)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

func TestMarkdownHeaders(t *testing.T) {
	t.Parallel()
	two := []any{[]any{"#", "h1"}, []any{"##", "h2"}}
	tests := []struct {
		name string
		text string
		opts map[string]any
		want []string
	}{
		{
			"headings enclose each other, paragraphs are joined",
			"a\n# T\nb\nc\n\n \nd\n## S ##\ne\n# U\n\nf\n",
			map[string]any{"headers": two},
			[]string{
				`"a" map[] "a"`,
				`"b\nc  \nd" map[h1:T] "b\nc\n\n \nd"`,
				`"e" map[h1:T h2:S] "e"`,
				`"f" map[h1:U] "f"`,
			},
		},
		{
			"a heading may have a pipe, an indent, a tab, or no title",
			"  ## a | b\nx | y\n##\nz\n##\tu\nv",
			map[string]any{"headers": two},
			[]string{`"x | y" map[h2:a | b] "x | y"`, `"z" map[h2:] "z"`, `"v" map[h2:u] "v"`},
		},
		{
			"other levels are text",
			"# T\n### deep\nU\n",
			map[string]any{"headers": two},
			[]string{`"### deep\nU" map[h1:T] "### deep\nU"`},
		},
		{
			"headings may be underlined and have several lines",
			"Tides of\n the harbour\n=====\na\n\nLow\n---\nb\n\n\u00dcbrig\n--\nc",
			map[string]any{"headers": two},
			[]string{`"a" map[h1:Tides of the harbour] "a"`, `"b" map[h1:Tides of the harbour h2:Low] "b"`, `"c" map[h1:Tides of the harbour h2:Übrig] "c"`},
		},
		{
			"underlined headings kept stand with what is below them",
			"Tides\n===\nLow\n---\na\n",
			map[string]any{"headers": two, "stripHeaders": false},
			[]string{`"Tides\n===  \nLow\n---  \na" map[h1:Tides h2:Low] "Tides\n===\nLow\n---\na"`},
		},
		{
			"no headings in code",
			"# T\n```go\n# no\n\n~~~\n```\n# U\n~~~\n# no\n",
			map[string]any{"headers": two},
			[]string{"\"```go\\n# no\\n\\n~~~\\n```\" map[h1:T] \"```go\\n# no\\n\\n~~~\\n```\"", "\"~~~\\n# no\" map[h1:U] \"~~~\\n# no\""},
		},
		{
			"code within a line opens nothing",
			"# T\n```x``` y\n# U\nz",
			map[string]any{"headers": two},
			[]string{"\"```x``` y\" map[h1:T] \"```x``` y\"", `"z" map[h1:U] "z"`},
		},
		{
			"neighbours with the same titles are one chunk, empty ones none",
			"# T\na\n# T\nb\n# E\n# U\nc",
			map[string]any{"headers": two},
			[]string{`"a  \nb" map[h1:T] "a\n# T\nb"`, `"c" map[h1:U] "c"`},
		},
		{
			"headings kept stand with what is below them",
			"# T\n## S\na\n# U\nb",
			map[string]any{"headers": two, "stripHeaders": false},
			[]string{`"# T  \n## S  \na" map[h1:T h2:S] "# T\n## S\na"`, `"# U" map[h1:U h2:S] "# U"`, `"b" map[h1:U] "b"`},
		},
		{
			"each line",
			"# T\n a\n\n```\nb\n\n# c\n```\n|d|\n",
			map[string]any{"headers": two, "returnEachLine": true, "addStartIndex": true},
			[]string{
				`"a" map[h1:T startIndex:5] "a"`,
				"\"```\" map[h1:T startIndex:8] \"```\"",
				`"b" map[h1:T startIndex:12] "b"`,
				`"# c" map[h1:T startIndex:15] "# c"`,
				"\"```\" map[h1:T startIndex:19] \"```\"",
				`"|d|" map[h1:T startIndex:23] "|d|"`,
			},
		},
		{
			"each line with the headings",
			"# T\n## S\na\n# U",
			map[string]any{"headers": two, "returnEachLine": true, "stripHeaders": false},
			[]string{`"# T" map[h1:T] "# T"`, `"## S" map[h1:T h2:S] "## S"`, `"a" map[h1:T h2:S] "a"`, `"# U" map[h1:U] "# U"`},
		},
		{
			"what is longer than maxSize is cut",
			"# T\none two\n\nthree four",
			map[string]any{"headers": two, "maxSize": 10, "overlap": 0},
			[]string{`"one two" map[h1:T] "one two"`, `"three four" map[h1:T] "three four"`},
		},
		{
			"carriage returns stay",
			"# T\r\na\r\nb\r\n\r\nc\r\n",
			map[string]any{"headers": two},
			[]string{`"a\r\nb\r  \nc\r" map[h1:T] "a\r\nb\r\n\r\nc\r"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.opts["strategy"] = "markdown"
			got := describe(tt.text, mustSplit(t, tt.text, tt.opts))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// markdownHeaderSets are the options with which the properties are checked.
var markdownHeaderSets = []Options{
	{Headers: []HeaderKey{{"#", "a"}, {"##", "b"}, {"###", "c"}}, StripHeaders: true},
	{Headers: []HeaderKey{{"#", "a"}, {"##", "b"}}},
	{Headers: []HeaderKey{{"##", "b"}, {"#", "b"}}, StripHeaders: true, ReturnEachLine: true},
	{Headers: []HeaderKey{{"#", "a"}, {"<", "b"}}, ReturnEachLine: true},
}

// checkMarkdownHeaders splits a text and checks that no line except headings is lost,
// that the bounds contain the chunks, and that chunks without a maxSize have the same
// text as those with one.
func checkMarkdownHeaders(t *testing.T, text string, o Options, maxSize int) {
	t.Helper()
	o.Strategy, o.StripWhitespace, o.AddStartIndex = Markdown, true, true
	whole, err := Split(t.Context(), text, o)
	if !utf8.ValidString(text) {
		if err == nil {
			t.Error("took invalid UTF-8")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if o.StripHeaders {
		checkMarkdownLines(t, text, o, whole)
	} else {
		checkCoverage(t, text, o, whole)
	}
	o.MaxSize = maxSize
	cut, err := Split(t.Context(), text, o)
	if err != nil {
		t.Fatal(err)
	}
	var all, parts strings.Builder
	for _, c := range whole {
		all.WriteString(c.Text)
		if source := withoutSpace(text[c.StartByte:c.EndByte]); !isSubsequence(withoutSpace(c.Text), source) || !o.StripHeaders && withoutSpace(c.Text) != source {
			t.Errorf("%q from %q", c.Text, text[c.StartByte:c.EndByte])
		}
	}
	last := 0
	for i, c := range cut {
		parts.WriteString(c.Text)
		if textspan.Units(c.Text) > maxSize && utf8.RuneCountInString(c.Text) > 1 {
			t.Errorf("chunk of %d units, more than %d: %q", textspan.Units(c.Text), maxSize, c.Text)
		}
		if c.StartByte < last || c.StartByte >= c.EndByte || c.EndByte > len(text) || textspan.IsBlank(c.Text) ||
			!utf8.ValidString(c.Text) || !isSubsequence(withoutSpace(c.Text), text[c.StartByte:c.EndByte]) {
			t.Errorf("chunk %d: %q at %d to %d after %d", i, c.Text, c.StartByte, c.EndByte, last)
		}
		if c.Metadata["startIndex"] != textspan.Units(text[:c.StartByte]) {
			t.Errorf("chunk %d has startIndex %v at %d", i, c.Metadata["startIndex"], c.StartByte)
		}
		last = c.StartByte
	}
	if a, b := withoutSpace(all.String()), withoutSpace(parts.String()); a != b {
		t.Errorf("cut text differs (-whole +cut):\n%s", cmp.Diff(a, b))
	}
}

func TestMarkdownHeadersKeepTheirPromises(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	for i := 0; i < 5000 && !t.Failed(); i++ {
		text := randomText(r, r.IntN(40))
		checkMarkdownHeaders(t, text, markdownHeaderSets[i%len(markdownHeaderSets)], 1+r.IntN(40))
		if t.Failed() {
			t.Logf("options %+v, text %q", markdownHeaderSets[i%len(markdownHeaderSets)], text)
		}
	}
}

func FuzzMarkdownHeaders(f *testing.F) {
	f.Add("# A\n\ntext\n```\n# no heading\n```\n## B\n---\nend", uint16(12), byte(0))
	f.Add("#\n# A\na\r\n\r\n# A\n|#|\n~~~\n\n\n", uint16(3), byte(1))
	f.Add("## a\n\u00a0\n# b\u2028c\n", uint16(1), byte(2))
	f.Fuzz(func(t *testing.T, text string, maxSize uint16, set byte) {
		if len(text) > 4000 {
			return
		}
		checkMarkdownHeaders(t, text, markdownHeaderSets[int(set)%len(markdownHeaderSets)], 1+int(maxSize)%500)
	})
}

func TestSemanticMarkdownCutsAtUnderlinedHeadings(t *testing.T) {
	t.Parallel()
	const text = "Tides of\nthe harbour\n===\nHigh at six.\n\n````\n```\n# no\n````\n\nLow ##\n---\nLow at noon.\n## Closed ##\nEnd.\n"
	got := describe(text, mustSplit(t, text, map[string]any{"strategy": "semantic-markdown", "joinThreshold": 1}))
	want := []string{
		"\"Tides of\\nthe harbour\\n===\\nHigh at six.\\n\\n````\\n```\\n# no\\n````\" map[tokenCount:21] \"Tides of\\nthe harbour\\n===\\nHigh at six.\\n\\n````\\n```\\n# no\\n````\"",
		`"Low ##\n---\nLow at noon." map[tokenCount:7] "Low ##\n---\nLow at noon."`,
		`"## Closed ##\nEnd." map[tokenCount:5] "## Closed ##\nEnd."`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
