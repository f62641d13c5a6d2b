package index

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// maxQuestions is the number of questions that are kept of an index. A new one replaces
	// one at random, so that recent ones prevail.
	maxQuestions = 128
	// ownQuestions is the number of questions with which the search width is measured
	// instead of with samples.
	ownQuestions = 64
	// measurePause is the least time between two measurements with questions.
	measurePause = time.Hour

	// Questions of one index are recorded at these intervals: the first maxQuestions on this
	// instance quickly, later ones slowly.
	firstPause = 200 * time.Millisecond
	laterPause = 30 * time.Second
	// waitingQuestions is how many questions of all tenants wait to be stored. Others are
	// dropped.
	waitingQuestions = 64
	// storePause is the time between two stored questions, of all tenants.
	storePause = 10 * time.Millisecond
	// storeTimeout limits the time of storing one.
	storeTimeout = 10 * time.Second
)

// question is a question to be stored.
type question struct {
	tenant tenant.ID
	index  Index
	vector []float32
}

// recorder takes questions, without delay for those who ask, and stores them later.
type recorder struct {
	off     bool
	waiting chan question
	paces   *cache.Cache[paceKey, *pace]
}

type paceKey struct {
	tenant tenant.ID
	index  int64
}

// pace says when the next question of an index may be recorded. Safe for concurrent use.
type pace struct {
	mu       sync.Mutex
	recorded int
	next     time.Time
}

func newRecorder(off bool) *recorder {
	return &recorder{
		off: off, waiting: make(chan question, waitingQuestions),
		paces: cache.New(cache.Config[paceKey, *pace]{Entries: cacheSize}),
	}
}

// allows reports whether to record a question that is asked now.
func (p *pace) allows(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.next) {
		return false
	}
	pause := firstPause
	if p.recorded++; p.recorded > maxQuestions {
		pause = laterPause
	}
	p.next = now.Add(pause)
	return true
}

// recordable reports whether questions of the index are of use for measuring its width.
func (i Index) recordable() bool {
	return i.RecordsQuestions && i.Built && i.Config.Type != Flat && i.VectorType != Bit
}

// OfferQuestion offers the embedding of a question of an index to be recorded. It never
// blocks: most questions are not recorded.
func (s *Service) OfferQuestion(id tenant.ID, i Index, vector []float32) {
	r := s.recorder
	if r.off || !i.recordable() {
		return
	}
	key := paceKey{id, i.ID}
	own, ok := r.paces.Get(key)
	if !ok {
		own = r.paces.PutIfAbsent(key, &pace{})
	}
	if !own.allows(time.Now()) {
		return
	}
	select {
	case r.waiting <- question{id, i, slices.Clone(vector)}:
	default:
	}
}

// RecordQuestions stores questions that were offered, until ctx ends, and starts the
// measurement of a search width that is due. Questions that cannot be stored are dropped.
func (s *Service) RecordQuestions(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-s.recorder.waiting:
			if err := s.storeQuestion(ctx, q); err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.NotFound {
				log.WarnContext(ctx, "question not recorded", "tenant", q.tenant, "index", q.index.ID, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(storePause):
		}
	}
}

// storeQuestion stores a question, unless it is stored already, or the index was deleted, has
// other embeddings by now or does not record questions. A question that is asked again and
// again says nothing about others. The lock of the row lets none be stored after the questions
// of an index were deleted with it.
func (s *Service) storeQuestion(ctx context.Context, q question) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.db.Handle(q.tenant).Tx(ctx, func(tx *data.Tx) error {
		n, err := tx.Exec(ctx, `
			INSERT INTO ragd_shared.asked_questions AS q (index_id, slot, generation, embedding)
			SELECT i.index_id, floor(random() * $3::int)::smallint, i.generation, $4::real[]
			FROM (
				SELECT i.index_id, i.generation FROM tenant.indexes AS i
				WHERE i.index_id = $1 AND i.generation = $2 AND i.record_questions FOR SHARE
			) AS i
			WHERE NOT EXISTS (SELECT FROM ragd_shared.asked_questions AS q WHERE q.index_id = i.index_id AND q.embedding = $4::real[])
			ON CONFLICT (tenant_id, index_id, slot) DO UPDATE SET
				generation = excluded.generation, embedding = excluded.embedding, asked_at = now()`,
			q.index.ID, q.index.Generation, maxQuestions, q.vector)
		if err != nil || n == 0 {
			return err
		}
		return MaintainIfDue(ctx, s.queue, tx, q.index.ID)
	})
}

// DeleteAskedQuestions deletes the recorded questions of an index, also the notable ones, and returns how many. The search
// width that was measured with them stays. Errors: NotFound.
func (s *Service) DeleteAskedQuestions(ctx context.Context, name string) (int64, error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return 0, err
	}
	h := s.db.Handle(r.Tenant)
	found, err := ByName(ctx, h, name)
	if err != nil {
		return 0, err
	}
	return deleteQuestions(ctx, h, found.ID)
}

// execer runs statements: a data.Handle or a data.Tx.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
}

// deleteQuestions deletes the embeddings of questions of an index, and the notable questions, and returns how many.
func deleteQuestions(ctx context.Context, on execer, indexID int64) (int64, error) {
	n, err := on.Exec(ctx, `DELETE FROM ragd_shared.asked_questions WHERE index_id = $1`, indexID)
	if err != nil {
		return 0, err
	}
	notable, err := on.Exec(ctx, `DELETE FROM ragd_shared.notable_questions WHERE index_id = $1`, indexID)
	return n + notable, err
}

// questionsDue reports whether the search width should be measured with recorded questions:
// it was measured with samples, or most of the questions are new.
func (s state) questionsDue() bool {
	if s.NewQuestions < int64(neededQuestions(s.RecallTarget)) {
		return false
	}
	return !s.OwnQuestions || s.MeasuredAt == nil || time.Since(*s.MeasuredAt) > measurePause
}
