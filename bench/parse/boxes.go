package main

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
)

// leastSentence is the size of the shortest sentence that is drawn, in bytes.
const leastSentence = 40

// drawn is a sentence of a chunk, with the chunk as it is located.
type drawn struct {
	passage  pdftext.Passage
	sentence string
}

// boxCounts are what measureBoxes adds up.
type boxCounts struct {
	sentences, whole int // whole: the letters in the boxes are those of the sentence, and no others
	words, letters   agreement
	times            []time.Duration // to locate one sentence in a file, which is opened for it
}

// agreement counts the words or letters of sentences, those of them in the boxes, and others in the boxes. Words are
// what people read; letters do not depend on where a formula is taken to have gaps.
type agreement struct{ want, found, other int }

func (a *agreement) compare(want, got []string) (same bool) {
	found := common(want, got)
	a.want, a.found, a.other = a.want+len(want), a.found+found, a.other+len(got)-found
	return found == len(want) && found == len(got)
}

func (a *agreement) add(other agreement) {
	a.want, a.found, a.other = a.want+other.want, a.found+other.found, a.other+other.other
}

func (a agreement) String() string {
	return fmt.Sprintf("%6d, %6.2f%% found, %5.2f%% others", a.want, 100*float64(a.found)/float64(a.want), 100*float64(a.other)/float64(a.want))
}

// measureBoxes draws sentences of PDF files, evenly from the chunks of each, has them located, and compares their words
// with those that poppler finds in the boxes: those whose middle is in one.
func measureBoxes(args []string) error {
	flags := flag.NewFlagSet("boxes", flag.ContinueOnError)
	most := flags.Int("sentences", 500, "sentences of all files together")
	show := flags.Int("show", 0, "show so many sentences whose words are not those in their boxes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	paths := flags.Args()
	if len(paths) == 0 {
		return errors.New("usage: parse boxes [-sentences N] [-show N] FILE.pdf [FILE.pdf]")
	}
	var all boxCounts
	for i, path := range paths {
		share := *most*(i+1)/len(paths) - *most*i/len(paths)
		counts, err := measureFile(path, share, show)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			continue
		}
		fmt.Printf("%-60.60s %s\n", path[max(0, len(path)-60):], counts)
		all.add(counts)
	}
	fmt.Printf("%-60s %s\n", "all", all)
	return nil
}

func (c *boxCounts) add(other boxCounts) {
	c.sentences, c.whole = c.sentences+other.sentences, c.whole+other.whole
	c.words.add(other.words)
	c.letters.add(other.letters)
	c.times = append(c.times, other.times...)
}

func (c boxCounts) String() string {
	if len(c.times) == 0 {
		return "no sentences"
	}
	times := slices.Sorted(slices.Values(c.times))
	return fmt.Sprintf("%4d sentences, %5.1f%% whole; words %v; letters %v; %v p50, %v p95", c.sentences, 100*float64(c.whole)/float64(c.sentences), c.words, c.letters,
		times[len(times)/2].Round(time.Millisecond), times[len(times)*95/100].Round(time.Millisecond))
}

func measureFile(path string, share int, show *int) (counts boxCounts, err error) {
	ctx := context.Background()
	content, err := os.ReadFile(path)
	if err != nil {
		return counts, err
	}
	sentences, err := draw(ctx, path, content, share)
	if err != nil {
		return counts, err
	}
	pages, err := popplerWords(ctx, path)
	if err != nil {
		return counts, err
	}
	for _, s := range sentences {
		began := time.Now()
		located, err := pdftext.Locate(ctx, content, []pdftext.Passage{s.passage})
		if err != nil {
			return counts, err
		}
		counts.times = append(counts.times, time.Since(began))
		want, got := words(s.sentence), words(textIn(pages, located[0][0]))
		counts.sentences++
		counts.words.compare(want, got)
		if counts.letters.compare(lettersOf(want), lettersOf(got)) {
			counts.whole++
			continue
		}
		if *show > 0 {
			*show--
			fmt.Printf("  want %q\n  got  %q\n", want, got)
		}
	}
	return counts, nil
}

// lettersOf returns the letters of words.
func lettersOf(words []string) []string { return strings.Split(strings.Join(words, ""), "") }

// common returns the number of words of both lists, each as often as both have it.
func common(a, b []string) (n int) {
	counts := count(b)
	for _, word := range a {
		if counts[word] > 0 {
			counts[word]--
			n++
		}
	}
	return n
}

