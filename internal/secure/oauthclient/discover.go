package oauthclient

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// The documents of a resource (RFC 9728) and of an authorization server (RFC 8414).
type (
	resourceDocument struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
	}
	serverDocument struct {
		Issuer       string   `json:"issuer"`
		AuthorizeURL string   `json:"authorization_endpoint"`
		TokenURL     string   `json:"token_endpoint"`
		RegisterURL  string   `json:"registration_endpoint"`
		Methods      []string `json:"token_endpoint_auth_methods_supported"`
		Challenges   []string `json:"code_challenge_methods_supported"`
		NamesItself  bool     `json:"authorization_response_iss_parameter_supported"`
		Documents    bool     `json:"client_id_metadata_document_supported"`
	}
)

const (
	resourceWellKnown = "/.well-known/oauth-protected-resource"
	serverWellKnown   = "/.well-known/oauth-authorization-server"
	openIDWellKnown   = "/.well-known/openid-configuration"
)

// Discover finds the authorization server of a resource: the wanted issuer, or the first one that the
// resource names for "". What a resource says about itself counts only if it comes from its own host, and
// what an authorization server says only if it is the issuer that was asked for. Errors: Precondition if
// there is none that can be used; Unavailable.
func (c *Client) Discover(ctx context.Context, resource *url.URL, issuer string) (Server, error) {
	challenged := c.challenge(ctx, resource)
	document, found, err := c.resource(ctx, resource, challenged.metadata)
	if err != nil {
		return Server{}, err
	}
	s := Server{Resource: resource.String(), Scopes: scopesOf(challenged.scopes)}
	if !found { // as revision 2025-03-26 of MCP says
		document.Servers = []string{resource.Scheme + "://" + resource.Host}
	} else {
		if s.Resource, err = same(resource, document.Resource); err != nil {
			return Server{}, err
		}
		if len(s.Scopes) == 0 {
			s.Scopes = scopesOf(document.Scopes)
		}
	}
	if issuer != "" {
		if found && !slices.ContainsFunc(document.Servers, func(named string) bool { return equal(named, issuer) }) {
			return Server{}, fault.New(fault.Precondition, "%s does not name %s as its authorization server", resource.Host, hostOf(issuer))
		}
		document.Servers = []string{issuer}
	}
	if len(document.Servers) == 0 {
		return Server{}, fault.New(fault.Precondition, "%s names no authorization server", resource.Host)
	}
	err = c.server(ctx, &s, document.Servers[0], resource.Scheme)
	return s, err
}

// challenge is what a refusal of the resource says.
type challenge struct {
	metadata string
	scopes   []string
}

// parameter matches the parameters of a challenge that matter.
var parameter = regexp.MustCompile(`(?i)(?:^|[\s,])(resource_metadata|scope)\s*=\s*(?:"([^"]*)"|([^\s,"]+))`)

// challenge asks the resource for something without a token. What goes wrong is nothing: a resource need
// not challenge.
func (c *Client) challenge(ctx context.Context, resource *url.URL) challenge {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		body := io.Reader(nil)
		if method == http.MethodPost {
			body = strings.NewReader(ping)
		}
		asking, cancel := context.WithTimeout(ctx, requestTimeout)
		req, err := http.NewRequestWithContext(asking, method, resource.String(), body)
		if err != nil {
			cancel()
			return challenge{}
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := c.http.Do(req)
		if err != nil {
			cancel()
			return challenge{}
		}
		cancel()
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			continue
		}
		return readChallenge(res.Header.Values("WWW-Authenticate"))
	}
	return challenge{}
}

func readChallenge(headers []string) (out challenge) {
	for _, header := range headers {
		for _, found := range parameter.FindAllStringSubmatch(header, -1) {
			value := cmp.Or(found[2], found[3])
			if strings.EqualFold(found[1], "scope") {
				out.scopes = strings.Fields(value)
			} else if out.metadata == "" {
				out.metadata = value
			}
		}
	}
	return out
}

// resource reads what the resource says about itself, at the address that it has given or at the well-known
// ones. found is false if there is nothing.
func (c *Client) resource(ctx context.Context, resource *url.URL, given string) (d resourceDocument, found bool, err error) {
	var addresses []string
	if named, err := url.Parse(given); given != "" && err == nil && origin(named) == origin(resource) && named.User == nil && len(given) <= maxAddressBytes {
		addresses = append(addresses, given)
	}
	root := url.URL{Scheme: resource.Scheme, Host: resource.Host, Path: resourceWellKnown}
	if path := strings.TrimSuffix(resource.Path, "/"); path != "" {
		below := root
		below.Path += path
		addresses = append(addresses, below.String())
	}
	return c.first(ctx, append(addresses, root.String()))
}

