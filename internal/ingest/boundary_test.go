package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// uploaded returns the chunks that an upload of a text makes.
func uploaded(t *testing.T, text, contentType string, chunking chunk.Settings) []chunk.Chunk {
	t.Helper()
	f := file{Source: parse.Source{Content: []byte(text), ContentType: contentType}, Chunking: chunking}
	parsed, err := parse.Parse(t.Context(), f.Source)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := f.cut(t.Context(), parsed)
	if err != nil {
		t.Fatal(err)
	}
	return chunks
}

func TestAnUploadOfMarkdownHasTheHeadingsOfCommonMark(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []any // headings of the last chunk
	}{
		"a longer fence":          {"# Title\n\n````md\n```\n# no\n```\n````\n\n## Next\nx\n", []any{"Title", "Next"}},
		"a fence that goes on":    {"# Title\n\n```\na\n``` not closed\n# no\n```\n\n## Next\nx\n", []any{"Title", "Next"}},
		"indented code":           {"# Title\n\ntext\n\n    # no\n    code\n", []any{"Title"}},
		"underlines":              {"Title\n=====\n\ntext\n\nSub\n---\n\nmore\n", []any{"Title", "Sub"}},
		"an HTML comment":         {"# T\n\n<!--\n# no\n-->\n\ntext\n", []any{"T"}},
		"front matter":            {"---\ntitle: x\n# comment\n---\n\n# T\ntext\n", []any{"T"}},
		"closing number signs":    {"## Closed ##\nx\n", []any{"Closed"}},
		"a number sign in a name": {"# C#\ny\n", []any{"C#"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			size, overlap := 20, 0
			chunks := uploaded(t, tc.text, "text/markdown", chunk.Settings{MaxSize: &size, Overlap: &overlap})
			last := chunks[len(chunks)-1]
			if diff := cmp.Diff(tc.want, last.Metadata[chunk.HeadingsKey]); diff != "" {
				t.Errorf("headings of %q (-want +got):\n%s", last.Text, diff)
			}
			position, _ := last.Metadata[positionKey].(map[string]any)
			section := ""
			for i, title := range tc.want {
				if i > 0 {
					section += parse.SectionSeparator
				}
				section += title.(string)
			}
			if position["section"] != section {
				t.Errorf("section %v of %q, want %q", position["section"], last.Text, section)
			}
		})
	}
}

func TestAnUploadCutsNoSentence(t *testing.T) {
	t.Parallel()
	for name, sentences := range map[string][]string{
		"Chinese":  {"值班电话在手册的第一页。", "如果泵停了，请先关闭进水阀。", "然后打电话！"},
		"Japanese": {"値は３．１４です。", "次です。", "「はい。」と彼は言った。", "終わり。", "本当！？", "そうです。"},
		"Hindi":    {"यह पहला वाक्य है। ", "यह दूसरा वाक्य है। ", "यह तीसरा है। "},
		"English":  {"He said \"No.\" ", "Then left, i.e. that was all, e.g. for him. ", "Jan. 5 was cold. ", "Version v1.2.3 is out. ", "See https://foo.bar/baz?x=1. ", "Dr. Smith of the U.S. arrived. "},
	} {
		for _, contentType := range []string{"text/plain", "text/markdown", "text/html"} {
			text, ends := "", map[string]bool{}
			for len(text) < 9000 {
				for _, s := range sentences {
					text += s
				}
			}
			for _, s := range sentences {
				ends[strings.TrimSpace(s)] = true
			}
			if contentType == "text/html" {
				text = "<html><body><p>" + text + "</p></body></html>"
			}
			chunks := uploaded(t, text, contentType, chunk.Settings{})
			if len(chunks) < 3 {
				t.Errorf("%s as %s: %d chunks", name, contentType, len(chunks))
			}
			for _, c := range chunks {
				begins, stops := false, false
				for s := range ends {
					begins, stops = begins || strings.HasPrefix(c.Text, s), stops || strings.HasSuffix(c.Text, s)
				}
				if !begins || !stops {
					t.Errorf("%s as %s: %q", name, contentType, c.Text)
				}
			}
		}
	}
}
