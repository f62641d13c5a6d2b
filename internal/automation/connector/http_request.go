package connector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
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
		r, err := x.build(ctx, s, token, scope)
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
func (x *apiWalk) build(ctx context.Context, s *manifest.Stream, token pageToken, scope map[string]any) (*request, error) {
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
