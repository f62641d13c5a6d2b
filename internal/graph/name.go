package graph

import (
	"path"
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/lexical"
)

// Key stands for a sequence of words as matching sees them: without case,
// accents, punctuation and light English endings, so that "Dead berths" has the
// key of "dead berth" and "LD-101" that of "ld 101". It is a hash; that two of
// ten million names share one has a chance of 1 in 370,000.
type Key int64

// NameKind is where a name was found.
type NameKind string

// The kinds.
const (
	Title      NameKind = "title"
	TitlePart  NameKind = "title part" // what is left of a title without its additions
	Identifier NameKind = "identifier" // a word of the title with a digit: LD-101, 4.3
	Path       NameKind = "path"       // of the document, or the end of it
	Heading    NameKind = "heading"
	Term       NameKind = "term"    // defined in bold at the beginning of a line
	Message    NameKind = "message" // id of an email
)

// Name is something that other texts may call a chunk by.
type Name struct {
	Key   Key
	Kind  NameKind
	Text  string // as it stands in the chunk
	Words int
	// Prefix is the key of its first two words, 0 if it has no more.
	Prefix Key
}

// maxNameWords bounds names and, with them, what matching costs: a text is
// looked up as every sequence of up to so many words.
const maxNameWords = 10

// NamesOfDocument returns what a document may be called, which are names of its
// first chunk: its title, that without additions in brackets and in its parts,
// identifiers in it, the end of its path, and its id as an email, if it is one. Names
// longer than ten words are left out, but for the last, which other emails have whole.
// Each key comes once.
func NamesOfDocument(title, uri, messageID string) []Name {
	var names nameList
	names.add(Title, title)
	bare := strings.TrimSpace(brackets.ReplaceAllString(title, " "))
	names.add(TitlePart, bare)
	for _, word := range strings.Fields(bare) {
		if word = strings.Trim(word, `.,:;!?"'“”«»`); isIdentifier(word) {
			names.add(Identifier, word)
		}
	}
	if lead, rest, ok := strings.Cut(bare, " "); ok && isIdentifier(strings.TrimRight(lead, ":.,")) {
		names.addPart(rest)
	}
	for _, part := range separators.Split(bare, -1) {
		names.addPart(part)
	}
	names.addPath(uri)
	names.add(Message, messageID)
	return names.names
}

// NamesInText returns what a chunk may be called by what it says of itself: its
// headings, and terms set in bold at the beginning of a line, but for those of
// common words alone.
func NamesInText(text string) []Name {
	var names nameList
	for line := range strings.Lines(text) {
		if found := heading.FindStringSubmatch(line); found != nil {
			names.add(Heading, found[1])
		} else if found := boldTerm.FindStringSubmatch(line); found != nil {
			names.add(Term, found[1])
		}
	}
	return names.names
}

var (
	brackets   = regexp.MustCompile(`\s*[(\[][^()\[\]]*[)\]]`)
	separators = regexp.MustCompile(`\s*[,:;"“”]\s+|\s+[-–—|/]\s+|["“”]`)
	// identifier has a digit, and a letter or a mark that holds it together.
	identifier = regexp.MustCompile(`^[\p{L}\d]*(\d[\p{L}._/#-]|[\p{L}._/#-]\d)[\p{L}\d._/#-]*$`)
	heading    = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)[ \t#]*\r?\n?$`)
	boldTerm   = regexp.MustCompile(`^[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)([^*_]{2,80}?)[.:]?(?:\*\*|__)`)
)

// isIdentifier spares most words the pattern.
func isIdentifier(word string) bool {
	return strings.ContainsAny(word, "0123456789") && identifier.MatchString(word)
}

type nameList struct {
	names []Name
	known map[Key]bool
}

// add takes in a name, unless it says too little or too much.
func (l *nameList) add(kind NameKind, text string) {
	text = strings.TrimSpace(text)
	key, prefix, words := keyOf(text)
	if words == 0 || words > maxNameWords && kind != Message || l.known[key] {
		return
	}
	switch kind {
	case Heading, Term, Path: // "Overview", "Note", "index"
		if !telling(text) {
			return
		}
	}
	if l.known == nil {
		l.known = map[Key]bool{}
	}
	l.known[key] = true
	l.names = append(l.names, Name{Key: key, Kind: kind, Text: text, Words: words, Prefix: prefix})
}

// addPart takes in a part of a title: of two words or more, as single ones
// ("Lambert" of "Lambert, Margrave of Tuscany") are shared by too many.
func (l *nameList) addPart(text string) {
	if _, _, words := keyOf(text); words > 1 {
		l.add(TitlePart, text)
	}
}

// addPath takes in the end of a path: folder and file, file, and file without
// its extension.
func (l *nameList) addPath(uri string) {
	if !strings.Contains(uri, ".") && !strings.Contains(uri, "/") {
		return // an arbitrary id
	}
	clean := strings.TrimSuffix(uri, "/")
	base := path.Base(clean)
	if folder := path.Base(path.Dir(clean)); folder != "." && folder != "/" {
		l.add(Path, folder+"/"+base)
	}
	l.add(Path, base)
	l.add(Path, strings.TrimSuffix(base, path.Ext(base)))
}

// telling reports whether a name has a word that is not common.
func telling(text string) bool {
	for token := range lexical.Tokens(text) {
		if token.Rank() == lexical.Content {
			return true
		}
	}
	return false
}

// keyOf returns the key of a text, that of its first prefixWords words if it has
// more, and how many words it has.
func keyOf(text string) (key, prefix Key, words int) {
	hash := emptyHash
	for token := range lexical.Tokens(text) {
		if token.Form == lexical.Pair {
			continue
		}
		if words == prefixWords {
			prefix = Key(hash)
		}
		hash = hash.word(token.Stem)
		words++
	}
	return Key(hash), prefix, words
}

// wordHash is FNV-1a over words with a space after each.
type wordHash uint64

const (
	emptyHash wordHash = 14695981039346656037
	fnvPrime  wordHash = 1099511628211
)

func (h wordHash) word(stem []byte) wordHash {
	for _, c := range stem {
		h = (h ^ wordHash(c)) * fnvPrime
	}
	return (h ^ ' ') * fnvPrime
}
