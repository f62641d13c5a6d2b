package connector

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// request is a request of an API while it is put together.
type request struct {
	call

	query url.Values
	form  url.Values
	json  map[string]any
	text  string
}

// pageToken is what names a page; nil for the first.
type pageToken any

// pages calls each with the records of all pages of a stream.
func (x *apiWalk) pages(ctx context.Context, s *manifest.Stream, in interval, scope map[string]any, each func(record, scope map[string]any) error) error {
	if c := s.Cursor; c != nil {
		bounds := map[string]any{c.StartField: manifest.FormatTime(c.Format, in.from), c.EndField: manifest.FormatTime(c.Format, in.to)}
		slice := maps.Clone(bounds)
		maps.Copy(slice, scope["stream_partition"].(map[string]any))
		scope = with(scope, map[string]any{"stream_interval": bounds, "stream_slice": slice})
	}
	token := firstToken(s.Paginator)
	given := map[string]bool{}
	for {
		r, err := x.build(ctx, s, in, token, scope)
		if err != nil {
			return err
		}
		a, records, within, err := x.page(ctx, s, r, scope)
		if err != nil {
			return err
		}
		for _, record := range records {
			err := x.record(ctx, s, in, record, within, each)
			if errors.Is(err, errPagesEnd) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if a == nil || s.Paginator == nil {
			return nil
		}
		next, err := nextToken(ctx, s.Paginator, token, len(records), within)
		if err != nil || next == nil {
			return err
		}
		text := fmt.Sprint(next)
		if given[text] {
			return fault.New(fault.Precondition, "stream %s: the pages repeat: two lead to the next page %q", s.Name, textlimit.OneLine(text, maxMetadataName))
		}
		given[text], token = true, next
		scope = with(scope, map[string]any{"next_page_token": map[string]any{"next_page_token": token}, "last_page_token_value": token})
	}
}

// firstToken returns what names the first page.
func firstToken(p *manifest.Paginator) pageToken {
	switch {
	case p == nil || p.Kind == manifest.ByCursor || !p.First:
		return nil
	case p.Kind == manifest.ByOffset:
		return json.Number("0")
	}
	return json.Number(strconv.Itoa(p.Start))
}

// nextToken returns what names the page after one with so many records; nil after the last.
func nextToken(ctx context.Context, p *manifest.Paginator, token pageToken, records int, scope map[string]any) (pageToken, error) {
	if p.Kind == manifest.ByCursor {
		if !p.Stop.IsZero() {
			if stop, err := p.Stop.True(ctx, scope); err != nil || stop {
				return nil, err
			}
		}
		next, err := p.Cursor.Value(ctx, scope)
		if err != nil || !manifest.Truth(next) {
			return nil, err
		}
		return next, nil
	}
	if records == 0 || records < p.Size {
		return nil, nil
	}
	at := p.Start
	if number, ok := token.(json.Number); ok {
		at, _ = strconv.Atoi(number.String())
	}
	if p.Kind == manifest.ByOffset {
		return json.Number(strconv.Itoa(at + records)), nil
	}
	return json.Number(strconv.Itoa(at + 1)), nil
}

// page requests a page. It returns no answer if the manifest ignores it, and the values of expressions with those
// of the page.
func (x *apiWalk) page(ctx context.Context, s *manifest.Stream, r *request, scope map[string]any) (*answer, []map[string]any, map[string]any, error) {
	a, value, err := x.ask(ctx, s.Name, s.Requester, r, scope)
	if err != nil || a == nil {
		return nil, nil, scope, err
	}
	records := selected(value, s.Selector.Path)
	last := map[string]any{}
	if len(records) > 0 {
		last = records[len(records)-1]
	}
	return a, records, with(scope, map[string]any{
		"response": value, "headers": headersOf(a.header), "last_page_size": json.Number(strconv.Itoa(len(records))), "last_record": last,
	}), nil
}

// base returns the address of a requester without its query.
func (x *apiWalk) base(ctx context.Context, r manifest.Requester, scope map[string]any) (*url.URL, error) {
	text, err := r.URL.Text(ctx, scope)
	if err != nil {
		return nil, err
	}
	path, err := r.Path.Text(ctx, scope)
	if err != nil {
		return nil, err
	}
	if path != "" {
		text = strings.TrimSuffix(text, "/") + "/" + strings.TrimPrefix(path, "/")
	}
	to, err := url.Parse(text)
	if err != nil || to.Hostname() == "" || to.Scheme != "http" && to.Scheme != "https" || to.User != nil {
		return nil, fault.New(fault.Precondition, "the address of a request must be such as https://api.example.com/v1/items, got %q", textlimit.OneLine(text, maxMetadataName))
	}
	if slices.Contains(strings.Split(to.Path, "/"), "..") {
		return nil, fault.New(fault.Precondition, "the address of a request must not have .. in its path")
	}
	return to, nil
}

// build puts the request of a page together.
func (x *apiWalk) build(ctx context.Context, s *manifest.Stream, in interval, token pageToken, scope map[string]any) (*request, error) {
	of := s.Requester
	to, err := x.base(ctx, of, scope)
	if err != nil {
		return nil, err
	}
	r := &request{call: call{method: of.Method, address: to, header: http.Header{}}, query: to.Query(), form: url.Values{}}
	if err := x.fill(ctx, of, r, scope); err != nil {
		return nil, err
	}
	if p := s.Partition; p != nil && p.Option != nil {
		if err := r.set(p.Option, scope["stream_partition"].(map[string]any)[p.Field]); err != nil {
			return nil, err
		}
	}
	if c := s.Cursor; c != nil {
		for _, bound := range []struct {
			option *manifest.Option
			field  string
		}{{c.StartInto, c.StartField}, {c.EndInto, c.EndField}} {
			if bound.option == nil {
				continue
			}
			if err := r.set(bound.option, scope["stream_interval"].(map[string]any)[bound.field]); err != nil {
				return nil, err
			}
		}
	}
	if p := s.Paginator; p != nil {
		if p.SizeOption != nil && p.Size > 0 {
			if err := r.set(p.SizeOption, json.Number(strconv.Itoa(p.Size))); err != nil {
				return nil, err
			}
		}
		if token != nil {
			if err := r.set(p.TokenOption, token); err != nil {
				return nil, err
			}
		}
	}
	return r, r.sameHost(to)
}

// sameHost returns an error for a request that a page leads to another host, which would get its credentials.
func (r *request) sameHost(as *url.URL) error {
	if r.address.Scheme != as.Scheme || r.address.Host != as.Host {
		return fault.New(fault.Precondition, "a page of %s leads to the host %s, which is not followed", as.Host, textlimit.OneLine(r.address.Host, maxMetadataName))
	}
	return nil
}

// fill sets headers, parameters and body as the manifest says.
func (x *apiWalk) fill(ctx context.Context, of manifest.Requester, r *request, scope map[string]any) error {
	for name, t := range of.Headers {
		text, err := x.render(ctx, t, r.address, scope)
		if err != nil {
			return err
		}
		if text != "" {
			if err := setHeader(r.header, name, text); err != nil {
				return err
			}
		}
	}
	for _, values := range []struct {
		templates map[string]manifest.Template
		into      url.Values
	}{{of.Parameters, r.query}, {of.BodyForm, r.form}} {
		for name, t := range values.templates {
			text, err := x.render(ctx, t, r.address, scope)
			if err != nil {
				return err
			}
			if text != "" {
				values.into.Set(name, text)
			}
		}
	}
	var err error
	if r.text, err = x.render(ctx, of.BodyText, r.address, scope); err != nil {
		return err
	}
	if of.BodyJSON == nil {
		return nil
	}
	body, err := x.tree(ctx, of.BodyJSON, r.address, scope)
	if err != nil {
		return err
	}
	object, ok := body.(map[string]any)
	if !ok {
		return fault.New(fault.Precondition, "the body of a request must be an object")
	}
	r.json = object
	return nil
}

// tree returns a value with the values of its templates.
func (x *apiWalk) tree(ctx context.Context, value any, to *url.URL, scope map[string]any) (any, error) {
	switch value := value.(type) {
	case manifest.Template:
		scope, err := x.reveal(ctx, value, to, scope)
		if err != nil {
			return nil, err
		}
		return value.Value(ctx, scope)
	case []any:
		out := make([]any, len(value))
		for i, one := range value {
			var err error
			if out[i], err = x.tree(ctx, one, to, scope); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for name, one := range value {
			got, err := x.tree(ctx, one, to, scope)
			if err != nil {
				return nil, err
			}
			out[name] = got
		}
		return out, nil
	}
	return value, nil
}

func setHeader(header http.Header, name, value string) error {
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		return fault.New(fault.Precondition, "the header %q or its value cannot be sent", textlimit.OneLine(name, maxMetadataName))
	}
	header.Set(name, value)
	return nil
}

// set sets a value where an option says.
func (r *request) set(o *manifest.Option, value any) error {
	text, err := manifest.Text(value)
	if err != nil {
		return err
	}
	switch o.Into {
	case manifest.InPath:
		to, err := r.address.Parse(text)
		if err != nil {
			return fault.New(fault.Precondition, "the address of the next page cannot be used")
		}
		r.address, r.query = to, to.Query()
	case manifest.InHeader:
		return setHeader(r.header, o.Field[0], text)
	case manifest.InForm:
		r.form.Set(o.Field[0], text)
	case manifest.InJSON:
		if r.json == nil {
			r.json = map[string]any{}
		}
		in := r.json
		for _, step := range o.Field[:len(o.Field)-1] {
			next, ok := in[step].(map[string]any)
			if !ok {
				next = map[string]any{}
			}
			in[step], in = next, next
		}
		in[o.Field[len(o.Field)-1]] = value
	default:
		r.query.Set(o.Field[0], text)
	}
	return nil
}

// finish writes query and body.
func (r *request) finish() error {
	to := *r.address
	to.RawQuery, to.Fragment = r.query.Encode(), ""
	r.address = &to
	r.body = nil
	switch {
	case r.json != nil:
		body, err := json.Marshal(r.json)
		if err != nil {
			return err
		}
		r.body = body
		r.header.Set("Content-Type", "application/json")
	case len(r.form) > 0:
		r.body = []byte(r.form.Encode())
		r.header.Set("Content-Type", "application/x-www-form-urlencoded")
	case r.text != "":
		r.body = []byte(r.text)
	}
	if r.header.Get("Accept") == "" {
		r.header.Set("Accept", "application/json")
	}
	return nil
}

// ask makes a request with its credentials, and again as the manifest says. It returns the answer and the value in
// it, no answer if the manifest ignores it. Errors: Precondition and Unavailable for an answer that fails the run.
func (x *apiWalk) ask(ctx context.Context, stream string, of manifest.Requester, r *request, scope map[string]any) (*answer, any, error) {
	renew, renewed := false, false
	for attempt := 0; ; attempt++ {
		one := &request{call: r.call, query: maps.Clone(r.query), form: r.form, json: r.json, text: r.text}
		one.header = r.header.Clone()
		if err := x.authenticate(ctx, of, one, renew); err != nil {
			return nil, nil, err
		}
		if err := one.finish(); err != nil {
			return nil, nil, err
		}
		a, err := x.sent(ctx, one)
		var final *finalError
		if endsRun(err) {
			return nil, nil, err
		}
		if renew = err == nil && a.status == http.StatusUnauthorized && of.Authenticator.Kind == manifest.OAuth && !renewed; renew {
			renewed = true
			continue
		}
		v := verdict{action: manifest.Retry}
		if err == nil {
			if v, err = x.judge(ctx, of, a, scope); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case v.action == manifest.Succeed:
			return &a, v.value, nil
		case v.action == manifest.Ignore:
			return nil, nil, nil
		case v.action == manifest.Fail, errors.As(err, &final), attempt >= of.Errors.MaxRetries:
			return nil, nil, x.refused(stream, one, a, v.message, err)
		}
		wait, ok := waitFor(of.Errors, a, attempt, v.action)
		if !ok {
			return nil, nil, fault.New(fault.Unavailable, "stream %s: %s asks to wait for %v, more than %v: run the connector later", stream, one.address.Host, wait.Round(time.Second), maxAPIWait)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, nil, err
		}
	}
}

// sent makes a request. Redirects within the host are followed.
func (x *apiWalk) sent(ctx context.Context, r *request) (answer, error) {
	c := r.call
	for range maxRedirects + 1 {
		a, err := x.fetch.once(ctx, c, maxAPIPageBytes)
		if err != nil || a.status < 300 || a.status >= 400 || c.method != http.MethodGet {
			return a, err
		}
		to, err := redirect(c.address, a)
		if err != nil {
			return a, err
		}
		if to.Scheme != c.address.Scheme || to.Host != c.address.Host {
			return a, &finalError{&fetchError{"it leads to another host, which is not followed"}}
		}
		c.address = to
	}
	return answer{}, &fetchError{fmt.Sprintf("has more than %d redirects", maxRedirects)}
}

// verdict is what is done about an answer.
type verdict struct {
	action  manifest.Action
	message string // of the manifest
	value   any    // in the answer
}

// judge returns what is done about an answer.
func (x *apiWalk) judge(ctx context.Context, of manifest.Requester, a answer, scope map[string]any) (verdict, error) {
	value, malformed := decodeJSON(a.body)
	within := with(scope, map[string]any{"response": value, "headers": headersOf(a.header)})
	for _, f := range of.Errors.Filters {
		matches := slices.Contains(f.Codes, a.status) || a.status >= http.StatusBadRequest && f.Contains != "" && strings.Contains(string(a.body), f.Contains)
		if !matches && !f.Predicate.IsZero() {
			is, err := f.Predicate.True(ctx, within)
			if err != nil {
				return verdict{}, err
			}
			matches = is
		}
		if matches {
			return verdict{f.Action, f.Message, value}, nil
		}
	}
	v := verdict{action: manifest.Default(a.status), value: value}
	if v.action == manifest.Succeed && malformed != nil && len(a.body) > 0 {
		v.action, v.message = manifest.Retry, "the answer is no JSON"
	}
	return v, nil
}

// refused returns the error of a request that failed for good.
func (x *apiWalk) refused(stream string, r *request, a answer, message string, err error) error {
	at := r.address.Host + r.address.Path
	if err != nil {
		return fault.New(fault.Unavailable, "stream %s: %s: %s", stream, at, err)
	}
	said := textlimit.OneLine(remote.NewMask(x.values).CutText(textlimit.Cut(string(a.body), maxReasonBytes)), maxReasonBytes/2)
	if message != "" {
		said = message
	}
	return fault.New(fault.Precondition, "stream %s: %s answered %d: %s", stream, at, a.status, said)
}

// waitFor returns how long to wait before a request is repeated; ok is false if that is too long.
func waitFor(h manifest.ErrorHandler, a answer, attempt int, action manifest.Action) (wait time.Duration, ok bool) {
	wait = min(defaultRetryWait<<attempt, time.Minute)
	if action == manifest.Wait {
		if seconds, err := strconv.ParseFloat(a.header.Get("Retry-After"), 64); err == nil && seconds >= 0 {
			wait = secondsOf(seconds)
		} else if at, err := http.ParseTime(a.header.Get("Retry-After")); err == nil {
			wait = time.Until(at)
		}
	}
	for _, b := range h.Backoff {
		switch {
		case b.Header != "" && a.header.Get(b.Header) != "":
			if seconds, err := strconv.ParseFloat(a.header.Get(b.Header), 64); err == nil && seconds >= 0 {
				return secondsOf(seconds), secondsOf(seconds) <= maxAPIWait
			}
		case b.Until != "" && action == manifest.Wait && a.header.Get(b.Until) != "":
			if seconds, err := strconv.ParseInt(a.header.Get(b.Until), 10, 64); err == nil {
				until := max(time.Until(time.Unix(seconds, 0)), 0)
				return until, until <= maxAPIWait
			}
		case b.Constant > 0:
			return b.Constant, b.Constant <= maxAPIWait
		case b.Exponential > 0:
			return min(b.Exponential<<attempt, maxAPIWait), true
		}
	}
	return max(wait, 0), wait <= maxAPIWait
}

// secondsOf returns a number of seconds, a day at most.
func secondsOf(seconds float64) time.Duration {
	return time.Duration(min(seconds, (24*time.Hour).Seconds()) * float64(time.Second))
}

// headersOf returns the headers of an answer for expressions: by their usual names and in lower case. link has the
// addresses of RFC 8288 by their relations, as in headers.link.next.url.
func headersOf(header http.Header) map[string]any {
	out := map[string]any{}
	for name := range header {
		out[name], out[strings.ToLower(name)] = header.Get(name), header.Get(name)
	}
	links := map[string]any{}
	for _, one := range strings.Split(strings.Join(header.Values("Link"), ","), ",") {
		address, rest, ok := strings.Cut(strings.TrimSpace(one), ">")
		if !ok || !strings.HasPrefix(address, "<") {
			continue
		}
		for parameter := range strings.SplitSeq(rest, ";") {
			if relation, ok := strings.CutPrefix(strings.TrimSpace(parameter), "rel="); ok {
				links[strings.Trim(relation, `"`)] = map[string]any{"url": address[1:]}
			}
		}
	}
	if len(links) > 0 {
		out["link"] = links
	}
	return out
}

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
	text, err := a.TokenURL.Text(ctx, x.scope(nil))
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
	a, scope := of.Authenticator, x.scope(nil)
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
		text, err := x.render(ctx, t, to, x.scope(nil))
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
