package index

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// Service manages the indexes of the calling tenant. Safe for concurrent use.
type Service struct {
	db           *data.DB
	models       *embed.Registry
	queue        *job.Queue
	extractor    *extract.Extractor
	defaultModel string
	quota        int
	known        *known
	recorder     *recorder
	upkeep       *upkeep
}

// ServiceConfig holds the settings of a Service.
type ServiceConfig struct {
	// DefaultModel is the embedding model of indexes that name none.
	DefaultModel string
	// Extractor checks the extraction settings of indexes. Required.
	Extractor *extract.Extractor
	// MaxIndexes is how many indexes a tenant may have unless its own settings say
	// otherwise. Default: DefaultMaxIndexes.
	MaxIndexes int
	// RecordNoQuestions stops the recording of questions in all indexes.
	RecordNoQuestions bool
}

// New returns a Service that queues its jobs.
func New(db *data.DB, models *embed.Registry, queue *job.Queue, config ServiceConfig) *Service {
	return &Service{
		db: db, models: models, queue: queue, known: newKnown(), recorder: newRecorder(config.RecordNoQuestions), upkeep: newUpkeep(),
		extractor: config.Extractor, defaultModel: config.DefaultModel, quota: cmp.Or(config.MaxIndexes, DefaultMaxIndexes),
	}
}

// Create creates an index, or returns the existing one with the same name and settings.
// Errors: Exists when the name is taken by an index with other settings, Exhausted when the
// tenant has as many indexes as it may have, Denied for a name outside the caller's bounds,
// Invalid.
func (s *Service) Create(ctx context.Context, spec Spec) (Index, Counts, error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return Index{}, Counts{}, err
	}
	if spec.Name == access.MemoryIndex && !access.MayUseIndex(ctx, spec.Name) {
		return Index{}, Counts{}, errName
	}
	if !access.MayUseIndex(ctx, spec.Name) {
		return Index{}, Counts{}, fault.New(fault.Denied, "this credential is bound to indexes, and none of them has this name: it cannot create it")
	}
	h := s.db.Handle(r.Tenant)
	asked := spec
	if err := s.complete(ctx, h, &spec); err != nil {
		return Index{}, Counts{}, err
	}
	if err := h.Admit(ctx, 0); err != nil {
		return Index{}, Counts{}, err
	}
	quotas := r.Quotas
	quotas.Indexes = cmp.Or(quotas.Indexes, s.quota)
	made, err := insert(ctx, h, spec, quotas)
	if errors.Is(err, pgx.ErrNoRows) {
		return s.same(ctx, h, asked)
	}
	return made, Counts{}, err
}

// same returns the existing index with the name of a spec, if it has the settings of the
// spec. One that was made with another default model has the settings of a spec that names none.
// Errors: Exists.
func (s *Service) same(ctx context.Context, h *data.Handle, spec Spec) (Index, Counts, error) {
	existing, counts, err := counted(ctx, h, spec.Name)
	if err != nil {
		return Index{}, Counts{}, err
	}
	if (spec.EmbeddingModel == "" || spec.EmbeddingModel == embed.Auto) && spec.Dimension == 0 && existing.EmbeddingModel != "" {
		spec.EmbeddingModel, spec.Dimension = existing.EmbeddingModel, existing.Dimension
	}
	if err := s.complete(ctx, h, &spec); err != nil {
		return Index{}, Counts{}, err
	}
	if differences := existing.differences(spec); len(differences) > 0 {
		return Index{}, Counts{}, fault.New(fault.Exists, "index %q exists with other settings: %s", spec.Name, strings.Join(differences, "; "))
	}
	return existing, counts, nil
}

