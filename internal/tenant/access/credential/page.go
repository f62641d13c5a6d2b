package credential

import (
	"context"
	"net/http"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// call is what resolve has to know of a request besides its headers.
type call struct {
	method, path string
	// foreign is set for a page of an origin that the service does not allow by itself. It lets the page read
	// the answer.
	foreign func()
}

type (
	callKey    struct{}
	foreignKey struct{}
)

// withCall returns a context for the resolution of a request that has come in through Middleware.
func withCall(ctx context.Context, r *http.Request) context.Context {
	foreign, _ := r.Context().Value(foreignKey{}).(func())
	return context.WithValue(ctx, callKey{}, call{r.Method, r.URL.Path, foreign})
}

// Page reports whether a page of an origin that the service does not allow by itself may make a call, because some
// API key has that origin. Middleware accepts the returned context's request with such a key alone, and calls admit
// for it.
func (a *Authenticator) Page(ctx context.Context, path, origin string, admit func()) (context.Context, bool, error) {
	if !access.ForPages(path) {
		return ctx, false, nil
	}
	known, err := a.knowsOrigin(ctx, origin)
	return context.WithValue(ctx, foreignKey{}, admit), known, err
}

// knowsOrigin reports whether a usable key has an origin, which is written as browsers do.
func (a *Authenticator) knowsOrigin(ctx context.Context, origin string) (bool, error) {
	if parsed, err := access.ParseOrigins([]string{origin}); err != nil || parsed[0] != origin {
		return false, nil
	}
	if _, ok := a.origins.Get(origin); ok {
		return true, nil
	}
	asked, forgotten := a.now(), a.forgotten.Load()
	known, err := a.store.hasOrigin(ctx, origin, asked)
	if known {
		a.origins.PutLoaded(origin, struct{}{}, asked)
		if a.forgotten.Load() != forgotten { // its key may have been revoked after the read
			a.origins.Remove(origin)
		}
	}
	return known, err
}

// admit returns an error for a request that a page may not make with this credential: with a key that has origins
// from elsewhere or for other calls than theirs, with one that has none from a foreign page. Errors: Denied.
func admit(ctx context.Context, p access.Principal, header http.Header) error {
	if recheck, _ := ctx.Value(recheckKey{}).(bool); recheck {
		return nil // the request was admitted when it came in
	}
	in, _ := ctx.Value(callKey{}).(call) // without one, no call is that of a page
	if !p.OfPages() {
		if in.foreign != nil {
			return fault.New(fault.Denied, "this credential may not be used by pages of this origin: use a key that has it among its origins")
		}
		return nil
	}
	if err := p.Origins.Check(header); err != nil {
		return err
	}
	if in.foreign != nil {
		in.foreign()
	}
	return p.Origins.CheckCall(in.method, in.path)
}
