package embed

import (
	"context"
	"encoding/json"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Limits of one request, where a dialect has none that are smaller. OpenAI accepts 2,048
// texts and 300,000 tokens; smaller requests return sooner, lose less when one fails, and
// can run in parallel. A request that a server refuses is halved.
const (
	maxBatchTexts  = 128
	maxBatchTokens = 60_000
	maxBatches     = 16 // of one job at once
)

// remote embeds at an endpoint.
type remote struct {
	endpoint *endpoint.Endpoint
	dialect  dialect
}

func (r remote) embed(ctx context.Context, job job) ([][]float32, error) {
	vectors := make([][]float32, len(job.texts))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(maxBatches) // endpoint.Client bounds the requests of all callers
	for start := 0; start < len(job.texts) && running.Err() == nil; {
		end := start + batch(job.texts[start:], r.dialect.maxTexts)
		at := span{start, end}
		group.Go(func() error { return r.embedSpan(running, job, at, vectors) })
		start = end
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, ctx.Err()
}

// span is job.texts[start:end].
type span struct{ start, end int }

// batch returns how many of the texts, at least one and at most maxTexts, go into one
// request.
func batch(texts []string, maxTexts int) int {
	tokens := 0
	for i, text := range texts {
		tokens += estimateTokens(text)
		if i > 0 && tokens > maxBatchTokens || i == maxTexts {
			return i
		}
	}
	return len(texts)
}

// estimateTokens returns a high estimate of the tokens of a text: one for three ASCII
// bytes, one for two other bytes.
func estimateTokens(text string) int {
	ascii := 0
	for i := range len(text) {
		if text[i] < 0x80 {
			ascii++
		}
	}
	return ascii/3 + (len(text)-ascii)/2 + 1
}

// embedSpan fills in the vectors of one span. A request that the provider refuses is
// halved until it is accepted, or until it holds one text, which the error names.
func (r remote) embedSpan(ctx context.Context, job job, at span, vectors [][]float32) error {
	got, err := r.request(ctx, job, at)
	var refused *endpoint.StatusError
	if err == nil {
		copy(vectors[at.start:at.end], got)
		return nil
	}
	if !errors.As(err, &refused) || !refused.Refused() {
		return err
	}
	if at.end-at.start == 1 {
		return fault.Wrap(fault.Invalid, refused, "texts: the embedding provider refused text %d (%d bytes, some %d tokens); it may be longer than the model %s can read, or the model may not make embeddings, or not of this dimension", at.start, len(job.texts[at.start]), estimateTokens(job.texts[at.start]), job.model)
	}
	middle := (at.start + at.end) / 2
	if err := r.embedSpan(ctx, job, span{at.start, middle}, vectors); err != nil {
		return err
	}
	return r.embedSpan(ctx, job, span{middle, at.end}, vectors)
}

// request sends one request, with retries.
func (r remote) request(ctx context.Context, job job, at span) (vectors [][]float32, err error) {
	job.texts = job.texts[at.start:at.end]
	client := r.endpoint.Client(endpoint.Embed)
	if job.purpose == question {
		client = r.endpoint.Quick(endpoint.Embed)
	}
	path, body := r.dialect.request(job)
	err = client.Do(ctx, job.tenant, func(ctx context.Context) error {
		var raw json.RawMessage
		if err := client.PostJSON(ctx, path, body, &raw); err != nil {
			return err
		}
		var tokens int
		vectors, tokens, err = r.dialect.decode(raw, len(job.texts))
		if err == nil {
			job.used(tokens)
		}
		return err
	})
	return vectors, err
}

// maxReportedTokens is more than any request has.
const maxReportedTokens = 100_000_000

// used counts the tokens that the endpoint says a request had. It may be anybody's, and may say
// nothing or nonsense: then they are estimated.
func (j job) used(reported int) {
	if reported <= 0 || reported > maxReportedTokens {
		j.tokens.Add(estimateAll(j.texts))
		return
	}
	j.tokens.Add(int64(reported))
}

// estimateAll returns about how many tokens texts have.
func estimateAll(texts []string) (tokens int64) {
	for _, text := range texts {
		tokens += int64(endpoint.EstimateTokens(len(text)))
	}
	return tokens
}
