package connector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

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
		wait, ok := waitFor(of.Errors, a, attempt, v.action, x.fetch.retryWait)
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
func waitFor(h manifest.ErrorHandler, a answer, attempt int, action manifest.Action, retryWait time.Duration) (wait time.Duration, ok bool) {
	wait = min(retryWait<<attempt, time.Minute)
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
