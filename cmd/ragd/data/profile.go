package data

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func profileCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("profile", "Store parameters of ranking under names", `
A ranking profile has boosts, hybrid weights, a reranker and thresholds of an index under a name,
which queries give with --profile. It is kept in versions: each change makes the next.`,
		profileCreate(p), profileUpdate(p), profileGet(p), profileList(p), profileDelete(p),
	))
}

func profileCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create PROFILE",
		Short: "Make a ranking profile from a file",
		Long: `Make a ranking profile from a file in YAML or JSON with description and ranking:

  description: What is new and official first
  ranking:
    boosts:
      - {field: published, halfLife: 30d}
      - {filter: {status: official}, weight: 0.3}
    hybrid: {vectorWeight: 0.6}
    reranker: {kind: lexical, candidates: 50}`,
		Example: `  ragd profile create fresh --index handbook --file fresh.yaml --default
  ragd profile create fresh --file - < fresh.json`,
		Args: command.Arguments("PROFILE"),
	}
	index, file := command.IndexFlag(cmd), command.DefinitionFlag(cmd, "profile")
	isDefault := cmd.Flags().Bool("default", false, "make it the default of the index")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.RankingProfile, error) {
		req := &ragdv1.CreateRankingProfileRequest{}
		if err := p.ReadDefinition(*file, req); err != nil {
			return nil, err
		}
		req.IndexName, req.ProfileName, req.Default = *index, args[0], req.GetDefault() || *isDefault
		return c.Indexes.CreateRankingProfile(ctx, req)
	}, showProfile)
	return cmd
}

func profileUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update PROFILE",
		Short: "Change a ranking profile, as its next version",
		Long: `Change what the file has of a ranking profile, and leave the rest. Another ranking makes the next
version. --restore takes the ranking of an earlier version.`,
		Example: `  ragd profile update fresh --file fresh.yaml
  ragd profile update fresh --restore 1
  ragd profile update fresh --default=false`,
		Args: command.Arguments("PROFILE"),
	}
	index, file := command.IndexFlag(cmd), command.DefinitionFlag(cmd, "profile")
	isDefault := cmd.Flags().Bool("default", false, "whether it is the default of the index")
	restore := cmd.Flags().Int32("restore", 0, "an earlier version whose ranking is taken")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.RankingProfile, error) {
		req := &ragdv1.UpdateRankingProfileRequest{}
		if *file != "" || !cmd.Flags().Changed("default") && *restore == 0 {
			if err := p.ReadDefinition(*file, req); err != nil {
				return nil, err
			}
		}
		req.IndexName, req.ProfileName = *index, args[0]
		if *restore != 0 {
			req.RestoreVersion = *restore
		}
		if cmd.Flags().Changed("default") {
			req.Default = isDefault
		}
		return c.Indexes.UpdateRankingProfile(ctx, req)
	}, showProfile)
	return cmd
}

func profileGet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get PROFILE",
		Short: "Show a version of a ranking profile",
		Example: `  ragd profile get fresh --index handbook
  ragd profile get fresh --version 3 --json`,
		Args: command.Arguments("PROFILE"),
	}
	index := command.IndexFlag(cmd)
	version := cmd.Flags().Int32("version", 0, "number of a version (default the latest)")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.RankingProfile, error) {
		return c.Indexes.GetRankingProfile(ctx, &ragdv1.GetRankingProfileRequest{IndexName: *index, ProfileName: args[0], Version: *version})
	}, showProfile)
	return cmd
}

func profileList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the latest versions of the ranking profiles of an index",
		Example: `  ragd profile list --index handbook`,
		Args:    command.Arguments(),
	}
	index := command.IndexFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		res, err := c.Indexes.ListRankingProfiles(ctx, &ragdv1.ListRankingProfilesRequest{IndexName: *index})
		if err != nil {
			return err
		}
		return output.List(p.Out, "profiles", paging.All(res.GetProfiles()), "PROFILE VERSION DEFAULT STATE DESCRIPTION", func(m *ragdv1.RankingProfile) []any {
			state := "applied"
			if m.GetUnusableReason() != "" {
				state = "left out"
			}
			return []any{m.GetProfileName(), m.GetVersion(), m.GetDefault(), state, m.GetDescription()}
		})
	})
	return cmd
}

func profileDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete PROFILE",
		Short: "Delete a ranking profile with all its versions, or one version",
		Example: `  ragd profile delete fresh --index handbook
  ragd profile delete fresh --version 1`,
		Args: command.Arguments("PROFILE"),
	}
	index := command.IndexFlag(cmd)
	version := cmd.Flags().Int32("version", 0, "number of the version to delete, which is not the latest (default all)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		res, err := c.Indexes.DeleteRankingProfile(ctx, &ragdv1.DeleteRankingProfileRequest{IndexName: *index, ProfileName: args[0], Version: *version})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) {
			if *version != 0 {
				fmt.Fprintf(w, "deleted version %d of ranking profile %s\n", *version, args[0])
				return
			}
			fmt.Fprintf(w, "deleted ranking profile %s\n", args[0])
		})
	})
	return cmd
}

func showProfile(profile *ragdv1.RankingProfile) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "profile", profile.GetProfileName())
		output.Field(w, "index", profile.GetIndexName())
		output.Field(w, "version", profile.GetVersion())
		if len(profile.GetVersions()) > 1 {
			output.Field(w, "versions", strings.Trim(fmt.Sprint(profile.GetVersions()), "[]"))
		}
		output.Field(w, "default", profile.GetDefault())
		output.Field(w, "description", profile.GetDescription())
		output.Field(w, "created", output.Stamp(profile.GetCreateTime()))
		output.Field(w, "ranking", output.CompactJSON(profile.GetRanking()))
		output.Field(w, "left out because", profile.GetUnusableReason())
	}
}

// profileLine describes a ranking profile that was applied.
func profileLine(applied *ragdv1.AppliedProfile) string {
	return output.OneLine(fmt.Sprintf("ranking profile %s@%d of index %s", applied.GetProfileName(), applied.GetVersion(), applied.GetIndexName()))
}
