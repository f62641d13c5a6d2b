package graph

import (
	"bytes"
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
	words := wordsOf(text)
	keys := make([]Key, 0, maxNameWords*len(words))
	for i := range words {
		for key := range beginning(words[i:]) {
			keys = append(keys, key)
		}
	}
	return keys
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
		for key, n := range beginning(words[i:]) {
			if known(key) {
				longest, length = key, n
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
		if identifier.MatchString(word) {
			names.add(Identifier, word)
		}
		if strings.Contains(word, "/") || fileName.MatchString(word) {
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
	for token := range lexical.Tokens(text) {
		if token.Form != lexical.Pair {
			words = append(words, word{bytes.Clone(token.Stem), token.Upper || token.Rank() == lexical.Content})
		}
	}
	return words
}

// beginning yields the phrases that begin with the first word, with their
// lengths in words, the shortest first.
func beginning(words []word) func(yield func(Key, int) bool) {
	return func(yield func(Key, int) bool) {
		hash, nameLike := emptyHash, false
		for i, w := range words[:min(maxNameWords, len(words))] {
			hash = hash.word(w.stem)
			nameLike = nameLike || w.nameLike
			if nameLike && !yield(Key(hash), i+1) {
				return
			}
		}
	}
}
