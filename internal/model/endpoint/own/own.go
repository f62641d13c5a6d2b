// Package own manages the endpoints that tenants make themselves: it stores them, with
// their keys encrypted, and finds them for endpoint.Directory.
package own

import (
	"encoding/json"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
)

// Endpoint is an endpoint of a tenant, without its secrets.
type Endpoint struct {
	Name               string
	Kind               endpoint.Kind
	BaseURL            string
	HasAPIKey          bool
	HeaderNames        []string
	MaxConcurrentCalls int
	RequestsPerSecond  float64 // 0 for no bound
	Timeout            time.Duration
	Models             []endpoint.Model
	CreatedAt          time.Time
	UpdatedAt          time.Time
	// Operator reports whether the endpoint is the operator's.
	Operator bool
}

// Secret is what is encrypted of an endpoint. It does not show itself when printed.
type Secret struct {
	APIKey  string            `json:"apiKey,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// String returns a text without the secret.
func (s Secret) String() string { return "[secret]" }

// GoString is String.
func (s Secret) GoString() string { return s.String() }

func (s Secret) empty() bool { return s.APIKey == "" && len(s.Headers) == 0 }

// encode returns the secret as JSON, nil if it is empty.
func (s Secret) encode() []byte {
	if s.empty() {
		return nil
	}
	raw, err := json.Marshal(s) //nolint:gosec // sealed before it is stored
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return raw
}

// Limits.
const (
	maxEndpoints       = 50 // of a tenant
	maxKeyBytes        = 8 << 10
	maxHeaders         = 16
	maxHeaderBytes     = 4 << 10
	maxModels          = 100
	maxModelBytes      = 200
	maxPrefixBytes     = 1 << 10
	maxDimension       = 16_000
	maxTokens          = 10_000_000
	maxConcurrentCalls = 64
	maxRate            = 1000
	minTimeout         = 100 * time.Millisecond
	maxTimeout         = 5 * time.Minute

	defaultConcurrentCalls = 8
	defaultTimeout         = 30 * time.Second
)

// complete sets the defaults of empty fields and checks the endpoint. Errors: Invalid;
// Precondition for an address that the guard refuses.
func (e *Endpoint) complete(guard *outbound.Guard) error {
	if err := endpoint.CheckName("endpointName", e.Name); err != nil {
		return err
	}
	if !e.Kind.Known() {
		return fault.Field("kind", "must be one of %s, got %q", kindNames(), e.Kind)
	}
	if e.BaseURL == "" {
		if e.Kind.PublicURL() == "" || e.Kind == endpoint.Ollama {
			return fault.Field("baseUrl", "is needed: endpoints of the kind %s have no public address", e.Kind)
		}
		e.BaseURL = e.Kind.PublicURL()
	}
	if err := guard.CheckURL("baseUrl", e.BaseURL); err != nil {
		return err
	}
	if e.MaxConcurrentCalls == 0 {
		e.MaxConcurrentCalls = defaultConcurrentCalls
	}
	if e.Timeout == 0 {
		e.Timeout = defaultTimeout
	}
	switch {
	case e.MaxConcurrentCalls < 1 || e.MaxConcurrentCalls > maxConcurrentCalls:
		return fault.Field("maxConcurrentCalls", "must be between 1 and %d, got %d", maxConcurrentCalls, e.MaxConcurrentCalls)
	case !(e.RequestsPerSecond >= 0 && e.RequestsPerSecond <= maxRate):
		return fault.Field("requestsPerSecond", "must be between 0 and %d, got %g", maxRate, e.RequestsPerSecond)
	case e.Timeout < minTimeout || e.Timeout > maxTimeout:
		return fault.Field("timeoutMs", "must be between %d and %d, got %d", minTimeout.Milliseconds(), maxTimeout.Milliseconds(), e.Timeout.Milliseconds())
	}
	return checkModels(e.Models)
}

func kindNames() string {
	names := make([]string, len(endpoint.Kinds))
	for i, k := range endpoint.Kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

func checkModels(models []endpoint.Model) error {
	if len(models) > maxModels {
		return fault.Field("models", "must be at most %d, got %d", maxModels, len(models))
	}
	seen := map[string]bool{}
	for _, m := range models {
		if err := checkModel(m); err != nil {
			return err
		}
		name := strings.ToLower(m.Name)
		if seen[name] {
			return fault.Field("models", "has %q twice", m.Name)
		}
		seen[name] = true
	}
	return nil
}

func checkModel(m endpoint.Model) error {
	name := strings.ReplaceAll(m.Name, "*", "x")
	if err := (endpoint.Config{}).CheckModel("models.model", name); err != nil {
		return err
	}
	switch {
	case m.Dimension < 0 || m.Dimension > maxDimension:
		return fault.Field("models.dimension", "must be between 0 and %d, got %d", maxDimension, m.Dimension)
	case m.MaxTokens < 0 || m.MaxTokens > maxTokens:
		return fault.Field("models.maxTokens", "must be between 0 and %d, got %d", maxTokens, m.MaxTokens)
	}
	if err := textlimit.Check("models.documentPrefix", m.DocumentPrefix, maxPrefixBytes); err != nil {
		return err
	}
	return textlimit.Check("models.questionPrefix", m.QuestionPrefix, maxPrefixBytes)
}

// reservedHeaders are set by the service or by HTTP.
var reservedHeaders = []string{
	"Accept", "Accept-Encoding", "Authorization", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host",
	"Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Goog-Api-Key",
}

// complete checks the secret and writes the names of its headers as HTTP does. Errors:
// Invalid, without the secret.
func (s *Secret) complete() error {
	if len(s.APIKey) > maxKeyBytes || !httpguts.ValidHeaderFieldValue(s.APIKey) || s.APIKey != strings.TrimSpace(s.APIKey) {
		return fault.Field("apiKey", "must be at most %d bytes on one line, without spaces around it", maxKeyBytes)
	}
	if len(s.Headers) > maxHeaders {
		return fault.Field("headers", "must be at most %d, got %d", maxHeaders, len(s.Headers))
	}
	headers := map[string]string{}
	for name, value := range s.Headers {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch _, twice := headers[canonical]; {
		case !httpguts.ValidHeaderFieldName(name) || len(name) > maxModelBytes:
			return fault.Field("headers", "a name is not one of HTTP: letters, digits and -")
		case slices.Contains(reservedHeaders, canonical):
			return fault.Field("headers", "%s is set by the service: a key belongs into apiKey", canonical)
		case twice:
			return fault.Field("headers", "has %s twice", canonical)
		case len(value) > maxHeaderBytes || !httpguts.ValidHeaderFieldValue(value) || value == "":
			return fault.Field("headers", "the value of %s must be 1 to %d bytes on one line", canonical, maxHeaderBytes)
		}
		headers[canonical] = value
	}
	s.Headers = headers
	return nil
}

// headerNames returns the names of the headers in order.
func (s Secret) headerNames() []string {
	names := []string{}
	for name := range s.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// config returns the configuration of calls to the endpoint.
func (e Endpoint) config(secret Secret, guard *outbound.Guard) endpoint.Config {
	config := endpoint.Config{
		APIKey: secret.APIKey, Headers: secret.Headers, BaseURL: e.BaseURL, Declared: e.Models, Guard: guard,
		MaxConcurrent: e.MaxConcurrentCalls, MaxConcurrentPerTenant: e.MaxConcurrentCalls, RequestsPerSecond: e.RequestsPerSecond,
		Timeout: e.Timeout,
	}
	for _, m := range e.Models {
		config.Models = append(config.Models, m.Name)
	}
	return config
}
