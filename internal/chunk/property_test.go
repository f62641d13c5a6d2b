package chunk

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
)

// checkChunks checks the properties that the package documents for all chunks.
func checkChunks(t *testing.T, text string, o Options, chunks []Chunk) {
	t.Helper()
	src := newSource(text)
	last := Chunk{EndByte: -1}
	for i, c := range chunks {
		if c.StartByte < last.StartByte || c.EndByte <= last.EndByte || c.StartByte >= c.EndByte || c.EndByte > len(text) {
			t.Fatalf("chunk %d has bounds %d to %d after %d to %d", i, c.StartByte, c.EndByte, last.StartByte, last.EndByte)
		}
		last = c
		part := text[c.StartByte:c.EndByte]
		if !utf8.ValidString(c.Text) || !utf8.ValidString(part) {
			t.Errorf("chunk %d is not valid UTF-8: %q from %q", i, c.Text, part)
		}
		switch o.Strategy {
		case Markdown: // a chunk of a table repeats its header
			if !strings.HasSuffix(c.Text, part) || c.Text != part && !strings.HasPrefix(c.Text, "|") {
				t.Errorf("chunk %d is %q but its bounds hold %q", i, c.Text, part)
			}
		case Sentence, SemanticMarkdown:
			if withoutSpace(c.Text) != withoutSpace(part) {
				t.Errorf("chunk %d is %q but its bounds hold %q", i, c.Text, part)
			}
		default:
			if c.Text != part {
				t.Errorf("chunk %d is %q but its bounds hold %q", i, c.Text, part)
			}
		}
		if start, end := textspan.Trim(c.Text, 0, len(c.Text)); o.StripWhitespace && o.Strategy != Character && o.Strategy != SemanticMarkdown && end-start != len(c.Text) {
			t.Errorf("chunk %d is not trimmed: %q", i, c.Text)
		}
		if n := measured(c, o); o.MaxSize > 0 && n > o.MaxSize && !uncuttable(c.Text, o) {
			t.Errorf("chunk %d has size %d, more than %d: %q", i, n, o.MaxSize, c.Text)
		}
		if o.AddStartIndex && c.Metadata["startIndex"] != src.size(0, c.StartByte) {
			t.Errorf("chunk %d starts at unit %d, not %v", i, src.size(0, c.StartByte), c.Metadata["startIndex"])
		}
	}
	if o.SeparatorPosition != SeparatorDropped || o.Separators == nil && o.Separator == "\n\n" {
		checkCoverage(t, text, o, chunks)
	}
}

// measured returns the size of a chunk in the unit of the strategy.
func measured(c Chunk, o Options) int {
	if o.Strategy == Token || o.Strategy == SemanticMarkdown {
		return c.TokenCount
	}
	return textspan.Units(c.Text)
}

// uncuttable reports whether a chunk may be longer than maxSize: it is a single code
// point (for tokens two, because a token may end within the second), the options do not
// allow a finer cut, or it has a few tokens more because it is encoded without the text
// around it.
func uncuttable(text string, o Options) bool {
	switch {
	case o.Separators != nil && o.Separators[len(o.Separators)-1] != "":
		return true
	case o.Strategy == Sentence && (!o.FallbackToWords || !o.FallbackToChars):
		return true
	case o.Strategy == Token || o.Strategy == SemanticMarkdown:
		n := tokenizer.Load(o.EncodingName).Count(text, nil)
		return n <= o.MaxSize+tokenSlack || utf8.RuneCountInString(text) <= 2
	}
	return utf8.RuneCountInString(text) == 1
}

// tokenSlack is how many tokens a trimmed chunk may have in addition to maxSize when it
// is encoded alone.
const tokenSlack = 4

