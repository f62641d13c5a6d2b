package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

const defaultServer = "http://127.0.0.1:8484"

// client calls the services of one ragd with one credential.
type client struct {
	server     string
	access     access
	http       *http.Client
	tenants    ragdv1connect.TenantServiceClient
	issuers    ragdv1connect.IssuerServiceClient
	indexes    ragdv1connect.IndexServiceClient
	documents  ragdv1connect.DocumentServiceClient
	queries    ragdv1connect.QueryServiceClient
	chunks     ragdv1connect.ChunkServiceClient
	tools      ragdv1connect.ToolServiceClient
	servers    ragdv1connect.ServerServiceClient
	prompts    ragdv1connect.PromptServiceClient
	endpoints  ragdv1connect.EndpointServiceClient
	secrets    ragdv1connect.SecretServiceClient
	contexts   ragdv1connect.ContextServiceClient
	evaluate   ragdv1connect.EvaluateServiceClient
	events     ragdv1connect.EventServiceClient
	hooks      ragdv1connect.HookServiceClient
	workflows  ragdv1connect.WorkflowServiceClient
	agents     ragdv1connect.AgentServiceClient
	usage      ragdv1connect.UsageServiceClient
	connectors ragdv1connect.ConnectorServiceClient
	audit      ragdv1connect.AuditServiceClient
	databases  ragdv1connect.DatabaseServiceClient
	archives   ragdv1connect.ArchiveServiceClient
}

// clientFlags adds the flags of client commands to cmd and its subcommands.
func (p *program) clientFlags(cmd *cobra.Command) *cobra.Command {
	p.settings.registerClient(cmd.PersistentFlags())
	p.jsonFlag(cmd)
	return cmd
}

// connect returns a client with the credential that choose selects from the settings and
// client.conf. It opens no connection, except to see which of several services runs.
func (p *program) connect(choose func(credentials) access) (*client, error) {
	server, local, err := p.findServer()
	if err != nil {
		return nil, err
	}
	found := credentials{settings: p.settings, local: local}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns // all connections go to one host
	p.client = newClient(server, choose(found), &http.Client{Transport: transport})
	return p.client, nil
}

// call returns the function of a command that calls the service: it connects as connect
// does and runs do with the arguments of the command.
func (p *program) call(choose func(credentials) access, do func(ctx context.Context, c *client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := p.connect(choose)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}
}

func newClient(server string, as access, caller *http.Client) *client {
	options := connect.WithInterceptors(as)
	return &client{
		server: server, access: as, http: caller,
		tenants:    ragdv1connect.NewTenantServiceClient(caller, server, options),
		issuers:    ragdv1connect.NewIssuerServiceClient(caller, server, options),
		indexes:    ragdv1connect.NewIndexServiceClient(caller, server, options),
		documents:  ragdv1connect.NewDocumentServiceClient(caller, server, options),
		queries:    ragdv1connect.NewQueryServiceClient(caller, server, options),
		chunks:     ragdv1connect.NewChunkServiceClient(caller, server, options),
		tools:      ragdv1connect.NewToolServiceClient(caller, server, options),
		servers:    ragdv1connect.NewServerServiceClient(caller, server, options),
		prompts:    ragdv1connect.NewPromptServiceClient(caller, server, options),
		endpoints:  ragdv1connect.NewEndpointServiceClient(caller, server, options),
		secrets:    ragdv1connect.NewSecretServiceClient(caller, server, options),
		contexts:   ragdv1connect.NewContextServiceClient(caller, server, options),
		evaluate:   ragdv1connect.NewEvaluateServiceClient(caller, server, options),
		events:     ragdv1connect.NewEventServiceClient(caller, server, options),
		hooks:      ragdv1connect.NewHookServiceClient(caller, server, options),
		workflows:  ragdv1connect.NewWorkflowServiceClient(caller, server, options),
		agents:     ragdv1connect.NewAgentServiceClient(caller, server, options),
		usage:      ragdv1connect.NewUsageServiceClient(caller, server, options),
		connectors: ragdv1connect.NewConnectorServiceClient(caller, server, options),
		audit:      ragdv1connect.NewAuditServiceClient(caller, server, options),
		databases:  ragdv1connect.NewDatabaseServiceClient(caller, server, options),
		// The frames of archives are compressed already.
		archives: ragdv1connect.NewArchiveServiceClient(caller, server, options, connect.WithAcceptCompression("gzip", nil, nil)),
	}
}