func (c *Client) first(ctx context.Context, addresses []string) (d resourceDocument, found bool, err error) {
	for _, address := range addresses {
		ok, err := read(ctx, c, address, &d)
		if ok || err != nil {
			return d, ok, err
		}
	}
	return d, false, nil
}

// read reads a document; ok is false if there is none at the address.
func read[T any](ctx context.Context, c *Client, address string, into *T) (ok bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, nil //nolint:nilerr // there can be none
	}
	var read T
	err = c.object(req, &read)
	var status *statusError
	switch {
	case errors.As(err, &status) && status.status < 500:
		return false, nil
	case fault.KindOf(err) == fault.Precondition && !errors.As(err, &status): // such as a page for people
		return false, nil
	case err != nil:
		return false, err
	}
	*into = read
	return true, nil
}

// same returns the name of the resource that it gives itself. Errors: Precondition for that of another
// one, for which tokens would be issued.
func same(resource *url.URL, named string) (string, error) {
	parsed, err := url.Parse(named)
	path := ""
	if err == nil {
		path = strings.TrimSuffix(parsed.Path, "/")
	}
	if err != nil || len(named) > maxAddressBytes || origin(parsed) != origin(resource) || parsed.User != nil || parsed.Fragment != "" ||
		resource.Path != path && !strings.HasPrefix(resource.Path, path+"/") {
		return "", fault.New(fault.Precondition, "%s says that it is another resource, so that a token would be for that", resource.Host)
	}
	return named, nil
}

// server reads what an issuer says about itself.
func (c *Client) server(ctx context.Context, into *Server, issuer, scheme string) error {
	parsed, err := endpoint("issuer", issuer, scheme)
	if err != nil {
		return err
	}
	path := strings.TrimSuffix(parsed.Path, "/")
	at := func(path string) string {
		return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: path}).String()
	}
	addresses := []string{at(serverWellKnown + path), at(openIDWellKnown + path)}
	if path != "" {
		addresses = append(addresses, at(path+openIDWellKnown))
	}
	for _, address := range addresses {
		var d serverDocument
		ok, err := read(ctx, c, address, &d)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if !equal(d.Issuer, issuer) {
			return fault.New(fault.Precondition, "the authorization server %s says that it is another issuer", parsed.Host)
		}
		return into.take(d, scheme)
	}
	return fault.New(fault.Precondition, "the authorization server %s does not describe itself, as RFC 8414 says", parsed.Host)
}

// take sets what the document of an authorization server says.
func (s *Server) take(d serverDocument, scheme string) error {
	for what, address := range map[string]string{"authorization_endpoint": d.AuthorizeURL, "token_endpoint": d.TokenURL, "registration_endpoint": d.RegisterURL} {
		if address == "" && what != "token_endpoint" {
			continue
		}
		if _, err := endpoint(what, address, scheme); err != nil {
			return err
		}
	}
	s.Issuer, s.AuthorizeURL, s.TokenURL, s.RegisterURL = d.Issuer, d.AuthorizeURL, d.TokenURL, d.RegisterURL
	for _, m := range methods {
		if slices.Contains(d.Methods, m) {
			s.Methods = append(s.Methods, m)
		}
	}
	s.PKCE, s.NamesItself, s.Documents = slices.Contains(d.Challenges, "S256"), d.NamesItself, d.Documents
	return nil
}

// endpoint checks an address of an authorization server: encrypted, unless the resource is not either.
func endpoint(what, address, scheme string) (*url.URL, error) {
	parsed, err := url.Parse(address)
	if err != nil || len(address) > maxAddressBytes || parsed.Hostname() == "" || parsed.User != nil || parsed.Fragment != "" ||
		parsed.Scheme != "https" && (parsed.Scheme != "http" || scheme != "http") {
		return nil, unusable(what)
	}
	return parsed, nil
}

// equal reports whether two texts are the same issuer. A slash at the end does not matter.
func equal(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// scopesOf returns the scopes that can be asked for.
func scopesOf(said []string) (scopes []string) {
	for _, scope := range said {
		valid := scope != "" && len(scope) <= maxScopeBytes && !strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
		if valid && len(scopes) < maxScopes && !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}
