package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Syntax is how a question is read.
type Syntax string

// The syntaxes.
const (
	Plain Syntax = ""    // words, and phrases in quotes
	Web   Syntax = "web" // as people type into the box of a search engine, see parseWeb
)

// maxWebConditions bounds the conditions of a question in the syntax web.
const maxWebConditions = 32

// condition is what the syntax web demands of a chunk: one of the alternatives, or none of them.
type condition struct {
	without      bool
	alternatives []operand
}

// operand is a word, a phrase or the beginning of a word in a chunk, or a text in its title.
type operand struct {
	text          string
	title, prefix bool
	quoted        bool
	query         string // as a tsquery, once it is compiled; empty for one without terms
}

// String describes the operand for explain.
func (o operand) String() string {
	text := o.text
	if o.quoted {
		text = `"` + text + `"`
	}
	switch {
	case o.title:
		return "the title has " + text
	case o.prefix:
		return "a word begins with " + text
	}
	return "the text has " + text
}

// String describes the condition for explain.
func (c condition) String() string {
	parts := make([]string, len(c.alternatives))
	for n, o := range c.alternatives {
		parts[n] = o.String()
	}
	all := strings.Join(parts, ", or ")
	if c.without {
		return "not: " + all
	}
	return all
}

// parseWeb reads a question in the syntax web. text has the words to look for; what is left out is not among them.
//
//	"two words"   a phrase that chunks must have
//	-word         a word, -"two words" a phrase, -title:word a title that they must not have
//	title:word    a word, title:"two words" a text that their title must contain
//	word*         the beginning of a word that they must have
//	a OR b        one of the two; also | between them
//
// Whatever else is typed is words: nothing is an error of syntax. Errors: Invalid beyond maxWebConditions.
func parseWeb(question string) (text string, conditions []condition, err error) {
	var words []string
	const none = -1
	last, lastWord := none, none // what OR joins with: a condition, or else a plain word
	or := false
	for rest := strings.TrimSpace(question); rest != ""; rest = strings.TrimSpace(rest) {
		part, after := nextPart(rest)
		rest = after
		switch {
		case part.or:
			or = last != none || lastWord != none
			continue
		case part.text == "":
			continue
		case !part.without:
			words = append(words, part.text)
		}
		switch {
		case or && !part.without && (last == none || !conditions[last].without):
			if last == none { // the word before becomes a condition
				conditions = append(conditions, condition{alternatives: []operand{{text: words[lastWord]}}})
				last = len(conditions) - 1
			}
			conditions[last].alternatives = append(conditions[last].alternatives, part.operand)
		case part.without || part.title || part.prefix || part.quoted:
			conditions = append(conditions, condition{part.without, []operand{part.operand}})
			last, lastWord = len(conditions)-1, none
		default:
			last, lastWord = none, len(words)-1
		}
		or = false
	}
	count := 0
	for _, c := range conditions {
		count += len(c.alternatives)
	}
	if count > maxWebConditions {
		return "", nil, fault.Field("queryText", "has %d phrases, exclusions and alternatives, over the limit of %d: ask for fewer, or leave querySyntax out", count, maxWebConditions)
	}
	return strings.Join(words, " "), conditions, nil
}

// webPart is one part of a question in the syntax web.
type webPart struct {
	operand

	without, or bool
}

// nextPart cuts the first part off a text that does not begin with space.
func nextPart(rest string) (part webPart, after string) {
	if word, more := cutWord(rest); word == "OR" || word == "|" {
		return webPart{or: true}, more
	}
	if len(rest) > 1 && rest[0] == '-' && rest[1] != ' ' && rest[1] != '-' {
		part.without, rest = true, rest[1:]
	}
	if after, ok := strings.CutPrefix(rest, "title:"); ok && after != "" && after[0] != ' ' {
		part.title, rest = true, after
	}
	for _, quotes := range [][2]string{{`"`, `"`}, {"“", "”"}} {
		inner, ok := strings.CutPrefix(rest, quotes[0])
		if !ok {
			continue
		}
		if phrase, after, closed := strings.Cut(inner, quotes[1]); closed {
			part.text, part.quoted = strings.TrimSpace(phrase), true
			return part, after
		}
		rest = inner // a quote that is not closed
	}
	word, after := cutWord(rest)
	if before, ok := strings.CutSuffix(word, "*"); ok && before != "" && !part.title {
		word, part.prefix = before, true
	}
	part.text = word
	return part, after
}

