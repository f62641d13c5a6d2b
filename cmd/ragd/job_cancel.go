package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) jobCancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel JOB",
		Short: "End a job that is queued or running",
		Long: `End a job that is queued or running. A document that was being processed is failed
then, and its last good version, if it has one, stays searchable.`,
		Example: `  ragd job cancel 4711`,
		Args:    arguments("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forTenant)
			if err != nil {
				return err
			}
			job, err := c.documents.CancelJob(cmd.Context(), &ragdv1.CancelJobRequest{JobId: args[0]})
			if err != nil {
				return err
			}
			return p.show(job, showJob(job))
		},
	}
}
