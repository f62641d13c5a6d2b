package extract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// ContextKey is the metadata key of the sentence that situates a chunk in its document. It is searched and
// embedded with the chunk, so nothing but the option context writes it: no content and no other option.
const ContextKey = "excerptContext"

// Limits of sentences of context. Sizes are bytes.
const (
	maxSentenceBytes = 400
	maxSituated      = 16       // chunks that one call situates
	maxSeenBytes     = 64 << 10 // of a document in a call, some 16,000 tokens
	maxSeenChunk     = 8 << 10  // of one chunk
	beginningBytes   = 8 << 10  // of a longer document that every call has, as its beginning says what it is
	// DefaultBudget is how many tokens the sentences of an index may take unless its settings say another number.
	DefaultBudget = 10_000_000
	maxBudget     = 1_000_000_000_000
	// sentenceTokens is about what the answer for one chunk takes.
	sentenceTokens = 60
	// answerTokens bounds an answer, with what a model thinks before it.
	answerTokens = 4096
)

// Context selects a sentence for each chunk that says where in its document it stands and whom and what it speaks of.
type Context struct {
	Model  string
	Budget int64 // tokens that all sentences of an index may take
}

// Sentences keeps the sentences of one document between attempts and versions, and the account of the tokens that those
// of its index have taken. Its methods may be called concurrently.
type Sentences interface {
	// Load returns the sentences that are kept, by their keys.
	Load(ctx context.Context) (map[string]string, error)
	// Save keeps further sentences.
	Save(ctx context.Context, found map[string]string) error
	// Reserve adds tokens to the account unless it would exceed the budget: then it returns false.
	Reserve(ctx context.Context, tokens, budget int64) (bool, error)
	// Return takes tokens from the account that were reserved and not used. Of a call that took more than was reserved
	// they are negative.
	Return(ctx context.Context, tokens int64) error
}

const askContext = `You situate passages in their document, so that each can be found and understood alone. ` + dataNotOrders + `
"passages" are the document, or its beginning and a part of it, in order. For each passage whose number is in "situate" write one sentence, in the language of the passage, of at most 40 words: what document and what part of it this is from, and the names of the people, things and times that the passage only calls "it", "she", "the system" or "then". Use only what the document says. Plain text without links, markup or line breaks. Do not repeat the passage.
Reply with JSON alone: {"sentences":[{"passage":1,"sentence":"..."}]}, one for each number in "situate".`

// seen is a passage in a prompt.
type seen struct {
	Passage int    `json:"passage"` // its number, from 1
	Text    string `json:"text"`
}

// situation is the message of a call. What calls have in common comes first, so that a provider that caches prompts reads it once.
type situation struct {
	Title    string `json:"title,omitempty"`
	Passages []seen `json:"passages"`
	Situate  []int  `json:"situate"`
}

// stretch is consecutive chunks that are situated with the same view of their document.
type stretch struct {
	first, end int // of the chunks
	beginning  int // chunks from the start of the document that are shown before them
	bytes      int // of the texts that are shown
}

// calls returns the ranges of chunks of the calls.
func (s stretch) calls() (ranges [][2]int) {
	for first := s.first; first < s.end; first += maxSituated {
		ranges = append(ranges, [2]int{first, min(first+maxSituated, s.end)})
	}
	return ranges
}

// stretches divides a document into what calls can show. A document of up to maxSeenBytes is shown as a whole; of a longer one each
// call has the beginning and the stretch of the chunks that it situates.
func stretches(sizes []int) (all []stretch) {
	shown := func(n int) int { return min(sizes[n], maxSeenChunk) }
	total := 0
	for n := range sizes {
		total += shown(n)
	}
	if total <= maxSeenBytes {
		return []stretch{{end: len(sizes), bytes: total}}
	}
	beginning, start := 0, 0
	for beginning < len(sizes) && start+shown(beginning) <= beginningBytes {
		start += shown(beginning)
		beginning++
	}
	for first := 0; first < len(sizes); {
		s := stretch{first: first, end: first}
		if first >= beginning {
			s.beginning, s.bytes = beginning, start
		}
		for s.end < len(sizes) && (s.end == first || s.bytes+shown(s.end) <= maxSeenBytes) {
			s.bytes += shown(s.end)
			s.end++
		}
		all, first = append(all, s), s.end
	}
	return all
}

// Cost is about what the sentences of documents take.
type Cost struct {
	Calls        int64
	InputTokens  int64
	CachedTokens int64 // of InputTokens: what calls repeat, which costs less where a provider caches prompts
	OutputTokens int64
}

// Add adds the cost of another document.
func (c *Cost) Add(other Cost) {
	c.Calls += other.Calls
	c.InputTokens += other.InputTokens
	c.CachedTokens += other.CachedTokens
	c.OutputTokens += other.OutputTokens
}

