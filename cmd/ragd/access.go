package main

import (
	"cmp"
	"context"
	"net/http"

	"connectrpc.com/connect"
)

// credentials are what a command may choose its access from: what was given by
// flag, environment or file of settings, and what `ragd serve` left for us.
type credentials struct {
	settings settings
	local    clientConfig
}

// access is how a call shows who it comes from.
type access struct {
	key    string // sent as the bearer token
	source string // where the key came from, for messages
	header string // tenant that an operator acts for, sent as Ragd-Tenant
	tenant string // whose data is meant, as far as we know
}

func (c credentials) apiKey() access {
	if c.settings.APIKey != "" {
		return access{key: c.settings.APIKey, source: "RAGD_API_KEY", tenant: c.settings.Tenant}
	}
	return access{key: c.local.APIKey, source: "client.conf", tenant: c.local.Tenant}
}

func (c credentials) operatorKey() access {
	if c.settings.OperatorKey != "" {
		return access{key: c.settings.OperatorKey, source: "RAGD_OPERATOR_KEY"}
	}
	return access{key: c.local.OperatorKey, source: "client.conf"}
}

// forTenant is the access to a tenant's data: as the operator where --tenant names
// one, else with the API key, else as the operator for the tenant of client.conf.
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

// forOperator is the access to what belongs to no tenant. An API key may have the
// scope operator.
func (c credentials) forOperator() access {
	if operator := c.operatorKey(); operator.key != "" {
		return operator
	}
	return c.apiKey()
}

// forKeys is the access to a tenant's keys: that of the operator, or of a tenant's
// admin where an API key was given and no tenant.
func (c credentials) forKeys() access {
	if c.settings.Tenant == "" && c.settings.APIKey != "" {
		return c.apiKey()
	}
	as := c.forOperator()
	as.tenant = cmp.Or(c.settings.Tenant, c.local.Tenant)
	return as
}

// WrapUnary and WrapStreamingClient put the access on each call.
func (a access) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		a.sign(req.Header())
		return next(ctx, req)
	}
}

func (a access) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		a.sign(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler is for servers.
func (a access) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

func (a access) sign(header http.Header) {
	if a.key != "" {
		header.Set("Authorization", "Bearer "+a.key)
	}
	if a.header != "" {
		header.Set("Ragd-Tenant", a.header)
	}
}
