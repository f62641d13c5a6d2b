package data

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/jobs"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func jobCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("job", "Look at the work that uploads started, cancel it or try it again", `
A job is work that goes on after a call was answered, such as cutting and
embedding a document. It is queued, running, succeeded, failed or cancelled.`,
		jobList(p), jobGet(p), jobWatch(p), jobCancel(p), jobRetry(p),
	))
}

func jobList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List jobs, newest first",
		Example: `  ragd job list --status failed --limit 20`,
		Args:    command.Arguments(),
	}
	status := cmd.Flags().String("status", "", "only jobs in this state")
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		all := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Job, string, error) {
			page, err := c.Documents.ListJobs(ctx, &ragdv1.ListJobsRequest{
				Status: *status, PageSize: size, PageToken: token,
			})
			return page.GetJobs(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "jobs", all, "JOB KIND STATUS PROGRESS INDEX DOCUMENT CREATED ERROR", func(j *ragdv1.Job) []any {
			return []any{
				j.GetJobId(), j.GetKind(), j.GetStatus(), jobs.Progress(j), j.GetIndexName(), j.GetDocumentId(),
				output.Stamp(j.GetCreateTime()), j.GetError(),
			}
		})
	})
	return cmd
}

func jobGet(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "get JOB",
		Short:   "Show a job",
		Example: `  ragd job get 4711`,
		Args:    command.Arguments("JOB"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Job, error) {
			return c.Documents.GetJob(ctx, &ragdv1.GetJobRequest{JobId: args[0]})
		}, jobs.Show),
	}
}

func jobWatch(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "watch JOB",
		Short: "Follow a job until it has ended",
		Long: `Follow a job until it has ended, a line for each change. It exits with 0 only if
the job succeeded.`,
		Example: `  ragd job watch 4711`,
		Args:    command.Arguments("JOB"),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			return watch(ctx, p, c, args[0])
		}),
	}
}

// watch prints a job at each change until it ends. It returns an error unless the job
// succeeded.
func watch(ctx context.Context, p *command.Program, c *client.Client, id string) error {
	job, err := jobs.Follow(ctx, c, id, func(job *ragdv1.Job) error {
		if p.Out.JSON {
			return p.Out.MessageLine(job)
		}
		_, err := fmt.Fprintln(p.Out.Stdout, output.OneLine(job.GetStatus()+" "+jobs.Progress(job)))
		return err
	})
	if err != nil {
		return err
	}
	return jobs.Outcome(id, job)
}

func jobCancel(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel JOB",
		Short: "End a job that is queued or running",
		Long: `End a job that is queued or running. A document that was being processed is failed
then, and its last good version, if it has one, stays searchable.`,
		Example: `  ragd job cancel 4711`,
		Args:    command.Arguments("JOB"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Job, error) {
			return c.Documents.CancelJob(ctx, &ragdv1.CancelJobRequest{JobId: args[0]})
		}, jobs.Show),
	}
}

func jobRetry(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "retry JOB",
		Short:   "Start the work of a failed or cancelled job again, as a new job",
		Example: `  ragd job retry 4711`,
		Args:    command.Arguments("JOB"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Job, error) {
			return c.Documents.RetryJob(ctx, &ragdv1.RetryJobRequest{JobId: args[0]})
		}, jobs.Show),
	}
}
