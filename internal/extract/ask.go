package extract

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/ragdhq/ragd/internal/cache"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/llm"
)

// maxInARow is after how many failures in a row of its provider a document stops
// asking: each of them has been tried several times.
const maxInARow = 8

// question is one question to a language model.
type question struct {
	model, system, user string
	schema              *llm.Schema
	accept              func(answer string) error // is also what keeps the answer
}

// ask asks, unless the answer is known from before or the provider is in trouble.
// accept has seen the answer when it returns nil.
func (w *work) ask(ctx context.Context, q question) error {
	key := answerKey(w.request.Tenant, q)
	if known, ok := w.extractor.answers.Get(key); ok {
		return q.accept(known)
	}
	if err := w.trouble(); err != nil {
		return err
	}
	answer, err := w.extractor.llm.Ask(ctx, llm.Question{
		Tenant: w.request.Tenant, Model: q.model, System: q.system, User: q.user, Schema: q.schema, Accept: q.accept,
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.Usage.Add(answer.Usage)
	if err == nil {
		w.lastFailure, w.inARow = nil, 0
		w.extractor.answers.Put(key, answer.Text)
		return nil
	}
	w.lastFailure = err
	switch fault.KindOf(err) {
	case fault.Precondition: // no key, no such model: no other question would do better
		w.inARow = maxInARow
	case fault.Unavailable, fault.Exhausted:
		w.inARow++
	}
	return err
}

// trouble returns why nothing more should be asked, or nil.
func (w *work) trouble() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inARow >= maxInARow {
		return w.lastFailure
	}
	return nil
}

// answers keeps what was answered by tenant and question, so that an attempt that
// is made again, and the unchanged chunks of a changed document, cost nothing.
type answers = cache.Cache[[sha256.Size]byte, string]

const answersBytes = 16 << 20

func newAnswers() *answers {
	return cache.New(cache.Config[[sha256.Size]byte, string]{
		Bytes: answersBytes, Weigh: func(key [sha256.Size]byte, answer string) int { return len(key) + len(answer) },
	})
}

// answerKey writes lengths in front, so that no two questions are written alike.
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
