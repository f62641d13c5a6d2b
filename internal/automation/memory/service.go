package memory

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/vector"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Service keeps the memories of the users of the calling tenant. Safe for concurrent use.
type Service struct {
	indexes *index.Service
	vectors *vector.Service
	queries *query.Service
}

// New returns a Service.
func New(indexes *index.Service, vectors *vector.Service, queries *query.Service) *Service {
	return &Service{indexes, vectors, queries}
}

// own returns a context within which the caller's memories alone exist, and whose they are. Errors: those of
// access.Request.MemorySubject.
func own(ctx context.Context) (_ context.Context, subject string, err error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	if subject, err = r.MemorySubject(); err != nil {
		return nil, "", err
	}
	within, err := only(ctx, r, subject)
	return within, subject, err
}

// only returns a context within which the memories of a subject alone exist.
func only(ctx context.Context, r *access.Request, subject string) (context.Context, error) {
	visible, err := filter.Parse(map[string]any{"subject": map[string]any{"$eq": subject}})
	if err != nil {
		return nil, err
	}
	return whole(ctx, r, visible), nil
}

// whole returns a context within which the memories that a filter selects exist; all of the tenant for an empty one.
func whole(ctx context.Context, r *access.Request, visible filter.Filter) context.Context {
	return notable.Without(access.NewContext(ctx, r.OfMemory(visible)))
}

// of returns a context within which the memories of a subject alone exist: of the caller if it is empty.
// Errors: Denied for another one, unless the caller is an admin without a mandatory filter and bounds.
func of(ctx context.Context, subject string) (context.Context, error) {
	if subject == "" {
		within, _, err := own(ctx)
		return within, err
	}
	r, err := ofAll(ctx)
	if err != nil {
		return nil, err
	}
	return only(ctx, r, subject)
}

// ofAll returns the request of a caller that may see the memories of all users. Errors: Denied.
func ofAll(ctx context.Context) (*access.Request, error) {
	if _, err := access.RequireAll(ctx, "the memories"); err != nil {
		return nil, err
	}
	return access.Require(ctx, access.Admin)
}

// Remember stores a memory of the caller. It ends the validity of the memory that it replaces. Errors: Invalid,
// naming the field; NotFound for a replaced memory that the caller does not have; Precondition for one that was
// replaced before; Exhausted for a user with too many; Denied.
func (s *Service) Remember(ctx context.Context, m Memory) (Memory, error) {
	within, subject, err := own(ctx)
	if err != nil {
		return Memory{}, err
	}
	now := time.Now()
	if err := m.check(now); err != nil {
		return Memory{}, err
	}
	m.ID, m.Subject, m.CreatedAt = uuid.Must(uuid.NewV7()).String(), subject, now
	m.lineage, m.Source = m.ID, from(ctx, m.Source)
	into, err := s.prepare(ctx)
	if err != nil {
		return Memory{}, err
	}
	stored := []Memory{m}
	if m.Replaces != "" {
		old, err := s.replaced(within, m)
		if err != nil {
			return Memory{}, err
		}
		stored[0].lineage = old.lineage
		stored = append(stored, old)
	}
	if err := s.checkCount(within); err != nil {
		return Memory{}, err
	}
	return stored[0], s.store(within, into, stored)
}

// replaced returns the memory that m replaces, with the end of its validity.
func (s *Service) replaced(ctx context.Context, m Memory) (Memory, error) {
	found, _, err := s.list(ctx, map[string]any{"memoryId": map[string]any{"$eq": m.Replaces}}, 1, "")
	switch {
	case err != nil:
		return Memory{}, err
	case len(found) == 0:
		return Memory{}, fault.New(fault.NotFound, "replaces: you have no memory %q", textlimit.Shorten(m.Replaces, 100))
	case found[0].ReplacedBy != "":
		return Memory{}, fault.New(fault.Precondition, "replaces: memory %q was replaced by %q: replace that one", m.Replaces, found[0].ReplacedBy)
	case !m.ValidFrom.After(found[0].ValidFrom):
		return Memory{}, fault.Field("validFrom", "must be after that of the replaced memory, %s", found[0].ValidFrom.UTC().Format(time.RFC3339))
	}
	old := found[0]
	old.ReplacedBy = m.ID
	if old.ValidUntil.IsZero() || old.ValidUntil.After(m.ValidFrom) {
		old.ValidUntil = m.ValidFrom
	}
	return old, nil
}

// checkCount returns an error if the user may store no more. Calls at the same time may exceed the number by one each. Errors: Exhausted.
func (s *Service) checkCount(ctx context.Context) error {
	counts, err := s.queries.Count(ctx, query.CountRequest{IndexName: access.MemoryIndex})
	if err == nil && counts.Chunks >= MaxPerUser {
		err = fault.New(fault.Exhausted, "this user has %d memories, the most that are kept: forget some", MaxPerUser)
	}
	return err
}

