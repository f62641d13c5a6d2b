package names

import (
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/ragdhq/ragd/internal/query/lexical"
)

// Key identifies a sequence of words without case, accents, punctuation and light
// English endings: "Dead berths" has the key of "dead berth", and "LD-101" that
// of "ld 101". A single word in capitals has a key of its own: the command CLUSTER is not
// named by "a cluster". It is a 64-bit hash; among ten million names the chance that any
// two collide is 1 in 370,000. 0 stands for no key.
type Key int64

// KeyOf returns the key of a text. ok is false if the text has no words.
func KeyOf(text string) (key Key, ok bool) {
	key, _, words := keyOf(text)
	return key, words > 0
}

// Kind says where a name was found.
type Kind string

// The kinds.
const (
	Title        Kind = "title"
	TitleSegment Kind = "title part" // the title without additions, or a segment of it
	Identifier   Kind = "identifier" // a word of the title with a digit or an acronym in brackets: LD-101, 4.3, HOT
	Path         Kind = "path"       // the end of the document's URI
	Heading      Kind = "heading"
	Term         Kind = "term"    // bold, or an identifier as code, at the beginning of a line
	Message      Kind = "message" // id of an email
)

// Name is something that other texts may call a chunk.
type Name struct {
	Key    Key
	Kind   Kind
	Text   string // as written
	Words  int
	Prefix Key // of the first two words; 0 if there are no more than two
}

// maxNameWords bounds the length of names and with it the cost of matching: a
// text is looked up as every sequence of up to this many words.
const maxNameWords = 10

// OfDocument returns the names of a document, which belong to its first chunk:
// the title, the title without additions in brackets, segments of the title of two words
// or more, identifiers in it, acronyms in brackets, the end of the URI if that is a path, and the id of
// an email. Names longer than ten words are left out, except for the id of an
// email, which answers repeat in full. Each key occurs once.
func OfDocument(title, uri, messageID string) []Name {
	var names nameList
	names.add(Title, title)
	bare := strings.TrimSpace(brackets.ReplaceAllString(title, " "))
	names.add(TitleSegment, bare)
	for _, word := range strings.Fields(bare) {
		if word = strings.Trim(word, `.,:;!?"'“”«»`); isIdentifier(word) {
			names.add(Identifier, word)
		}
	}
	if lead, rest, ok := strings.Cut(bare, " "); ok && isIdentifier(strings.TrimRight(lead, ":.,")) {
		names.addSegment(rest)
	}
	names.addAcronyms(title)
	for _, segment := range separators.Split(bare, -1) {
		names.addSegment(segment)
	}
	names.addPath(uri)
	names.add(Message, messageID)
	return names.names
}

// InText returns the names that a text gives itself: headings of several words and
// their acronyms, and terms at the beginning of a line, in bold or, as identifiers of
// several words, in code. Names of common words alone are left out. Each key occurs
// once.
func InText(text string) []Name {
	var names nameList
	for line := range strings.Lines(text) {
		if found := heading.FindStringSubmatch(line); found != nil {
			names.addHeading(found[1])
		} else if found := boldTerm.FindStringSubmatch(line); found != nil {
			names.add(Term, found[1]+found[2]) // one of them is empty
		} else if found := codeTerm.FindStringSubmatch(line); found != nil {
			names.add(Term, found[1])
		}
	}
	return names.names
}

var (
	brackets   = regexp.MustCompile(`\s*[(\[][^()\[\]]*[)\]]`)
	separators = regexp.MustCompile(`\s*[,:;"“”]\s+|\s+[-–—|/]\s+|["“”]`)
	// identifier matches a word with a digit next to a letter or a joining mark.
	identifier = regexp.MustCompile(`^[\p{L}\d]*(\d[\p{L}._/#-]|[\p{L}._/#-]\d)[\p{L}\d._/#-]*$`)
	heading    = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)[ \t#]*\r?\n?$`)
	boldTerm   = regexp.MustCompile(`^[ \t]*(?:[-*+][ \t]+)?(?:\*\*([^*]{2,80}?)[.:]?\*\*|__([^_]{2,80}?)[.:]?__)`)
	// codeTerm matches an identifier of several words as code, which is all of a line, or of
	// the first cell of a table, but for a signature, a type or a definition after it.
	codeTerm = regexp.MustCompile("^[ \\t]*(?:[-*+][ \\t]+|\\|[ \\t]*)?`(" + compound + ")(?:\\([^`]*)?`[ \\t]*(?:$|[\\r\\n(:=,→|`—–-])")
	codeName = regexp.MustCompile("^`?" + compound + "`?$")
	acronym  = regexp.MustCompile(`[(\[]([A-Z][A-Z\d-]{1,9})[)\]]`)
)

