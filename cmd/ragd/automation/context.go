package automation

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func contextCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("context", "Declare keys of the request context", `
Besides the known keys, such as topK, a tenant may declare keys of the request
context. Tools use a value as {{context.NAME}}, and filters as
{"$context": "context.NAME"}. Callers set a key, or the service fills it from a
header, a claim of the access token, an attribute of the API key, or a constant.`,
		contextDeclare(p), contextGet(p), contextList(p), contextDelete(p),
	))
}

func contextDeclare(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "declare KEY",
		Short: "Declare a key, or replace its declaration",
		Example: `  ragd context declare country --schema '{"enum": ["de", "fr"]}' --default '"de"'
  ragd context declare department --claim department
  ragd context declare team --attribute team
  ragd context declare region --constant '"eu"'`,
		Args: command.Arguments("KEY"),
	}
	flags := cmd.Flags()
	description := flags.String("description", "", "what the key is for")
	schema := flags.String("schema", "", "JSON Schema of the values")
	fallback := flags.String("default", "", "value where the source has none, as JSON")
	secret := flags.Bool("secret", false, "mask the value in explanations, and keep filters from testing it")
	from := map[string]*string{
		"header":    flags.String("header", "", "header that has the value"),
		"claim":     flags.String("claim", "", "path of the claim that has the value"),
		"attribute": flags.String("attribute", "", "path of the API key's attribute that has the value"),
	}
	constant := flags.String("constant", "", "the value, as JSON")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		if err := cmp.Or(command.Exclusive(flags, "header", "claim", "attribute", "constant"), command.Exclusive(flags, "default", "constant")); err != nil {
			return err
		}
		key := &ragdv1.ContextKey{Name: args[0], Description: *description, Secret: *secret}
		for source, name := range from {
			if flags.Changed(source) {
				key.Source, key.From = source, *name
			}
		}
		if flags.Changed("constant") {
			key.Source = "constant"
		}
		if *schema != "" {
			key.Schema = &structpb.Struct{}
			if err := protojson.Unmarshal([]byte(*schema), key.Schema); err != nil {
				return misuse.Errorf("--schema is not a JSON object: %s", *schema)
			}
		}
		if value := cmp.Or(*fallback, *constant); value != "" {
			key.Default = &structpb.Value{}
			if err := protojson.Unmarshal([]byte(value), key.Default); err != nil {
				return misuse.Errorf("the value of --default or --constant is not JSON: %s; write texts as '\"text\"'", value)
			}
		}
		res, err := c.Contexts.DeclareContextKey(ctx, &ragdv1.DeclareContextKeyRequest{Key: key})
		if err != nil {
			return err
		}
		return p.Out.Show(res, showContextKey(res.GetKey()))
	})
	return cmd
}

func showContextKey(key *ragdv1.ContextKey) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "key", key.GetName())
		output.Field(w, "description", key.GetDescription())
		output.Field(w, "source", contextSource(key))
		if key.Schema != nil {
			output.Field(w, "schema", output.CompactJSON(key.GetSchema()))
		}
		switch {
		case key.GetSecret():
			output.Field(w, "secret", "true")
		case key.Default != nil:
			output.Field(w, "default", output.CompactJSON(key.GetDefault()))
		}
		output.Field(w, "created", output.Stamp(key.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(key.GetUpdateTime()))
	}
}

func contextSource(key *ragdv1.ContextKey) string {
	if key.GetFrom() == "" {
		return key.GetSource()
	}
	return key.GetSource() + " " + key.GetFrom()
}

func contextGet(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "get KEY",
		Short:   "Show a declared key",
		Example: `  ragd context get country`,
		Args:    command.Arguments("KEY"),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.Contexts.GetContextKey(ctx, &ragdv1.GetContextKeyRequest{Name: args[0]})
			if err != nil {
				return err
			}
			return p.Out.Show(res, showContextKey(res.GetKey()))
		}),
	}
}

func contextList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the declared keys in the order of their names",
		Example: `  ragd context list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		keys := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.ContextKey, string, error) {
			page, err := c.Contexts.ListContextKeys(ctx, &ragdv1.ListContextKeysRequest{PageSize: size, PageToken: token})
			return page.GetKeys(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "context keys", keys, "KEY SOURCE DESCRIPTION", func(key *ragdv1.ContextKey) []any {
			return []any{key.GetName(), contextSource(key), key.GetDescription()}
		})
	})
	return cmd
}

func contextDelete(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "delete KEY",
		Short:   "Delete the declaration of a key",
		Long:    `Delete the declaration of a key. Filters that refer to it match nothing from then on.`,
		Example: `  ragd context delete country`,
		Args:    command.Arguments("KEY"),
		RunE: command.Delete(p, client.ForTenant, "context key", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteContextKeyResponse, error) {
			return c.Contexts.DeleteContextKey(ctx, &ragdv1.DeleteContextKeyRequest{Name: args[0]})
		}),
	}
}
