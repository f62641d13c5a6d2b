package parse

import (
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/ragdhq/ragd/internal/chunk/frontmatter"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// maxTitleSearch is how many bytes of a text are searched for a title.
const maxTitleSearch = 16 << 10

// TitleOf returns the title of a text: in Markdown that of the front matter, else the
// first heading of level 1, else the heading that the text begins with; the title element in HTML
// unless a generator wrote it, \title in LaTeX, the field "title" of a JSON object. It returns "" if
// there is none.
func TitleOf(contentType, text string) string {
	head := text[:min(len(text), maxTitleSearch)]
	title := ""
	switch f, _ := FormatOf(contentType); f {
	case Markdown:
		title = markdownTitle(text)
	case HTML:
		title = ownTitle(htmlTitle(head), "")
	case LaTeX:
		title = latexArgument(head, `\title`)
	case JSON:
		title = jsonTitle(head)
	}
	return textlimit.OneLine(title, maxTitle)
}

// markdownTitle returns the title of the front matter, else the first heading of level 1, else the
// heading that the text begins with.
func markdownTitle(text string) string {
	front, _ := frontmatter.Read(text) // what is not front matter is text
	if front.Title != "" {
		return front.Title
	}
	text = text[front.Body:]
	first := ""
	for h := range headings(text[:min(len(text), maxTitleSearch)]) {
		if h.level == 1 {
			return h.text
		}
		if strings.TrimSpace(text[:h.start]) == "" {
			first = h.text
		}
	}
	return first
}

// jsonTitle returns the field "title" of a JSON object if it is a string. The object may be
// cut off behind it.
func jsonTitle(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return ""
		}
		if key == "title" {
			var title string
			_ = json.Unmarshal(value, &title) // it stays empty for other types
			return title
		}
	}
	return ""
}

func htmlTitle(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "title" && z.Next() == html.TextToken {
				return string(z.Text())
			}
		}
	}
}

// generated matches titles that programs write where a person has given none, in lower case, in the languages
// of Office.
var generated = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`(?:untitled|unnamed|no title|no name|noname|unbenannt|ohne titel|ohne namen|sans titre|sans nom|sin título|senza titolo|sem título|naamloos|bez tytułu|` +
		`без названия|без имени|無題|无标题|無標題|제목 없음)(?: ?-?(?:document|dokument|page|presentation|spreadsheet|note|notebook|\d+))*`,
	`(?:document|dokument|documento|dokumen|документ|文档|文書|slide|folie|diapositive|diapositiva|dia|slajd|слайд|スライド|幻灯片|book|mappe|classeur|libro|cartel|zeszyt|книга|` +
		`sheet|tabelle|feuille|hoja|foglio|arkusz|лист|presentation|präsentation|présentation|presentación|presentazione|prezentacja|презентация|` +
		`new page|page|seite|layout|scan|image|img|bild) ?[-_#]?\d*`,
	`(?:microsoft )?powerpoint[- ](?:presentation|präsentation|presentatie|presentasjon|プレゼンテーション)`,
	`(?:présentation|presentación de|presentazione(?: standard)? di|apresentação do|prezentacja programu|презентация|bemutató) ?(?:microsoft )?powerpoint`,
	`pptxgenjs presentation|powerpoint 演示文稿|powerpoint 簡報|powerpoint 프레젠테이션|powerpoint sunusu`,
	`(?:microsoft )?(?:word|excel|publisher)(?: document| workbook|[- ]dokument)?`,
	`microsoft (?:office )?(?:word|excel|powerpoint|publisher|visio|project) ?-.*`,
	`(?:new |neues )(?:document|dokument|page)|title|titel|document title|(?:your|page) title(?: here)?|home|index|default|none|null|undefined|\(?anonymous\)?|` +
		`about:blank|full page photo|print|printout|template|report|test`,
}, "|") + `)$`)