// compound matches an identifier of several words: work_mem, maxSize, http.Client.
const compound = `[\p{L}_]+\d*(?:(?:[_.:]+|\p{Ll}\p{Lu})[\p{L}\d]+)+`

// isIdentifier checks for a digit first, which rules out most words cheaply.
func isIdentifier(word string) bool {
	return strings.ContainsAny(word, "0123456789") && identifier.MatchString(word)
}

type nameList struct {
	names []Name
	known map[Key]bool
}

// add appends a name unless it has no words, too many, or is known already.
// Headings, terms and paths of common words alone ("Overview", "Note", "index")
// are left out.
func (l *nameList) add(kind Kind, text string) {
	text = strings.TrimSpace(text)
	key, prefix, words := keyOf(text)
	if words == 0 || words > maxNameWords && kind != Message || l.known[key] {
		return
	}
	switch kind {
	case Heading, Term, Path:
		if !hasContent(text) {
			return
		}
	}
	if l.known == nil {
		l.known = map[Key]bool{}
	}
	l.known[key] = true
	l.names = append(l.names, Name{Key: key, Kind: kind, Text: text, Words: words, Prefix: prefix})
}

// addSegment appends a segment of a title if it has two words or more: too many
// chunks share a single one ("Lambert" of "Lambert, Margrave of Tuscany").
func (l *nameList) addSegment(text string) {
	if _, _, words := keyOf(text); words > 1 {
		l.add(TitleSegment, text)
	}
}

// addHeading appends a heading, with and without additions in brackets, and its
// acronyms. A heading of one word ("Parameters") says too little, unless the word is in
// capitals or an identifier.
func (l *nameList) addHeading(text string) {
	for _, form := range []string{text, strings.TrimSpace(brackets.ReplaceAllString(text, " "))} {
		_, _, words := keyOf(form)
		if words > 1 || !strings.ContainsFunc(form, unicode.IsLower) || codeName.MatchString(form) || isIdentifier(form) {
			l.add(Heading, form)
		}
	}
	l.addAcronyms(text)
}

// addAcronyms appends the acronyms in brackets: HOT of "Heap-only tuples (HOT)".
func (l *nameList) addAcronyms(title string) {
	for _, found := range acronym.FindAllStringSubmatch(title, -1) {
		l.add(Identifier, found[1])
	}
}

// addPath appends the end of a path: folder and file, file, and file without its
// extension. A URI without a dot or a slash is an arbitrary id.
func (l *nameList) addPath(uri string) {
	if !strings.Contains(uri, ".") && !strings.Contains(uri, "/") {
		return
	}
	clean := strings.TrimSuffix(uri, "/")
	base := path.Base(clean)
	if folder := path.Base(path.Dir(clean)); folder != "." && folder != "/" {
		l.add(Path, folder+"/"+base)
	}
	l.add(Path, base)
	l.add(Path, strings.TrimSuffix(base, path.Ext(base)))
}

// hasContent reports whether a name has a word that is not common.
func hasContent(text string) bool {
	for token := range lexical.Tokens(text) {
		if token.Rank() == lexical.Content {
			return true
		}
	}
	return false
}

// keyOf returns the key of a text, the key of its first prefixWords words if it
// has more, and the number of its words.
func keyOf(text string) (key, prefix Key, words int) {
	hash := emptyHash
	capitals := false
	for token := range lexical.Tokens(text) {
		if token.Form == lexical.Pair {
			continue
		}
		capitals = token.Capitals
		if words == prefixWords {
			prefix = Key(hash)
		}
		hash = hash.word(token.Stem)
		words++
	}
	if words == 1 && capitals {
		hash = hash.capitals()
	}
	return Key(hash), prefix, words
}

// wordHash is 64-bit FNV-1a over words, with a space after each.
type wordHash uint64

const (
	emptyHash wordHash = 14695981039346656037
	fnvPrime  wordHash = 1099511628211
)

// capitals returns the hash of a single word that is written in capitals.
func (h wordHash) capitals() wordHash { return (h ^ '^') * fnvPrime }

func (h wordHash) word(stem []byte) wordHash {
	for _, c := range stem {
		h = (h ^ wordHash(c)) * fnvPrime
	}
	return (h ^ ' ') * fnvPrime
}