// store writes memories, all or none, with the embeddings of their texts.
func (s *Service) store(ctx context.Context, into index.Index, memories []Memory) error {
	texts := make([]string, len(memories))
	for n, m := range memories {
		texts[n] = m.Text
	}
	made, err := s.queries.Embed(ctx, into.EmbeddingModel, into.Dimension, texts)
	if err != nil {
		return err
	}
	entries := make([]vector.Entry, len(memories))
	for n, m := range memories {
		metadata, err := m.metadata()
		if err != nil {
			return err
		}
		entries[n] = vector.Entry{ID: m.ID, Values: made.Values[n], Metadata: metadata, Document: m.Text}
	}
	_, err = s.vectors.Upsert(ctx, access.MemoryIndex, entries, vector.Selection{})
	return err
}

// prepare returns the index, which it makes if it is not there, and erases what has expired of all users.
func (s *Service) prepare(ctx context.Context) (index.Index, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return index.Index{}, err
	}
	all := whole(ctx, r, filter.Filter{})
	into, err := s.indexes.Resolve(all, r.Tenant, access.MemoryIndex)
	if fault.KindOf(err) == fault.NotFound {
		// A user's memories are few: they are compared one by one.
		into, _, err = s.indexes.Create(all, index.Spec{Name: access.MemoryIndex, Config: index.Config{Type: index.Flat}, MetadataIndexes: []string{"subject", "expiresAt"}})
		return into, err
	}
	if err != nil {
		return into, err
	}
	due, err := filter.Parse(map[string]any{"expiresAt": map[string]any{"$lte": "now"}})
	if err != nil {
		return into, err
	}
	_, err = s.vectors.Delete(all, access.MemoryIndex, vector.Selection{Filter: due, FilterGiven: true})
	return into, err
}

// Limits of questions.
const (
	MaxTopK          = 50
	DefaultTopK      = 5
	MaxQuestionBytes = 2000
)

// Recall returns the caller's memories that answer a question and held at a time, now if it is zero: the best
// first, at most topK, DefaultTopK if that is 0. Errors: Invalid, naming the field; Denied.
func (s *Service) Recall(ctx context.Context, question string, topK int, asOf time.Time) ([]Memory, error) {
	within, _, err := own(ctx)
	if err != nil {
		return nil, err
	}
	at := stamp(cmp.Or(asOf, time.Now()))
	return s.search(within, question, topK, map[string]any{"validFrom": map[string]any{"$lte": at}, "validUntil": map[string]any{"$gt": at}})
}

// search returns the memories that answer a question, of those that a condition selects.
func (s *Service) search(ctx context.Context, question string, topK int, condition map[string]any) ([]Memory, error) {
	if question == "" {
		return nil, fault.Field("queryText", "is empty")
	}
	if err := textlimit.Check("queryText", question, MaxQuestionBytes); err != nil {
		return nil, err
	}
	if topK < 0 || topK > MaxTopK {
		return nil, fault.Field("topK", "must be 1 to %d, got %d", MaxTopK, topK)
	}
	f, err := alive(condition)
	if err != nil {
		return nil, err
	}
	most := cmp.Or(topK, DefaultTopK)
	found, _, err := s.find(ctx, query.Request{Question: query.Question{QueryText: question, IndexName: access.MemoryIndex, Filter: f, TopK: &most, Distinct: new(false)}})
	return found, err
}

// What a memory needs at least to answer a question: one of the two. They were chosen with questions of
// the quality test and 200 memories, and the built-in embedding model. Models that find all texts similar leave the
// decision to who reads the memories.
const (
	minSimilarity = 0.3
	minKeywords   = 0.06 // query.Source.KeywordScore
)

// answers reports whether a memory that was found may answer the question.
func answers(s query.Source) bool {
	return s.Similarity != nil && *s.Similarity >= minSimilarity || s.KeywordScore != nil && *s.KeywordScore >= minKeywords
}

// alive returns the filter of a condition on memories that have not expired.
func alive(condition map[string]any) (filter.Filter, error) {
	return filter.Parse(map[string]any{"$and": []any{map[string]any{"expiresAt": map[string]any{"$gt": "now"}}, condition}})
}

// find returns the memories that a query finds, and the token of the next page; none before the index is made.
func (s *Service) find(ctx context.Context, req query.Request) (memories []Memory, next string, err error) {
	found, err := s.queries.Query(ctx, req)
	if fault.KindOf(err) == fault.NotFound {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	memories = make([]Memory, 0, len(found.Sources))
	for _, source := range found.Sources {
		m, err := memoryOf(source)
		if err != nil {
			return nil, "", err
		}
		if req.QueryText == "" || answers(source) {
			memories = append(memories, m)
		}
	}
	return memories, found.NextPageToken, nil
}
