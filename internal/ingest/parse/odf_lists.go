package parse

import (
	"encoding/xml"
	"strings"
)

// odfList is a list whose items are counted.
type odfList struct {
	style  *odfListStyle
	counts [maxListLevels + 1]int
}

// mark counts the open item and returns its mark.
func (o *odfReader) mark() string {
	level := len(o.lists)
	start := o.startAt
	o.startAt = 0
	return o.lists[level-1].next(level, start)
}

// next counts an item of a level, from 1, and returns its mark. A start over 0 is its number.
func (l *odfList) next(level, start int) string {
	level = min(level, maxListLevels)
	if l.style == nil {
		return "-"
	}
	of := l.style[level]
	switch {
	case start > 0:
		l.counts[level] = start
	case l.counts[level] == 0:
		l.counts[level] = max(of.start, 1)
	default:
		l.counts[level]++
	}
	for deeper := level + 1; deeper < len(l.counts); deeper++ {
		l.counts[deeper] = 0
	}
	if of.bullet {
		return "-"
	}
	if of.format == "" {
		return strings.TrimSpace(of.prefix + of.suffix)
	}
	var numbers []string
	for i := max(level-max(of.levels, 1)+1, 1); i <= level; i++ {
		if above := l.style[i]; above.format != "" {
			numbers = append(numbers, numeral(max(l.counts[i], 1), above.format))
		}
	}
	return strings.TrimSpace(of.prefix + strings.Join(numbers, ".") + of.suffix)
}

func (o *odfReader) startList(t xml.StartElement) {
	switch t.Name.Local {
	case "list":
		if len(o.lists) > 0 { // all levels count together
			l := o.lists[len(o.lists)-1]
			if style := o.listStyles[attrOf(t.Attr, "style-name")]; style != nil && style != l.style {
				l = &odfList{style: style, counts: l.counts}
			}
			o.lists = append(o.lists, l)
			return
		}
		name := attrOf(t.Attr, "style-name")
		l := o.byID[attrOf(t.Attr, "continue-list")]
		if l == nil && attrOf(t.Attr, "continue-numbering") == "true" {
			l = o.byStyle[name]
		}
		if l == nil {
			l = &odfList{style: o.listStyles[name]}
		}
		o.byStyle[name] = l
		if id := attrOf(t.Attr, "id"); id != "" {
			o.byID[id] = l
		}
		o.lists = append(o.lists, l)
	case "list-item":
		o.counted = append(o.counted, false)
		o.startAt = number(attrOf(t.Attr, "start-value"))
	case "list-header":
		o.counted = append(o.counted, true)
	}
}