// serverURL returns the address with its scheme and without a slash at the end.
func serverURL(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", usageError{fmt.Errorf("server %q is not an address such as %s or https://ragd.example.com", address, defaultServer)}
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// get fetches a page of the service over plain HTTP, such as /healthz.
func (c *client) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, nil)
	if err != nil {
		return nil, err
	}
	return c.send(req)
}

// send sends a request that is no call of the API. Errors: Unavailable.
func (c *client) send(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	var broken *url.Error
	if errors.As(err, &broken) {
		return nil, connect.NewError(connect.CodeUnavailable, broken.Err)
	}
	return res, err
}

// credentials holds the keys that a command can choose from: those of the settings and
// those in client.conf.
type credentials struct {
	settings settings
	local    config.Client
}

// access is the credential of a call.
type access struct {
	key    string // sent as the bearer token
	source string // where the key came from, for messages
	header string // tenant that an operator acts for, sent as Ragd-Tenant
	tenant string // tenant whose data the call is about, empty if not known
	// operator is set if the key is meant to be the operator's.
	operator bool
}

// apiKey returns access with the API key of the settings, else of client.conf.
func (c credentials) apiKey() access {
	if c.settings.APIKey != "" {
		return access{key: c.settings.APIKey, source: "RAGD_API_KEY", tenant: c.settings.Tenant}
	}
	return access{key: c.local.APIKey, source: "client.conf", tenant: c.local.Tenant}
}

// operatorKey returns access with the operator key of the settings, else of client.conf.
func (c credentials) operatorKey() access {
	if c.settings.OperatorKey != "" {
		return access{key: c.settings.OperatorKey, source: "RAGD_OPERATOR_KEY", operator: true}
	}
	return access{key: c.local.OperatorKey, source: "client.conf", operator: true}
}

// remedy says how to get a key in place of one that was refused.
func (a access) remedy() string {
	if a.operator {
		return "RAGD_OPERATOR_KEY must be the operator-key of the service, or else the one that its first start wrote to client.conf"
	}
	return "`ragd key create` makes a key, RAGD_API_KEY sets it"
}

// forTenant returns access to a tenant's data: with --tenant as the operator, else with
// the API key, else as the operator for the tenant of client.conf.
func (c credentials) forTenant() access {
	as, named := c.apiKey(), c.settings.Tenant
	if named == "" && as.key != "" {
		return as
	}
	if operator := c.operatorKey(); operator.key != "" {
		as = operator
	}
	as.tenant = cmp.Or(named, c.local.Tenant)
	as.header = as.tenant
	return as
}

// forOperator returns access to operations that belong to no tenant. Without an operator
// key it is the API key, which may have the scope operator.
func (c credentials) forOperator() access {
	if operator := c.operatorKey(); operator.key != "" {
		return operator
	}
	return c.apiKey()
}

// forKeys returns access to a tenant's keys: with an API key and no --tenant as the
// tenant's admin, else as the operator.
func (c credentials) forKeys() access {
	if c.settings.Tenant == "" && c.settings.APIKey != "" {
		return c.apiKey()
	}
	as := c.forOperator()
	as.tenant = cmp.Or(c.settings.Tenant, c.local.Tenant)
	return as
}

// callTimeout ends a call without a stream. The service ends calls without a deadline
// after a minute.
const callTimeout = 90 * time.Second

// WrapUnary adds the credential and callTimeout to a call. It implements connect.Interceptor.
func (a access) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if err := a.check(); err != nil {
			return nil, err
		}
		a.sign(req.Header())
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return next(ctx, req)
	}
}

// WrapStreamingClient adds the credential to a stream. It implements connect.Interceptor.
func (a access) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		a.sign(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler does nothing. It implements connect.Interceptor.
func (a access) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// check returns an error if the key cannot be sent.
func (a access) check() error {
	if strings.ContainsFunc(strings.TrimSpace(a.key), func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return usagef("the key from %s contains a line break or another control character: set it anew", a.source)
	}
	return nil
}

func (a access) sign(header http.Header) {
	if a.key != "" { // which may come from a file, with the end of its line
		header.Set("Authorization", "Bearer "+strings.TrimSpace(a.key))
	}
	if a.header != "" {
		header.Set("Ragd-Tenant", a.header)
	}
}
