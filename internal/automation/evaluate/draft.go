package evaluate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// draft are the settings of a draft of questions.
type draft struct {
	Count         int             `json:"count"`
	Model         string          `json:"model,omitempty"` // empty: from titles, headings and first sentences
	Seed          int64           `json:"seed,omitempty"`
	Namespace     string          `json:"namespace"`
	ContextFilter json.RawMessage `json:"contextFilter,omitempty"`
}

const (
	defaultDrafts = 50
	maxDrafts     = 1000
	// minDraftBytes is the length of the shortest chunk from which a question is made.
	minDraftBytes = 80
	// spareDocuments and spareChunks are how many times as many documents and chunks of each
	// are sampled as questions are wanted, as no question can be made from some.
	spareDocuments = 2
	spareChunks    = 3
	// draftBatch is how many drafts are stored at once.
	draftBatch = 10
)

// Draft says what to draft.
type Draft struct {
	Count     int // 0 means 50
	Model     string
	Seed      int64
	Namespace string
}

// DraftQuestions starts a job that adds questions made from chunks of the set's index to the
// set. Errors: NotFound; Invalid; Precondition while another draft of the set is under way.
func (s *Service) DraftQuestions(ctx context.Context, setName string, wanted Draft) (Set, job.Job, error) {
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return Set{}, job.Job{}, err
	}
	d, err := s.draft(ctx, c, wanted)
	if err != nil {
		return Set{}, job.Job{}, err
	}
	set, err := getSet(ctx, c.handle, c.access, setName)
	if err != nil {
		return Set{}, job.Job{}, err
	}
	i, err := s.Indexes.Resolve(ctx, c.request.Tenant, set.IndexName)
	if err != nil {
		return Set{}, job.Job{}, err
	}
	if err := c.handle.Admit(ctx, 0); err != nil {
		return Set{}, job.Job{}, err
	}
	jobID := uuid.Must(uuid.NewV7()).String()
	err = c.handle.Tx(ctx, func(tx *data.Tx) error { return s.startDraft(ctx, tx, c.access, setName, i, d, jobID) })
	if err != nil {
		return Set{}, job.Job{}, err
	}
	jobs, err := job.ByID(ctx, c.handle, []string{jobID})
	if err != nil {
		return Set{}, job.Job{}, err
	}
	set, err = getSet(ctx, c.handle, c.access, setName)
	return set, jobs[jobID], err
}

// draft returns checked settings. Errors: Invalid, Precondition for the model.
func (s *Service) draft(ctx context.Context, c caller, wanted Draft) (draft, error) {
	d := draft{Count: wanted.Count, Model: wanted.Model, Seed: wanted.Seed}
	if d.Count == 0 {
		d.Count = defaultDrafts
	}
	if d.Count < 1 || d.Count > maxDrafts {
		return d, fault.Field("count", "must be between 1 and %d, got %d", maxDrafts, d.Count)
	}
	var err error
	if d.Namespace, err = index.Namespace(wanted.Namespace); err != nil {
		return d, err
	}
	f, err := c.request.Resolve(c.request.Overrides.Filter)
	if err != nil {
		return d, err
	}
	if !f.IsZero() {
		d.ContextFilter = f.JSON()
	}
	if d.Model != "" {
		err = s.Models.Check(ctx, string(c.request.Tenant), d.Model)
	}
	return d, err
}

// startDraft stores the settings of a draft and its job.
func (s *Service) startDraft(ctx context.Context, tx *data.Tx, may rights, setName string, i index.Index, d draft, jobID string) error {
	if err := sets.Lock(ctx, tx); err != nil {
		return err
	}
	set, err := getSet(ctx, tx, may, setName)
	if err != nil {
		return err
	}
	if set.DraftJobID != "" {
		jobs, err := job.ByID(ctx, tx, []string{set.DraftJobID})
		if err != nil {
			return err
		}
		if last, ok := jobs[set.DraftJobID]; ok && !last.Status.Ended() {
			return fault.New(fault.Precondition, "a draft of question set %q is under way: wait for job %s, or cancel it", setName, last.JobID)
		}
	}
	_, err = tx.Exec(ctx, `UPDATE ragd_shared.question_sets SET draft = $2, draft_job_id = $3::uuid WHERE set_name = $1`, setName, d, jobID)
	if err != nil {
		return err
	}
	return s.enqueueFor(ctx, tx, job.Draft, i.ID, job.Start{Kind: job.Draft, JobID: jobID, IndexName: i.Name, Unit: "questions"}, set.access)
}

// enqueueFor stores a job that credentials with the mandatory filter access may see.
func (s *Service) enqueueFor(ctx context.Context, tx *data.Tx, task job.Kind, indexID int64, start job.Start, access string) error {
	f, err := filter.Parse([]byte(access))
	if err != nil {
		return fmt.Errorf("read a stored filter: %w", err)
	}
	start.Access = f
	return s.enqueue(ctx, tx, task, indexID, start)
}

func (s *Service) retryDraft(ctx context.Context, id tenant.ID, failed job.Job) (jobID string, err error) {
	i, err := s.Indexes.Resolve(ctx, id, failed.IndexName)
	if err != nil {
		return "", err
	}
	jobID = uuid.Must(uuid.NewV7()).String()
	err = s.DB.Handle(id).Tx(ctx, func(tx *data.Tx) error {
		set, err := setOfDraft(ctx, tx, failed.JobID)
		if errors.Is(err, job.ErrEnded) {
			return fault.New(fault.Precondition, "the question set of job %q was deleted, or a newer draft was started", failed.JobID)
		}
		if err != nil {
			return err
		}
		return s.startDraft(ctx, tx, rights{set.access, access.BoundsOf(ctx).Indexes}, set.Name, i, *set.draft, jobID)
	})
	return jobID, err
}

