package parse

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse/markup"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// maxOutput bounds the text that is kept of the outputs of one cell, in bytes. What is
// printed beyond that is seldom read by a person either.
const maxOutput = 4 << 10

// notebook is a Jupyter notebook, of format 4 or, with worksheets, of format 3.
type notebook struct {
	Format     int            `json:"nbformat"`
	Cells      []notebookCell `json:"cells"`
	Worksheets []struct {
		Cells []notebookCell `json:"cells"`
	} `json:"worksheets"`
	Metadata struct {
		Title        string `json:"title"`
		LanguageInfo struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	} `json:"metadata"`
}

type notebookCell struct {
	Type    string           `json:"cell_type"`
	Source  multiline        `json:"source"`
	Input   multiline        `json:"input"` // the source of code in format 3
	Level   int              `json:"level"` // of a heading in format 3
	Outputs []notebookOutput `json:"outputs"`
}

type notebookOutput struct {
	Text  multiline               `json:"text"`
	Data  map[string]optionalText `json:"data"`
	Error string                  `json:"ename"`
	Value string                  `json:"evalue"`
}

// multiline is a text that is stored as a string or as a list of lines.
type multiline []string

func (m *multiline) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*[]string)(m)) == nil {
		return nil
	}
	var text string
	err := json.Unmarshal(data, &text)
	*m = multiline{text}
	return err
}

// join returns the text. Lines have their ends, but in formats before 4 the first may have none, and then none has.
func (m multiline) join(format int) string {
	if format < 4 && len(m) > 1 && !strings.HasSuffix(m[0], "\n") {
		return strings.Join(m, "\n")
	}
	return strings.Join(m, "")
}

// optionalText is a multiline, or empty for a value that is no text.
type optionalText struct{ multiline }

func (j *optionalText) UnmarshalJSON(data []byte) error {
	if j.multiline.UnmarshalJSON(data) != nil {
		j.multiline = nil
	}
	return nil
}

// notebook reads the cells of a Jupyter notebook: Markdown as it is, code as a fenced block,
// and the text that it printed, up to a limit. Pictures are left out.
func (p *parser) notebook(ctx context.Context) error {
	source, err := p.utf8()
	if err != nil {
		return err
	}
	var n notebook
	if err := json.Unmarshal([]byte(source), &n); err != nil {
		return broken(p.format, err)
	}
	cells := n.Cells
	for _, sheet := range n.Worksheets {
		cells = append(cells, sheet.Cells...)
	}
	if n.Format == 0 && len(cells) == 0 {
		return broken(p.format, errors.New("it has neither a format nor cells"))
	}
	language := n.Metadata.LanguageInfo.Name
	if language == "" {
		language = n.Metadata.Kernel.Language
	}
	language = strings.ToLower(textlimit.OneLine(language, maxLanguage))
	p.doc.Title = n.Metadata.Title
	p.property(programmingLanguage, language)
	for i, cell := range cells {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := p.text.span(Span{Kind: Cell, Number: i + 1}, func() error {
			p.cell(cell, language, n.Format)
			return nil
		})
		if err != nil || p.text.full {
			return err
		}
	}
	return nil
}

// programmingLanguage is the property that names the language of source code.
const programmingLanguage = "programmingLanguage"

const maxLanguage = 32 // bytes of its name

// embeddedData matches the data of a picture within Markdown.
var embeddedData = regexp.MustCompile(`!\[([^\]]*)\]\((?:data|attachment):[^)\s]*\)`)

func (p *parser) cell(c notebookCell, language string, format int) {
	source := c.Source.join(format)
	switch c.Type {
	case "code":
		if source == "" {
			source = c.Input.join(format)
		}
		p.text.block(markup.Fenced(source, language))
		p.text.block(markup.Fenced(printed(c.Outputs, format), "text"))
	case "heading":
		p.text.block(headingLine(min(max(c.Level, 1), 6), source))
	default:
		if !p.src.Hidden {
			source = uncommented(source)
		}
		p.text.block(embeddedData.ReplaceAllString(source, "$1"))
	}
}

// terminalCodes matches what colors text in a terminal.
var terminalCodes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// printed returns the text of the outputs of a cell, cut off after maxOutput.
func printed(outputs []notebookOutput, format int) string {
	var all []string
	left := maxOutput
	for _, o := range outputs {
		text := o.Text.join(format)
		if shown := o.Data["text/plain"].join(format); text == "" && !isPictureNote(o.Data, shown) {
			text = shown
		}
		if o.Error != "" {
			text = o.Error + ": " + o.Value
		}
		text = strings.Trim(terminalCodes.ReplaceAllString(storable(text), ""), "\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if len(text) > left {
			all = append(all, textlimit.Cut(text, left))
			break
		}
		all, left = append(all, text), left-len(text)
	}
	return strings.Join(all, "\n")
}

// isPictureNote reports whether a text only stands for a picture, as <Figure size 640x480>.
func isPictureNote(data map[string]optionalText, text string) bool {
	if !strings.HasPrefix(text, "<") || !strings.HasSuffix(strings.TrimSpace(text), ">") {
		return false
	}
	for kind := range data {
		if strings.HasPrefix(kind, "image/") {
			return true
		}
	}
	return false
}
