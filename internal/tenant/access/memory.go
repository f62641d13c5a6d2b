package access

import (
	"context"
	"encoding/json"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
)

// MemoryIndex is the name of the index with the memories of a tenant's users. It is no name that CreateIndex
// takes, and only requests of Request.OfMemory may use it: to all others it does not exist.
const MemoryIndex = "ragd.memory"

// userKey is the declared key of the request context that names the user of a caller.
const userKey = "user"

// maxUserBytes bounds the name of a user.
const maxUserBytes = 200

// MemorySubject returns whose memories a request reads and writes: the subject of an access token, else the
// user that the declared key user names, else the API key. A user whom callers choose is one of their key.
// Errors: Denied for credentials of web pages, which anybody may have; Invalid for a user that is no text.
func (r *Request) MemorySubject() (string, error) {
	p := r.Principal
	if p.OfPages() {
		return "", fault.New(fault.Denied, "a key of web pages has no memories: all visitors share it")
	}
	if p.ByToken {
		return "token:" + p.Issuer + " " + p.Subject, nil
	}
	k := r.key(userKey)
	if k == nil {
		return "key:" + p.Subject, nil
	}
	value, _, ok := r.declaredValue(k)
	if !ok {
		return "key:" + p.Subject, nil
	}
	user, err := userText(value)
	switch {
	case err != nil:
		return "", err
	case k.Trusted():
		return "user:" + user, nil
	}
	return "key:" + p.Subject + " user:" + user, nil
}

func userText(value any) (string, error) {
	const field = "context." + userKey
	var user string
	switch v := value.(type) {
	case string:
		user = v
	case json.Number:
		user = v.String()
	}
	if user == "" {
		return "", fault.Field(field, "must be a text that is not empty, or a number, to tell whose memories these are")
	}
	return user, textlimit.Check(field, user, maxUserBytes)
}

// OfMemory returns a request that may use the memory index, and nothing else, within a filter, which takes the
// place of the caller's own filters and bounds: visible must select the memories that the caller may use.
func (r *Request) OfMemory(visible filter.Filter) *Request {
	changed := Request{Tenant: r.Tenant, Quotas: r.Quotas, WriteToken: r.WriteToken, recheck: r.recheck, pages: r.pages, memory: true}
	changed.Principal = r.Principal
	changed.Principal.Scopes, changed.Principal.MandatoryFilter, changed.Principal.Bounds = []Scope{Write}, visible.Trusted(), Bounds{}
	return &changed
}

// MayUseIndex reports whether the request in the context may use the index of this name.
func MayUseIndex(ctx context.Context, name string) bool {
	r, ok := FromContext(ctx)
	switch {
	case ok && r.memory:
		return name == MemoryIndex
	case !ok:
		return name != MemoryIndex
	}
	return r.Bounds.MayUseIndex(name)
}
