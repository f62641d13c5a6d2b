package analyzer

import "slices"

// Informative returns what a question asks without its stop words, unless it has nothing else.
func Informative(asked []Asked) []Asked {
	if telling := slices.DeleteFunc(slices.Clone(asked), func(a Asked) bool { return a.Stop }); len(telling) > 0 {
		return telling
	}
	return asked
}

// Finder finds the words of a question in texts. It is not safe for concurrent use.
type Finder struct {
	analyzers []*Analyzer
	words     map[string]int // the number of the word that a term stands for
	known     map[string]int // the same for tokens of texts; -1 for none
}

// NewFinder returns a Finder for a question about texts in any of the languages.
func NewFinder(question string, languages []string) *Finder {
	f := &Finder{analyzers: analyzersOf(languages), words: map[string]int{}, known: map[string]int{}}
	for number, asked := range Informative(Question(question, languages)) {
		for _, term := range asked.Terms {
			if _, ok := f.words[term]; !ok {
				f.words[term] = number
			}
		}
	}
	return f
}

// Find calls each for every word of the question in a text, with its number and the bytes where it stands, in
// their order but for several words written as one, which follow them.
func (f *Finder) Find(text string, each func(word, start, end int)) {
	scan(text, func(t token) {
		word, ok := f.known[t.text]
		if !ok {
			word = f.wordOf(t)
			f.known[t.text] = word
		}
		if word >= 0 {
			each(word, t.start, t.end)
		}
	})
}

func (f *Finder) wordOf(t token) int {
	for _, by := range f.analyzers {
		for _, term := range by.asked(t) {
			if word, ok := f.words[term]; ok {
				return word
			}
		}
	}
	return -1
}
