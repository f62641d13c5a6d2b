package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) jobRetry() *cobra.Command {
	return &cobra.Command{
		Use:     "retry JOB",
		Short:   "Start the work of a failed or cancelled job again, as a new job",
		Example: `  ragd job retry 4711`,
		Args:    arguments("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forTenant)
			if err != nil {
				return err
			}
			job, err := c.documents.RetryJob(cmd.Context(), &ragdv1.RetryJobRequest{JobId: args[0]})
			if err != nil {
				return err
			}
			return p.show(job, showJob(job))
		},
	}
}
