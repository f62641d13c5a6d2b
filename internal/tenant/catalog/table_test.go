package catalog_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

type row struct {
	SecretName string
	Value      []byte
}

const most = 5

// secrets is a table with few rows. Its scope is a value that rows must not have.
var secrets = catalog.Table[row]{
	Noun: "secret", Plural: "secrets", Most: most, Shown: 12,
	Name:      func(r row) string { return r.SecretName },
	CountSQL:  `SELECT count(*) FROM ragd_shared.secrets`,
	NamesSQL:  `SELECT secret_name FROM ragd_shared.secrets WHERE value <> $1 ORDER BY secret_name`,
	FindSQL:   `SELECT secret_name, value FROM ragd_shared.secrets WHERE value <> $1 AND secret_name = $2`,
	ListSQL:   `SELECT secret_name, value FROM ragd_shared.secrets WHERE value <> $1 AND secret_name > $2 ORDER BY secret_name LIMIT $3`,
	DeleteSQL: `DELETE FROM ragd_shared.secrets WHERE value <> $1 AND secret_name = $2 RETURNING secret_name`,
}

func insert(t *testing.T, h *data.Handle, name, value string) error {
	t.Helper()
	return h.Tx(t.Context(), func(tx *data.Tx) error {
		_, err := secrets.Insert(t.Context(), tx, name, `
			INSERT INTO ragd_shared.secrets (secret_name, value, hosts) VALUES ($1, $2, '{}') ON CONFLICT DO NOTHING RETURNING secret_name, value`, name, []byte(value))
		return err
	})
}

// acme returns the handle of a new tenant.
func acme(t *testing.T) *data.Handle {
	t.Helper()
	pool := schematest.Pool(t)
	tenants, err := provision.New(t.Context(), pool, provision.Config{Admin: pool})
	must(t, err)
	operator := access.NewContext(t.Context(), &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
	_, err = tenants.Create(operator, "acme", "", nil)
	must(t, err)
	return data.NewDB(pool, 0).Handle("acme")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantFault(t *testing.T, what string, err error, kind fault.Kind, text string) {
	t.Helper()
	if fault.KindOf(err) != kind || err.Error() != text {
		t.Errorf("%s: %v, want %q", what, err, text)
	}
}

func TestTheQuotaHoldsForConcurrentCalls(t *testing.T) {
	t.Parallel()
	h := acme(t)
	errs := make([]error, 2*most)
	var calls sync.WaitGroup
	for i := range errs {
		calls.Go(func() { errs[i] = insert(t, h, fmt.Sprint("s", i), "x") })
	}
	calls.Wait()
	refused := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(refused) != most {
		t.Errorf("%d calls were refused, want %d", len(refused), most)
	}
	for _, err := range refused {
		wantFault(t, "over the quota", err, fault.Exhausted, "a tenant may have 5 secrets: delete one that is no longer needed")
	}
}

func TestErrorsSayWhatIsWrongWithAName(t *testing.T) {
	t.Parallel()
	h, ctx := acme(t), t.Context()
	must(t, insert(t, h, "payments", "x"))
	must(t, insert(t, h, "paymentz", "hidden"))
	none, hidden := []byte{}, []byte("hidden")
	wantFault(t, "a name that is taken", insert(t, h, "payments", "x"), fault.Exists, `secret "payments" exists already`)
	for name, want := range map[string]string{
		"payment":                 `secret "payment" not found; did you mean payments?`,
		"paymentz":                `secret "paymentz" not found; did you mean payments?`,
		"a name that is too long": `secret "a name that …" not found`,
	} {
		_, err := secrets.Get(ctx, h, name, hidden)
		wantFault(t, "Get", err, fault.NotFound, want)
		wantFault(t, "Delete", secrets.Delete(ctx, h, name, hidden), fault.NotFound, want)
	}
	_, err := secrets.Update(ctx, h, "payments", `UPDATE ragd_shared.secrets SET value = 'y' WHERE secret_name = $1 AND value = 'old' RETURNING secret_name, value`, "payments")
	wantFault(t, "Update", err, fault.Conflict, `secret "payments" was changed or deleted meanwhile`)
	must(t, h.Tx(ctx, func(tx *data.Tx) error {
		_, ok, err := secrets.Find(ctx, tx, "paymentz", hidden)
		if ok {
			t.Error("Find returns a row outside its scope")
		}
		return err
	}))
	must(t, secrets.Delete(ctx, h, "paymentz", none))
}

func TestPagesAreInTheOrderOfTheNames(t *testing.T) {
	t.Parallel()
	h := acme(t)
	for _, name := range []string{"b", "d", "a", "c"} {
		must(t, insert(t, h, name, "x"))
	}
	ctx := access.NewContext(t.Context(), &access.Request{Tenant: "acme"})
	var got []string
	for token, more := "", true; more; more = token != "" {
		rows, next, err := secrets.Page(ctx, h, 3, token, []byte{})
		must(t, err)
		for _, r := range rows {
			got = append(got, r.SecretName)
		}
		token = next
	}
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
