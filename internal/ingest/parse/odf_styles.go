package parse

import (
	"encoding/xml"
	"strings"
)

// odfStyle is the meaning of a style.
type odfStyle struct {
	parent string
	hidden bool // a sheet, a slide, or text
}

// odfLevel is a level of a list style.
type odfLevel struct {
	bullet         bool
	format         string // 1, a, A, i, I, or "" for no number
	prefix, suffix string
	levels, start  int
}

type odfListStyle [maxListLevels + 1]odfLevel

func (o *odfReader) startStyle(t xml.StartElement) {
	name := attrOf(t.Attr, "name")
	switch t.Name.Local {
	case "style":
		s := odfStyle{parent: attrOf(t.Attr, "parent-style-name")}
		o.styles[name] = s
		o.styleName = name
	case "table-properties":
		o.hide(attrOf(t.Attr, "display") == "false")
	case "text-properties":
		o.hide(attrOf(t.Attr, "display") == "none")
	case "drawing-page-properties":
		o.hide(attrOf(t.Attr, "visibility") == "hidden")
	case "list-style":
		o.defining = &odfListStyle{}
		o.listStyles[name] = o.defining
	case "outline-style":
		o.defining = &odfListStyle{}
		o.outline.style = o.defining
	case "list-level-style-bullet", "list-level-style-image", "list-level-style-number", "outline-level-style":
		if o.defining != nil {
			o.defining[min(max(number(attrOf(t.Attr, "level")), 1), maxListLevels)] = odfLevel{
				bullet: strings.HasSuffix(t.Name.Local, "bullet") || strings.HasSuffix(t.Name.Local, "image"),
				format: attrOf(t.Attr, "num-format"), prefix: attrOf(t.Attr, "num-prefix"), suffix: attrOf(t.Attr, "num-suffix"),
				levels: number(attrOf(t.Attr, "display-levels")), start: number(attrOf(t.Attr, "start-value")),
			}
		}
	}
}

// hide marks the style that is being read as hidden.
func (o *odfReader) hide(hidden bool) {
	if s, ok := o.styles[o.styleName]; ok && hidden && o.parent() == "style" {
		s.hidden = true
		o.styles[o.styleName] = s
	}
}
