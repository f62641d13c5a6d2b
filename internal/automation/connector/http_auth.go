package connector

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// apiToken is a token of OAuth.
type apiToken struct {
	access string
	until  time.Time // zero if it is not known
}

// render returns the text of a template of a request to an address.
func (x *apiWalk) render(ctx context.Context, t manifest.Template, to *url.URL, scope map[string]any) (string, error) {
	scope, err := x.reveal(ctx, t, to, scope)
	if err != nil {
		return "", err
	}
	return t.Text(ctx, scope)
}

// reveal returns the values of expressions with the secrets that a template names. Errors: Denied for a secret that
// may not be sent to the address.
func (x *apiWalk) reveal(ctx context.Context, t manifest.Template, to *url.URL, scope map[string]any) (map[string]any, error) {
	var config map[string]any
	for _, name := range t.Config() {
		if len(x.secrets[name]) == 0 {
			continue
		}
		if config == nil {
			config = maps.Clone(x.public)
		}
		values := map[string]string{}
		for _, of := range x.secrets[name] {
			value, err := x.secretFor(ctx, of, to)
			if err != nil {
				return nil, err
			}
			values[of] = value
		}
		config[name] = secretReference.ReplaceAllStringFunc(x.private[name], func(reference string) string {
			return values[secretReference.FindStringSubmatch(reference)[1]]
		})
	}
	if config == nil {
		return scope, nil
	}
	return with(scope, map[string]any{"config": config}), nil
}

// secretFor returns a secret for requests to the host of an address. It is read once for each host.
func (x *apiWalk) secretFor(ctx context.Context, name string, to *url.URL) (string, error) {
	key := name + " for " + to.Scheme + "://" + to.Host
	if value, ok := x.values[key]; ok {
		return value, nil
	}
	value, err := x.secret(ctx, name, to)
	if err != nil {
		return "", err
	}
	x.values[key] = strings.TrimSpace(value)
	return x.values[key], nil
}

// credentials returns the templates of a requester that have its credentials, and the address to which these go.
func (x *apiWalk) credentials(ctx context.Context, of manifest.Requester, to *url.URL) ([]manifest.Template, *url.URL, error) {
	a := of.Authenticator
	if a.Kind != manifest.OAuth {
		return []manifest.Template{a.Token, a.Username, a.Password}, to, nil
	}
	to, err := x.tokenURL(ctx, a)
	return []manifest.Template{a.ClientID, a.ClientSecret, a.RefreshToken}, to, err
}

func (x *apiWalk) tokenURL(ctx context.Context, a manifest.Authenticator) (*url.URL, error) {
	text, err := a.TokenURL.Text(ctx, x.scope())
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(text)
	if err != nil || to.Hostname() == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, fault.New(fault.Precondition, "token_refresh_endpoint must be an address such as https://auth.example.com/token")
	}
	return to, nil
}

// authenticate adds the credentials of a requester. renew asks for another token of OAuth.
func (x *apiWalk) authenticate(ctx context.Context, of manifest.Requester, r *request, renew bool) error {
	a, scope := of.Authenticator, x.scope()
	switch a.Kind {
	case manifest.APIKey, manifest.Bearer:
		token, err := x.render(ctx, a.Token, r.address, scope)
		if err != nil || token == "" {
			return err
		}
		if a.Kind == manifest.APIKey {
			return r.set(a.Into, token)
		}
		return setHeader(r.header, "Authorization", "Bearer "+token)
	case manifest.Basic:
		user, err := x.render(ctx, a.Username, r.address, scope)
		if err != nil {
			return err
		}
		password, err := x.render(ctx, a.Password, r.address, scope)
		if err != nil || user+password == "" {
			return err
		}
		return setHeader(r.header, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	case manifest.OAuth:
		token, err := x.token(ctx, a, renew)
		if err != nil {
			return err
		}
		return setHeader(r.header, "Authorization", "Bearer "+token)
	}
	return nil
}

// token returns an access token, which is kept for the walk.
func (x *apiWalk) token(ctx context.Context, a manifest.Authenticator, renew bool) (string, error) {
	to, err := x.tokenURL(ctx, a)
	if err != nil {
		return "", err
	}
	if known, ok := x.tokens[to.String()]; ok && !renew && (known.until.IsZero() || time.Until(known.until) > earlyRefresh) {
		return known.access, nil
	}
	form := url.Values{"grant_type": {a.Grant}}
	fields := maps.Clone(a.Body)
	if fields == nil {
		fields = map[string]manifest.Template{}
	}
	fields["client_id"], fields["client_secret"] = a.ClientID, a.ClientSecret
	if a.Grant == "refresh_token" {
		fields["refresh_token"] = a.RefreshToken
	}
	for name, t := range fields {
		text, err := x.render(ctx, t, to, x.scope())
		if err != nil {
			return "", err
		}
		if text != "" {
			form.Set(name, text)
		}
	}
	if len(a.Scopes) > 0 {
		form.Set("scope", strings.Join(a.Scopes, " "))
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	got, err := x.fetch.once(ctx, call{method: http.MethodPost, address: to, header: header, body: []byte(form.Encode())}, maxTokenBytes)
	if err != nil {
		return "", about("the authorization server", err)
	}
	value, err := decodeJSON(got.body)
	object, ok := value.(map[string]any)
	access, _ := object[a.TokenName].(string)
	if err != nil || !ok || got.status != http.StatusOK || access == "" {
		said, _ := object["error"].(string)
		return "", fault.New(fault.Precondition, "the authorization server %s gives no token: it answered %d %s", to.Host, got.status, textlimit.OneLine(said, maxMetadataName))
	}
	x.values["access token of "+to.Host] = access
	token := apiToken{access: access}
	if seconds, err := manifest.Text(object[a.ExpiresName]); err == nil {
		if number, err := strconv.ParseFloat(seconds, 64); err == nil && number > 0 {
			token.until = time.Now().Add(secondsOf(number))
		}
	}
	x.tokens[to.String()] = token
	return access, nil
}

// requesters returns those of all streams, of parents and parts too.
func (x *apiWalk) requesters() (all []manifest.Requester) {
	for _, s := range x.manifest.All() {
		all = append(all, s.Requester)
	}
	return all
}