func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if textspan.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// fragments are concatenated to random texts.
var fragments = []string{
	"a", "Word", "sentence", "number 12.", "e.g. ", "Dr. Who", ". ", "! ", "? ", ".", "\n", "\n\n", "\r\n", " ", "  ", "\t",
	"\n# Title\n", "\n## Sub\n", "\n###### deep\n", "\n#\n", "# Top\n", "\n```go\n", "\n```\n", "\n~~~\n", "\n---\n", "\n***\n", "\n___\n",
	`\section{One}`, `\begin{x}`, `\end{x}`, `\textbf{b}`, "{", "}", "\nfunc f() {\n", "\ntype T struct {\n", "\n\tif x {\n",
	"日本語の文。", "「はい。」", "次の文！", "привет", "Ещё", "e\u0301", "👩🏽‍🔧", "🇯🇵", "🇧🇷", "👍", "\u00a0", "\ufeff", "\u2028", "\u200d",
	"| a | b |\n|---|---|\n", "| one. Two | three |\n", "\n| row ä | |\n",
	"值班电话在手册的第一页。", "“好。”他说；", "１，０００、", "３．１４です！？", "カタカナ", "ประโยคภาษาไทยที่ไม่มีช่องว่าง", "เป็นน้ำ", "यह पहला वाक्य है। ", "ខ្ញុំស្រឡាញ់", "\u200b", "\u3000", "(See it.) ", "\"No.\" Then ", "i.e. that ", "Ｕ．Ｓ．", "؟ نعم", "네. 그래요. ",
	"<|endoftext|>", "supercalifragilistic", "0123456789", "===", "'s", "'LL", "HTTPServer", "/", "½", "\u0301", "ab\u0301", "ǅ",
}

func randomText(r *rand.Rand, n int) string {
	var sb strings.Builder
	for range n {
		sb.WriteString(fragments[r.IntN(len(fragments))])
	}
	return sb.String()
}

// optionSets are the options of the property tests and fuzz targets, by strategy and
// without sizes.
var optionSets = map[Strategy][]map[string]any{
	Recursive: {
		{}, {"separatorPosition": "start"}, {"separatorPosition": "end", "addStartIndex": true}, {"stripWhitespace": false},
		{"separators": []any{"\n", ". ", ""}, "separatorPosition": "end"}, {"separators": []any{"\n\n", " "}},
		{"separators": []any{`[.!?]\s+`, `\s+`, ""}, "isSeparatorRegex": true, "separatorPosition": "end"},
		{"language": "go"}, {"language": "markdown"}, {"language": "rst"}, {"language": "html", "addStartIndex": true},
	},
	Character: {
		{}, {"separator": ". ", "separatorPosition": "end"}, {"separator": ""}, {"separator": "\n", "separatorPosition": "start", "addStartIndex": true},
		{"separator": `\s+`, "isSeparatorRegex": true, "separatorPosition": "start"},
	},
	Token: {
		{}, {"encodingName": "gpt2"}, {"modelName": "gpt-4o", "stripWhitespace": false}, {"encodingName": "p50k_base", "addStartIndex": true},
		{"allowedSpecial": []any{"all"}},
	},
	Markdown:         {{}, {"separatorPosition": "start"}, {"separatorPosition": "end"}, {"addStartIndex": true}},
	LaTeX:            {{}, {"separatorPosition": "end"}, {"stripWhitespace": false}},
	Sentence:         {{}, {"targetSize": 1}, {"sentenceEnders": []any{".", "。"}}, {"fallbackToWords": false}, {"fallbackToWords": false, "fallbackToCharacters": false}, {"addStartIndex": true}},
	SemanticMarkdown: {{}, {"joinThreshold": 5}, {"joinThreshold": 30, "modelName": "gpt-4o"}, {"addStartIndex": true}},
}

// splitOnce splits text with an option set and checks the properties of its chunks. It
// reports whether the options were accepted.
func splitOnce(t *testing.T, strategy Strategy, set map[string]any, text string, maxSize, overlap int) bool {
	t.Helper()
	raw := map[string]any{"strategy": string(strategy), "maxSize": maxSize, "overlap": overlap}
	for k, v := range set {
		raw[k] = v
	}
	o, err := parseOptions(raw)
	if err != nil {
		return false
	}
	for _, o.Cuts = range []Cuts{CutsWords, CutsClauses, CutsSentences} {
		chunks, err := Split(t.Context(), text, o)
		if err != nil {
			return false
		}
		checkChunks(t, text, o, chunks)
	}
	return true
}

func TestEveryStrategyKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rounds := 400
	if testing.Short() {
		rounds = 40
	}
	for strategy, sets := range optionSets {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			accepted := 0
			for i := 0; i < rounds && !t.Failed(); i++ {
				text := randomText(r, r.IntN(60))
				maxSize := 1 + r.IntN(1+r.IntN(120))
				set := sets[i%len(sets)]
				if splitOnce(t, strategy, set, text, maxSize, r.IntN(maxSize)) {
					accepted++
				}
				if t.Failed() {
					t.Logf("options %v, size %d, text %q", set, maxSize, text)
				}
			}
			if accepted < rounds/2 {
				t.Errorf("only %d of %d splits were accepted", accepted, rounds)
			}
		})
	}
}
