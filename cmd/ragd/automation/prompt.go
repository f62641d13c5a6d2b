package automation

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func promptCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("prompt", "Make prompts of one's own for users of agents", `
A prompt is a conversation with arguments, which users of an agent choose by its
name. It is kept in versions: each change makes the next.`,
		promptCreate(p), promptUpdate(p), promptGet(p), promptList(p), promptRender(p), promptDelete(p),
	))
}

func promptCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create PROMPT",
		Short: "Make a prompt from a file",
		Long: `Make a prompt from a file in YAML or JSON with title, description, arguments, messages
and versionName:

  title: Answer a customer
  arguments:
    - {name: question, required: true}
  messages:
    - text: "Answer this customer of {{tenant}}: {{arguments.question}}"`,
		Example: `  ragd prompt create answer_customer --file answer.yaml
  ragd prompt create answer_customer --file - < answer.json`,
		Args: command.Arguments("PROMPT"),
	}
	file := command.DefinitionFlag(cmd, "prompt")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Prompt, error) {
		req := &ragdv1.CreatePromptRequest{}
		if err := p.ReadDefinition(*file, req); err != nil {
			return nil, err
		}
		req.PromptName = args[0]
		return c.Prompts.CreatePrompt(ctx, req)
	}, showPrompt)
	return cmd
}

func promptUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update PROMPT",
		Short: "Change a prompt, as its next version",
		Long: `Change what the file has of a prompt, and leave the rest. The result is the next
version, unless nothing changes. --name names it; without --file it names the latest.`,
		Example: `  ragd prompt update answer_customer --file answer.yaml
  ragd prompt update answer_customer --name stable`,
		Args: command.Arguments("PROMPT"),
	}
	file, etag := command.DefinitionFlag(cmd, "prompt"), command.ETagFlag(cmd)
	name := cmd.Flags().String("name", "", "name of the version, such as stable, which other versions lose")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Prompt, error) {
		req := &ragdv1.UpdatePromptRequest{PromptName: args[0], Etag: *etag}
		if *file != "" || !cmd.Flags().Changed("name") {
			wanted := &ragdv1.CreatePromptRequest{}
			if err := p.ReadDefinition(*file, wanted); err != nil {
				return nil, err
			}
			changePrompt(req, wanted)
		}
		if cmd.Flags().Changed("name") {
			req.VersionName = name
		}
		return c.Prompts.UpdatePrompt(ctx, req)
	}, showPrompt)
	return cmd
}

// changePrompt sets what a file has of a prompt.
func changePrompt(req *ragdv1.UpdatePromptRequest, wanted *ragdv1.CreatePromptRequest) {
	for into, given := range map[**string]string{&req.Title: wanted.GetTitle(), &req.Description: wanted.GetDescription(), &req.VersionName: wanted.GetVersionName()} {
		if given != "" {
			*into = &given
		}
	}
	if wanted.Arguments != nil {
		req.Arguments = &ragdv1.PromptArguments{Arguments: wanted.GetArguments()}
	}
	if wanted.Messages != nil {
		req.Messages = &ragdv1.PromptMessages{Messages: wanted.GetMessages()}
	}
}

func showPrompt(prompt *ragdv1.Prompt) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "prompt", prompt.GetPromptName())
		output.Field(w, "version", strings.TrimSpace(fmt.Sprint(prompt.GetVersion(), " ", prompt.GetVersionName())))
		if len(prompt.GetVersions()) > 1 {
			output.Field(w, "versions", strings.Trim(fmt.Sprint(prompt.GetVersions()), "[]"))
		}
		output.Field(w, "title", prompt.GetTitle())
		output.Field(w, "description", prompt.GetDescription())
		var names []string
		for _, a := range prompt.GetArguments() {
			names = append(names, a.GetName())
		}
		output.Field(w, "arguments", strings.Join(names, ", "))
		output.Field(w, "created", output.Stamp(prompt.GetCreateTime()))
		showMessages(w, prompt.GetMessages())
	}
}

