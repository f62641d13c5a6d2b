package query

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of suggestions.
const (
	MaxSuggestions     = 20
	DefaultSuggestions = 10
	MaxPrefixBytes     = 200
	// titlePrefix is how many characters of a title the Postgres index documents_by_title has, and readTitles how many titles are read.
	titlePrefix = 100
	readTitles  = 50
	// maxSuggestedWords bounds the words that are looked up.
	maxSuggestedWords = 6
	suggestTimeout    = "1s"
	// endedSize and endedTTL bound the completions of beginnings that are kept.
	endedSize = 10_000
	endedTTL  = 30 * time.Second
)

// endedKey names the completions of a beginning for callers who may see the whole index.
type endedKey struct {
	tenant          tenant.ID
	index           int64
	generation      int
	namespace       string
	beginning, with string // with is a tsquery of the words before
}

func newEnded() *cache.Cache[endedKey, []string] {
	return cache.New(cache.Config[endedKey, []string]{Entries: endedSize, TTL: endedTTL})
}

// SuggestionKind says where a suggestion comes from.
type SuggestionKind string

// The kinds.
const (
	TitleSuggestion    SuggestionKind = "title"
	QuestionSuggestion SuggestionKind = "question" // with feedback that an answer was helpful
	WordSuggestion     SuggestionKind = "word"
)

// Suggestion completes what is being typed.
type Suggestion struct {
	Text       string
	Kind       SuggestionKind
	DocumentID string // of a title
	URI        string
}

// SuggestRequest asks for completions of a prefix.
type SuggestRequest struct {
	Prefix    string
	IndexName string // the tenant's only index if empty
	Namespace string
	Limit     *int // DefaultSuggestions if nil
}

// Suggest completes what is being typed, of what the caller may see. Errors: Invalid naming the field; NotFound for an unknown index.
func (s *Service) Suggest(ctx context.Context, req SuggestRequest) (out []Suggestion, err error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	q, err := Question{IndexName: req.IndexName, Namespace: req.Namespace}.Effective(r)
	if err != nil {
		return nil, err
	}
	within := scope{namespace: q.Namespace, filter: q.Filter}
	if err := within.check(); err != nil {
		return nil, err
	}
	most := valueOr(req.Limit, DefaultSuggestions)
	prefix := strings.TrimLeftFunc(req.Prefix, unicode.IsSpace)
	switch {
	case most < 1 || most > MaxSuggestions:
		return nil, fault.Field("limit", "must be between 1 and %d, got %d", MaxSuggestions, most)
	case len(req.Prefix) > MaxPrefixBytes:
		return nil, fault.Field("prefix", "has %d bytes, over the limit of %d: give its beginning", len(req.Prefix), MaxPrefixBytes)
	case prefix == "":
		return nil, fault.Field("prefix", "must not be blank")
	}
	err = s.indexes.Use(ctx, r.Tenant, q.IndexName, func(i index.Index, h *data.Handle) error {
		titles, questions, err := suggestWhole(ctx, h, i, within, prefix, most)
		if err != nil {
			return err
		}
		words, err := s.suggestWords(ctx, h, i, within, prefix)
		out = mixed(titles, questions, words, most)
		return err
	})
	return out, err
}

// mixed returns the first suggestions of each kind: words and questions have a quarter of the places if there are so many.
func mixed(titles, questions, words []Suggestion, most int) []Suggestion {
	some := most / 4
	asked := min(len(questions), max(some, most-len(titles)-min(len(words), some)))
	named := min(len(titles), max(0, most-asked-min(len(words), some)))
	out := slices.Concat(titles[:named], questions[:asked], words)
	return out[:min(most, len(out))]
}

// suggestWhole returns titles and questions that begin with a prefix.
func suggestWhole(ctx context.Context, h *data.Handle, i index.Index, within scope, prefix string, most int) (titles, questions []Suggestion, err error) {
	lower := strings.ToLower(prefix)
	beginning := lower
	if letters := []rune(lower); len(letters) > titlePrefix {
		beginning = string(letters[:titlePrefix])
	}
	type row struct{ Title, DocumentID, URI string }
	var named []row
	var asked []string
	args := filter.NewArgs(i.ID, within.namespace, beginning, readTitles, lower)
	visible := "true"
	if !within.filter.IsZero() {
		visible = within.filter.SQL("d.metadata", args)
	}
	b := h.Batch()
	b.Set("statement_timeout", suggestTimeout)
	b.Query(data.Rows(&named), `
		SELECT d.title, d.document_id::text, d.uri FROM tenant.documents AS d
		WHERE d.index_id = $1 AND d.namespace = $2 AND left(lower(d.title), 100) COLLATE "C" >= $3 AND left(lower(d.title), 100) COLLATE "C" < ($3::text || `+lastText+`)
			AND starts_with(lower(d.title), $5) AND d.status = 'ready' AND `+visible+`
		ORDER BY left(lower(d.title), 100) COLLATE "C" LIMIT $4`, args.Values()...)
	if within.filter.IsZero() {
		b.Query(data.Column(&asked), `
			SELECT q.question->>'text' FROM ragd_shared.questions AS q
			WHERE q.set_name = 'feedback-' || $1 AND starts_with(lower(q.question->>'text'), $2) AND q.question->'relevant' <> '[]'
			ORDER BY length(q.question->>'text'), q.question_id LIMIT $3`, i.Name, lower, most)
	}
	if err := b.Run(ctx); err != nil {
		return nil, nil, err
	}
	for _, t := range named {
		same := func(s Suggestion) bool { return strings.EqualFold(s.Text, t.Title) }
		if len(titles) < most && !slices.ContainsFunc(titles, same) {
			titles = append(titles, Suggestion{Text: t.Title, Kind: TitleSuggestion, DocumentID: t.DocumentID, URI: t.URI})
		}
	}
	for _, text := range asked {
		questions = append(questions, Suggestion{Text: text, Kind: QuestionSuggestion})
	}
	return titles, questions, nil
}

