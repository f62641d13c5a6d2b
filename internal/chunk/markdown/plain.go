package markdown

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// lineParser reads a text as one paragraph. It is safe for concurrent use.
var lineParser = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...),
)

// special are the characters of which one stands in each markup within a line.
const special = "*_`[]<>&\\"

// dunder matches a name of Python's kind, which looks like emphasis and is none.
var dunder = regexp.MustCompile(`^\w+$`)

// plain returns a line of Markdown as it is read: without the marks of emphasis and code, the targets of
// links, tags of HTML and escapes.
func plain(line string) string {
	if !strings.ContainsAny(line, special) {
		return line
	}
	source := []byte(line)
	var out strings.Builder
	_ = ast.Walk(lineParser.Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := node.(type) {
		case *ast.Text:
			if entering {
				out.Write(unescape(n, source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					out.WriteByte(' ')
				}
			}
		case *ast.AutoLink:
			if entering {
				out.Write(n.Label(source))
			}
		case *ast.Emphasis:
			if isDunder(n, source) {
				out.WriteString("__")
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " ")
}

// unescape returns the characters that a text stands for. In code each stands for itself.
func unescape(n *ast.Text, source []byte) []byte {
	value := n.Value(source)
	if n.Parent().Kind() == ast.KindCodeSpan {
		return value
	}
	return util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
}

// isDunder reports whether emphasis is a name such as __init__.
func isDunder(n *ast.Emphasis, source []byte) bool {
	inner, ok := n.FirstChild().(*ast.Text)
	if !ok || n.Level != 2 || n.ChildCount() != 1 {
		return false
	}
	start := inner.Segment.Start
	return start > 0 && source[start-1] == '_' && dunder.Match(inner.Value(source))
}