// Scale multiplies the cost.
func (c *Cost) Scale(by float64) {
	for _, part := range []*int64{&c.Calls, &c.InputTokens, &c.CachedTokens, &c.OutputTokens} {
		*part = int64(float64(*part) * by)
	}
}

// passageBytes is about what a passage takes in a message beside its text, and numberBytes a number in "situate".
const (
	passageBytes = 25
	numberBytes  = 3
)

// EstimateContext returns about what the sentences of a document take, given the bytes of the texts of its chunks.
func EstimateContext(sizes []int) (c Cost) {
	if len(sizes) == 0 {
		return c
	}
	for _, s := range stretches(sizes) {
		for n, r := range s.calls() {
			asked := r[1] - r[0]
			common := endpoint.EstimateTokens(len(askContext) + s.bytes + passageBytes*(s.beginning+s.end-s.first))
			c.Add(Cost{Calls: 1, InputTokens: int64(common + endpoint.EstimateTokens(numberBytes*asked)), OutputTokens: int64(sentenceTokens * asked)})
			if n > 0 {
				c.CachedTokens += int64(common)
			}
		}
	}
	return c
}

// contextCalls returns the number of calls for the sentences of chunks.
func contextCalls(chunks []Chunk) (calls int) {
	for _, s := range stretches(sizesOf(chunks)) {
		calls += len(s.calls())
	}
	return calls
}

func sizesOf(chunks []Chunk) []int {
	sizes := make([]int, len(chunks))
	for n, c := range chunks {
		sizes[n] = len(c.Text)
	}
	return sizes
}

// situating is the state of finding the sentences of a document.
type situating struct {
	*work
	known map[string]string // of earlier attempts and versions, by key

	mu    sync.Mutex
	found []string          // by chunk
	fails []error           // by chunk
	used  map[string]string // by key
}

// context asks for a sentence for each chunk. The calls of a stretch follow each other, so that a provider can reuse what it has read.
func (w *work) context(ctx context.Context) {
	if w.request.Options.Context == nil {
		return
	}
	s := &situating{work: w, found: make([]string, len(w.chunks)), fails: make([]error, len(w.chunks)), used: map[string]string{}}
	if kept := w.request.Sentences; kept != nil {
		var err error
		if s.known, err = kept.Load(ctx); err != nil {
			w.broken = err
			return
		}
	}
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for _, part := range stretches(sizesOf(w.chunks)) {
		group.Go(func() error { return s.stretch(ctx, part) })
	}
	if err := group.Wait(); err != nil {
		w.broken = err
		return
	}
	w.result.Sentences = s.used
	for n, sentence := range s.found {
		switch {
		case sentence != "":
			w.add(n, "context", map[string]any{ContextKey: sentence})
		case s.fails[n] != nil:
			w.fail(n, "context", s.fails[n])
		}
	}
}

// stretch finds the sentences of one stretch. An error is one of keeping them, not of a model.
func (s *situating) stretch(ctx context.Context, part stretch) error {
	message := situation{Title: s.request.Title}
	show := func(first, end int) {
		for n := first; n < end; n++ {
			message.Passages = append(message.Passages, seen{n + 1, textlimit.Cut(s.chunks[n].Text, maxSeenChunk)})
		}
	}
	show(0, part.beginning)
	show(part.first, part.end)
	view := sha256.Sum256([]byte(s.request.Options.Context.Model + "\x00" + askContext + "\x00" + llm.JSON(message)))
	for _, r := range part.calls() {
		message.Situate = nil
		keys := make([]string, r[1]-r[0])
		for n := r[0]; n < r[1]; n++ {
			key := sha256.Sum256(append(view[:], strconv.Itoa(n)...))
			keys[n-r[0]] = hex.EncodeToString(key[:16])
			if sentence := s.known[keys[n-r[0]]]; sentence != "" {
				s.set(n, keys[n-r[0]], sentence, nil)
				continue
			}
			message.Situate = append(message.Situate, n+1)
		}
		if len(message.Situate) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return nil // Extract returns it
		}
		sentences, failure, err := s.sentences(ctx, message)
		if err != nil {
			return err
		}
		made := map[string]string{}
		for _, number := range message.Situate {
			sentence, ok := sentences[number]
			if !ok {
				sentence.err = failure
			}
			s.set(number-1, keys[number-1-r[0]], sentence.text, sentence.err)
			if sentence.text != "" {
				made[keys[number-1-r[0]]] = sentence.text
			}
		}
		if kept := s.request.Sentences; kept != nil && len(made) > 0 {
			if err := kept.Save(ctx, made); err != nil {
				return err
			}
		}
	}
	return nil
}

