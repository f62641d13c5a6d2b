package quickstart

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// What is read of an index to draw a question.
const (
	drawnDocuments = 30
	drawnChunks    = 20 // of a document
)

// draw returns a question that the documents of an index answer: a heading or a sentence of theirs.
func draw(ctx context.Context, c *client.Client, index string) (string, error) {
	page, err := c.Documents.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: index, Status: "ready", PageSize: drawnDocuments, OrderBy: "uri"})
	if err != nil {
		return "", err
	}
	var texts []string
	for _, document := range page.GetDocuments() {
		chunks, err := c.Documents.ListChunks(ctx, &ragdv1.ListChunksRequest{IndexName: index, DocumentId: document.GetDocumentId(), PageSize: drawnChunks})
		if err != nil {
			return "", err
		}
		for _, chunk := range chunks.GetChunks() {
			texts = append(texts, chunk.GetText())
		}
	}
	question := choose(texts)
	if question == "" {
		return "", fmt.Errorf("the documents of index %s have no text to ask about", index)
	}
	return question, nil
}

// A question has this many words.
const (
	fewestWords = 3
	mostWords   = 14
)

// aloneWeight is what a word counts that one text alone has.
const aloneWeight = 0.1

// choose returns what to ask about texts: the heading that says most, a question before others,
// else the sentence that says most, else the beginning of the first text. Words that few of the texts have say most, but one
// that no other has, such as the name of an author, says little. It is the same for the same texts.
func choose(texts []string) string {
	frequency := map[string]int{} // texts that have a word
	for _, text := range texts {
		for _, word := range distinct(text) {
			frequency[word]++
		}
	}
	weigh := func(candidate string) float64 {
		weight := 0.0
		for _, word := range distinct(candidate) {
			if n := frequency[word]; n > 1 {
				weight += 1 / float64(n)
			} else {
				weight += aloneWeight
			}
		}
		if strings.HasSuffix(candidate, "?") {
			weight += mostWords
		}
		return weight
	}
	for _, candidates := range []func(string) []string{headings, sentences} {
		var all []string
		for _, text := range texts {
			all = append(all, candidates(text)...)
		}
		if len(all) > 0 {
			return slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(weigh(a), weigh(b)) })
		}
	}
	for _, text := range texts {
		if words := strings.Fields(text); len(words) > 0 {
			return strings.Join(words[:min(len(words), mostWords)], " ")
		}
	}
	return ""
}

var (
	markup  = regexp.MustCompile("[*_`]+|!?\\[([^\\]]*)\\]\\([^)]*\\)|<[^>]*>")
	fences  = regexp.MustCompile("(?ms)^(```|~~~).*?^(```|~~~)[^\n]*$")
	between = regexp.MustCompile(`[.!?]\s+|\n\s*\n`)
)

// plain returns a line without the markup of Markdown.
func plain(line string) string {
	line = markup.ReplaceAllString(line, "$1")
	return strings.Join(strings.Fields(markup.ReplaceAllString(line, "$1")), " ") // once more within the text of links
}

// headings returns the headings of Markdown in a text that may be asked.
func headings(text string) []string {
	var found []string
	for line := range strings.Lines(fences.ReplaceAllString(text, "")) {
		line = strings.TrimSpace(line)
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		if title = plain(strings.TrimRight(title, "# ")); isAskable(title) {
			found = append(found, title)
		}
	}
	return found
}

// sentences returns the sentences of a text that may be asked.
func sentences(text string) []string {
	var found []string
	text = fences.ReplaceAllString(text, "\n")
	start := 0
	add := func(sentence string) {
		if sentence = plain(sentence); isAskable(sentence) {
			found = append(found, sentence)
		}
	}
	for _, end := range between.FindAllStringIndex(text, -1) {
		add(text[start : end[0]+1])
		start = end[1]
	}
	add(text[start:])
	return found
}

// isAskable reports whether a text has words enough, and mainly words.
func isAskable(text string) bool {
	words := strings.Fields(text)
	if len(words) < fewestWords || len(words) > mostWords {
		return false
	}
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) || r == ' ' {
			letters++
		}
	}
	const most = 0.8
	return float64(letters) > most*float64(utf8.RuneCountInString(text)) && len(distinct(text)) >= fewestWords-1
}

// shortWord is the length in letters of words that mostly say nothing alone.
const shortWord = 3

// distinct returns the longer words of a text, each once, in lower case.
func distinct(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	words = slices.DeleteFunc(words, func(word string) bool { return utf8.RuneCountInString(word) <= shortWord })
	slices.Sort(words)
	return slices.Compact(words)
}