// cutWord returns what comes before the first space, and what after.
func cutWord(text string) (word, after string) {
	if n := strings.IndexFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\u00a0\u3000", r) }); n >= 0 {
		return text[:n], text[n:]
	}
	return text, ""
}

// readSyntax replaces a question in the syntax web by its words and conditions. Errors: Invalid.
func (p *prepared) readSyntax(syntax Syntax) (err error) {
	switch syntax {
	case Plain:
		return nil
	case Web:
	default:
		return fault.Field("querySyntax", "unknown value %q; leave it out, or give web", textlimit.Shorten(string(syntax), 100))
	}
	if p.text, p.conditions, err = parseWeb(p.text); err != nil {
		return err
	}
	if p.text == "" && len(p.conditions) > 0 && len(p.vector) == 0 && p.like == nil {
		return fault.Field("queryText", "says only what to leave out: add what to look for")
	}
	return nil
}

// compile returns the conditions with their tsqueries for an index, without those that have no terms, such as punctuation, and
// the warnings that say so.
func compile(ctx context.Context, h *data.Handle, i index.Index, conditions []condition) (compiled []condition, warnings []string, err error) {
	var texts, made []string
	languages := i.AskedLanguages(i.Languages)
	for _, c := range conditions {
		for _, o := range c.alternatives {
			texts, made = append(texts, o.text), append(made, analyzer.Phrase(o.text, languages))
		}
	}
	queries, err := data.Select[struct{ Query string }](ctx, h, compileSQL(i), texts, made)
	if err != nil {
		return nil, nil, fmt.Errorf("compile the conditions of a question: %w", err)
	}
	for _, c := range conditions {
		kept := condition{without: c.without}
		for _, o := range c.alternatives {
			o.query, queries = queries[0].Query, queries[1:]
			if o.prefix {
				o.query = beginsWith(o.text, o.query)
			}
			if o.query == "" && !o.title {
				warnings = append(warnings, fmt.Sprintf("%q has no word that is searched for, and was left out", textlimit.Shorten(o.text, maxShownPhrase)))
				continue
			}
			kept.alternatives = append(kept.alternatives, o)
		}
		if len(kept.alternatives) > 0 {
			compiled = append(compiled, kept)
		}
	}
	return compiled, warnings, nil
}

// compileSQL returns the statement of the tsqueries of texts $1, of which package analyzer has made $2, in their order.
func compileSQL(i index.Index) string {
	return `SELECT coalesce((` + i.PhraseSQL("t.text", "t.made") + `)::text, '') AS query
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS t (text, made, n)
ORDER BY t.n`
}

// beginsWith returns the tsquery of texts with a word that begins with a text, or that has the same stem.
func beginsWith(text, stemmed string) string {
	begins := []string{analyzer.Quote(analyzer.Fold(text)) + ":*"}
	if lower := analyzer.Quote(strings.ToLower(text)) + ":*"; !slices.Contains(begins, lower) {
		begins = append(begins, lower)
	}
	if stemmed != "" {
		begins = append(begins, "("+stemmed+")")
	}
	return strings.Join(begins, " | ")
}

// conditionSQL returns the conditions on a chunk c, with AND before each.
func conditionSQL(conditions []condition, args *filter.Args) string {
	var b strings.Builder
	for _, c := range conditions {
		parts := make([]string, len(c.alternatives))
		for n, o := range c.alternatives {
			if o.title {
				parts[n] = "strpos(lower(c.title), lower(" + args.Add(o.text) + "::text)) > 0"
			} else {
				parts[n] = "c.terms @@ " + args.Add(o.query) + "::text::tsquery"
			}
		}
		all := strings.Join(parts, " OR ")
		if c.without {
			b.WriteString(" AND NOT coalesce(" + all + ", false)")
		} else {
			b.WriteString(" AND (" + all + ")")
		}
	}
	return b.String()
}
