package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) indexDescribe() *cobra.Command {
	return &cobra.Command{
		Use:     "describe INDEX",
		Short:   "Show an index and how many documents it has",
		Example: `  ragd index describe handbook --json | jq .documentCount`,
		Args:    arguments("INDEX"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.connect(credentials.forTenant)
			if err != nil {
				return err
			}
			index, err := c.indexes.DescribeIndex(cmd.Context(), &ragdv1.DescribeIndexRequest{IndexName: args[0]})
			if err != nil {
				return err
			}
			return p.show(index, showIndex(index))
		},
	}
}
