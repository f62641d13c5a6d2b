package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

const defaultServer = "http://127.0.0.1:8484"

// client calls the services of one ragd with one credential.
type client struct {
	server     string
	access     access
	http       *http.Client
	getenv     func(string) string
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

// connectTo returns a client with the credential that choose selects from the settings and
// client.conf. It opens no connection, except to see which of several services runs.
func connectTo(settings clientSettings, getenv func(string) string, choose func(credentials) access) (*client, error) {
	server, local, err := findServer(settings.Server, getenv)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns // all connections go to one host
	return newClient(server, choose(credentials{settings: settings, local: local}), &http.Client{Transport: transport}, getenv), nil
}

func newClient(server string, as access, caller *http.Client, getenv func(string) string) *client {
	options := connect.WithInterceptors(as)
	return &client{
		server: server, access: as, http: caller, getenv: getenv,
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
		return "", usagef("server %q is not an address such as %s or https://ragd.example.com", address, defaultServer)
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
