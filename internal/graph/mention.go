package graph

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/ragdhq/ragd/internal/lexical"
)

// Phrases returns the keys of all sequences of up to ten words of a text that
// might be names: at most ten for each word, so time and memory are linear in
// the text. Common words alone count only where they are written as names are,
// one of them in upper case. A key may come more than once.
func Phrases(text string) []Key {
	phrases := phrasesOf(text)
	keys := make([]Key, len(phrases))
	for i, p := range phrases {
		keys[i] = p.key
	}
	return keys
}

// phrase is a sequence of words that might be a name.
type phrase struct {
	key Key
	// prefix is the key of the first prefixWords words, 0 if there are no more.
	prefix Key
}

// prefixWords is how many words decide whether longer names are looked for. Most
// sequences of words begin no name, and texts share short sequences: looking
// long ones up only where a name begins so asks for a sixth of them.
const prefixWords = 2

func phrasesOf(text string) []phrase {
	words := wordsOf(text)
	phrases := make([]phrase, 0, maxNameWords*len(words))
	for i := range words {
		for p := range beginning(words[i:]) {
			phrases = append(phrases, p)
		}
	}
	return phrases
}

// Mentions returns the phrases of a text that are known names, each once, in the
// order of the text. Names inside of longer names count as well: what a text
// mentions must not depend on what else is known, so that a name can come and go
// without looking at all texts again.
func Mentions(phrases []Key, known func(Key) bool) []Key {
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

// Named returns the names that a question says, in its order: of those that
// begin together the longest, and none inside of another. Who asks for "Dark
// River (2017 film)" does not ask for "Dark River".
func Named(question string, known func(Key) bool) []Key {
	var found []Key
	words := wordsOf(question)
	for i := 0; i < len(words); {
		var longest Key
		length := 0
		for p, n := range beginning(words[i:]) {
			if known(p.key) {
				longest, length = p.key, n
			}
		}
		if length > 0 {
			found = append(found, longest)
		}
		i += max(length, 1)
	}
	return found
}

// References returns the keys of what looks like a reference in a text whatever
// it refers to, each once: words that are identifiers, such as LD-101, and
// paths, whole and by their ends.
func References(text string) []Key {
	var names nameList
	for _, word := range strings.FieldsFunc(text, endsReference) {
		word = strings.Trim(word, ".,:;!?-/*_")
		if isIdentifier(word) {
			names.add(Identifier, word)
		}
		if strings.Contains(word, "/") || strings.Contains(word, ".") && fileName.MatchString(word) {
			names.addPath(word)
		}
	}
	keys := make([]Key, len(names.names))
	for i, name := range names.names {
		keys[i] = name.Key
	}
	return keys
}

// fileName is a name with an extension.
var fileName = regexp.MustCompile(`^[\p{L}\d_-]+(\.[\p{L}\d_-]+)*\.\p{L}[\p{L}\d]{0,4}$`)

func endsReference(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("()[]{}<>\"'`|“”‘’«»#?=&,;", r)
}

// word is a word as names see it.
type word struct {
	stem []byte
	// nameLike is whether it makes a phrase a possible name.
	nameLike bool
}

func wordsOf(text string) []word {
	var words []word
	stems := make([]byte, 0, len(text))
	for token := range lexical.Tokens(text) {
		if token.Form != lexical.Pair {
			begin := len(stems)
			stems = append(stems, token.Stem...)
			words = append(words, word{stems[begin:], token.Upper || token.Rank() == lexical.Content})
		}
	}
	return words
}

// beginning yields the phrases that begin with the first word, with their
// lengths in words, the shortest first.
func beginning(words []word) func(yield func(phrase, int) bool) {
	return func(yield func(phrase, int) bool) {
		hash, nameLike := emptyHash, false
		var prefix Key
		for i, w := range words[:min(maxNameWords, len(words))] {
			hash = hash.word(w.stem)
			nameLike = nameLike || w.nameLike
			if nameLike && !yield(phrase{Key(hash), prefix}, i+1) {
				return
			}
			if i+1 == prefixWords {
				prefix = Key(hash)
			}
		}
	}
}