// setOfDraft returns the set whose last draft is a job, else job.ErrEnded.
func setOfDraft(ctx context.Context, q data.Queryer, jobID string) (Set, error) {
	row, err := data.Get[setRow](ctx, q, `SELECT `+setColumns+` FROM ragd_shared.question_sets AS s WHERE s.draft_job_id = $1::uuid AND s.draft IS NOT NULL`, jobID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Set{}, job.ErrEnded
	}
	return row.set(), err
}

// runDraft makes one attempt at a draft. Questions that are in the set already count as
// drafted, so that an interrupted job continues.
func (s *Service) runDraft(ctx context.Context, a job.Attempt) error {
	return s.attempt(ctx, a, "draft of questions", s.draftQuestions)
}

// draftTurn is turn for drafts, which sample their chunks again in each.
const draftTurn = time.Minute

func (s *Service) draftQuestions(ctx context.Context, h *data.Handle, a job.Attempt) (done bool, err error) {
	set, err := setOfDraft(ctx, h, a.JobID)
	if err != nil {
		return false, err
	}
	if err := job.Begin(ctx, h, a.JobID); err != nil {
		return false, err
	}
	chunks, err := s.sample(ctx, a.Tenant, set)
	if err != nil {
		return false, err
	}
	w := drafter{service: s, handle: h, set: set, jobID: a.JobID, texts: map[string]bool{}}
	began := time.Now()
	for len(chunks) > 0 && w.done < set.draft.Count {
		if time.Since(began) > draftTurn {
			return false, nil
		}
		n := min(len(chunks), draftBatch)
		if err := w.add(ctx, chunks[:n]); err != nil {
			return false, err
		}
		chunks = chunks[n:]
	}
	return true, h.Tx(ctx, func(tx *data.Tx) error {
		if err := job.Progress(ctx, tx, a.JobID, w.done, w.done); err != nil {
			return err
		}
		return job.Succeed(ctx, tx, a.JobID)
	})
}

// sampled is a chunk from which a question may be made.
type sampled struct {
	DocumentID string
	URI        string
	Title      string
	Text       string
	Headings   []string
	StartByte  int
	EndByte    int
}

// id returns the id of the question made from the chunk. It depends on the chunk alone, so
// that no chunk is drafted from twice.
func (c sampled) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", c.URI, c.StartByte, c.EndByte))
	return "draft-" + hex.EncodeToString(sum[:6])
}

// sample returns chunks of the set's index that the set's credential may read, in a random
// order that depends on the seed and the documents alone: first one of each sampled document,
// then a second one, and so on.
func (s *Service) sample(ctx context.Context, id tenant.ID, set Set) (chunks []sampled, err error) {
	acting, err := actAs(ctx, id, set.access, set.draft.ContextFilter)
	if err != nil {
		return nil, err
	}
	r, _ := access.FromContext(acting)
	visible := filter.And(r.Principal.MandatoryFilter, r.Overrides.Filter)
	err = s.Indexes.Use(ctx, id, set.IndexName, func(i index.Index, tables *data.Handle) error {
		documents, err := sampleDocuments(ctx, tables, i, *set.draft, visible)
		if err == nil && len(documents) > 0 {
			chunks, err = sampleChunks(ctx, tables, i, *set.draft, visible, documents)
		}
		return err
	})
	return chunks, err
}

func sampleDocuments(ctx context.Context, h *data.Handle, i index.Index, d draft, visible filter.Filter) ([]string, error) {
	args := filter.NewArgs(i.ID, d.Namespace, d.Seed, spareDocuments*d.Count)
	return data.Values[string](ctx, h, `
		SELECT d.document_id::text FROM tenant.documents AS d
		WHERE d.index_id = $1 AND d.namespace = $2 AND d.chunk_count > 0 AND `+visible.SQL("d.metadata", args)+`
		ORDER BY hashtextextended(d.uri, $3), d.uri LIMIT $4`, args.Values()...)
}

func sampleChunks(ctx context.Context, h *data.Handle, i index.Index, d draft, visible filter.Filter, documents []string) ([]sampled, error) {
	each := (d.Count + len(documents) - 1) / len(documents) * spareChunks
	args := filter.NewArgs(documents, d.Seed, minDraftBytes, each, spareDocuments*spareChunks*d.Count)
	return data.Select[sampled](ctx, h, `
		SELECT n.document_id::text, d.uri, n.title, n.text, n.headings, n.start_byte, n.end_byte
		FROM (
			SELECT c.document_id, c.title, c.text, c.start_byte, c.end_byte,
				CASE WHEN jsonb_typeof(c.metadata->'headings') = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(c.metadata->'headings')) END AS headings,
				row_number() OVER (PARTITION BY c.document_id ORDER BY hashint8extended(c.start_byte, $2), c.ordinal) AS nth
			FROM tenant.chunk AS c
			WHERE c.document_id = ANY($1::uuid[]) AND octet_length(c.text) >= $3 AND `+visible.SQL(filter.ChunkMetadata, args, i.MetadataIndexes...)+`
		) AS n JOIN tenant.documents AS d USING (document_id)
		WHERE n.nth <= $4
		ORDER BY n.nth, array_position($1::uuid[], n.document_id) LIMIT $5`, args.Values()...)
}
