package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/job"
	"github.com/ragdhq/ragd/internal/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
)

// build makes the Postgres index over the embeddings beside the one there is, if
// any, and then puts it in its place. Writers and readers go on all the while. How
// far searches in it have to look is measured afterwards.
func (m *Maintainer) build(ctx context.Context, h *tenant.Handle, s *tenant.Session, task job.Task) error {
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
	if err != nil { // what was not finished is of no use, and slows writers down
		return errors.Join(err, dropUnfinished(context.WithoutCancel(ctx), s, i))
	}
	if err := replaceBuilt(ctx, h, i); err != nil {
		return err
	}
	m.log.InfoContext(ctx, "index built", "tenant", task.Tenant, "index", i.Name, "type", i.Config.Type, "rows", rows,
		"duration_ms", time.Since(start).Milliseconds())
	return m.endBuild(ctx, h, i, jobID, true)
}

// claimBuild adds the job of a build that somebody asked for, unless one is on
// its way, and returns its id.
func claimBuild(ctx context.Context, tx *tenant.Tx, i Index) (jobID string, err error) {
	asked := uuid.Must(uuid.NewV7()).String()
	jobID, err = tenant.Value[string](ctx, tx, `
		UPDATE tenant.indexes SET build_job_id = coalesce(build_job_id, $2::uuid) WHERE index_id = $1
		RETURNING build_job_id::text`, i.ID, asked)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", NotFound(i.Name)
	}
	if err != nil || jobID != asked {
		return jobID, err
	}
	return jobID, job.Insert(ctx, tx, buildJob(jobID, i))
}

func buildJob(jobID string, i Index) job.Start {
	return job.Start{JobID: jobID, Kind: job.Build, IndexName: i.Name, Unit: "vectors"}
}

// beginBuild marks the build as running, under the job of who asked for it or a
// new one.
func beginBuild(ctx context.Context, h *tenant.Handle, indexID int64) (i Index, jobID string, rows int64, err error) {
	err = h.Tx(ctx, func(tx *tenant.Tx) error {
		id, err := tenant.Value[string](ctx, tx, `
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

// replaceBuilt puts the new Postgres index in the place of the old one.
func replaceBuilt(ctx context.Context, h *tenant.Handle, i Index) error {
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		return i.executeAll(ctx, tx, []string{
			fmt.Sprintf(`DROP INDEX IF EXISTS tenant.%s`, i.builtName()),
			fmt.Sprintf(`ALTER INDEX tenant.%s RENAME TO %s`, i.unfinishedName(), i.builtName()),
		})
	})
}

// endBuild says what there is now and ends the job, unless the index was given another
// config meanwhile: then the job goes on with that. Chunks that could not be linked
// without an HNSW index can be, once there is one.
func (m *Maintainer) endBuild(ctx context.Context, h *tenant.Handle, i Index, jobID string, built bool) error {
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		done, err := tenant.Value[bool](ctx, tx, `
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

// recordFailure writes what the caller may know of a failed build, if one was
// running, and gives it up if that was the last attempt.
func recordFailure(ctx context.Context, h *tenant.Handle, indexID int64, reason string, final bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		jobID, err := tenant.Value[*string](ctx, tx, `SELECT i.build_job_id::text FROM tenant.indexes AS i WHERE i.index_id = $1`, indexID)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && jobID == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := job.FailAttempt(ctx, tx, *jobID, reason, final); err != nil || !final {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE tenant.indexes SET build_job_id = NULL WHERE index_id = $1`, indexID)
		return err
	})
}

// createIndex builds under the unfinished name. What an earlier attempt left
// behind goes first.
func createIndex(ctx context.Context, s *tenant.Session, i Index, rows int64) error {
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
	// Workers share memory that a container may not have: build alone then.
	if err := s.Set(ctx, "max_parallel_maintenance_workers", "0"); err != nil {
		return err
	}
	if err := dropUnfinished(ctx, s, i); err != nil {
		return err
	}
	_, err = s.Exec(ctx, statement)
	return err
}

// Bounds of what a build may use, in bytes. A graph that does not fit is built
// on disk from there on, which is many times slower.
const (
	minBuildMemory = 64 << 20
	maxBuildMemory = 2 << 30
)

// buildMemory is what an HNSW graph over so many rows takes: the vectors, and
// twice m links on the lowest level and m on a few above.
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

// progressInterval is how often the job of a build is brought up to date.
const progressInterval = time.Second

// reportProgress writes how far the build is into its job until stop is called.
func reportProgress(ctx context.Context, h *tenant.Handle, jobID string, rows int64) (stop func()) {
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
				_ = job.Progress(ctx, h, jobID, int(min(built, rows)), int(rows)) // the next report makes up for it
			}
		}
	}()
	return func() { cancel(); <-done }
}