// draw returns so many sentences of a file, evenly from those of all its chunks, which are made as they are for a search.
func draw(ctx context.Context, path string, content []byte, share int) (sentences []drawn, err error) {
	doc, err := parse.Parse(ctx, parse.Source{Content: content, FileName: path})
	if err != nil {
		return nil, err
	}
	options, err := chunk.Settings{}.RetrievalOptions(doc.ContentType, path)
	if err != nil {
		return nil, err
	}
	chunks, err := chunk.Split(ctx, doc.Text, options)
	if err != nil {
		return nil, err
	}
	enders, spans := sentence.Default(), doc.SpanIndex()
	var all []drawn
	for _, c := range chunks {
		position := spans.Metadata(c.StartByte, c.EndByte)
		first, ok := position[string(parse.Page)].(int)
		if !ok {
			continue
		}
		last := first
		if end, ok := position[string(parse.Page)+"End"].(int); ok {
			last = end
		}
		for _, part := range sentencesOf(enders, c.Text) {
			all = append(all, drawn{pdftext.Passage{Text: c.Text, First: first, Last: last, Parts: []pdftext.Part{part}}, c.Text[part.Start:part.End]})
		}
	}
	for i := range min(share, len(all)) {
		sentences = append(sentences, all[(2*i+1)*len(all)/(2*min(share, len(all)))])
	}
	return sentences, nil
}

// sentencesOf returns the sentences of the paragraphs of a text, and the rows of its tables.
func sentencesOf(enders *sentence.Enders, text string) (parts []pdftext.Part) {
	for start := 0; start < len(text); {
		end := len(text)
		if n := strings.Index(text[start:], "\n\n"); n >= 0 {
			end = start + n
		}
		isTable := strings.HasPrefix(text[start:], "| ")
		for at := start; at < end; {
			to := end
			if isTable {
				if n := strings.IndexByte(text[at:end], '\n'); n >= 0 {
					to = at + n + 1
				}
			} else {
				to = enders.End(text, at, end)
			}
			if to <= at {
				to = end
			}
			if piece := text[at:to]; len(strings.TrimSpace(piece)) >= leastSentence && !strings.Contains(piece, "| --- |") {
				parts = append(parts, pdftext.Part{Start: at, End: to})
			}
			at = to
		}
		start = end + 2
	}
	return parts
}

// wordBox is a word that poppler finds, with a space, or a character of one, and its middle, in points from the top left
// corner of the page.
type wordBox struct {
	text string
	x, y float64
}

// popplerWords returns the words of each page.
func popplerWords(ctx context.Context, path string) (pages [][]wordBox, err error) {
	out, err := exec.CommandContext(ctx, "pdftotext", "-bbox", "-cropbox", path, "-").Output()
	if err != nil {
		return nil, fmt.Errorf("pdftotext: %w", err)
	}
	printable := func(r rune) rune { // pdftotext writes characters that XML does not have
		if r < ' ' && r != '\n' || r == unicode.ReplacementChar || r >= 0xfffe && r <= 0xffff {
			return -1
		}
		return r
	}
	decoder := xml.NewDecoder(strings.NewReader(strings.Map(printable, string(out))))
	decoder.Strict = false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return pages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read what pdftotext writes: %w", err)
		}
		start, ok := token.(xml.StartElement)
		switch {
		case ok && start.Name.Local == "page":
			pages = append(pages, nil)
		case ok && start.Name.Local == "word":
			var text string
			if err := decoder.DecodeElement(&text, &start); err != nil {
				return nil, fmt.Errorf("read what pdftotext writes: %w", err)
			}
			at := map[string]float64{}
			for _, a := range start.Attr {
				at[a.Name.Local], _ = strconv.ParseFloat(a.Value, 64)
			}
			last := len(pages) - 1
			pages[last] = append(pages[last], boxesOf(text, at["xMin"], at["xMax"], (at["yMin"]+at["yMax"])/2)...)
		}
	}
}

// boxesOf returns a word, or the characters of one in a script without spaces, where such a word is a line: they are as
// wide as each other.
func boxesOf(text string, from, to, y float64) (boxes []wordBox) {
	isWide := func(r rune) bool { return r >= 0x2e80 }
	if !strings.ContainsFunc(text, isWide) {
		return []wordBox{{text + " ", (from + to) / 2, y}}
	}
	width := func(r rune) float64 {
		if isWide(r) {
			return 1
		}
		return 0.5
	}
	var all, before float64
	for _, r := range text {
		all += width(r)
	}
	for _, r := range text {
		boxes = append(boxes, wordBox{string(r), from + (before+width(r)/2)/all*(to-from), y})
		before += width(r)
	}
	boxes[len(boxes)-1].text += " "
	return boxes
}

// textIn returns the words in boxes, a line for each box, every word once.
func textIn(pages [][]wordBox, areas []pdftext.Area) string {
	var lines []string
	for _, area := range areas {
		if area.Page > len(pages) {
			continue
		}
		taken := map[int]bool{}
		for _, b := range area.Boxes {
			line := ""
			for n, w := range pages[area.Page-1] {
				if !taken[n] && w.x >= b.Left && w.x <= b.Right && w.y >= b.Top && w.y <= b.Bottom {
					taken[n] = true
					line += w.text
				}
			}
			lines = append(lines, strings.TrimSuffix(line, " "))
		}
	}
	return strings.Join(lines, "\n")
}
