package openai

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Answers of passagesModel.
const (
	likely        = 0.5 // of the calibrated scores: from here on a passage answers rather than not
	possible      = 0.3
	maxPassages   = 3
	maxExtract    = 480 // bytes of the sentences of one passage
	minExtract    = 60  // bytes; the next sentence follows a shorter one
	passagesFound = 10
)

// What an answer without a sure passage says.
const (
	noPassage   = "The documents have no passage that answers this."
	onlyPerhaps = "No passage answers this for certain. The closest one:"
)

// passages answers with the sentences that match a question best, out of the passages that do. It needs no chat
// model, and looks at the last message of the user alone.
func (h *Handler) passages(ctx context.Context, c *conversation, indexName string) (*utterance, error) {
	switch {
	case len(c.tools) > 0:
		return nil, fault.Field("tools", "are not called by the model passages, which only extracts: leave them out, or ask an agent")
	case c.thread != "":
		return nil, fault.Field("conversation", "has no place with the model passages, which looks at the last message alone")
	case c.asked == "":
		return nil, fault.Field(c.field, "has no message of the user")
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	found, err := h.config.API.VectorQuery(ctx, &ragdv1.VectorQueryRequest{
		QueryText: c.asked, IndexName: indexName, TopK: proto.Int32(passagesFound), Highlight: true,
	})
	if err != nil {
		if fault.KindOf(err) == fault.NotFound && indexName != "" {
			return nil, unknownModel(fault.New(fault.NotFound, "model %q: there is no index %q", shorten(c.model), shorten(indexName)))
		}
		return nil, fault.Rename("queryText", c.field, fault.Rename("indexName", "model", err))
	}
	said := extract(found.GetSources())
	said.input, said.output = tokensOf([]string{c.asked}), tokensOf([]string{said.text})
	return said, nil
}

// extract returns the answer that sources give, best first.
func extract(sources []*ragdv1.Source) *utterance {
	said := &utterance{text: noPassage, citations: []agent.Citation{}}
	if len(sources) == 0 || sources[0].GetScore() < possible {
		return said
	}
	var texts []string
	if sources[0].GetScore() < likely {
		sources, texts = sources[:1], []string{onlyPerhaps}
	}
	weights := weigh(sources)
	known := map[string]bool{}
	for i, s := range sources {
		if len(said.citations) == maxPassages || i > 0 && s.GetScore() < likely {
			break
		}
		text := extractOf(s, weights)
		if text == "" || known[text] {
			continue
		}
		known[text] = true
		n := len(said.citations) + 1
		said.citations = append(said.citations, agent.Citation{
			Number: n, URI: s.GetUri(), DocumentID: s.GetDocumentId(), Title: s.GetTitle(), StartByte: s.GetStartByte(), EndByte: s.GetEndByte(), Text: s.GetDocument(),
		})
		texts = append(texts, text+markerOf(n, text))
	}
	if len(said.citations) > 0 {
		said.text = strings.Join(texts, "\n\n")
	}
	return said
}

// markerOf returns the marker of citation n below a text, which may end with a row of a table.
func markerOf(n int, text string) string {
	if strings.HasSuffix(text, "|") {
		return fmt.Sprintf("\n\n[%d]", n)
	}
	return fmt.Sprintf(" [%d]", n)
}

// weigh returns the weight of each word that matches, more if fewer of the sources have it.
func weigh(sources []*ragdv1.Source) map[string]float64 {
	counts := map[string]float64{}
	for _, s := range sources {
		for word := range wordsIn(s, 0, len(s.GetDocument())) {
			counts[word]++
		}
	}
	for word, count := range counts {
		counts[word] = 1 + math.Log(float64(len(sources))/count)
	}
	return counts
}

// wordsIn returns the words of the question in bytes from to to of a source.
func wordsIn(s *ragdv1.Source, from, to int) map[string]bool {
	words := map[string]bool{}
	for _, m := range s.GetHighlight().GetMatches() {
		if int(m.GetStartByte()) >= from && int(m.GetEndByte()) <= to {
			words[strings.ToLower(s.GetDocument()[m.GetStartByte():m.GetEndByte()])] = true
		}
	}
	return words
}

// extractOf returns the sentences of a source whose words weigh most: the best one, the one that adds most to
// it, and what follows a short one, in their order.
func extractOf(s *ragdv1.Source, weights map[string]float64) string {
	all := sentencesOf(s.GetDocument())
	if len(all) == 0 {
		return ""
	}
	taken, seen := []int{}, map[string]bool{}
	gain := func(i int) (sum float64) {
		for word := range wordsIn(s, all[i].start, all[i].end) {
			if !seen[word] {
				sum += weights[word]
			}
		}
		return sum
	}
	size := 0
	take := func(i int) {
		taken = append(taken, i)
		size += all[i].end - all[i].start
		for word := range wordsIn(s, all[i].start, all[i].end) {
			seen[word] = true
		}
	}
	for range 2 {
		best, most := -1, 0.0
		for i := range all {
			if g := gain(i); !slices.Contains(taken, i) && g > most && (size == 0 || size+all[i].end-all[i].start <= maxExtract) {
				best, most = i, g
			}
		}
		if best < 0 {
			break
		}
		take(best)
	}
	if len(taken) == 0 { // found by its meaning: no word matches
		take(0)
	}
	list := false // announced by the sentence before it
	for next := slices.Max(taken) + 1; next < len(all) && size+all[next].end-all[next].start <= maxExtract; next++ {
		list = all[next].item && (list || strings.HasSuffix(s.GetDocument()[:all[next-1].end], ":"))
		if !list && (size >= minExtract || all[next].item) {
			break
		}
		take(next)
	}
	slices.Sort(taken)
	return all.text(s.GetDocument(), taken)
}

// span is a sentence or an item of a list: bytes start to end of a text.
type span struct {
	start, end int
	item       bool
}

type spans []span

// text returns the sentences as one text, items on lines of their own.
func (all spans) text(of string, taken []int) string {
	var b strings.Builder
	for n, i := range taken {
		switch {
		case n == 0:
		case all[i].item:
			b.WriteString("\n")
		case taken[n-1] != i-1:
			b.WriteString(" … ")
		default:
			b.WriteString(" ")
		}
		b.WriteString(strings.Join(strings.Fields(textlimit.Shorten(of[all[i].start:all[i].end], maxExtract)), " "))
	}
	return b.String()
}

var enders = sentence.Default()

// sentencesOf returns the sentences of a text without headings. Lines of a paragraph belong together; items of
// lists and rows of tables stand for themselves.
func sentencesOf(text string) (all spans) {
	for start := 0; start < len(text); {
		end := endOfLine(text, start)
		line := strings.TrimSpace(text[start:end])
		switch {
		case line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "```"):
			start = end + 1
			continue
		case isItem(line):
		default:
			for end < len(text) { // the paragraph
				next := endOfLine(text, end+1)
				if l := strings.TrimSpace(text[min(end+1, len(text)):next]); l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "```") || isItem(l) {
					break
				}
				end = next
			}
		}
		from, item := start, isItem(line)
		for from < end {
			from += len(text[from:end]) - len(strings.TrimLeft(text[from:end], " \t\r\n"))
			if from == end {
				break
			}
			to := end
			if !item {
				to = enders.End(text, from, end)
			}
			all = append(all, span{from, from + len(strings.TrimRight(text[from:to], " \t\r\n")), item})
			from = to
		}
		start = end + 1
	}
	return all
}

func endOfLine(text string, from int) int {
	if from >= len(text) {
		return len(text)
	}
	if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(text)
}

// isItem reports whether a line is an item of a list or a row of a table.
func isItem(line string) bool {
	if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "|") {
		return true
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	return digits > 0 && digits < 4 && strings.HasPrefix(line[digits:], ". ")
}