// complete validates a spec and fills in its defaults. Errors: Invalid.
func (s *Service) complete(ctx context.Context, h *data.Handle, spec *Spec) error {
	if err := spec.check(); err != nil {
		return err
	}
	if spec.MetadataIndexes == nil {
		spec.MetadataIndexes = []string{}
	}
	if err := spec.checkChunking(); err != nil {
		return err
	}
	if err := s.extractor.CheckSettings(ctx, string(h.Tenant()), spec.Extract); err != nil {
		return err
	}
	if err := checkMetadataSchema(spec.MetadataSchema); err != nil {
		return err
	}
	if err := s.completeDimension(ctx, h.Tenant(), spec); err != nil {
		return err
	}
	ok, err := languageExists(ctx, h, spec.TextLanguage)
	if err != nil {
		return err
	}
	if !ok {
		return fault.Field("textLanguage", "this PostgreSQL has no text search configuration %q", spec.TextLanguage)
	}
	return spec.checkTypes()
}

func (s *Spec) checkChunking() error {
	_, err := s.Chunking.Options()
	return fault.Under("chunking", err)
}

// completeDimension fills in model and dimension: a dimension without a model means an
// index of ready-made vectors, a model has its dimension, and neither means the default
// model.
func (s *Service) completeDimension(ctx context.Context, id tenant.ID, spec *Spec) error {
	if spec.EmbeddingModel == "" && spec.Dimension > 0 {
		return nil
	}
	if spec.EmbeddingModel == "" {
		spec.EmbeddingModel = s.defaultModel
	}
	model, err := s.models.Model(ctx, string(id), spec.EmbeddingModel)
	if err != nil {
		return err
	}
	if model, err = model.WithDimension(spec.Dimension); err != nil {
		return err
	}
	if model, err = model.Resolve(ctx, string(id)); err != nil {
		return err
	}
	spec.EmbeddingModel, spec.Dimension = model.Name, model.Dimension
	return nil
}

// Describe returns an index and what it holds, in constant time. For a credential
// with a mandatory filter it counts what the filter selects, which takes time in
// proportion. Errors: NotFound.
func (s *Service) Describe(ctx context.Context, name string) (Index, Counts, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Index{}, Counts{}, err
	}
	h := s.db.Handle(r.Tenant)
	found, counts, err := counted(ctx, h, name)
	if err != nil {
		return Index{}, Counts{}, err
	}
	if visible := r.Principal.MandatoryFilter; !visible.IsZero() {
		counts, err = visibleCounts(ctx, h, found, visible)
		return found, counts, err
	}
	found.OldEmbeddings, err = oldEmbeddings(ctx, h, found)
	return found, counts, err
}

// Described is an index with its counts.
type Described struct {
	Index
	Counts Counts
}

// List returns a page of the tenant's indexes by name, with counts as by Describe, and
// the token of the next page.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Described, string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	h, visible := s.db.Handle(r.Tenant), r.Principal.MandatoryFilter
	name := func(row countedRow) string { return row.IndexName }
	rows, next, err := pagination.List(access.Pages(ctx, "indexes"), pageSize, pageToken, "", name, func(after string, most int) ([]countedRow, error) {
		return listCounted(ctx, h, after, most)
	})
	if err != nil {
		return nil, "", err
	}
	out := make([]Described, len(rows))
	for i, row := range rows {
		out[i] = Described{row.index(), row.counts()}
		if visible.IsZero() {
			continue
		}
		if out[i].Counts, err = visibleCounts(ctx, h, out[i].Index, visible); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

// maxAttempts is the maximum number of attempts to change or delete an index in use. An
// attempt may deadlock with uploads and workers; PostgreSQL then ends it, after a second
// or more.
const maxAttempts = 10

// untilNoConflict calls do until it returns another error than a Conflict, at most
// maxAttempts times.
func untilNoConflict(do func() error) error {
	for attempt := 1; ; attempt++ {
		if err := do(); fault.KindOf(err) != fault.Conflict || attempt == maxAttempts {
			return err
		}
	}
}

// Delete deletes an index with its documents and chunks. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, name string) error {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return err
	}
	h := s.db.Handle(r.Tenant)
	found, err := ByName(ctx, h, name)
	if err != nil {
		return err
	}
	defer s.known.forget(r.Tenant, name)
	return untilNoConflict(func() error { return drop(ctx, h, s.queue, found) })
}

