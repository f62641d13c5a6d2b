package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// build creates a new Postgres index over the embeddings, and then replaces the old one
// if there is one. Writers and readers are not blocked. The search width is measured
// afterwards.
func (m *Maintainer) build(ctx context.Context, h *data.Handle, s *data.Session, task job.Task) error {
	i, jobID, rows, err := beginBuild(ctx, h, task.IndexID)
	if err != nil {
		return err
	}
	start := time.Now()
	if i.Config.Type == Flat {
		if err := dropBuilt(ctx, s, i); err != nil {
			return err
		}
		return m.endBuild(ctx, h, i, jobID, false)
	}
	stop := reportProgress(ctx, h, jobID, rows)
	err = createIndex(ctx, s, i, rows)
	stop()
	if err != nil { // an unfinished index only slows writes
		return errors.Join(err, dropUnfinished(context.WithoutCancel(ctx), s, i))
	}
	if err := replaceBuilt(ctx, h, i); err != nil {
		return err
	}
	m.log.InfoContext(ctx, "index built", "tenant", task.Tenant, "index", i.Name, "type", i.Config.Type, "rows", rows,
		"duration_ms", time.Since(start).Milliseconds())
	return m.endBuild(ctx, h, i, jobID, true)
}

// claimBuild adds the job of a build that a caller asked for, and returns its id, or the
// id of the job that is under way.
func claimBuild(ctx context.Context, tx *data.Tx, i Index) (jobID string, err error) {
	asked := uuid.Must(uuid.NewV7()).String()
	jobID, err = data.Value[string](ctx, tx, `
		UPDATE tenant.indexes SET build_job_id = coalesce(build_job_id, $2::uuid) WHERE index_id = $1
		RETURNING build_job_id::text`, i.ID, asked)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", NotFound(ctx, tx, i.Name)
	}
	if err != nil || jobID != asked {
		return jobID, err
	}
	return jobID, job.Insert(ctx, tx, buildJob(jobID, i))
}

func buildJob(jobID string, i Index) job.Start {
	return job.Start{JobID: jobID, Kind: job.Build, IndexName: i.Name, Unit: "vectors"}
}

// beginBuild marks the job of a build running, or starts one if no caller asked for the
// build.
func beginBuild(ctx context.Context, h *data.Handle, indexID int64) (i Index, jobID string, rows int64, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		id, err := data.Value[string](ctx, tx, `
			UPDATE tenant.indexes SET build_job_id = coalesce(build_job_id, $2) WHERE index_id = $1
			RETURNING build_job_id::text`, indexID, uuid.Must(uuid.NewV7()))
		if err != nil {
			return err
		}
		if i, rows, err = byID(ctx, tx, indexID); err != nil {
			return err
		}
		jobID = id
		if err := job.Insert(ctx, tx, buildJob(jobID, i)); err != nil {
			return err
		}
		if err := job.Begin(ctx, tx, jobID); err != nil {
			return err
		}
		return job.Progress(ctx, tx, jobID, 0, int(rows))
	})
	return i, jobID, rows, err
}

// replaceBuilt replaces the old Postgres index by the new one.
func replaceBuilt(ctx context.Context, h *data.Handle, i Index) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		return i.executeAll(ctx, tx, []string{
			fmt.Sprintf(`DROP INDEX IF EXISTS tenant.%s`, i.builtName()),
			fmt.Sprintf(`ALTER INDEX tenant.%s RENAME TO %s`, i.unfinishedName(), i.builtName()),
		})
	})
}

// endBuild stores whether the Postgres index exists and ends the job, unless the config
// was changed meanwhile: then the job goes on with the new config. Chunks that could not
// be linked without an HNSW index are linked after that.
func (m *Maintainer) endBuild(ctx context.Context, h *data.Handle, i Index, jobID string, built bool) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		done, err := data.Value[bool](ctx, tx, `
			UPDATE tenant.indexes SET built = $2, search_width = 0, build_job_id = CASE WHEN index_config = $3 THEN NULL ELSE build_job_id END
			WHERE index_id = $1 RETURNING build_job_id IS NULL`, i.ID, built, i.Config)
		if err != nil || !done {
			return err
		}
		if err := job.Succeed(ctx, tx, jobID); err != nil {
			return err
		}
		return m.queue.Start(ctx, tx, job.Link, i.ID)
	})
}

// recordFailure stores the public reason of a failed build, if one was running, and ends
// the job after the last attempt.
func recordFailure(ctx context.Context, h *data.Handle, indexID int64, reason string, final bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return h.Tx(ctx, func(tx *data.Tx) error {
		jobID, err := data.Value[*string](ctx, tx, `SELECT i.build_job_id::text FROM tenant.indexes AS i WHERE i.index_id = $1`, indexID)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && jobID == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := job.FailAttempt(ctx, tx, *jobID, 0, reason, final); err != nil || !final {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE tenant.indexes SET build_job_id = NULL WHERE index_id = $1`, indexID)
		return err
	})
}

// createIndex creates the Postgres index under its unfinished name, after dropping that of
// an earlier attempt.
func createIndex(ctx context.Context, s *data.Session, i Index, rows int64) error {
	if err := dropUnfinished(ctx, s, i); err != nil {
		return err
	}
	if err := s.Set(ctx, "maintenance_work_mem", strconv.FormatInt(i.buildMemory(rows)>>10, 10)+"kB"); err != nil {
		return err
	}
	options := fmt.Sprintf("m = %d, ef_construction = %d", i.Config.M, i.Config.EfConstruction)
	if i.Config.Type == IVFFlat {
		options = fmt.Sprintf("lists = %d", i.Config.lists(rows))
	}
	statement := fmt.Sprintf(`CREATE INDEX CONCURRENTLY %s ON tenant.chunk USING %s (embedding %s) WITH (%s)`,
		i.unfinishedName(), i.Config.Type, i.operatorClass(), options)
	_, err := s.Exec(ctx, statement)
	if fault.KindOf(postgres.Fault(err)) != fault.Unavailable || ctx.Err() != nil {
		return err
	}
	// Parallel workers need shared memory that a container may not have.
	if err := s.Set(ctx, "max_parallel_maintenance_workers", "0"); err != nil {
		return err
	}
	if err := dropUnfinished(ctx, s, i); err != nil {
		return err
	}
	_, err = s.Exec(ctx, statement)
	return err
}

// Limits of the memory of a build, in bytes. A graph that does not fit is finished on disk,
// which is many times slower.
const (
	minBuildMemory = 64 << 20
	maxBuildMemory = 2 << 30
)

// buildMemory returns the bytes of an HNSW graph over a number of rows: the vectors, and
// for each 2m links on the lowest level and m on a few above.
func (i Index) buildMemory(rows int64) int64 {
	const linkBytes, rowBytes = 16, 256
	values := int64(i.Dimension) * 4
	switch i.VectorType {
	case HalfVec:
		values /= 2
	case Bit:
		values /= 32
	case SparseVec:
		values = maxIndexedNonZeros * 8
	}
	estimate := rows * (values + int64(3*i.Config.M*linkBytes) + rowBytes)
	return min(max(estimate+estimate/4, minBuildMemory), maxBuildMemory)
}

// progressInterval is how often the progress of a build is stored.
const progressInterval = time.Second

// reportProgress stores the progress of a build in its job until stop is called.
func reportProgress(ctx context.Context, h *data.Handle, jobID string, rows int64) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			built, err := builtRows(ctx, h)
			if err == nil && built > 0 {
				_ = job.Progress(ctx, h, jobID, int(min(built, rows)), int(rows)) // the next report follows
			}
		}
	}()
	return func() { cancel(); <-done }
}
