package embed

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/endpoint"
	"github.com/ragdhq/ragd/internal/fault"
)

// Limits of one request. OpenAI accepts 2,048 texts and 300,000 tokens; smaller requests
// return sooner, lose less when one fails, and can run in parallel. A request that a
// server refuses is halved.
const (
	maxBatchTexts  = 128
	maxBatchTokens = 60_000
	maxBatches     = 16 // of one job at once
)

// Limits for questions, where a caller waits: the time of one attempt, and the longest
// wait before the next.
const (
	questionTimeout = 10 * time.Second
	questionWait    = 2 * time.Second
)

// openAI embeds through any endpoint that speaks OpenAI's /embeddings.
type openAI struct {
	documents *endpoint.Client
	questions *endpoint.Client // separate, so that questions do not wait behind an ingest
}

func newOpenAI(config endpoint.Config) *openAI {
	if config.BaseURL == "" {
		config.BaseURL = "https://api.openai.com/v1"
	}
	forQuestions := config
	forQuestions.Timeout = min(cmp.Or(config.Timeout, questionTimeout), questionTimeout)
	forQuestions.MaxWait = min(cmp.Or(config.MaxWait, questionWait), questionWait)
	return &openAI{
		documents: endpoint.New("the embedding provider openai", config),
		questions: endpoint.New("the embedding provider openai", forQuestions),
	}
}

func (o *openAI) embed(ctx context.Context, job job) ([][]float32, error) {
	vectors := make([][]float32, len(job.texts))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(maxBatches) // endpoint.Client bounds the requests of all callers
	for start := 0; start < len(job.texts) && running.Err() == nil; {
		end := start + batch(job.texts[start:])
		at := span{start, end}
		group.Go(func() error { return o.embedSpan(running, job, at, vectors) })
		start = end
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, ctx.Err()
}

// span is job.texts[start:end].
type span struct{ start, end int }

// batch returns how many of the texts, at least one, go into one request.
func batch(texts []string) int {
	tokens := 0
	for i, text := range texts {
		tokens += estimateTokens(text)
		if i > 0 && tokens > maxBatchTokens || i == maxBatchTexts {
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
func (o *openAI) embedSpan(ctx context.Context, job job, at span, vectors [][]float32) error {
	got, err := o.request(ctx, job, at)
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
	if err := o.embedSpan(ctx, job, span{at.start, middle}, vectors); err != nil {
		return err
	}
	return o.embedSpan(ctx, job, span{middle, at.end}, vectors)
}

// request sends one request, with retries.
func (o *openAI) request(ctx context.Context, job job, at span) (vectors [][]float32, err error) {
	texts := job.texts[at.start:at.end]
	body := embeddingsRequest{Input: texts, Model: job.model, EncodingFormat: "base64", Dimensions: job.dimension}
	client := o.documents
	if job.purpose == question {
		client = o.questions
	}
	err = client.Do(ctx, job.tenant, func(ctx context.Context) error {
		var answer embeddingsAnswer
		if err := client.PostJSON(ctx, "/embeddings", body, &answer); err != nil {
			return err
		}
		vectors, err = answer.vectors(len(texts))
		return err
	})
	return vectors, err
}

// embeddingsRequest is the body of a request to /embeddings.
type embeddingsRequest struct {
	Input []string `json:"input"`
	Model string   `json:"model"`
	// EncodingFormat base64 takes a quarter of the bytes of decimal numbers. Servers
	// that do not support it answer with numbers, which are decoded too.
	EncodingFormat string `json:"encoding_format"`
	Dimensions     int    `json:"dimensions,omitempty"`
}

// embeddingsAnswer is the body of an answer of /embeddings.
type embeddingsAnswer struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
}

// vectors decodes the vectors of an answer, of which there must be n, in any order.
func (answer embeddingsAnswer) vectors(n int) ([][]float32, error) {
	if len(answer.Data) != n {
		return nil, endpoint.BadAnswer("%d vectors for %d texts", len(answer.Data), n)
	}
	vectors := make([][]float32, n)
	for at, item := range answer.Data {
		if item.Index != nil {
			at = *item.Index
		}
		if at < 0 || at >= n || vectors[at] != nil {
			return nil, endpoint.BadAnswer("index %d twice or out of range for %d texts", at, n)
		}
		vector, err := decodeVector(item.Embedding)
		if err != nil {
			return nil, err
		}
		vectors[at] = vector
	}
	return vectors, nil
}

// decodeVector decodes an array of numbers, or little-endian float32 in base64.
func decodeVector(raw json.RawMessage) ([]float32, error) {
	if len(raw) > 0 && raw[0] == '"' {
		bytes, err := base64.StdEncoding.DecodeString(string(raw[1 : len(raw)-1]))
		if err != nil || len(bytes) == 0 || len(bytes)%4 != 0 {
			return nil, endpoint.BadAnswer("a vector that is not base64 of float32 values")
		}
		vector := make([]float32, len(bytes)/4)
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		}
		return vector, nil
	}
	var vector []float32
	if json.Unmarshal(raw, &vector) != nil || len(vector) == 0 {
		return nil, endpoint.BadAnswer("a vector that is not an array of numbers")
	}
	return vector, nil
}
