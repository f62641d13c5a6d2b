package main

import (
	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) toolList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tools in the order of their names",
		Example: `  ragd tool list`,
		Args:    arguments(),
	}
	limit := limitFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.connect(credentials.forTenant)
		if err != nil {
			return err
		}
		tools := pages(*limit, func(size int32, token string) ([]*ragdv1.Tool, string, error) {
			page, err := c.tools.ListTools(cmd.Context(), &ragdv1.ListToolsRequest{PageSize: size, PageToken: token})
			return page.GetTools(), page.GetNextPageToken(), err
		})
		return list(p, "tools", tools, "TOOL KIND INDEX DESCRIPTION", func(t *ragdv1.Tool) []any {
			index := t.GetSettings().GetFields()["indexName"].GetStringValue()
			return []any{t.GetToolName(), t.GetKind(), index, t.GetDescription()}
		})
	}
	return cmd
}
