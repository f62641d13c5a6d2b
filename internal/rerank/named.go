package rerank

import (
	"context"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query/lexical"
)

// maxNameWords bounds the words of a title. Longer titles are not looked for.
const maxNameWords = 12

// names is a trie of the titles of texts, with a level for each word.
type names struct {
	next  map[string]*names // by the stem of the next word
	upper bool              // whether all titles through this node begin in upper case
	texts []int             // the texts whose title ends at this node
}

// readNames returns the trie of the titles that can be recognised in a text: those of
// at most maxNameWords words with at least one that is not common and not a number.
func readNames(titles []string) *names {
	root := &names{}
	for i, title := range titles {
		var words []string
		telling, upper := false, false
		for token := range lexical.Tokens(withoutAside(title)) {
			if token.Form == lexical.Pair {
				continue
			}
			upper = upper || len(words) == 0 && token.Upper
			words = append(words, string(token.Stem))
			telling = telling || token.Rank() == lexical.Content && strings.Trim(string(token.Stem), "0123456789") != ""
		}
		if telling && len(words) <= maxNameWords {
			root.add(words, upper, i)
		}
	}
	return root
}

// withoutAside returns a title without a final note in brackets, such as that of "Dark
// River (2017 film)".
func withoutAside(title string) string {
	if before, _, ok := strings.Cut(title, " ("); ok && strings.HasSuffix(title, ")") {
		return before
	}
	return title
}

func (n *names) add(words []string, upper bool, text int) {
	for _, word := range words {
		if n.next == nil {
			n.next = map[string]*names{}
		}
		if n.next[word] == nil {
			n.next[word] = &names{upper: upper}
		}
		n = n.next[word]
		n.upper = n.upper && upper
	}
	n.texts = append(n.texts, text)
}

// in calls found once for each text whose title occurs in text, however often it
// occurs.
func (n *names) in(text string, found func(text int)) {
	var begun, next []*names // nodes of the titles that the words so far begin
	ended := map[*names]bool{}
	for token := range lexical.Tokens(text) {
		if token.Form == lexical.Pair {
			continue
		}
		next = next[:0]
		for _, at := range begun {
			if at = at.next[string(token.Stem)]; at != nil {
				next = append(next, at)
			}
		}
		if at := n.next[string(token.Stem)]; at != nil && (token.Upper || !at.upper) {
			next = append(next, at)
		}
		for _, at := range next {
			if len(at.texts) == 0 || ended[at] {
				continue
			}
			ended[at] = true
			for _, i := range at.texts {
				found(i)
			}
		}
		begun, next = next, begun
	}
}

// named returns for each text the greatest score of another text that mentions its
// title, or 0 if there is none. It stops early when the context ends.
func named(ctx context.Context, t task, scores []float64) []float64 {
	tree := readNames(t.titles)
	best := make([]float64, len(t.texts))
	for i, text := range t.texts {
		if limit.Yield(ctx) != nil {
			break
		}
		tree.in(text, func(other int) {
			if t.titles[other] != t.titles[i] {
				best[other] = max(best[other], scores[i])
			}
		})
	}
	return best
}
