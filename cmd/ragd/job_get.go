package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) jobGet() *cobra.Command {
	return &cobra.Command{
		Use:     "get JOB",
		Short:   "Show a job",
		Example: `  ragd job get 4711`,
		Args:    arguments("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forTenant)
			if err != nil {
				return err
			}
			job, err := c.documents.GetJob(cmd.Context(), &ragdv1.GetJobRequest{JobId: args[0]})
			if err != nil {
				return err
			}
			return p.show(job, showJob(job))
		},
	}
}