// suggestWords returns a prefix with its last word completed by words of chunks that have the words before it too. The most common come
// first; with a filter, which must not tell how common they are outside of it, they are in alphabetical order.
func (s *Service) suggestWords(ctx context.Context, h *data.Handle, i index.Index, within scope, prefix string) (out []Suggestion, err error) {
	languages := i.AskedLanguages(i.Languages)
	begin := strings.LastIndexFunc(prefix, isNoWord)
	if begin >= 0 {
		_, size := utf8.DecodeRuneInString(prefix[begin:])
		begin += size
	}
	before, last := prefix[:max(begin, 0)], prefix[max(begin, 0):]
	beginning := analyzer.Fold(last)
	if utf8.RuneCountInString(beginning) < minBeginning || len(languages) == 0 || !analyzer.Storable(beginning) {
		return nil, nil
	}
	with := ""
	for _, asked := range analyzer.Informative(analyzer.Question(before, languages)) {
		quoted := make([]string, len(asked.Terms))
		for n, term := range asked.Terms {
			quoted[n] = analyzer.Quote(term)
		}
		if !asked.Whole {
			with += " & (" + strings.Join(quoted, " | ") + ")"
		}
	}
	key := endedKey{h.Tenant(), i.ID, i.Generation, within.namespace, beginning, with}
	words, known := s.ended.Get(key)
	if known = known && !within.filtered(); !known {
		began := time.Now()
		words, err = completed(ctx, h, i, within, last, with, languages)
		if fault.KindOf(err) == fault.Deadline && ctx.Err() == nil { // there are titles and questions
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if !within.filtered() {
			s.ended.PutLoaded(key, words, began)
		}
	}
	for _, word := range words {
		out = append(out, Suggestion{Text: before + word, Kind: WordSuggestion})
	}
	return out, nil
}

// completed returns words of visible chunks that begin as a word does, as they are spelled there. with is a tsquery that the chunks match
// too, with & before it; empty: any.
func completed(ctx context.Context, h *data.Handle, i index.Index, within scope, begun, with string, languages []string) (out []string, err error) {
	there, err := index.HasWords(ctx, h)
	if err != nil || !there {
		return nil, err
	}
	found, err := endings(ctx, h, []analyzer.Asked{{Word: begun}}, []int{0})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	candidates := found[0].words[:min(len(found[0].words), maxSuggestedWords)]
	texts := make([][]string, len(candidates))
	b := h.Batch()
	b.Set("statement_timeout", nearTimeout)
	b.Set("plan_cache_mode", "force_custom_plan") // a common term is found by reading the first chunks, a rare one by the Postgres index
	for n, word := range candidates {
		args := filter.NewArgs(analyzer.Quote(word.term)+with, spelledBytes)
		b.Query(data.Column(&texts[n]), `
			SELECT left(c.title || E'\n' || coalesce(nullif(c.text, ''), c.metadata->>'text', ''), $2) AS text FROM tenant.chunk AS c
			WHERE c.terms @@ $1::tsquery AND `+within.sql(i, args)+` LIMIT 1`, args.Values()...)
	}
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	for n, word := range candidates {
		if len(texts[n]) == 0 {
			continue
		}
		spelled := cmp.Or(analyzer.Spelled(texts[n][0], word.term, languages), word.term)
		if strings.HasPrefix(analyzer.Fold(spelled), analyzer.Fold(begun)) && !slices.Contains(out, spelled) {
			out = append(out, spelled)
		}
	}
	if within.filtered() {
		slices.Sort(out)
	}
	return out, nil
}

// isNoWord reports whether a character stands between words.
func isNoWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }

// meant returns a question with the likeliest corrections in place of misspelt words, empty without any.
func meant(question string, corrections []Correction) string {
	if len(corrections) == 0 {
		return ""
	}
	var b strings.Builder
	for rest := question; rest != ""; {
		end := strings.IndexFunc(rest, isNoWord)
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		at := slices.IndexFunc(corrections, func(c Correction) bool { return len(c.Searched) > 0 && c.Word == strings.ToLower(word) })
		if at >= 0 && word != "" {
			word = corrections[at].Searched[0]
		}
		b.WriteString(word)
		rest = rest[end:]
		next := strings.IndexFunc(rest, func(r rune) bool { return !isNoWord(r) })
		if next < 0 {
			next = len(rest)
		}
		b.WriteString(rest[:next])
		rest = rest[next:]
	}
	if b.String() == question {
		return ""
	}
	return b.String()
}
