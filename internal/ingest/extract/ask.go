package extract

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// maxFailuresInARow is the number of consecutive provider failures after which
// extraction from a document stops. The client has retried each of them.
const maxFailuresInARow = 8

// question is one question to a language model.
type question struct {
	model, system, user string
	schema              *llm.Schema
	maxTokens           int                       // of the answer; 0 is the default of a question
	accept              func(answer string) error // validates and stores the answer
}

// ask sends a question to the language model, unless the answer is cached or the
// provider has failed too often. If ask returns nil, q.accept has accepted the
// answer.
func (w *work) ask(ctx context.Context, q question) error {
	_, err := w.call(ctx, q)
	return err
}

// call is ask that returns what the question took, also with an error: nothing for a cached answer.
func (w *work) call(ctx context.Context, q question) (llm.Usage, error) {
	key := answerKey(w.request.Tenant, q)
	if known, ok := w.extractor.answers.Get(key); ok {
		return llm.Usage{}, q.accept(known)
	}
	if err := w.providerError(); err != nil {
		return llm.Usage{}, err
	}
	answer, err := w.extractor.llm.Ask(ctx, llm.Question{
		Tenant: w.request.Tenant, Model: q.model, System: q.system, User: q.user, Schema: q.schema, Accept: q.accept, MaxTokens: q.maxTokens,
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.Usage.Add(answer.Usage)
	if err == nil {
		w.lastFailure, w.failuresInARow = nil, 0
		w.extractor.answers.Put(key, answer.Text)
		return answer.Usage, nil
	}
	w.lastFailure = err
	switch fault.KindOf(err) {
	case fault.Precondition: // no key or no such model: every other question would fail too
		w.failuresInARow = maxFailuresInARow
	case fault.Unavailable, fault.Exhausted:
		w.failuresInARow++
	}
	return answer.Usage, err
}

// providerError returns the last failure if too many came in a row, else nil.
func (w *work) providerError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failuresInARow >= maxFailuresInARow {
		return w.lastFailure
	}
	return nil
}

// answers caches answers by tenant and question, so that a retried job and the
// unchanged chunks of a changed document cost nothing.
type answers = cache.Cache[[sha256.Size]byte, string]

const answersBytes = 16 << 20

func newAnswers() *answers {
	return cache.New(cache.Config[[sha256.Size]byte, string]{
		Bytes: answersBytes, Weigh: func(key [sha256.Size]byte, answer string) int { return len(key) + len(answer) },
	})
}

// answerKey returns the cache key of a question. It hashes the length before each
// field, so that different questions never hash the same bytes.
func answerKey(tenant string, q question) [sha256.Size]byte {
	h := sha256.New()
	var length [8]byte
	for _, part := range []string{tenant, q.model, q.system, q.user} {
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}
