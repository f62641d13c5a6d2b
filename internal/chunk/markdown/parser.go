package markdown

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxDepth is how deep lists and quotations may be nested. Each line is compared to all that
// enclose it.
const maxDepth = 100

// blockParser finds the blocks of a text and does not look into paragraphs. It is safe for
// concurrent use.
var blockParser = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(container{parser.NewListParser()}, 300),
		util.Prioritized(container{parser.NewListItemParser()}, 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(container{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithParagraphTransformers(
		util.Prioritized(definitions{parser.LinkReferenceParagraphTransformer}, 100),
		util.Prioritized(empty{}, 1000),
	),
)

// parseBlocks returns the document of a Markdown text, whose paragraphs and underlined headings
// have no content, only a position.
func parseBlocks(source []byte) ast.Node { return blockParser.Parse(text.NewReader(source)) }

// container is a parser of blocks that hold other blocks. It opens none that is nested too deep.
type container struct{ parser.BlockParser }

func (c container) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if len(pc.OpenedBlocks()) > maxDepth {
		return nil, parser.NoChildren
	}
	return c.BlockParser.Open(parent, reader, pc)
}

// maxDefinitions is how many lines a paragraph may have in which definitions of links are looked
// for, since that takes time in the square of the lines.
const maxDefinitions = 100

// definitions takes definitions of links out of a paragraph: an underline makes no heading of them.
type definitions struct{ parser.ParagraphTransformer }

func (d definitions) Transform(paragraph *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if paragraph.Lines().Len() <= maxDefinitions {
		d.ParagraphTransformer.Transform(paragraph, reader, pc)
	}
}

// empty removes the content of paragraphs: the parser would read it character by character, which
// takes most of the time.
type empty struct{}

func (empty) Transform(paragraph *ast.Paragraph, _ text.Reader, _ parser.Context) {
	lines := paragraph.Lines()
	if lines.Len() == 0 {
		return
	}
	start := lines.At(0).Start
	lines.Clear()
	lines.Append(text.NewSegment(start, start))
}
