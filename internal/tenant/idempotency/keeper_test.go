package idempotency_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// service is a database with the tenants acme and bolt, and two instances that use it.
type service struct {
	pool       *pgxpool.Pool
	one, other *idempotency.Keeper
}

func setup(t *testing.T) service {
	t.Helper()
	pool := schematest.Pool(t)
	tenants, err := provision.New(t.Context(), pool, provision.Config{Admin: pool})
	must(t, err)
	operator := access.NewContext(t.Context(), &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
	for _, name := range []string{"acme", "bolt"} {
		_, err := tenants.Create(operator, name, "", nil)
		must(t, err)
	}
	keys, err := seal.Parse(strings.Repeat("ab", 32))
	must(t, err)
	config := idempotency.Config{Control: pool, Keys: keys, Logger: slog.New(slog.DiscardHandler)}
	return service{pool, idempotency.New(config), idempotency.New(config)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// as returns the context of a caller.
func as(t *testing.T, of tenant.ID, subject string, change ...func(*access.Request)) context.Context {
	t.Helper()
	r := &access.Request{Tenant: of, Principal: access.Principal{Subject: subject, Tenant: of, Scopes: []access.Scope{access.Write}}}
	for _, c := range change {
		c(r)
	}
	return access.NewContext(t.Context(), r)
}

func call(key string, request ...string) idempotency.Call {
	c := idempotency.Call{Key: key}
	for _, piece := range request {
		c.Request = append(c.Request, []byte(piece))
	}
	return c
}

// answering returns a call that answers with a text and counts how often it ran.
func answering(text string, runs *int) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		*runs++
		return []byte(text), nil
	}
}

func TestARepeatGetsTheSameAnswerFromEveryInstance(t *testing.T) {
	t.Parallel()
	s, ctx := setup(t), as(t, "acme", "k1")
	runs := 0
	for i, k := range []*idempotency.Keeper{s.one, s.one, s.other} {
		answer, repeated, err := k.Do(ctx, call("a", "m", "body"), answering("answer", &runs))
		must(t, err)
		if string(answer) != "answer" || repeated != (i > 0) || runs != 1 {
			t.Errorf("call %d: %q, repeated %v, %d runs", i, answer, repeated, runs)
		}
	}
	if answer, repeated, err := s.one.Do(ctx, call("empty", "m"), answering("", &runs)); err != nil || repeated || len(answer) != 0 {
		t.Errorf("an empty answer: %q %v %v", answer, repeated, err)
	}
	if answer, repeated, err := s.other.Do(ctx, call("empty", "m"), answering("x", &runs)); err != nil || !repeated || len(answer) != 0 {
		t.Errorf("the repeat of an empty answer: %q %v %v", answer, repeated, err)
	}
}

func TestAKeyCountsForOneCallerInOneTenant(t *testing.T) {
	t.Parallel()
	s, runs := setup(t), 0
	callers := []context.Context{
		as(t, "acme", "k1"), as(t, "acme", "k2"), as(t, "bolt", "k1"), as(t, "", "operator"), as(t, "acme", "operator"),
		as(t, "acme", "k1", func(r *access.Request) { r.Principal.Issuer = "https://id.example.com" }),
	}
	for i, ctx := range callers {
		_, repeated, err := s.one.Do(ctx, call("same", "m", "body"), answering("x", &runs))
		must(t, err)
		if repeated || runs != i+1 {
			t.Errorf("caller %d got another's answer", i)
		}
	}
	_, _, err := s.one.Do(as(t, "nobody", "operator"), call("same"), answering("x", &runs))
	if fault.KindOf(err) != fault.NotFound {
		t.Errorf("a tenant that does not exist: %v", err)
	}
	if _, err := s.pool.Exec(t.Context(), `DELETE FROM ragd.tenants WHERE tenant_id = 'acme'`); err != nil {
		t.Fatal(err)
	}
	var left []string
	must(t, s.pool.QueryRow(t.Context(), `SELECT array_agg(coalesce(tenant_id, 'operator') ORDER BY 1) FROM ragd.idempotent_calls`).Scan(&left))
	if len(left) != 2 || slices.Contains(left, "acme") {
		t.Errorf("after the deletion of a tenant: %q", left)
	}
}

func TestAnotherRequestUnderTheSameKeyIsRefused(t *testing.T) {
	t.Parallel()
	s, runs := setup(t), 0
	ctx := as(t, "acme", "k1")
	_, _, err := s.one.Do(ctx, call("a", "m", "body"), answering("x", &runs))
	must(t, err)
	team, err := filter.Parse([]byte(`{"team":"red"}`))
	must(t, err)
	for name, again := range map[string]struct {
		ctx  context.Context
		call idempotency.Call
	}{
		"another body":         {ctx, call("a", "m", "other")},
		"another method":       {ctx, call("a", "n", "body")},
		"cut at another place": {ctx, call("a", "mb", "ody")},
		"more rights":          {as(t, "acme", "k1", func(r *access.Request) { r.Principal.Scopes = []access.Scope{access.Admin} }), call("a", "m", "body")},
		"another filter":       {as(t, "acme", "k1", func(r *access.Request) { r.Principal.MandatoryFilter = team }), call("a", "m", "body")},
	} {
		_, _, err := s.one.Do(again.ctx, again.call, answering("x", &runs))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Violations) != 1 || f.Violations[0].Field != "Idempotency-Key" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

func TestErrorsOfTheCallerAreKeptAndOthersAreNot(t *testing.T) {
	t.Parallel()
	s, ctx := setup(t), as(t, "acme", "k1")
	for _, tc := range []struct {
		err  error
		kept bool
	}{
		{fault.Field("topK", "must be less"), true},
		{fault.Wrap(fault.NotFound, errors.New("the cause"), "no index"), true},
		{fault.New(fault.Exists, "taken"), true},
		{fault.New(fault.Precondition, "not yet"), true},
		{fault.New(fault.Denied, "no"), false},
		{fault.New(fault.Conflict, "raced"), false},
		{fault.Retry(time.Second, "slower"), false},
		{fault.New(fault.Unavailable, "down"), false},
		{context.Canceled, false},
		{errors.New("a bug"), false},
	} {
		key := strings.ReplaceAll(tc.err.Error(), " ", "-")
		runs := 0
		fail := func(context.Context) ([]byte, error) { runs++; return nil, tc.err }
		for range 2 {
			_, repeated, err := s.one.Do(ctx, call(key), fail)
			if fault.KindOf(err) != fault.KindOf(tc.err) || fault.Public(err) != fault.Public(tc.err) || repeated && strings.Contains(err.Error(), "the cause") {
				t.Errorf("%v: %v", tc.err, err)
			}
			var was, is *fault.Error
			if errors.As(tc.err, &was) && errors.As(err, &is) && !slices.Equal(was.Violations, is.Violations) {
				t.Errorf("%v: violations %v", tc.err, is.Violations)
			}
		}
		if want := map[bool]int{true: 1, false: 2}[tc.kept]; runs != want {
			t.Errorf("%v: %d runs, want %d", tc.err, runs, want)
		}
	}
	func() {
		defer func() { _ = recover() }()
		_, _, _ = s.one.Do(ctx, call("panics"), func(context.Context) ([]byte, error) { panic("a bug") })
	}()
	runs := 0
	_, _, err := s.one.Do(ctx, call("panics"), answering("x", &runs))
	must(t, err)
}

func TestARepeatWhileTheFirstRunsIsToldToWait(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx, leave := context.WithCancel(as(t, "acme", "k1"))
	began, end := make(chan struct{}), make(chan struct{})
	var first sync.WaitGroup
	first.Go(func() {
		answer, _, err := s.one.Do(ctx, call("a"), func(ctx context.Context) ([]byte, error) {
			close(began)
			<-end
			return []byte("x"), ctx.Err()
		})
		if err != nil || string(answer) != "x" {
			t.Errorf("a call whose caller has left: %q %v", answer, err)
		}
	})
	<-began
	leave()
	runs := 0
	again := func(k *idempotency.Keeper, key string) (bool, error) {
		_, repeated, err := k.Do(as(t, "acme", "k1"), call(key), answering("y", &runs))
		return repeated, err
	}
	_, err := again(s.other, "a")
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Conflict || f.RetryAfter != time.Second || runs != 0 {
		t.Errorf("while it runs: %v", err)
	}
	close(end)
	first.Wait()
	if repeated, err := again(s.other, "a"); !repeated || err != nil {
		t.Errorf("afterwards: %v %v", repeated, err)
	}

	// An instance that is gone.
	_, err = again(s.one, "b")
	must(t, err)
	if _, err := s.pool.Exec(t.Context(), `UPDATE ragd.idempotent_calls SET ended_at = NULL, answer = NULL, claimed_until = now() - interval '1 second' WHERE answer = 'y'`); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.other.Do(as(t, "acme", "k1"), call("b", "other"), answering("y", &runs))
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("another request under the key of a lost call: %v", err)
	}
	if repeated, err := again(s.other, "b"); repeated || err != nil || runs != 2 {
		t.Errorf("after the claim has lapsed: repeated %v, %d runs, %v", repeated, runs, err)
	}
}

// Of many calls at once on two instances, one runs.
func TestOfConcurrentCallsOneRuns(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var mu sync.Mutex
	var calls sync.WaitGroup
	runs, answered := 0, 0
	for i := range 20 {
		calls.Go(func() {
			k := []*idempotency.Keeper{s.one, s.other}[i%2]
			_, _, err := k.Do(as(t, "acme", "k1"), call("a"), func(context.Context) ([]byte, error) {
				mu.Lock()
				defer mu.Unlock()
				runs++
				return []byte("x"), nil
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				answered++
			} else if fault.KindOf(err) != fault.Conflict {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if runs != 1 || answered == 0 {
		t.Errorf("%d runs, %d answers", runs, answered)
	}
}

func TestSecretsRestSealed(t *testing.T) {
	t.Parallel()
	s, ctx, runs := setup(t), as(t, "", "operator"), 0
	secret := call("a", "CreateApiKey")
	secret.Secret = true
	for range 2 {
		answer, _, err := s.one.Do(ctx, secret, answering("ragd_hunter2", &runs))
		must(t, err)
		if string(answer) != "ragd_hunter2" || runs != 1 {
			t.Errorf("%q after %d runs", answer, runs)
		}
	}
	var stored string
	must(t, s.pool.QueryRow(t.Context(), `SELECT c::text FROM ragd.idempotent_calls AS c WHERE sealed_answer IS NOT NULL AND answer IS NULL AND tenant_id IS NULL`).Scan(&stored))
	if strings.Contains(stored, "hunter2") || strings.Contains(stored, "72616764") {
		t.Errorf("the database has %s", stored)
	}
	config := idempotency.Config{Control: s.pool, Logger: slog.New(slog.DiscardHandler)}
	unkept := call("b", "CreateApiKey")
	unkept.Secret = true
	for _, want := range []fault.Kind{fault.Internal, fault.Precondition} { // Internal is that of no error
		if _, _, err := idempotency.New(config).Do(ctx, unkept, answering("ragd_hunter2", &runs)); fault.KindOf(err) != want || (err == nil) != (want == fault.Internal) || runs != 2 {
			t.Errorf("without a master key: %v, %d runs", err, runs)
		}
	}
	other, err := seal.Parse(strings.Repeat("cd", 32))
	must(t, err)
	config.Keys = other
	_, _, err = idempotency.New(config).Do(ctx, secret, answering("x", &runs))
	if fault.KindOf(err) != fault.Precondition || runs != 2 {
		t.Errorf("with another master key: %v, %d runs", err, runs)
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	s, ctx, runs := setup(t), as(t, "acme", "k1"), 0
	large := strings.Repeat("x", idempotency.MaxAnswerBytes+1)
	_, _, err := s.one.Do(ctx, call("large"), answering(large, &runs))
	must(t, err)
	if _, _, err = s.one.Do(ctx, call("large"), answering(large, &runs)); fault.KindOf(err) != fault.Precondition || runs != 1 {
		t.Errorf("the repeat of a call with a large answer: %v, %d runs", err, runs)
	}
	_, _, err = s.one.Do(ctx, call("old"), answering("x", &runs))
	must(t, err)
	if _, err := s.pool.Exec(t.Context(), `UPDATE ragd.idempotent_calls SET created_at = now() - interval '24 hours'`); err != nil {
		t.Fatal(err)
	}
	if _, repeated, err := s.one.Do(ctx, call("old"), answering("x", &runs)); err != nil || repeated || runs != 3 {
		t.Errorf("after a day: repeated %v, %d runs, %v", repeated, runs, err)
	}
	must(t, s.one.Sweep(t.Context()))
	var left int
	must(t, s.pool.QueryRow(t.Context(), `UPDATE ragd.idempotent_calls SET answer_bytes = 1 << 30 RETURNING (SELECT count(*) FROM ragd.idempotent_calls)`).Scan(&left))
	if left != 1 {
		t.Errorf("%d keys are left", left)
	}
	if _, _, err := s.other.Do(ctx, call("one more"), answering("x", &runs)); fault.KindOf(err) != fault.Exhausted {
		t.Errorf("over the quota: %v", err)
	}
	if _, _, err := s.other.Do(as(t, "bolt", "k1"), call("a"), answering("x", &runs)); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	for _, values := range [][]string{{""}, {"a", "b"}, {"a b"}, {"é"}, {"a\n"}, {strings.Repeat("a", 256)}} {
		if err := idempotency.CheckKey(values); fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), "Idempotency-Key: ") {
			t.Errorf("%q: %v", values, err)
		}
	}
	must(t, idempotency.CheckKey([]string{strings.Repeat("a", 255)}))
	must(t, idempotency.CheckKey([]string{`"6f1c-{}~!"`}))
}
