package manifest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Requester is how the pages of a stream are requested.
type Requester struct {
	URL           Template // base and path
	Path          Template
	Method        string
	Headers       map[string]Template
	Parameters    map[string]Template // of the query
	BodyJSON      any                 // values, with a Template in place of each text; nil for none
	BodyForm      map[string]Template
	BodyText      Template
	Authenticator Authenticator
	Errors        ErrorHandler
}

// The kinds of authenticators.
const (
	NoAuth = ""
	APIKey = "ApiKeyAuthenticator"
	Bearer = "BearerAuthenticator"
	Basic  = "BasicHttpAuthenticator"
	OAuth  = "OAuthAuthenticator"
)

// Authenticator is what a request proves its rights with.
type Authenticator struct {
	Kind string
	// Token is that of APIKey and Bearer.
	Token Template
	// Into is where the key of APIKey goes.
	Into               *Option
	Username, Password Template
	// TokenURL and what follows are of OAuth.
	TokenURL, ClientID, ClientSecret, RefreshToken Template
	Grant                                          string
	Scopes                                         []string
	TokenName, ExpiresName                         string
	Body                                           map[string]Template
}

// The places of an Option.
const (
	InParameter = "request_parameter"
	InHeader    = "header"
	InJSON      = "body_json"
	InForm      = "body_data"
	InPath      = "path" // the value is the address
)

// Option is where a value goes in a request.
type Option struct {
	Into  string
	Field []string
}

// Action is what is done about an answer.
type Action string

// The actions.
const (
	Succeed Action = "SUCCESS"
	Fail    Action = "FAIL"
	Retry   Action = "RETRY"
	Ignore  Action = "IGNORE" // as an answer without records
	Wait    Action = "RATE_LIMITED"
)

var actions = []Action{Succeed, Fail, Retry, Ignore, Wait}

// ErrorHandler says what is done about answers.
type ErrorHandler struct {
	Filters    []ErrorFilter // the first one that matches counts
	MaxRetries int
	Backoff    []Backoff
}

// ErrorFilter is what is done about some answers.
type ErrorFilter struct {
	Action    Action
	Codes     []int
	Predicate Template
	Contains  string // a text in an answer with an error
	Message   string // of the error
}

// Backoff is how long to wait before a request is repeated.
type Backoff struct {
	Constant    time.Duration // 0 for none
	Exponential time.Duration // doubled with each attempt
	Header      string        // with seconds to wait
	Until       string        // header with the time in seconds since 1970 until which the server takes no more requests
}

// Default returns the action for a status that no filter names.
func Default(status int) Action {
	switch {
	case status == http.StatusTooManyRequests:
		return Wait
	case status >= 500, status == http.StatusRequestTimeout:
		return Retry
	case status >= 400:
		return Fail
	}
	return Succeed
}

const defaultRetries = 5

func (p *parser) requester(n node) Requester {
	n.kind("HttpRequester")
	n.inherit("path")
	n.ignore("use_cache")
	r := Requester{Path: n.template("path"), Method: strings.ToUpper(n.text("http_method"))}
	if n.has("url") == n.has("url_base") {
		n.fail("url", "is missing: give url, or url_base with path")
	}
	r.URL = n.template("url_base")
	if n.has("url") {
		r.URL = n.template("url")
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		n.fail("http_method", "must be GET or POST")
	}
	r.Headers, r.Parameters, r.BodyForm = n.templates("request_headers"), n.templates("request_parameters"), n.templates("request_body_data")
	r.BodyJSON = n.tree(n.at("request_body_json"), n.value("request_body_json"))
	p.body(n, &r)
	if a, ok := n.object("authenticator"); ok {
		r.Authenticator = p.authenticator(a)
	}
	r.Errors.MaxRetries = defaultRetries
	if e, ok := n.object("error_handler"); ok {
		r.Errors = p.errorHandler(e)
	}
	n.close()
	return r
}

// body reads the field request_body, in which the kind of the body is a type.
func (p *parser) body(n node, r *Requester) {
	body, ok := n.object("request_body")
	if !ok {
		return
	}
	switch body.kind("RequestBodyJsonObject", "RequestBodyGraphQL", "RequestBodyUrlEncodedForm", "RequestBodyPlainText") {
	case "RequestBodyUrlEncodedForm":
		r.BodyForm = body.templates("value")
	case "RequestBodyPlainText":
		r.BodyText = body.template("value")
	default:
		r.BodyJSON = body.tree(body.at("value"), body.value("value"))
	}
	body.close()
}