// Update changes settings of an index. Another config starts a job that builds the
// Postgres index over the embeddings again, while the old one serves; other graph
// settings start a job that builds the graph again. Creating Postgres indexes on
// metadata blocks writers. Concurrent updates of an index wait for each other, and one that
// is interrupted changes nothing. Errors: Invalid, NotFound.
func (s *Service) Update(ctx context.Context, name string, c Change) (Index, Counts, error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return Index{}, Counts{}, err
	}
	h := s.db.Handle(r.Tenant)
	found, err := ByName(ctx, h, name)
	if err != nil {
		return Index{}, Counts{}, err
	}
	if err := catalog.Expect("index", name, c.ETag, found.ETag()); err != nil { // and again when it is locked
		return Index{}, Counts{}, err
	}
	changed, err := found.changed(c)
	if err != nil {
		return Index{}, Counts{}, err
	}
	if c.EmbeddingModel != nil || len(changed.MetadataIndexes) > len(found.MetadataIndexes) {
		if err := h.Admit(ctx, 0); err != nil {
			return Index{}, Counts{}, err
		}
	}
	if err := s.extractor.CheckSettings(ctx, string(r.Tenant), c.Extract); err != nil {
		return Index{}, Counts{}, err
	}
	if c.MetadataSchema != nil {
		if err := checkMetadataSchema(*c.MetadataSchema); err != nil {
			return Index{}, Counts{}, err
		}
	}
	model, err := s.newModel(ctx, r.Tenant, found, c)
	if err != nil {
		return Index{}, Counts{}, err
	}
	defer s.known.forget(r.Tenant, name)
	err = untilNoConflict(func() error {
		return h.Tx(ctx, func(tx *data.Tx) error { return s.update(ctx, tx, name, c, model) })
	})
	if err != nil {
		return Index{}, Counts{}, err
	}
	return counted(ctx, h, name)
}

// Build starts a job that builds the Postgres index over the embeddings, however few
// there are, and returns its id. Errors: NotFound, Precondition for a flat index.
func (s *Service) Build(ctx context.Context, name string) (jobID string, err error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return "", err
	}
	found, err := ByName(ctx, s.db.Handle(r.Tenant), name)
	if err != nil {
		return "", err
	}
	if found.Config.Type == Flat {
		return "", fault.New(fault.Precondition, "index %q is flat: there is nothing to build; choose another indexConfig.type first", name)
	}
	defer s.known.forget(r.Tenant, name)
	err = s.db.Handle(r.Tenant).Tx(ctx, func(tx *data.Tx) error {
		jobID, err = s.startBuild(ctx, tx, found)
		return err
	})
	return jobID, err
}

// startBuild queues a build and returns the id of its job, or of the job under way.
func (s *Service) startBuild(ctx context.Context, tx *data.Tx, i Index) (jobID string, err error) {
	if jobID, err = claimBuild(ctx, tx, i); err != nil {
		return "", err
	}
	return jobID, s.queue.Enqueue(ctx, tx, job.Maintain, i.ID, jobID)
}

// Truncate deletes all documents and vectors of an index. Errors: NotFound.
func (s *Service) Truncate(ctx context.Context, name string) error {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return err
	}
	h := s.db.Handle(r.Tenant)
	found, err := ByName(ctx, h, name)
	if err != nil {
		return err
	}
	if found.Next != nil {
		return found.reembedding()
	}
	defer s.known.forget(r.Tenant, name)
	return untilNoConflict(func() error { return truncate(ctx, h, found) })
}

// maxNamesInError is how many names an error lists at most.
const maxNamesInError = 20