// fileTitle matches a title that is the path or the name of a file: from a root, or with the ending of a
// program for documents, or one word with the ending of a text.
var fileTitle = regexp.MustCompile(`^(?:[a-z]:[\\/]|\\\\|file:|/[^/ ]+/|\.{1,2}/)|` +
	`\.(?:docx?|docm|dotx?|xlsx?|xlsm|xls|pptx?|pptm|ppsx?|odt|ods|odp|rtf|wpd|wps|indd|qxd|qxp|pmd|p65|fm|dvi|ps|eps|pub|vsdx?|cdr|pages|numbers|tmp)$|` +
	`^\S+\.(?:pdf|tex|txt|md|html?|xhtml|xml|csv|epub|jpe?g|png|tiff?|gif|svg|log|zip)$`)

// ownTitle returns a title from the properties of a file, or "" for one that says nothing: what a
// program writes by itself, a path, the file's own name, or no word.
func ownTitle(title, fileName string) string {
	title = strings.TrimPrefix(textlimit.OneLine(title, maxTitle), "þÿ") // the mark of UTF-16, misread
	plain := strings.ToLower(strings.Trim(title, " \"'<>[]."))
	stem := withoutEndings(addressPath(fileName))
	switch {
	case !strings.ContainsFunc(title, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return ""
	case generated.MatchString(plain), fileTitle.MatchString(plain), identifier.MatchString(plain):
		return ""
	case title == stem && !strings.Contains(title, " "): // in other letters, somebody has written it
		return ""
	}
	return title
}

// identifier matches what no person has named: many digits, or a UUID.
var identifier = regexp.MustCompile(`^(?:[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{16,}|[0-9_]{5,})$`)

// addressPath returns a name, or the path of an address without its escapes. In the address of a file of a repository,
// https://host/repository#branch:path, that is the path after the colon.
func addressPath(name string) string {
	if !strings.Contains(name, "://") {
		return strings.ReplaceAll(name, `\`, "/")
	}
	address, err := url.Parse(name)
	if err != nil {
		return ""
	}
	if _, file, ok := strings.Cut(address.Fragment, ":"); ok && !strings.HasPrefix(file, "~:") { // as in #:~:text=
		if _, known := formatOfEnding(strings.ToLower(path.Base(address.Path))); !known {
			return file
		}
	}
	return address.Path
}

// withoutEndings returns the last segment of a path without the endings of its format and its
// compression, "" if it has no ending of a format that is known.
func withoutEndings(name string) string {
	base := path.Base(name)
	ended := ""
	for range 2 {
		dot := strings.LastIndexByte(base, '.')
		if _, known := formatOfName(base); !known || dot <= 0 || !strings.ContainsFunc(base[dot:], unicode.IsLetter) {
			break
		}
		base = base[:dot]
		ended = base
	}
	return ended
}

// copied matches what is added to the name of a file that is stored once more.
var copied = regexp.MustCompile(` ?\(\d{1,3}\)$|[ _-](?:copy|kopie|copie)$`)

// minNameTitle is the length in bytes of the shortest name of a file that is a title: a.txt and doc1.pdf
// say nothing.
const minNameTitle = 5

// nameTitle returns the name of a file as a title: without its ending, with spaces between its words. That
// of source code is kept. A name such as index is that of its folder. It returns "" for a name that has no known ending, is short, or has no word.
func nameTitle(name string, format Format) string {
	name = addressPath(name)
	title := withoutEndings(name)
	switch strings.ToLower(title) {
	case "":
		return ""
	case "index", "readme", "default":
		if above := path.Base(path.Dir(name)); above != "." && above != "/" {
			title = above
		}
	default:
		if format == Code {
			return textlimit.OneLine(path.Base(name), maxTitle)
		}
	}
	title = copied.ReplaceAllString(title, "")
	if len(title) < minNameTitle || identifier.MatchString(strings.ToLower(title)) {
		return ""
	}
	return textlimit.OneLine(spaced(title), maxTitle)
}

// spaced returns a name with spaces for underscores, plus signs and the hyphens that are not between digits.
func spaced(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		between := i > 0 && i+1 < len(runes)
		switch {
		case r == '_', r == '+' && between && unicode.IsLetter(runes[i+1]):
			runes[i] = ' '
		case r == '-' && between && (!unicode.IsDigit(runes[i-1]) || !unicode.IsDigit(runes[i+1])):
			runes[i] = ' '
		}
	}
	return string(runes)
}