// tree returns a value with a Template in place of each text.
func (n node) tree(path string, value any) any {
	switch value := value.(type) {
	case string:
		return n.parse(path, value)
	case []any:
		out := make([]any, len(value))
		for i, one := range value {
			out[i] = n.tree(path, one)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, one := range value {
			out[name] = n.tree(path+"."+name, one)
		}
		return out
	}
	return value
}

// option returns where a value goes; nil if it is not given.
func (p *parser) option(n node, name string) *Option {
	o, ok := n.object(name)
	if !ok {
		return nil
	}
	if o.kind("RequestOption", "RequestPath") == "RequestPath" {
		o.close()
		return &Option{Into: InPath}
	}
	out := &Option{Into: o.text("inject_into"), Field: o.texts("field_path")}
	if field := o.text("field_name"); field != "" {
		out.Field = []string{field}
	}
	if !slices.Contains([]string{InParameter, InHeader, InJSON, InForm}, out.Into) {
		o.fail("inject_into", "must be request_parameter, header, body_json or body_data")
	}
	if len(out.Field) == 0 || len(out.Field) > 1 && out.Into != InJSON {
		o.fail("field_name", "is missing")
	}
	o.close()
	return out
}

func (p *parser) authenticator(n node) (a Authenticator) {
	kind := n.kind("NoAuth", APIKey, Bearer, Basic, OAuth)
	if kind == "NoAuth" {
		n.close()
		return a
	}
	a.Kind = kind
	switch kind {
	case APIKey:
		a.Token, a.Into = n.template("api_token"), p.option(n, "inject_into")
		if header := n.text("header"); header != "" {
			a.Into = &Option{Into: InHeader, Field: []string{header}}
		}
		if a.Into == nil || a.Into.Into == InPath {
			n.fail("inject_into", "is missing: give inject_into or header")
		}
	case Bearer:
		a.Token = n.template("api_token")
	case Basic:
		a.Username, a.Password = n.template("username"), n.template("password")
	case OAuth:
		p.oauth(n, &a)
	}
	n.close()
	return a
}

func (p *parser) oauth(n node, a *Authenticator) {
	a.TokenURL, a.ClientID, a.ClientSecret = n.template("token_refresh_endpoint"), n.template("client_id"), n.template("client_secret")
	a.RefreshToken, a.Scopes, a.Body = n.template("refresh_token"), n.texts("scopes"), n.templates("refresh_request_body")
	a.Grant, a.TokenName, a.ExpiresName = n.text("grant_type"), n.text("access_token_name"), n.text("expires_in_name")
	if a.Grant == "" {
		a.Grant = "refresh_token"
	}
	if a.TokenName == "" {
		a.TokenName = "access_token"
	}
	if a.ExpiresName == "" {
		a.ExpiresName = "expires_in"
	}
	switch {
	case a.Grant != "refresh_token" && a.Grant != "client_credentials":
		n.fail("grant_type", "must be refresh_token or client_credentials")
	case !n.has("token_refresh_endpoint"):
		n.fail("token_refresh_endpoint", "is missing")
	case a.Grant == "refresh_token" && !n.has("refresh_token"):
		n.fail("refresh_token", "is missing")
	}
}

func (p *parser) errorHandler(n node) ErrorHandler {
	n.kind("DefaultErrorHandler")
	h := ErrorHandler{MaxRetries: n.integer("max_retries", defaultRetries, maxRetries)}
	for _, f := range n.objects("response_filters") {
		f.kind("HttpResponseFilter")
		f.ignore("failure_type")
		filter := ErrorFilter{
			Action: Action(strings.ToUpper(f.text("action"))), Predicate: f.template("predicate"), Contains: f.text("error_message_contains"), Message: f.text("error_message"),
		}
		if filter.Action == "" {
			filter.Action = Fail
		}
		if !slices.Contains(actions, filter.Action) {
			f.fail("action", "must be SUCCESS, FAIL, RETRY, IGNORE or RATE_LIMITED")
		}
		for _, code := range f.list("http_codes") {
			number, ok := code.(int)
			if !ok {
				f.fail("http_codes", "must be numbers")
			}
			filter.Codes = append(filter.Codes, number)
		}
		f.close()
		h.Filters = append(h.Filters, filter)
	}
	for _, b := range n.objects("backoff_strategies") {
		h.Backoff = append(h.Backoff, p.backoff(b))
	}
	n.close()
	return h
}

func (p *parser) backoff(n node) (b Backoff) {
	of := func(name string, without float64) time.Duration {
		return time.Duration(min(max(n.seconds(name, without), 0), maxWait.Seconds()) * float64(time.Second))
	}
	switch n.kind("ConstantBackoffStrategy", "ExponentialBackoffStrategy", "WaitTimeFromHeader", "WaitUntilTimeFromHeader") {
	case "ConstantBackoffStrategy":
		b.Constant = max(of("backoff_time_in_seconds", 1), time.Millisecond)
	case "ExponentialBackoffStrategy":
		b.Exponential = max(of("factor", 5), time.Millisecond)
	case "WaitTimeFromHeader":
		n.ignore("max_waiting_time_in_seconds")
		b.Header = n.text("header")
	default:
		n.ignore("min_wait")
		b.Until = n.text("header")
	}
	n.close()
	return b
}

// maxWait bounds the waits that a manifest states.
const maxWait = time.Hour
