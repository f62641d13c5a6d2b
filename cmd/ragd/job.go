package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) jobCommands() *cobra.Command {
	return p.clientFlags(group("job", "Look at the work that uploads started, cancel it or try it again", `
A job is work that goes on after a call was answered, such as cutting and
embedding a document. It is queued, running, succeeded, failed or cancelled.`,
		p.jobList(), p.jobGet(), p.jobWatch(), p.jobCancel(), p.jobRetry(),
	))
}

func (p *program) jobList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List jobs, newest first",
		Example: `  ragd job list --status failed --limit 20`,
		Args:    arguments(),
	}
	status := cmd.Flags().String("status", "", "only jobs in this state")
	limit := limitFlag(cmd.Flags())
	cmd.RunE = p.call(forTenant, func(ctx context.Context, c *client, _ []string) error {
		jobs := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Job, string, error) {
			page, err := c.documents.ListJobs(ctx, &ragdv1.ListJobsRequest{
				Status: *status, PageSize: size, PageToken: token,
			})
			return page.GetJobs(), page.GetNextPageToken(), err
		})
		return output.List(p.out, "jobs", jobs, "JOB KIND STATUS PROGRESS INDEX DOCUMENT CREATED ERROR", func(j *ragdv1.Job) []any {
			return []any{
				j.GetJobId(), j.GetKind(), j.GetStatus(), jobProgress(j), j.GetIndexName(), j.GetDocumentId(),
				output.Stamp(j.GetCreateTime()), j.GetError(),
			}
		})
	})
	return cmd
}

func (p *program) jobGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get JOB",
		Short:   "Show a job",
		Example: `  ragd job get 4711`,
		Args:    arguments("JOB"),
		RunE: p.call(forTenant, func(ctx context.Context, c *client, args []string) error {
			job, err := c.documents.GetJob(ctx, &ragdv1.GetJobRequest{JobId: args[0]})
			if err != nil {
				return err
			}
			return p.out.Show(job, showJob(job))
		}),
	}
}

func (p *program) jobWatch() *cobra.Command {
	return &cobra.Command{
		Use:   "watch JOB",
		Short: "Follow a job until it has ended",
		Long: `Follow a job until it has ended, a line for each change. It exits with 0 only if
the job succeeded.`,
		Example: `  ragd job watch 4711`,
		Args:    arguments("JOB"),
		RunE: p.call(forTenant, func(ctx context.Context, c *client, args []string) error {
			return p.watch(ctx, c, args[0])
		}),
	}
}

// watch prints a job at each change until it ends. It returns an error unless the job
// succeeded.
func (p *program) watch(ctx context.Context, c *client, id string) error {
	job, err := follow(ctx, c, id, func(job *ragdv1.Job) error {
		if p.out.JSON {
			return p.out.MessageLine(job)
		}
		_, err := fmt.Fprintln(p.out.Stdout, output.OneLine(job.GetStatus()+" "+jobProgress(job)))
		return err
	})
	if err != nil {
		return err
	}
	return outcome(id, job)
}

func (p *program) jobCancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel JOB",
		Short: "End a job that is queued or running",
		Long: `End a job that is queued or running. A document that was being processed is failed
then, and its last good version, if it has one, stays searchable.`,
		Example: `  ragd job cancel 4711`,
		Args:    arguments("JOB"),
		RunE: p.call(forTenant, func(ctx context.Context, c *client, args []string) error {
			job, err := c.documents.CancelJob(ctx, &ragdv1.CancelJobRequest{JobId: args[0]})
			if err != nil {
				return err
			}
			return p.out.Show(job, showJob(job))
		}),
	}
}

func (p *program) jobRetry() *cobra.Command {
	return &cobra.Command{
		Use:     "retry JOB",
		Short:   "Start the work of a failed or cancelled job again, as a new job",
		Example: `  ragd job retry 4711`,
		Args:    arguments("JOB"),
		RunE: p.call(forTenant, func(ctx context.Context, c *client, args []string) error {
			job, err := c.documents.RetryJob(ctx, &ragdv1.RetryJobRequest{JobId: args[0]})
			if err != nil {
				return err
			}
			return p.out.Show(job, showJob(job))
		}),
	}
}
