package htmlsplit

// tagTraits are properties of the elements with a tag name.
type tagTraits uint16

const (
	inlineTag   tagTraits = 1 << iota // its tags do not separate words
	voidTag                           // has no end tag and no content
	blockTag                          // ends a paragraph, and a title that has text
	headingTag                        // h1 to h6
	verbatimTag                       // keeps its white space
	rawTag                            // its content has no tags
	entityTag                         // its content has entities; with rawTag
	hiddenTag                         // its content is not shown
)

func (t tagTraits) is(flag tagTraits) bool { return t&flag != 0 }

var traits = map[string]tagTraits{
	"a": inlineTag, "abbr": inlineTag, "acronym": inlineTag, "b": inlineTag, "bdi": inlineTag, "bdo": inlineTag,
	"big": inlineTag, "cite": inlineTag, "code": inlineTag, "data": inlineTag, "del": inlineTag, "dfn": inlineTag,
	"em": inlineTag, "font": inlineTag, "i": inlineTag, "ins": inlineTag, "kbd": inlineTag, "label": inlineTag,
	"mark": inlineTag, "nobr": inlineTag, "q": inlineTag, "rp": inlineTag, "rt": inlineTag, "ruby": inlineTag,
	"s": inlineTag, "samp": inlineTag, "small": inlineTag, "span": inlineTag, "strike": inlineTag,
	"strong": inlineTag, "sub": inlineTag, "sup": inlineTag, "time": inlineTag, "tt": inlineTag, "u": inlineTag,
	"var": inlineTag,

	"area": voidTag, "base": voidTag, "br": voidTag, "col": voidTag, "embed": voidTag, "hr": voidTag | blockTag,
	"img": voidTag, "input": voidTag, "link": voidTag, "meta": voidTag, "param": voidTag, "source": voidTag,
	"track": voidTag, "wbr": voidTag | inlineTag,

	"address": blockTag, "article": blockTag, "aside": blockTag, "blockquote": blockTag, "center": blockTag,
	"dd": blockTag, "details": blockTag, "dialog": blockTag, "dir": blockTag, "div": blockTag, "dl": blockTag,
	"dt": blockTag, "fieldset": blockTag, "figcaption": blockTag, "figure": blockTag, "footer": blockTag,
	"form": blockTag, "header": blockTag, "hgroup": blockTag, "li": blockTag, "main": blockTag, "menu": blockTag,
	"nav": blockTag, "ol": blockTag, "p": blockTag, "search": blockTag, "section": blockTag, "summary": blockTag,
	"table": blockTag, "ul": blockTag,
	"h1": blockTag | headingTag, "h2": blockTag | headingTag, "h3": blockTag | headingTag,
	"h4": blockTag | headingTag, "h5": blockTag | headingTag, "h6": blockTag | headingTag,

	"pre": blockTag | verbatimTag, "listing": blockTag | verbatimTag,
	"textarea": verbatimTag | rawTag | entityTag, "title": rawTag | entityTag,
	"xmp": blockTag | verbatimTag | rawTag, "plaintext": blockTag | verbatimTag | rawTag,
	"script": rawTag | hiddenTag | inlineTag, "style": rawTag | hiddenTag | inlineTag,
	"noscript": rawTag | hiddenTag | inlineTag, "iframe": rawTag | hiddenTag,
	"noembed": rawTag | hiddenTag, "noframes": rawTag | hiddenTag,
}

// endedBy has the names of the open elements that a start tag ends, because their end
// tags may be left out. Only the innermost elements are searched, past inline ones
// and paragraphs.
var endedBy = map[string][]string{
	"li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"},
	"td": {"td", "th"}, "th": {"td", "th"}, "tr": {"td", "th", "tr"},
	"tbody":  {"td", "th", "tr", "tbody", "thead", "tfoot"},
	"thead":  {"td", "th", "tr", "tbody", "thead", "tfoot"},
	"tfoot":  {"td", "th", "tr", "tbody", "thead", "tfoot"},
	"option": {"option"}, "optgroup": {"option", "optgroup"},
	"rt": {"rt", "rp"}, "rp": {"rt", "rp"},
	"body": {"head"},
}
