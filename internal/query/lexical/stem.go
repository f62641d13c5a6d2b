package lexical

import "bytes"

// stem returns the word without the most common English endings: plurals, -ing, -ed,
// -ly and a final e. It keeps at least three letters, one of them a vowel. Stems are
// meant to be equal for related words ("stories" and "story", "hoping" and "hope"), not
// to be linguistically correct. The word is not changed; the stem may share its memory.
func stem(word []byte) []byte {
	if len(word) < 4 {
		return word
	}
	word = cutPlural(word)
	switch {
	case bytes.HasSuffix(word, []byte("ing")):
		word = cutVerb(word, 3)
	case bytes.HasSuffix(word, []byte("ed")):
		word = cutVerb(word, 2)
	case bytes.HasSuffix(word, []byte("ly")) && len(word) > 5:
		word = word[:len(word)-2]
	}
	if n := len(word); n > 4 && word[n-1] == 'e' {
		word = word[:n-1]
	}
	return word
}

func cutPlural(word []byte) []byte {
	n := len(word)
	if word[n-1] != 's' {
		return word
	}
	switch {
	case n > 4 && bytes.HasSuffix(word, []byte("ies")):
		// A copy, because the caller still reads the whole word.
		return append(append(make([]byte, 0, n), word[:n-3]...), 'y')
	case bytes.HasSuffix(word, []byte("sses")):
		return word[:n-2]
	case n > 5 && (bytes.HasSuffix(word, []byte("xes")) || bytes.HasSuffix(word, []byte("zes")) ||
		bytes.HasSuffix(word, []byte("ches")) || bytes.HasSuffix(word, []byte("shes"))):
		return word[:n-2]
	case word[n-2] == 's', word[n-2] == 'u', word[n-2] == 'i':
		return word // glass, virus, basis
	}
	return word[:n-1]
}

// cutVerb removes the last n bytes and then one letter of a doubled consonant, as in
// "stopped" and "stop".
func cutVerb(word []byte, n int) []byte {
	root := word[:len(word)-n]
	if len(root) < 3 || !bytes.ContainsAny(root, "aeiouy") {
		return word
	}
	m := len(root)
	if m > 3 && root[m-1] == root[m-2] && root[m-1] != 'l' && root[m-1] != 's' && root[m-1] != 'z' {
		root = root[:m-1]
	}
	return root
}
