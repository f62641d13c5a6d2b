package access

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func endpointCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("endpoint", "Manage where models are served, with which keys", `
An endpoint is an address with a key, at which models are served. Every place
that names a model names it as ENDPOINT/MODEL: an index, a reranker, an
extraction. These commands manage the tenant's own endpoints, with a key of the
scope admin. Those of the operator are settings of "ragd serve".`,
		endpointCreate(p), endpointUpdate(p), endpointGet(p), endpointList(p), endpointTest(p), endpointDelete(p),
	))
}

// endpointFlags are the flags that create and update have in common.
type endpointFlags struct {
	flags                              *pflag.FlagSet
	baseURL, key, keyFile, headersFile *string
	calls                              *int32
	rate                               *float64
	timeout                            *time.Duration
	names                              *[]string
	models                             *command.MessageFlag
}

func newEndpointFlags(flags *pflag.FlagSet) *endpointFlags {
	f := &endpointFlags{
		flags:       flags,
		baseURL:     flags.String("base-url", "", "address (default: that of the kind's provider)"),
		key:         flags.String("endpoint-key", "", "key of the endpoint that is made or changed"),
		keyFile:     flags.String("key-file", "", "file with the key, - for standard input (default: RAGD_ENDPOINT_KEY, if it is set)"),
		headersFile: flags.String("headers-file", "", "file with headers to send, as lines NAME: VALUE"),
		calls:       flags.Int32("max-calls", 0, "calls at once (default 8)"),
		rate:        flags.Float64("requests-per-second", 0, "bound on the rate of requests (default none)"),
		timeout:     flags.Duration("timeout", 0, "time for one request (default 30s)"),
		names:       flags.StringSlice("model", nil, "model that may be used; * stands for any characters (default all)"),
		models:      &command.MessageFlag{Msg: &ragdv1.EndpointModels{}},
	}
	config.MarkSecrets(flags, "endpoint-key")
	flags.Var(f.models, "models", `models with what is known of them, such as {"models": [{"model": "m", "dimension": 768, "matryoshka": true}]}`)
	return f
}

// all returns the models of --model and --models, nil if neither was given.
func (f *endpointFlags) all() *ragdv1.EndpointModels {
	if !f.models.Given && !f.flags.Changed("model") {
		return nil
	}
	all := &ragdv1.EndpointModels{Models: f.models.Msg.(*ragdv1.EndpointModels).GetModels()}
	for _, name := range *f.names {
		all.Models = append(all.Models, &ragdv1.EndpointModel{Model: name})
	}
	return all
}

// secret returns the key of the file or of the environment, nil if there is none.
func (f *endpointFlags) secret(p *command.Program) (*string, error) {
	if *f.keyFile == "" && *f.key == "" {
		return nil, nil
	}
	if *f.keyFile == "" {
		return f.key, nil
	}
	read := func() ([]byte, error) { return os.ReadFile(*f.keyFile) }
	if *f.keyFile == "-" {
		read = func() ([]byte, error) { return io.ReadAll(io.LimitReader(p.Stdin, 1<<20)) }
	}
	raw, err := read()
	key := strings.TrimSpace(string(raw))
	return &key, err
}

// headers returns the headers of the file, nil if none was given.
func (f *endpointFlags) headers() (*ragdv1.EndpointHeaders, error) {
	if *f.headersFile == "" {
		return nil, nil
	}
	file, err := os.Open(*f.headersFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	headers := &ragdv1.EndpointHeaders{Headers: map[string]string{}}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("%s:%d: is not a line NAME: VALUE", *f.headersFile, n)
		}
		headers.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return headers, lines.Err()
}

func showEndpoint(e *ragdv1.Endpoint) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "endpoint", e.GetEndpointName())
		output.Field(w, "kind", e.GetKind())
		output.Field(w, "address", e.GetBaseUrl())
		if e.GetOperator() {
			output.Field(w, "of", "the operator")
		}
		output.Field(w, "key", keyOf(e))
		output.Field(w, "headers", strings.Join(e.GetHeaderNames(), ", "))
		for _, m := range e.GetModels() {
			output.Field(w, "model", describeModel(m))
		}
		if !e.GetOperator() {
			output.Field(w, "calls at once", fmt.Sprint(e.GetMaxConcurrentCalls()))
			if e.GetRequestsPerSecond() > 0 {
				output.Field(w, "requests/s", fmt.Sprint(e.GetRequestsPerSecond()))
			}
			output.Field(w, "timeout", (time.Duration(e.GetTimeoutMs()) * time.Millisecond).String())
			output.Field(w, "created", output.Stamp(e.GetCreateTime()))
			output.Field(w, "updated", output.Stamp(e.GetUpdateTime()))
		}
	}
}

func keyOf(e *ragdv1.Endpoint) string {
	if e.GetHasApiKey() {
		return "set"
	}
	return "none"
}

// describeModel returns the name of a model and its dimension, if that is given.
func describeModel(m *ragdv1.EndpointModel) string {
	if m.GetDimension() == 0 {
		return m.GetModel()
	}
	return fmt.Sprintf("%s, of dimension %d", m.GetModel(), m.GetDimension())
}

func endpointCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create ENDPOINT",
		Short: "Make an endpoint",
		Long: `Make an endpoint of the tenant. The key comes from RAGD_ENDPOINT_KEY, a file or
standard input. The service stores it encrypted and never shows it again.`,
		Example: `  RAGD_ENDPOINT_KEY=pa-... ragd endpoint create our-voyage --kind voyage
  ragd endpoint create gpu --kind tei --base-url https://models.example.com --key-file tei.key
  ragd index create handbook --embedding-model our-voyage/voyage-3.5`,
		Args: command.Arguments("ENDPOINT"),
	}
	kind := cmd.Flags().String("kind", "", "openai-compatible, cohere, voyage, jina, tei, ollama or gemini")
	flags := newEndpointFlags(cmd.Flags())
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Endpoint, error) {
		key, keyErr := flags.secret(p)
		headers, err := flags.headers()
		if err := errors.Join(keyErr, err); err != nil {
			return nil, err
		}
		req := &ragdv1.CreateEndpointRequest{
			EndpointName: args[0], Kind: *kind, BaseUrl: *flags.baseURL, Headers: headers, MaxConcurrentCalls: *flags.calls,
			RequestsPerSecond: *flags.rate, TimeoutMs: int32(flags.timeout.Milliseconds()), Models: flags.all().GetModels(),
		}
		if key != nil {
			req.ApiKey = *key
		}
		return c.Endpoints.CreateEndpoint(ctx, req)
	}, showEndpoint)
	return cmd
}

func endpointUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update ENDPOINT",
		Short: "Change an endpoint",
		Long: `Change what is given of an endpoint and leave the rest. A new address needs the key
and the headers again. Models are replaced as a whole. Indexes keep the names of
their models: what answers under a name must be the same model.`,
		Example: `  RAGD_ENDPOINT_KEY=pa-... ragd endpoint update our-voyage
  ragd endpoint update gpu --max-calls 2 --timeout 2m`,
		Args: command.Arguments("ENDPOINT"),
	}
	flags := newEndpointFlags(cmd.Flags())
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Endpoint, error) {
		key, keyErr := flags.secret(p)
		headers, err := flags.headers()
		if err := errors.Join(keyErr, err); err != nil {
			return nil, err
		}
		req := &ragdv1.UpdateEndpointRequest{
			EndpointName: args[0], BaseUrl: command.Given(flags.flags, "base-url", flags.baseURL), ApiKey: key, Headers: headers,
			MaxConcurrentCalls: command.Given(flags.flags, "max-calls", flags.calls), RequestsPerSecond: command.Given(flags.flags, "requests-per-second", flags.rate),
			Models: flags.all(),
		}
		if flags.flags.Changed("timeout") {
			req.TimeoutMs = new(int32(flags.timeout.Milliseconds()))
		}
		return c.Endpoints.UpdateEndpoint(ctx, req)
	}, showEndpoint)
	return cmd
}

func endpointGet(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "get ENDPOINT",
		Short:   "Show an endpoint, without its key",
		Example: `  ragd endpoint get our-voyage`,
		Args:    command.Arguments("ENDPOINT"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Endpoint, error) {
			return c.Endpoints.GetEndpoint(ctx, &ragdv1.GetEndpointRequest{EndpointName: args[0]})
		}, showEndpoint),
	}
}

func endpointList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the endpoints of the operator and of the tenant",
		Example: `  ragd endpoint list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		endpoints := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Endpoint, string, error) {
			page, err := c.Endpoints.ListEndpoints(ctx, &ragdv1.ListEndpointsRequest{PageSize: size, PageToken: token})
			return append(page.GetOperatorEndpoints(), page.GetEndpoints()...), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "endpoints", endpoints, "ENDPOINT KIND OF KEY ADDRESS", func(e *ragdv1.Endpoint) []any {
			of := "tenant"
			if e.GetOperator() {
				of = "operator"
			}
			return []any{e.GetEndpointName(), e.GetKind(), of, keyOf(e), e.GetBaseUrl()}
		})
	})
	return cmd
}

func endpointTest(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test ENDPOINT",
		Short: "Call an endpoint, to see whether it works",
		Long: `Call an endpoint of the tenant or the operator. Without --model it lists its models,
which endpoints of the kinds voyage and jina cannot.`,
		Example: `  ragd endpoint test gpu
  ragd endpoint test our-voyage --model voyage-3.5
  ragd endpoint test our-voyage --model rerank-2.5 --use rerank`,
		Args: command.Arguments("ENDPOINT"),
	}
	model := cmd.Flags().String("model", "", "model to use (default: list the models)")
	use := cmd.Flags().String("use", "", "what to use it for: embed, chat or rerank (default embed)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		tested, err := c.Endpoints.TestEndpoint(ctx, &ragdv1.TestEndpointRequest{EndpointName: args[0], Model: *model, Use: *use})
		if err != nil {
			return err
		}
		return p.Out.Show(tested, func(w io.Writer) {
			fmt.Fprintf(w, "endpoint %s answered in %d ms\n", args[0], tested.GetTookMs())
			if tested.GetDimension() > 0 {
				output.Field(w, "dimension", fmt.Sprint(tested.GetDimension()))
			}
			for _, name := range tested.GetModels() {
				output.Field(w, "model", name)
			}
		})
	})
	return cmd
}

func endpointDelete(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "delete ENDPOINT",
		Short:   "Delete an endpoint that no index uses, with its key",
		Example: `  ragd endpoint delete our-voyage`,
		Args:    command.Arguments("ENDPOINT"),
		RunE: command.Delete(p, client.ForTenant, "endpoint", func(ctx context.Context, c *client.Client, args []string) (*ragdv1.DeleteEndpointResponse, error) {
			return c.Endpoints.DeleteEndpoint(ctx, &ragdv1.DeleteEndpointRequest{EndpointName: args[0]})
		}),
	}
}
