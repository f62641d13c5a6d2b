// Package client calls a service for the commands of ragd: it finds the address and the key to
// call it with, and explains to the user of a command why a call failed.
package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

const defaultServer = "http://127.0.0.1:8484"

// Client calls the services of one ragd with one credential.
type Client struct {
	Server     string
	Access     Access
	HTTP       *http.Client
	getenv     func(string) string
	Tenants    ragdv1connect.TenantServiceClient
	Issuers    ragdv1connect.IssuerServiceClient
	Indexes    ragdv1connect.IndexServiceClient
	Documents  ragdv1connect.DocumentServiceClient
	Queries    ragdv1connect.QueryServiceClient
	Research   ragdv1connect.ResearchServiceClient
	Chunks     ragdv1connect.ChunkServiceClient
	Tools      ragdv1connect.ToolServiceClient
	Servers    ragdv1connect.ServerServiceClient
	Prompts    ragdv1connect.PromptServiceClient
	Policies   ragdv1connect.PolicyServiceClient
	Endpoints  ragdv1connect.EndpointServiceClient
	Secrets    ragdv1connect.SecretServiceClient
	Contexts   ragdv1connect.ContextServiceClient
	Evaluate   ragdv1connect.EvaluateServiceClient
	Events     ragdv1connect.EventServiceClient
	Hooks      ragdv1connect.HookServiceClient
	Alerts     ragdv1connect.AlertServiceClient
	Memories   ragdv1connect.MemoryServiceClient
	Workflows  ragdv1connect.WorkflowServiceClient
	Agents     ragdv1connect.AgentServiceClient
	Usage      ragdv1connect.UsageServiceClient
	Connectors ragdv1connect.ConnectorServiceClient
	Audit      ragdv1connect.AuditServiceClient
	Databases  ragdv1connect.DatabaseServiceClient
	Plans      ragdv1connect.PlanServiceClient
	Archives   ragdv1connect.ArchiveServiceClient
}

// Connect returns a client with the credential that choose selects from the settings and
// client.conf. It opens no connection, except to see which of several services runs. note is called with the reason
// when the service asks to send a call again, and the client waits.
func Connect(settings Settings, getenv func(string) string, note func(reason string), choose func(Credentials) Access) (*Client, error) {
	server, local, err := findServer(settings.Server, getenv)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns // all connections go to one host
	return newClient(server, choose(Credentials{settings: settings, local: local}), &http.Client{Transport: transport}, getenv, note), nil
}

func newClient(server string, as Access, caller *http.Client, getenv func(string) string, note func(string)) *Client {
	options := connect.WithInterceptors(waiting{note}, as)
	return &Client{
		Server: server, Access: as, HTTP: caller, getenv: getenv,
		Tenants:    ragdv1connect.NewTenantServiceClient(caller, server, options),
		Issuers:    ragdv1connect.NewIssuerServiceClient(caller, server, options),
		Indexes:    ragdv1connect.NewIndexServiceClient(caller, server, options),
		Documents:  ragdv1connect.NewDocumentServiceClient(caller, server, options),
		Queries:    ragdv1connect.NewQueryServiceClient(caller, server, options),
		Research:   ragdv1connect.NewResearchServiceClient(caller, server, options),
		Chunks:     ragdv1connect.NewChunkServiceClient(caller, server, options),
		Tools:      ragdv1connect.NewToolServiceClient(caller, server, options),
		Servers:    ragdv1connect.NewServerServiceClient(caller, server, options),
		Prompts:    ragdv1connect.NewPromptServiceClient(caller, server, options),
		Policies:   ragdv1connect.NewPolicyServiceClient(caller, server, options),
		Endpoints:  ragdv1connect.NewEndpointServiceClient(caller, server, options),
		Secrets:    ragdv1connect.NewSecretServiceClient(caller, server, options),
		Contexts:   ragdv1connect.NewContextServiceClient(caller, server, options),
		Evaluate:   ragdv1connect.NewEvaluateServiceClient(caller, server, options),
		Events:     ragdv1connect.NewEventServiceClient(caller, server, options),
		Hooks:      ragdv1connect.NewHookServiceClient(caller, server, options),
		Alerts:     ragdv1connect.NewAlertServiceClient(caller, server, options),
		Memories:   ragdv1connect.NewMemoryServiceClient(caller, server, options),
		Workflows:  ragdv1connect.NewWorkflowServiceClient(caller, server, options),
		Agents:     ragdv1connect.NewAgentServiceClient(caller, server, options),
		Usage:      ragdv1connect.NewUsageServiceClient(caller, server, options),
		Connectors: ragdv1connect.NewConnectorServiceClient(caller, server, options),
		Audit:      ragdv1connect.NewAuditServiceClient(caller, server, options),
		Databases:  ragdv1connect.NewDatabaseServiceClient(caller, server, options),
		Plans:      ragdv1connect.NewPlanServiceClient(caller, server, options),
		// The frames of archives are compressed already.
		Archives: ragdv1connect.NewArchiveServiceClient(caller, server, options, connect.WithAcceptCompression("gzip", nil, nil)),
	}
}

// serverURL returns the address with its scheme and without a slash at the end.
func serverURL(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", misuse.Errorf("server %q is not an address such as %s or https://ragd.example.com", address, defaultServer)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// Get fetches a page of the service over plain HTTP, such as /healthz.
func (c *Client) Get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server+path, nil)
	if err != nil {
		return nil, err
	}
	return c.Send(req)
}

// Send sends a request that is no call of the API. Errors: Unavailable.
func (c *Client) Send(req *http.Request) (*http.Response, error) {
	res, err := c.HTTP.Do(req)
	var broken *url.Error
	if errors.As(err, &broken) {
		return nil, connect.NewError(connect.CodeUnavailable, broken.Err)
	}
	return res, err
}
