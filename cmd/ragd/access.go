package main

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
)

// clientSettings are the settings of the commands that call a service. Each is a flag whose
// name is also its key in the file of settings and, as RAGD_KEY, in the environment.
type clientSettings struct {
	Server      string
	Tenant      string
	APIKey      string // secret
	OperatorKey string // secret
}

// register adds the flags of the settings.
func (s *clientSettings) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.Server, "server", "", "address of the service (default "+defaultServer+")")
	flags.StringVar(&s.Tenant, "tenant", "", "act for this tenant, with the operator key")
	flags.StringVar(&s.APIKey, "api-key", "", "key of a tenant")
	flags.StringVar(&s.OperatorKey, "operator-key", "", "key of the operator")
	config.MarkSettings(flags, "server", "tenant")
	config.MarkSecrets(flags, "api-key", "operator-key")
}

// credentials holds the keys that a command can choose from: those of the settings and
// those in client.conf.
type credentials struct {
	settings clientSettings
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
func apiKey(c credentials) access {
	if c.settings.APIKey != "" {
		return access{key: c.settings.APIKey, source: "RAGD_API_KEY", tenant: c.settings.Tenant}
	}
	return access{key: c.local.APIKey, source: "client.conf", tenant: c.local.Tenant}
}

// operatorKey returns access with the operator key of the settings, else of client.conf.
func operatorKey(c credentials) access {
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
func forTenant(c credentials) access {
	as, named := apiKey(c), c.settings.Tenant
	if named == "" && as.key != "" {
		return as
	}
	if operator := operatorKey(c); operator.key != "" {
		as = operator
	}
	as.tenant = cmp.Or(named, c.local.Tenant)
	as.header = as.tenant
	return as
}

// forOperator returns access to operations that belong to no tenant. Without an operator
// key it is the API key, which may have the scope operator.
func forOperator(c credentials) access {
	if operator := operatorKey(c); operator.key != "" {
		return operator
	}
	return apiKey(c)
}

// forKeys returns access to a tenant's keys: with an API key and no --tenant as the
// tenant's admin, else as the operator.
func forKeys(c credentials) access {
	if c.settings.Tenant == "" && c.settings.APIKey != "" {
		return apiKey(c)
	}
	as := forOperator(c)
	as.tenant = cmp.Or(c.settings.Tenant, c.local.Tenant)
	return as
}

// forUsage returns access to the usage of a tenant: with an API key and no --tenant as the
// tenant's admin, else as the operator, for all tenants if --tenant names none.
func forUsage(c credentials) access {
	operator := operatorKey(c)
	if operator.key == "" || c.settings.Tenant == "" && c.settings.APIKey != "" {
		return apiKey(c)
	}
	operator.tenant, operator.header = c.settings.Tenant, c.settings.Tenant
	return operator
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
