package client

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
)

// Settings are the settings of the commands that call a service. Each is a flag whose
// name is also its key in the file of settings and, as RAGD_KEY, in the environment.
type Settings struct {
	Server      string
	Tenant      string
	APIKey      string // secret
	OperatorKey string // secret
}

// Register adds the flags of the settings.
func (s *Settings) Register(flags *pflag.FlagSet) {
	flags.StringVar(&s.Server, "server", "", "address of the service (default "+defaultServer+")")
	flags.StringVar(&s.Tenant, "tenant", "", "act for this tenant, with the operator key")
	flags.StringVar(&s.APIKey, "api-key", "", "key of a tenant")
	flags.StringVar(&s.OperatorKey, "operator-key", "", "key of the operator")
	config.MarkSettings(flags, "server", "tenant")
	config.MarkSecrets(flags, "api-key", "operator-key")
}

// Headers of requests besides the key.
const (
	tenantHeader  = "Ragd-Tenant"  // names the tenant that an operator acts for
	ContextHeader = "Ragd-Context" // has the request context, as JSON
	ServerHeader  = "Ragd-Server"  // names the MCP server of the tenant that a call goes through
)

// Credentials holds the keys that a command can choose from: those of the settings and
// those in client.conf.
type Credentials struct {
	settings Settings
	local    config.Client
}

// Access is the credential of a call.
type Access struct {
	Key    string // sent as the bearer token
	Source string // where the key came from, for messages
	Header string // tenant that an operator acts for, sent as tenantHeader
	Tenant string // tenant whose data the call is about, empty if not known
	// Operator is set if the key is meant to be the operator's.
	Operator bool
}

// apiKey returns access with the API key of the settings, else of client.conf.
func apiKey(c Credentials) Access {
	if c.settings.APIKey != "" {
		return Access{Key: c.settings.APIKey, Source: "RAGD_API_KEY", Tenant: c.settings.Tenant}
	}
	return Access{Key: c.local.APIKey, Source: "client.conf", Tenant: c.local.Tenant}
}

// OperatorKey returns access with the operator key of the settings, else of client.conf.
func OperatorKey(c Credentials) Access {
	if c.settings.OperatorKey != "" {
		return Access{Key: c.settings.OperatorKey, Source: "RAGD_OPERATOR_KEY", Operator: true}
	}
	return Access{Key: c.local.OperatorKey, Source: "client.conf", Operator: true}
}

// remedy says how to get a key in place of one that was refused.
func (a Access) remedy() string {
	if a.Operator {
		return "RAGD_OPERATOR_KEY must be the operator-key of the service, or else the one that its first start wrote to client.conf"
	}
	return "`ragd key create` makes a key, RAGD_API_KEY sets it"
}

// ForTenant returns access to a tenant's data: with --tenant as the operator, else with
// the API key, else as the operator for the tenant of client.conf.
func ForTenant(c Credentials) Access {
	as, named := apiKey(c), c.settings.Tenant
	if named == "" && as.Key != "" {
		return as
	}
	if operator := OperatorKey(c); operator.Key != "" {
		as = operator
	}
	as.Tenant = cmp.Or(named, c.local.Tenant)
	as.Header = as.Tenant
	return as
}

// ForOperator returns access to operations that belong to no tenant. Without an operator
// key it is the API key, which may have the scope operator.
func ForOperator(c Credentials) Access {
	if operator := OperatorKey(c); operator.Key != "" {
		return operator
	}
	return apiKey(c)
}

// ForKeys returns access to a tenant's keys: with an API key and no --tenant as the
// tenant's admin, else as the operator.
func ForKeys(c Credentials) Access {
	if c.settings.Tenant == "" && c.settings.APIKey != "" {
		return apiKey(c)
	}
	as := ForOperator(c)
	as.Tenant = cmp.Or(c.settings.Tenant, c.local.Tenant)
	return as
}

// ForUsage returns access to the usage of a tenant: with an API key and no --tenant as the
// tenant's admin, else as the operator, for all tenants if --tenant names none.
func ForUsage(c Credentials) Access {
	operator := OperatorKey(c)
	if operator.Key == "" || c.settings.Tenant == "" && c.settings.APIKey != "" {
		return apiKey(c)
	}
	operator.Tenant, operator.Header = c.settings.Tenant, c.settings.Tenant
	return operator
}

// ForQuotas returns access to the quotas of a tenant: as ForUsage, but an operator that names no tenant sees those of the
// tenant of client.conf.
func ForQuotas(c Credentials) Access {
	as := ForUsage(c)
	if as.Operator {
		as.Tenant = cmp.Or(as.Tenant, c.local.Tenant)
		as.Header = as.Tenant
	}
	return as
}

// callTimeout ends a call without a stream. The service ends calls without a deadline
// after a minute.
const callTimeout = 90 * time.Second

// WrapUnary adds the credential and callTimeout to a call. It implements connect.Interceptor.
func (a Access) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if err := a.check(); err != nil {
			return nil, err
		}
		a.Sign(req.Header())
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return next(ctx, req)
	}
}

// WrapStreamingClient adds the credential to a stream. It implements connect.Interceptor.
func (a Access) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		a.Sign(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler does nothing. It implements connect.Interceptor.
func (a Access) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// check returns an error if the key cannot be sent.
func (a Access) check() error {
	if strings.ContainsFunc(strings.TrimSpace(a.Key), func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return misuse.Errorf("the key from %s contains a line break or another control character: set it anew", a.Source)
	}
	return nil
}

// Sign adds the credential to the headers of a request.
func (a Access) Sign(header http.Header) {
	if a.Key != "" { // which may come from a file, with the end of its line
		header.Set("Authorization", "Bearer "+strings.TrimSpace(a.Key))
	}
	if a.Header != "" {
		header.Set(tenantHeader, a.Header)
	}
}