// Use calls do with the index that Resolve returns for the name, and the handle of its
// tables. If do returns a data.GoneError because the tables have
// been replaced since the index was cached, Use looks the index up and calls do
// again, once. Errors: those of Resolve and of do.
func (s *Service) Use(ctx context.Context, id tenant.ID, name string, do func(i Index, tables *data.Handle) error) error {
	once := func() (Index, error) {
		i, err := s.Resolve(ctx, id, name)
		if err != nil {
			return i, err
		}
		return i, do(i, s.db.Handle(id).OfIndex(i.ID, i.Generation))
	}
	i, err := once()
	var gone *data.GoneError
	if errors.As(err, &gone) {
		s.Forget(id, i.Name)
		_, err = once()
	}
	return err
}

// Resolve returns the named index, or the tenant's only one if the name is empty. The
// result may come from a cache and be some seconds old, and the tables of the index may
// no longer exist: prefer Use. Errors: NotFound,
// Invalid.
func (s *Service) Resolve(ctx context.Context, id tenant.ID, name string) (Index, error) {
	if name == "" {
		return s.only(ctx, id)
	}
	if !access.MayUseIndex(ctx, name) {
		return Index{}, NotFound(ctx, s.db.Handle(id), name)
	}
	if found, ok := s.known.get(id, name); ok {
		return found, nil
	}
	read := time.Now()
	found, err := ByName(ctx, s.db.Handle(id), name)
	if err != nil {
		return Index{}, err
	}
	s.known.put(id, found, read)
	s.offerUpkeep(id, found)
	return found, nil
}

// Named returns the names of the caller's indexes that are among names, or that a pattern among them, in which *
// stands for any characters, selects. They are in order, each once, at most most. Errors: Invalid; NotFound for a
// name without an index, and if patterns select none.
func (s *Service) Named(ctx context.Context, id tenant.ID, names []string, most int) ([]string, error) {
	const field = "indexNames"
	var patterns []string
	for _, name := range names {
		switch {
		case strings.TrimSpace(name) == "":
			return nil, fault.Field(field, "has an empty name: give names of indexes, or patterns such as docs-*")
		case len(name) > maxPattern:
			return nil, fault.Field(field, "a name or pattern has %d bytes, over the limit of %d", len(name), maxPattern)
		}
		patterns = append(patterns, asLike.Replace(name))
	}
	if len(patterns) > maxPatterns {
		return nil, fault.Field(field, "has %d names and patterns, over the limit of %d", len(patterns), maxPatterns)
	}
	h := s.db.Handle(id)
	found, err := named(ctx, h, patterns, most+1)
	if err != nil {
		return nil, err
	}
	if len(found) > most {
		return nil, fault.Field(field, "selects over %d indexes, the limit of one question: name fewer, such as those that begin alike", most)
	}
	for _, name := range names {
		if !strings.Contains(name, "*") && !slices.Contains(found, name) {
			return nil, NotFound(ctx, h, name)
		}
	}
	if len(found) == 0 {
		return nil, fault.New(fault.NotFound, "no index matches %s: list the indexes to see the names", strings.Join(names, ", "))
	}
	return found, nil
}

// Limits of Named.
const (
	maxPattern  = 128 // bytes
	maxPatterns = 100
)

// asLike makes a pattern of LIKE of one in which * stands for any characters.
var asLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `%`)

// Forget drops an index from the cache of Resolve.
func (s *Service) Forget(id tenant.ID, name string) { s.known.forget(id, name) }

func (s *Service) only(ctx context.Context, id tenant.ID) (Index, error) {
	rows, err := listCounted(ctx, s.db.Handle(id), "", maxNamesInError+1)
	if err != nil {
		return Index{}, err
	}
	switch len(rows) {
	case 0:
		return Index{}, fault.New(fault.NotFound, "there is no index yet: create one first")
	case 1:
		return rows[0].index(), nil
	}
	names := make([]string, 0, maxNamesInError)
	for _, row := range rows[:min(len(rows), maxNamesInError)] {
		names = append(names, row.IndexName)
	}
	return Index{}, fault.Field("indexName", "is needed, as there are several indexes: %s", strings.Join(names, ", "))
}
