// Package hook posts events of tenants to addresses that the tenants choose, signed as
// Standard Webhooks describes.
//
// The deliveries of an event are made in the transaction that writes the event
// (migrations/shared), so that an instance may die at any time. A task of the job queue for
// each hook posts what is due. A delivery that fails is tried again, after waits that grow;
// after the last attempt it can be replayed while its event is kept.
package hook

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
)

// Limits.
const (
	maxHooks             = 20 // of a tenant
	maxDescriptionBytes  = 1000
	maxEvents            = 50
	maxNames             = 100
	maxNameBytes         = 200
	maxHeaders           = 20
	maxHeaderBytes       = 4 << 10 // of a value
	minPayloadBytes      = 1 << 10
	maxPayloadBytes      = 256 << 10
	defaultPayloadBytes  = 64 << 10
	defaultGrace         = 24 * time.Hour
	maxGrace             = 7 * 24 * time.Hour
	maxExcerptBytes      = 1 << 10 // of an answer
	maxAnswerBytes       = 64 << 10
	attemptTimeout       = 15 * time.Second
	maxAttempts          = 10
	maxAtOnce            = 200 // deliveries of an instance
	maxAtOncePerTenant   = 32
	maxAtOncePerHook     = 4
	disableAfter         = 24 * time.Hour
	disableAfterFailures = 5
)

// Hook is an address to which events are posted.
type Hook struct {
	Name            string
	URL             string
	Description     string
	Events          []string // types or patterns
	Tools, Indexes  []string // empty: all
	Headers         map[string]string
	IncludeContent  bool
	MaxPayloadBytes int
	Enabled         bool
	DisabledReason  string // why the service disabled it
	Failures        int    // attempts since the last that succeeded
	FailingSince    *time.Time
	// PreviousExpiresAt is when the secret before the last rotation expires.
	PreviousExpiresAt *time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// complete sets the defaults of empty fields and checks the hook. Errors: Invalid;
// Precondition for an address inside the network of the service.
func (h *Hook) complete(guard *outbound.Guard) error {
	if err := catalog.CheckName("hookName", h.Name, 64); err != nil {
		return err
	}
	if _, err := checkURL(guard, h.URL); err != nil {
		return err
	}
	if err := textlimit.Check("description", h.Description, maxDescriptionBytes); err != nil {
		return err
	}
	if err := h.checkEvents(); err != nil {
		return err
	}
	if h.MaxPayloadBytes == 0 {
		h.MaxPayloadBytes = defaultPayloadBytes
	}
	if h.MaxPayloadBytes < minPayloadBytes || h.MaxPayloadBytes > maxPayloadBytes {
		return fault.Field("maxPayloadBytes", "must be between %d and %d, got %d", minPayloadBytes, maxPayloadBytes, h.MaxPayloadBytes)
	}
	return h.checkHeaders()
}

// checkURL checks the address of a hook. It may have a query.
func checkURL(guard *outbound.Guard, address string) (*url.URL, error) {
	if len(address) > outbound.MaxURLBytes {
		return nil, fault.Field("url", "must be at most %d bytes", outbound.MaxURLBytes)
	}
	path, _, _ := strings.Cut(address, "?")
	if err := guard.CheckURL("url", path); err != nil {
		return nil, err
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Fragment != "" || strings.Contains(address, "#") {
		return nil, fault.Field("url", "must be an address such as https://example.com/hooks, without #")
	}
	return parsed, nil
}

func (h *Hook) checkEvents() error {
	if len(h.Events) == 0 {
		return fault.Field("events", "is missing: name types of events, such as document.ready, document.* or *")
	}
	if len(h.Events) > maxEvents {
		return fault.Field("events", "must be at most %d, got %d", maxEvents, len(h.Events))
	}
	if _, err := journal.Select("events", h.Events); err != nil {
		return err
	}
	for field, names := range map[string]*[]string{"tools": &h.Tools, "indexes": &h.Indexes} {
		if len(*names) > maxNames {
			return fault.Field(field, "must be at most %d, got %d", maxNames, len(*names))
		}
		for _, name := range *names {
			if err := textlimit.Check(field, name, maxNameBytes); err != nil {
				return err
			}
		}
		if *names == nil {
			*names = []string{} // not null
		}
	}
	return nil
}

// ours are headers that deliveries have anyway, or that belong to the connection.
var ours = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Keep-Alive", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

func (h *Hook) checkHeaders() error {
	if len(h.Headers) > maxHeaders {
		return fault.Field("headers", "must be at most %d, got %d", maxHeaders, len(h.Headers))
	}
	if h.Headers == nil {
		h.Headers = map[string]string{} // not null
	}
	for name, value := range h.Headers {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return fault.Field("headers", "%q is no name of a header", textlimit.Shorten(name, 100))
		case slices.Contains(ours, canonical) || strings.HasPrefix(canonical, "Webhook-"):
			return fault.Field("headers", "%s cannot be set", canonical)
		case len(value) > maxHeaderBytes || !httpguts.ValidHeaderFieldValue(value):
			return fault.Field("headers", "the value of %s must be at most %d bytes without line breaks", canonical, maxHeaderBytes)
		}
	}
	return nil
}

// secretReference is the part of a header that stands for a secret.
var secretReference = regexp.MustCompile(`\{\{\s*secrets\.([A-Za-z0-9_-]{1,64})\s*\}\}`)

// secretNames returns the names of the secrets that the headers use, each once, in order.
func (h *Hook) secretNames() []string {
	var names []string
	for _, value := range h.Headers {
		for _, found := range secretReference.FindAllStringSubmatch(value, -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// render returns the headers with the values of the secrets. Errors: Invalid for a secret that
// no header can hold, without its value.
func (h *Hook) render(secrets map[string]string) (http.Header, error) {
	header := http.Header{}
	for name, value := range h.Headers {
		value = secretReference.ReplaceAllStringFunc(value, func(reference string) string {
			return secrets[secretReference.FindStringSubmatch(reference)[1]]
		})
		if !httpguts.ValidHeaderFieldValue(value) {
			return nil, fault.Field("headers", "a secret in %s has bytes that no header may have", http.CanonicalHeaderKey(name))
		}
		header.Set(name, value)
	}
	return header, nil
}
