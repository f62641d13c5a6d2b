package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

const defaultServer = "http://127.0.0.1:8484"

// client are the services of one ragd, called with one credential.
type client struct {
	server    string
	access    access
	http      *http.Client
	tenants   ragdv1connect.TenantServiceClient
	indexes   ragdv1connect.IndexServiceClient
	documents ragdv1connect.DocumentServiceClient
	queries   ragdv1connect.QueryServiceClient
	chunks    ragdv1connect.ChunkServiceClient
	tools     ragdv1connect.ToolServiceClient
}

// clientFlags makes cmd, and what is below it, a client command.
func (p *program) clientFlags(cmd *cobra.Command) *cobra.Command {
	p.settings.registerClient(cmd.PersistentFlags())
	p.jsonFlag(cmd)
	return cmd
}

// connect returns a client whose credential is the one that choose takes from the
// settings and the client configuration.
func (p *program) connect(choose func(credentials) access) (*client, error) {
	path, err := p.clientConfigPath()
	if err != nil {
		return nil, err
	}
	local, err := readClientConfig(path)
	if err != nil {
		return nil, err
	}
	server, err := serverURL(cmp.Or(p.settings.Server, local.Server, defaultServer))
	if err != nil {
		return nil, err
	}
	found := credentials{settings: p.settings}
	// The keys of one service are not shown to another.
	if known, err := serverURL(cmp.Or(local.Server, defaultServer)); err == nil && known == server {
		found.local = local
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns // all of them are to one host
	p.client = newClient(server, choose(found), &http.Client{Transport: transport})
	return p.client, nil
}

func newClient(server string, as access, caller *http.Client) *client {
	options := connect.WithInterceptors(as)
	return &client{
		server: server, access: as, http: caller,
		tenants:   ragdv1connect.NewTenantServiceClient(caller, server, options),
		indexes:   ragdv1connect.NewIndexServiceClient(caller, server, options),
		documents: ragdv1connect.NewDocumentServiceClient(caller, server, options),
		queries:   ragdv1connect.NewQueryServiceClient(caller, server, options),
		chunks:    ragdv1connect.NewChunkServiceClient(caller, server, options),
		tools:     ragdv1connect.NewToolServiceClient(caller, server, options),
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

// get asks for a plain page of the service, such as /healthz.
func (c *client) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	var broken *url.Error
	if errors.As(err, &broken) {
		return nil, connect.NewError(connect.CodeUnavailable, broken.Err)
	}
	return res, err
}
