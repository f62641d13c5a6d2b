package connector

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// maxCallbackBytes bounds what an authorization server sends back with a user.
const maxCallbackBytes = 16 << 10

// callbackPage is the page to which authorization servers send users back, and callbackForm what it holds
// before the sign-in ends: that happens when the user agrees, so that nobody who follows a link of a stranger
// lends out an account unknowingly, and no program that looks at links uses the code up. They are no
// templates of html/template: these call methods by name, for which the linker keeps every exported method of
// the program, a fifth of its size.
const (
	callbackPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>ragd: sign-in of a connector</title></head>
<body><main><h1>Sign-in of a connector</h1>
%s
</main></body></html>
`
	callbackForm = `
<p>The connector <strong>%s</strong> of the tenant <strong>%s</strong> will read with the account with which you have just signed in. Everybody who may search in that tenant can find what it reads.</p>
<p>If you have not begun this yourself, close this page.</p>
<form method="post"><input type="hidden" name="state" value="%s"><input type="hidden" name="code" value="%s"><input type="hidden" name="iss" value="%s"><button>Connect</button></form>`
)

type callbackView struct{ Message, Connector, Tenant, State, Code, Issuer string }

// page returns the page that shows the view.
func (v callbackView) page() string {
	if v.Message != "" {
		return fmt.Sprintf(callbackPage, "<p>"+html.EscapeString(v.Message)+"</p>")
	}
	var escaped []any
	for _, text := range []string{v.Connector, v.Tenant, v.State, v.Code, v.Issuer} {
		escaped = append(escaped, html.EscapeString(text))
	}
	return fmt.Sprintf(callbackPage, fmt.Sprintf(callbackForm, escaped...))
}

// Callback answers the browsers of users that authorization servers send back to CallbackPath: with a page
// that asks them, and then with one that says how the sign-in ended.
func (s *Service) Callback(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxCallbackBytes)
	status := http.StatusOK
	if err := r.ParseForm(); err != nil || len(r.URL.RawQuery) > maxCallbackBytes || s.Keys == nil {
		s.showCallback(w, http.StatusBadRequest, callbackView{Message: errExpired.Message})
		return
	}
	view := callbackView{State: r.Form.Get("state"), Code: r.Form.Get("code"), Issuer: r.Form.Get("iss")}
	said, err := s.opened(view.State)
	if err == nil && (view.Code == "" || r.Form.Get("error") != "") {
		err = fault.New(fault.Precondition, "the authorization server refuses the sign-in: %s", textlimit.OneLine(strings.TrimSpace(r.Form.Get("error")+" "+r.Form.Get("error_description")), maxReasonBytes))
	}
	if err == nil && r.Method == http.MethodPost {
		if err = s.finish(r.Context(), view.State, view.Code, view.Issuer); err == nil {
			view.Message = "The connector is connected and runs now. You can close this page."
		}
	}
	if err != nil {
		if fault.KindOf(err) == fault.Internal {
			s.Logger.ErrorContext(r.Context(), "finish the sign-in of a connector", "tenant", said.Tenant, "connector", said.Connector, "err", err)
		}
		status, view.Message = http.StatusBadRequest, fault.Public(err)
	}
	view.Connector, view.Tenant = said.Connector, string(said.Tenant)
	s.showCallback(w, status, view)
}

func (s *Service) showCallback(w http.ResponseWriter, status int, view callbackView) {
	for name, value := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	} {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, view.page()) // the browser may be gone
}

// ClientDocument answers with the document about the service as a client of authorization servers, whose
// address is the id of the client.
func (s *Service) ClientDocument(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"client_id": s.PublicURL + ClientPath, "client_name": "ragd", "client_uri": s.PublicURL, "redirect_uris": []string{s.PublicURL + CallbackPath},
		"grant_types": []string{grantCode, "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": "none",
	})
}
