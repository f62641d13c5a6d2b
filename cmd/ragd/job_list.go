package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) jobList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List jobs, newest first",
		Example: `  ragd job list --status failed --limit 20`,
		Args:    arguments(),
	}
	status := cmd.Flags().String("status", "", "only jobs in this state")
	limit := limitFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		jobs := pages(*limit, func(size int32, token string) ([]*ragdv1.Job, string, error) {
			page, err := c.documents.ListJobs(cmd.Context(), &ragdv1.ListJobsRequest{
				Status: *status, PageSize: size, PageToken: token,
			})
			return page.GetJobs(), page.GetNextPageToken(), err
		})
		return list(p, "jobs", jobs, "JOB KIND STATUS PROGRESS INDEX DOCUMENT CREATED ERROR", func(j *ragdv1.Job) []any {
			return []any{
				j.GetJobId(), j.GetKind(), j.GetStatus(), jobProgress(j), j.GetIndexName(), j.GetDocumentId(),
				stamp(j.GetCreateTime()), j.GetError(),
			}
		})
	}
	return cmd
}
