package service

import (
	"context"

	"github.com/ragdhq/ragd/internal/automation/connector"
	"github.com/ragdhq/ragd/internal/automation/evaluate"
	"github.com/ragdhq/ragd/internal/automation/hook"
	"github.com/ragdhq/ragd/internal/automation/workflow"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/reseal"
	"github.com/ragdhq/ragd/internal/query/alert"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/archive"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// newArchives returns the service that exports and imports tenants.
func (s *Service) newArchives(work *data.DB, sealed *reseal.Service, documents *ingest.Service, connectors *connector.Service) *archive.Service {
	return archive.New(archive.Config{
		Tenants: s.Tenants, Credentials: s.Credentials, DB: work, Version: s.config.Version, MaxIndexes: s.config.MaxIndexes, Logger: s.log, Wake: s.backlog.Wake,
		Settle: func(ctx context.Context, tx *data.Tx, from tenant.ID) (lost []string, err error) {
			for _, settle := range []func() error{
				func() error { return job.Restored(ctx, tx) },
				func() error { return index.Restored(ctx, tx, s.queue) }, // after it, as it starts jobs
				func() error { return documents.Restored(ctx, tx) },
				func() error { return evaluate.Restored(ctx, tx) },
				func() error { return workflow.Restored(ctx, tx) },
				func() error { return alert.Restored(ctx, tx) },
				func() error { return connectors.Restored(ctx, tx, from) },
				func() (err error) { lost, err = sealed.Restored(ctx, tx, from); return err },
				func() error { return hook.Restored(ctx, tx, from) }, // the last: it deletes the events of the others
			} {
				if err := settle(); err != nil {
					return nil, err
				}
			}
			return lost, nil
		},
	})
}