// showMessages prints messages, each below its role.
func showMessages(w io.Writer, messages []*ragdv1.PromptMessage) {
	for _, m := range messages {
		text := m.GetText()
		switch {
		case m.GetResourceLink() != nil:
			text = "link to " + m.GetResourceLink().GetUri()
		case m.GetResource() != nil:
			text = "content of " + m.GetResource().GetUri() + contentText(m.GetResourceContent())
		case m.GetImage() != nil:
			text = fmt.Sprintf("%s, %d bytes", m.GetImage().GetMimeType(), len(m.GetImage().GetData()))
		case m.GetAudio() != nil:
			text = fmt.Sprintf("%s, %d bytes", m.GetAudio().GetMimeType(), len(m.GetAudio().GetData()))
		}
		fmt.Fprintf(w, "\n%s:\n   %s\n", m.GetRole(), strings.ReplaceAll(output.Printable(text), "\n", "\n   "))
	}
}

// contentText returns the texts of a resource, and the size of what is no text, on lines of their own.
func contentText(content []*ragdv1.ResourceContent) string {
	var b strings.Builder
	for _, part := range content {
		if blob := part.GetBlob(); blob != nil {
			fmt.Fprintf(&b, "\n%d bytes of %s", len(blob), part.GetMimeType())
		} else {
			b.WriteString("\n" + part.GetText())
		}
	}
	return b.String()
}

func promptGet(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get PROMPT",
		Short: "Show a version of a prompt",
		Example: `  ragd prompt get answer_customer
  ragd prompt get answer_customer --version 3 --json`,
		Args: command.Arguments("PROMPT"),
	}
	version := versionFlag(cmd)
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Prompt, error) {
		return c.Prompts.GetPrompt(ctx, &ragdv1.GetPromptRequest{PromptName: args[0], Version: *version})
	}, showPrompt)
	return cmd
}

func versionFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("version", "", "number or name of a version (default the latest)")
}

func promptList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the latest versions of the prompts in the order of their names",
		Example: `  ragd prompt list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		prompts := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Prompt, string, error) {
			page, err := c.Prompts.ListPrompts(ctx, &ragdv1.ListPromptsRequest{PageSize: size, PageToken: token})
			return page.GetPrompts(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "prompts", prompts, "PROMPT VERSION NAME DESCRIPTION", func(m *ragdv1.Prompt) []any {
			return []any{m.GetPromptName(), m.GetVersion(), m.GetVersionName(), m.GetDescription()}
		})
	})
	return cmd
}

func promptRender(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "render PROMPT",
		Short:   "Print the messages of a prompt with its arguments filled in",
		Example: `  ragd prompt render answer_customer --argument "question=Where is my parcel?"`,
		Args:    command.Arguments("PROMPT"),
	}
	version := versionFlag(cmd)
	given := cmd.Flags().StringArray("argument", nil, "NAME=VALUE of an argument; may be repeated")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		req := &ragdv1.GetPromptMessagesRequest{PromptName: args[0], Version: *version, Arguments: map[string]string{}}
		for _, argument := range *given {
			name, value, ok := strings.Cut(argument, "=")
			if !ok {
				return misuse.Errorf("--argument %q is not NAME=VALUE", argument)
			}
			req.Arguments[name] = value
		}
		res, err := c.Prompts.GetPromptMessages(ctx, req)
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) { showMessages(w, res.GetMessages()) })
	})
	return cmd
}

func promptDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete PROMPT",
		Short: "Delete a prompt with all its versions, or one version",
		Example: `  ragd prompt delete answer_customer
  ragd prompt delete answer_customer --version 1`,
		Args: command.Arguments("PROMPT"),
	}
	version := cmd.Flags().String("version", "", "number or name of the version to delete, which is not the latest (default all)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		res, err := c.Prompts.DeletePrompt(ctx, &ragdv1.DeletePromptRequest{PromptName: args[0], Version: *version})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) {
			if *version != "" {
				fmt.Fprintf(w, "deleted version %s of prompt %s\n", *version, args[0])
				return
			}
			fmt.Fprintf(w, "deleted prompt %s\n", args[0])
		})
	})
	return cmd
}
