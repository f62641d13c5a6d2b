package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRichText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"code pages of the document and of fonts", `\ansicpg1250{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}{\f2\fcharset128 Gothic;}}\f9 \'a3\'f3d\'9f \f1\'cc\'e8\'f0 \f2\'93\'8c\'8b\'9e`, "Łódź Мир 東京"},
		{"Unicode with a substitute", `\uc1 na\u239\'efve \uc2 \u-10179\'00\'00\u-8704ab!{\uc0 \u8364}`, "naïve 😀!€"},
		{"a binary part does not end a group", `a{\*\x\bin3 }}}}b`, "ab"},
		{"unknown and known destinations", `a{\*\new hidden}{\header h}{\pict 00ff}{\object{\*\objdata 00}{\result shown}}b`, "ashownb"},
		{"deleted and hidden text", `a{\deleted gone}{\v secret}{\v0 b}`, "ab"},
		{"headings", `{\stylesheet{\s1 heading 1;}{\s2\outlinelevel1 Own;}}\pard\s1 One\par\pard\s2 Two\par\pard\outlinelevel2 Three\par\pard text`, "# One\n\n## Two\n\n### Three\n\ntext"},
		{"a list with its numbers", `{\pard{\listtext 1.\tab}\ilvl0 a\par}{\pard{\pntext\'b7\tab}\ilvl1 b\par}`, "1. a\n  - b"},
		{"a note after its paragraph", `a{\super\chftn}{\footnote\pard\plain\chftn n\par} b\par c`, "a[^1] b\n\n[^1]: n\n\nc"},
		{"a comment", `a{\*\atnid J}{\*\atnauthor Jo}\chatn{\*\annotation why}\par`, "a\n\nComment by Jo: why"},
		{"a link", `{\field{\*\fldinst{HYPERLINK "https://example.org/x"}}{\fldrslt{\ul here}}}.`, "[here](https://example.org/x)."},
		{"a table", `\trowd\cellx10\cellx20\pard\intbl a\cell b|\cell\row\trowd\clvmgf\cellx10\cellx20\intbl c\cell d\cell\row\trowd\clvmrg\cellx10\cellx20\cell e\cell\row\pard after`, "| a | b\\| |\n| --- | --- |\n| c | d |\n| c | e |\n\nafter"},
		{"a table in a cell", `\trowd\cellx10\cellx20\intbl a\par{\itap2 x\nestcell y\nestcell{\*\nesttableprops\trowd\cellx3\cellx5\nestrow}{\nonesttables\par}}\itap1\cell b\cell\row\pard`, "| a x, y | b |\n| --- | --- |"},
		{"a text box", `a{\shp{\*\shpinst{\sp{\sn x}{\sv y}}{\shptxt box\par}}{\shprslt old}}b\par`, "ab\n\nbox"},
		{"a formula in the text, and one of its own", `so {\mmath{\*\moMath{\mf{\mfPr{\mtype bar}{\mctrlPr\f3 }}{\mnum{\mr\mscr0 a}}{\mden{\mr b}}}}} and\par {\mmath{\*\moMathPara{\*\moMath{\mr c=1}}}{\mmathPict old}}\par`, "so ab and\n\nc=1"},
		{"a style with a star within a group", `{\field{\*\fldinst HYPERLINK "https://example.org/x"}{\fldrslt \*\cs12\ul{here}}}, {\*\cs12 not dropped}`, "[here](https://example.org/x), not dropped"},
		{"a damaged word that would be a destination within text", `a\par\pard\sp\ql b\par\pard x\header y\par`, "a\n\nb\n\nxy"},
		{"a brace that closes the document before its end", `a\par}}\pard b\par`, "a\n\nb"},
		{"a second document after the first", `a\par}{\rtf1 b\par`, "a"},
		{"alternatives in Unicode", `{\upr{old}{\*\ud{new}}}`, "new"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse(t.Context(), Source{Content: []byte(`{\rtf1\ansi ` + tc.body + `}`)})
			if diff := cmp.Diff(tc.want, d.Text); diff != "" || err != nil {
				t.Errorf("error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// For any bytes, the reader of RTF returns a valid document or an Invalid error.
func FuzzRichText(f *testing.F) {
	f.Add(read(f, "testdata/files/report-lo.rtf"))
	f.Add([]byte(`{\rtf1{\footnote{\trowd\cellx1\nestcell{\shptxt \cell}}\row}\cell\nestrow}`))
	f.Add([]byte(`{\rtf1\uc3\u-10179\bin2 }{\fonttbl{\f1\fcharset128;}}\f1\'83\'65\trowd\intbl\itap9\nestcell`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(t.Context(), Source{Content: append([]byte(`{\rtf1 `), data...)})
		if err == nil {
			check(t, d)
			if len(d.Text) > 200*len(data)+1000 {
				t.Errorf("%d bytes of text from %d", len(d.Text), len(data))
			}
		} else if !isInvalid(err) || strings.Contains(err.Error(), "binary") {
			t.Errorf("error %v", err)
		}
	})
}
