package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) jobWatch() *cobra.Command {
	return &cobra.Command{
		Use:   "watch JOB",
		Short: "Follow a job until it has ended",
		Long: `Follow a job until it has ended, a line for each change. It exits with 0 only if
the job succeeded.`,
		Example: `  ragd job watch 4711`,
		Args:    arguments("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forTenant)
			if err != nil {
				return err
			}
			job, err := p.watch(cmd.Context(), c, args[0])
			switch {
			case err != nil:
				return err
			case job.GetStatus() == "succeeded":
				return nil
			case job.GetStatus() == "failed" || job.GetStatus() == "cancelled":
				return fmt.Errorf("job %s ended as %s: %s", args[0], job.GetStatus(), job.GetError())
			}
			return fmt.Errorf("the service stopped following job %s before its end", args[0])
		},
	}
}

// watch prints a job as it changes and returns its last state.
func (p *program) watch(ctx context.Context, c *client, id string) (*ragdv1.Job, error) {
	stream, err := c.documents.WatchJob(ctx, &ragdv1.WatchJobRequest{JobId: id})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var last *ragdv1.Job
	for stream.Receive() {
		last = stream.Msg()
		if p.json {
			err = p.showLine(last)
		} else {
			_, err = fmt.Fprintln(p.stdout, oneLine(last.GetStatus()+" "+jobProgress(last)))
		}
		if err != nil {
			return nil, err
		}
	}
	return last, stream.Err()
}
