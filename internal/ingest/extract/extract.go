// Package extract adds metadata to the chunks of a document: title, summary,
// keywords, questions that a chunk answers, a sentence that situates it in its
// document, and the fields of a caller's JSON Schema. It asks a language model; title
// and keywords also work without one. A failure affects one chunk only.
//
//	options, err := extract.Settings{Model: "openai/gpt-5-mini", Summary: &extract.SummarySettings{}}.Options()
//	result, err := extractor.Extract(ctx, extract.Request{Tenant: "acme", Options: options, Chunks: chunks})
//
// docs/reference/extraction.md describes the metadata that it adds.
package extract

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
)

// Keys of the added metadata, as in comparable libraries.
const (
	keyTitle       = "documentTitle"
	keySummary     = "sectionSummary"
	keyPrevSummary = "prevSectionSummary"
	keyNextSummary = "nextSectionSummary"
	keyQuestions   = "questionsThisExcerptCanAnswer"
	keyKeywords    = "excerptKeywords"
)

// maxConcurrent bounds the concurrent questions about one document. The limits of
// the provider apply too.
const maxConcurrent = 16

// maxCalls bounds the questions about one document, and so its cost.
const maxCalls = 10_000

// Chunk is a text to extract fields from.
type Chunk struct {
	Text string
	// Metadata is the metadata that the chunk already has. It is shown to the model
	// and never overwritten.
	Metadata map[string]any
}

// Request is a document's chunks and what to extract.
type Request struct {
	Tenant  string // owner of the cached answers and of the concurrency quota
	Options Options
	Title   string // of the document, if it is known
	Chunks  []Chunk
	// MaxCalls bounds the calls of a language model. Default: 10,000.
	MaxCalls int
	// Sentences keeps the sentences of context. Nil: nothing is kept, and no budget holds.
	Sentences Sentences
}

// Result has the extracted fields and their cost.
type Result struct {
	// Fields holds the metadata to add to each chunk, in the order of the request.
	Fields   []map[string]any
	Failures []Failure // in the order of the fields, then of the chunks
	Usage    llm.Usage // without cached answers
	// Sentences are those of context by their keys, as Request.Sentences keeps them.
	Sentences map[string]string
}

// Failure says why a field could not be extracted from one chunk.
type Failure struct {
	Chunk int    // index in Request.Chunks
	Field string // of Options: title, summary, questions, keywords, schema or context
	Err   error
}

// Extractor extracts metadata and caches answers. It is safe for concurrent use.
type Extractor struct {
	llm     *llm.Client
	answers *answers
}

// New returns an extractor that asks the language models of the client.
func New(client *llm.Client) *Extractor {
	return &Extractor{llm: client, answers: newAnswers()}
}

// Check checks a tenant's models of the options without asking them. Errors: Invalid for
// an unknown model, Precondition for one whose provider is not configured.
func (e *Extractor) Check(ctx context.Context, tenant string, o Options) error {
	for field, model := range o.models() {
		if model == "" {
			continue
		}
		if err := e.llm.Check(ctx, tenant, model); err != nil {
			return fault.Under("extract."+field, err)
		}
	}
	return nil
}

// CheckSettings checks a tenant's settings, and their models as Check does. nil is valid.
// Errors: those of Settings.Options and Check, with fields of extract.
func (e *Extractor) CheckSettings(ctx context.Context, tenant string, s *Settings) error {
	if s == nil {
		return nil
	}
	options, err := s.Options()
	if err != nil {
		return fault.Under("extract", err)
	}
	return e.Check(ctx, tenant, options)
}

// Extract extracts the fields that the options select. It blocks until every chunk
// has an answer or a failure. Errors are those of Check, of the context and of
// Request.Sentences, and Invalid for a document that needs too many calls of a model.
func (e *Extractor) Extract(ctx context.Context, r Request) (Result, error) {
	if err := e.Check(ctx, r.Tenant, r.Options); err != nil {
		return Result{}, err
	}
	if calls, most := r.Options.calls(r.Chunks), cmp.Or(r.MaxCalls, maxCalls); calls > most {
		return Result{}, fault.Field("extract", "needs %d calls of a language model for the %d chunks of this document, over the limit of %d: make the chunks larger, or extract less", calls, len(r.Chunks), most)
	}
	w := &work{extractor: e, request: r, chunks: make([]Chunk, len(r.Chunks))}
	w.result.Fields = make([]map[string]any, len(r.Chunks))
	for i, c := range r.Chunks {
		w.chunks[i] = Chunk{c.Text, maps.Clone(c.Metadata)}
		if c.Metadata == nil {
			w.chunks[i].Metadata = map[string]any{}
		}
	}
	// Each step shows the model the metadata that earlier steps found, but for context, which shows the whole document.
	for _, step := range []func(context.Context){w.schema, w.summary, w.questions, w.keywords, w.title, w.context} {
		if len(r.Chunks) > 0 {
			step(ctx)
		}
		if err := ctx.Err(); err != nil {
			return w.result, fmt.Errorf("extract from %d chunks: %w", len(r.Chunks), err)
		}
		if w.broken != nil {
			return w.result, w.broken
		}
	}
	return w.result, nil
}

// work is the state of one call of Extract.
type work struct {
	extractor *Extractor
	request   Request
	chunks    []Chunk // their metadata includes the fields found so far

	mu             sync.Mutex
	result         Result
	lastFailure    error
	failuresInARow int // of the provider, since its last answer

	broken error // of keeping sentences
}

// forEachChunk calls do for every chunk, maxConcurrent at a time, and records
// failures.
func (w *work) forEachChunk(ctx context.Context, field string, do func(ctx context.Context, chunk int) error) {
	failures := make([]error, len(w.chunks))
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for i := range w.chunks {
		group.Go(func() error {
			failures[i] = do(ctx, i)
			return nil
		})
	}
	_ = group.Wait()
	for i, err := range failures {
		if err != nil {
			w.fail(i, field, err)
		}
	}
}

func (w *work) fail(chunk int, field string, err error) {
	w.result.Failures = append(w.result.Failures, Failure{chunk, field, err})
}

// add adds fields to a chunk's metadata. Existing keys keep their values.
func (w *work) add(chunk int, field string, found map[string]any) {
	kept := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, taken := w.chunks[chunk].Metadata[key]; !taken && (key != ContextKey || field == "context") {
			kept[key] = found[key]
		}
	}
	if _, err := metadata.Marshal(field, kept); err != nil {
		w.fail(chunk, field, err)
		return
	}
	if w.result.Fields[chunk] == nil {
		w.result.Fields[chunk] = map[string]any{}
	}
	maps.Copy(w.chunks[chunk].Metadata, kept)
	maps.Copy(w.result.Fields[chunk], kept)
}

// addAll adds values[i] under the key to chunk i, unless it is empty.
func (w *work) addAll(field, key string, values []string) {
	for i, value := range values {
		if value != "" {
			w.add(i, field, map[string]any{key: value})
		}
	}
}
