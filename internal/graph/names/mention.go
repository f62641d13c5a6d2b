package names

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/query/lexical"
)

// Phrase is a sequence of words in a text that may be a name.
type Phrase struct {
	Key    Key
	Prefix Key // of the first two words; 0 if there are no more than two
}

// prefixWords is the length of the beginnings that decide whether longer phrases
// are looked up. Most phrases begin no name, and texts share short phrases: this
// saves five of six lookups.
const prefixWords = 2

// Phrases returns all sequences of up to ten words of a text that may be names,
// in the order of the text: at most ten for each word, so time and memory are
// linear in the text. A sequence of common words counts only if one of them is in
// upper case. A key may occur more than once.
func Phrases(text string) []Phrase {
	words := wordsOf(text)
	phrases := make([]Phrase, 0, maxNameWords*len(words))
	for i := range words {
		for p := range beginnings(words[i:]) {
			phrases = append(phrases, p)
		}
	}
	return phrases
}

// Keys returns the keys of phrases, in their order.
func Keys(phrases []Phrase) []Key {
	keys := make([]Key, len(phrases))
	for i, p := range phrases {
		keys[i] = p.Key
	}
	return keys
}

// Mentioned returns the phrases of a text that are known names, each once, in
// the order of the text. A name inside a longer name counts too: what a text
// mentions does not depend on other names, so a name can come and go without
// searching all texts again.
func Mentioned(phrases []Key, known func(Key) bool) []Key {
	var found []Key
	seen := map[Key]bool{}
	for _, key := range phrases {
		if !seen[key] && known(key) {
			seen[key] = true
			found = append(found, key)
		}
	}
	return found
}

// InQuestion returns the names that a question contains, in its order. Of names
// that begin at the same word only the longest counts, and none inside another:
// "Dark River (2017 film)" does not ask for "Dark River".
func InQuestion(question string, known func(Key) bool) []Key {
	var found []Key
	words := wordsOf(question)
	for i := 0; i < len(words); {
		var longest Key
		length := 0
		for p, n := range beginnings(words[i:]) {
			if known(p.Key) {
				longest, length = p.Key, n
			}
		}
		if length > 0 {
			found = append(found, longest)
		}
		i += max(length, 1)
	}
	return found
}

// Limits of the references of a text. Names that are known need no reference: they are found
// as phrases. Beyond these limits a text is a list or a table of values, or code; names that
// come later are looked for in it by a full-text search.
const (
	maxIdentifiers = 16
	maxPathKeys    = 48 // up to three for each path
)

// References returns the keys of words that look like references, whether or not they are
// names yet, each once: the first maxIdentifiers identifiers such as LD-101, and
// the first paths, whole and by their ends, with up to maxPathKeys keys.
func References(text string) []Key {
	var identifiers, paths nameList
	for word := range references(text) {
		word = strings.Trim(word, ".,:;!?-/*_")
		if len(identifiers.names) < maxIdentifiers && isIdentifier(word) {
			identifiers.add(Identifier, word)
		}
		if len(paths.names) < maxPathKeys && (strings.Contains(word, "/") || strings.Contains(word, ".") && fileName.MatchString(word)) {
			paths.addPath(word)
		}
	}
	keys := make([]Key, 0, len(identifiers.names)+len(paths.names))
	for _, name := range slices.Concat(identifiers.names, paths.names) {
		keys = append(keys, name.Key)
	}
	return keys
}

// fileName matches a file name with an extension.
var fileName = regexp.MustCompile(`^[\p{L}\d_-]+(\.[\p{L}\d_-]+)*\.\p{L}[\p{L}\d]{0,4}$`)

// references yields the words of a text that may be identifiers or paths: those with a
// digit, a dot or a slash. Most texts have few.
func references(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin, candidate := 0, false
		for at, r := range text {
			switch {
			case r >= '0' && r <= '9' || r == '.' || r == '/':
				candidate = true
			case endsReference(r):
				if candidate && !yield(text[begin:at]) {
					return
				}
				begin, candidate = at+utf8.RuneLen(r), false
			}
		}
		if candidate {
			yield(text[begin:])
		}
	}
}

// delimiters are the characters besides white space that end a reference.
const delimiters = "()[]{}<>\"'`|“”‘’«»#?=&,;"

// endsASCII says which ASCII characters end a reference.
var endsASCII = func() (ends [utf8.RuneSelf]bool) {
	for r := range ends {
		ends[r] = unicode.IsSpace(rune(r)) || strings.ContainsRune(delimiters, rune(r))
	}
	return ends
}()

func endsReference(r rune) bool {
	if r < utf8.RuneSelf {
		return endsASCII[r]
	}
	return unicode.IsSpace(r) || strings.ContainsRune(delimiters, r)
}

// word is a word of a text in the form that names are compared in.
type word struct {
	stem     []byte
	nameLike bool // in upper case or not common: a phrase with it may be a name
	capitals bool // in capitals: it may be a name of one word in capitals
	joined   bool // to the word before, by an underscore
}

func wordsOf(text string) []word {
	var words []word
	stems := make([]byte, 0, len(text))
	for token := range lexical.Tokens(text) {
		if token.Form != lexical.Pair {
			begin := len(stems)
			stems = append(stems, token.Stem...)
			words = append(words, word{stems[begin:], token.Upper || token.Rank() == lexical.Content, token.Capitals, token.Joined})
		}
	}
	return words
}

// beginnings yields the phrases that begin with the first word, the shortest
// first, with their lengths in words. A phrase neither begins nor ends inside of
// words joined by underscores: pg_stat_activity does not mention pg_stat.
func beginnings(words []word) iter.Seq2[Phrase, int] {
	return func(yield func(Phrase, int) bool) {
		hash, nameLike := emptyHash, false
		var prefix Key
		if words[0].joined {
			return
		}
		for i, w := range words[:min(maxNameWords, len(words))] {
			hash = hash.word(w.stem)
			nameLike = nameLike || w.nameLike
			whole := i+1 == len(words) || !words[i+1].joined
			if whole && i == 0 && w.capitals && !yield(Phrase{Key: Key(hash.capitals())}, 1) {
				return
			}
			if whole && nameLike && !yield(Phrase{Key(hash), prefix}, i+1) {
				return
			}
			if i+1 == prefixWords {
				prefix = Key(hash)
			}
		}
	}
}
