package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaTeXIsReadWithoutWhatTeXPassesOver(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"a comment on a line of its own", "a\n% secret\nb", "a\nb"},
		{"a comment at the end of a line", "a % secret\nb", "a\nb"},
		{"an escaped sign", `12 \% of it`, `12 \% of it`},
		{"a sign after a line break", `a \\% secret` + "\nb", `a \\` + "\nb"},
		{"an address", `see \url{http://x/a%20b} and \href{http://x/%41}{this}`, `see \url{http://x/a%20b} and \href{http://x/%41}{this}`},
		{"inline code", `\verb|50%| of it`, `\verb|50%| of it`},
		{"code", "\\begin{verbatim}\n% kept\n\\end{verbatim}\n% secret\nb", "\\begin{verbatim}\n% kept\n\\end{verbatim}\nb"},
		{"the environment comment", "a\n\\begin{comment}\nsecret\n\\end{comment}\nb", "a\nb"},
		{"a false condition", "a\n\\iffalse\nsecret \\ifx x \\else y \\fi\n\\fi\nb", "a\nb"},
		{"a false condition with another branch", "a \\iffalse secret\\else b\\fi c", "a  b\\fi c"},
		{"a false condition as the meaning of a command", "\\let\\ifdraft=\\iffalse\n\\let\\ifx\\iffalse\n\\def\\skip{\\iffalse}\nb", "\\let\\ifdraft=\\iffalse\n\\let\\ifx\\iffalse\n\\def\\skip{\\iffalse}\nb"},
		{"what follows the document", "a\n\\end{document}\nsecret", "a\n\\end{document}"},
		{"nothing but comments", "% all there is", "% all there is"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse(t.Context(), Source{Content: []byte(tc.text), FileName: "a.tex"})
			if err != nil {
				t.Fatal(err)
			}
			check(t, d)
			if diff := cmp.Diff(tc.want, d.Text); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if all, err := Parse(t.Context(), Source{Content: []byte(tc.text), FileName: "a.tex", Hidden: true}); err != nil || all.Text != tc.text {
				t.Errorf("with what is hidden: %q, %v", all.Text, err)
			}
		})
	}
}

// Lines are counted with the comments, and headings within them are none.
func TestPositionsInLaTeXCountComments(t *testing.T) {
	t.Parallel()
	d, err := Parse(t.Context(), Source{Content: []byte("% a\n% \\section{Old}\n\\section{New}\n% b\ntext"), FileName: "a.tex"})
	if err != nil {
		t.Fatal(err)
	}
	position := d.SpanIndex().Metadata(strings.Index(d.Text, "text"), len(d.Text))
	if want := map[string]any{"line": 5, "section": "New"}; cmp.Diff(want, position) != "" {
		t.Errorf("position %v, want %v", position, want)
	}
}

// For any text, what TeX passes over is in order and within it.
func FuzzLaTeX(f *testing.F) {
	f.Add("a % b\n\\verb|%| \\begin{comment}x\\end{comment} \\iffalse y\\fi \\url{%}\\end{document} z")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, s := range latexComments(text) {
			if s.Start < last || s.End < s.Start || s.End > len(text) {
				t.Fatalf("%+v after %d of %d", s, last, len(text))
			}
			last = s.End
		}
	})
}