// set stores the sentence of a chunk under its key, or why there is none.
func (s *situating) set(n int, key, sentence string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found[n], s.fails[n] = sentence, err
	if sentence != "" {
		s.used[key] = sentence
	}
}

// sentences asks for the sentences of the passages in message.Situate, within the budget. A failure is one of the model, or that the
// budget is used up; an error is one of the account.
func (s *situating) sentences(ctx context.Context, message situation) (found map[int]sentence, failure, err error) {
	o, account := s.request.Options.Context, s.request.Sentences
	user := llm.JSON(message)
	q := question{model: o.Model, system: askContext, user: user, schema: sentencesSchema, maxTokens: answerTokens, accept: func(answer string) (err error) {
		found, err = readSentences(answer, message)
		return err
	}}
	if account == nil {
		failure = s.ask(ctx, q)
		return found, failure, nil
	}
	tokens := int64(endpoint.EstimateTokens(len(askContext)+len(user)) + sentenceTokens*len(message.Situate))
	switch within, err := account.Reserve(ctx, tokens, o.Budget); {
	case err != nil:
		return nil, nil, err
	case !within:
		return nil, fault.New(fault.Precondition, "the budget of %d tokens for sentences of context of this index is used up: raise extract.context.budgetTokens of the index, and upload the document again", o.Budget), nil
	}
	used, failure := s.call(ctx, q)
	err = account.Return(context.WithoutCancel(ctx), tokens-int64(used.InputTokens+used.OutputTokens))
	return found, failure, err
}

var sentencesSchema = &llm.Schema{Name: "sentences", JSON: map[string]any{
	"type": "object", "required": []string{"sentences"}, "additionalProperties": false,
	"properties": map[string]any{"sentences": map[string]any{"type": "array", "items": map[string]any{
		"type": "object", "required": []string{"passage", "sentence"}, "additionalProperties": false,
		"properties": map[string]any{"passage": map[string]any{"type": "integer"}, "sentence": oneText},
	}}},
}}

// sentence is what a model wrote for a passage, or why it cannot be used.
type sentence struct {
	text string
	err  error
}

// readSentences reads the answer to a message: a usable sentence or an error for each passage that it asks about. It is an error
// if none is usable.
func readSentences(answer string, about situation) (map[int]sentence, error) {
	var given struct {
		Sentences []struct {
			Passage  int    `json:"passage"`
			Sentence string `json:"sentence"`
		} `json:"sentences"`
	}
	if err := json.Unmarshal([]byte(answer), &given); err != nil {
		return nil, endpoint.BadAnswer("no JSON object of sentences")
	}
	all := map[int]sentence{}
	for _, number := range about.Situate {
		all[number] = sentence{err: fault.New(fault.Unavailable, "the model gave no sentence for this chunk")}
	}
	usable := false
	for _, g := range given.Sentences {
		if known, asked := all[g.Passage]; !asked || known.text != "" {
			continue
		}
		text := tidy(g.Sentence)
		if reason := unusable(text, about); reason != "" {
			all[g.Passage] = sentence{err: fault.New(fault.Unavailable, "the model's sentence for this chunk was not used: it %s", reason)}
			continue
		}
		all[g.Passage], usable = sentence{text: text}, true
	}
	if !usable {
		return all, endpoint.BadAnswer("no usable sentence")
	}
	return all, nil
}

var (
	link   = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://|\bwww\.|\b(?:mailto|javascript|data):\S|\S@\S+\.\pL`)
	markup = regexp.MustCompile("[<>`{}\\[\\]|\\\\]|\\*\\*|__|^[#*>-]")
	number = regexp.MustCompile(`[0-9]+`)
)

// unusable returns why a sentence is not stored, "" for one that is: a passage may have told the model what to write.
func unusable(text string, about situation) string {
	switch {
	case !strings.ContainsFunc(text, unicode.IsLetter):
		return "has no words"
	case len(text) > maxSentenceBytes:
		return "is longer than " + strconv.Itoa(maxSentenceBytes) + " bytes"
	case strings.ContainsFunc(text, invisible):
		return "has invisible characters"
	case link.MatchString(text):
		return "has a link"
	case markup.MatchString(text):
		return "has markup"
	}
	for _, digits := range number.FindAllString(text, -1) {
		if !about.has(digits) {
			return "has a number that the document does not have"
		}
	}
	return ""
}

// has reports whether the title or a passage that is shown has a text.
func (s situation) has(text string) bool {
	for _, p := range s.Passages {
		if strings.Contains(p.Text, text) {
			return true
		}
	}
	return strings.Contains(s.Title, text)
}

// invisible reports whether a character cannot be seen. Joiners, which some scripts need, are no such.
func invisible(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r != nonJoiner && r != joiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp)
}
