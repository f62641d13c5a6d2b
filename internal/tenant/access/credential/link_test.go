package credential_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/service/testing/tenanttest"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
)

// A link acts with the rights of the request that asked for it, for its purpose and time, on every instance, as long as the key is
// valid.
func TestLinksHaveTheRightsOfWhoeverAskedForThem(t *testing.T) {
	t.Parallel()
	f := tenanttest.Setup(t)
	name := tenanttest.Unique("link")
	_, err := f.Tenants.Create(f.Operator, name, "", nil)
	must(t, err)
	mandatory, err := filter.Parse(map[string]any{"team": "red"})
	must(t, err)
	key, secret, err := f.Credentials.CreateKey(f.Operator, credential.NewKey{TenantID: name, MandatoryFilter: mandatory, Scopes: []string{"read"}})
	must(t, err)
	now := time.Now()
	clock := func() time.Time { return now }
	first, err := credential.New(t.Context(), f.Pool, credential.Config{Now: clock})
	must(t, err)
	second, err := credential.New(t.Context(), f.Pool, credential.Config{Now: clock})
	must(t, err)
	principal, err := first.Auth.Authenticate(t.Context(), secret)
	must(t, err)
	type page struct{ Number int }
	link, expires, err := first.Auth.Link(access.NewContext(t.Context(), access.NewRequest(principal, pagination.Tokens{}, nil)), "page", page{7})
	must(t, err)
	if !expires.Equal(now.Add(credential.LinkLifetime)) || strings.Contains(link, name) {
		t.Errorf("link %s until %v", link, expires)
	}
	var got page
	ctx, until, err := second.Auth.Follow(t.Context(), "page", link, &got)
	must(t, err)
	r, err := access.Require(ctx, access.Read)
	must(t, err)
	if got.Number != 7 || !until.Equal(expires) || string(r.Tenant) != name || string(r.Principal.MandatoryFilter.JSON()) != string(mandatory.JSON()) || r.Principal.Has(access.Write) {
		t.Errorf("page %v until %v for %+v", got, until, r)
	}
	refused := func(what, purpose, link string) {
		t.Helper()
		if _, _, err := second.Auth.Follow(t.Context(), purpose, link, &got); fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("another purpose", "other", link)
	refused("a part", "page", link[:len(link)-4])
	refused("nothing", "page", "")
	now = now.Add(credential.LinkLifetime - time.Second)
	if _, _, err := second.Auth.Follow(t.Context(), "page", link, &got); err != nil {
		t.Errorf("just before its end: %v", err)
	}
	now = now.Add(time.Second)
	refused("at its end", "page", link)
	now = now.Add(-time.Minute)
	must(t, f.Credentials.RevokeKey(f.Operator, key.APIKeyID))
	refused("a revoked key", "page", link)
	random := make([]byte, 8<<10)
	_, _ = rand.Read(random)
	_, _, err = first.Auth.Link(access.NewContext(t.Context(), access.NewRequest(principal, pagination.Tokens{}, nil)), "page", random)
	if fault.KindOf(err) != fault.Precondition {
		t.Errorf("a large link: %v", err)
	}
}
