package mcphttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/schematest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// database is a database with the tenants of the callers.
type database struct {
	admin, pool *pgxpool.Pool
}

func newDatabase(t *testing.T) database {
	t.Helper()
	admin := schematest.Pool(t)
	db := database{admin, pgtest.ServicePool(t, admin)}
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(provision.GrantService(t.Context(), admin, db.pool))
	tenants, err := provision.New(t.Context(), db.pool, provision.Config{Admin: admin})
	must(err)
	operator := access.NewContext(t.Context(), &access.Request{Principal: access.Principal{Scopes: []access.Scope{access.Operator}}})
	for _, name := range []string{"acme", "globex"} {
		_, err := tenants.Create(operator, name, "", nil)
		must(err)
	}
	return db
}

// instance starts one more instance on the database.
func (d database) instance(t *testing.T, change func(*Config)) *world {
	t.Helper()
	events := event.NewListener(d.pool.Config().ConnConfig, slog.New(slog.DiscardHandler))
	w := newWorld(t, func(c *Config) {
		c.DB, c.Events = data.NewDB(d.pool, 0), events
		c.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		if change != nil {
			change(c)
		}
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- events.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
	})
	<-events.Ready()
	return w
}

func (d database) instances(t *testing.T, n int) []*world {
	t.Helper()
	var all []*world
	for range n {
		all = append(all, d.instance(t, nil))
	}
	return all
}

// count returns the number that a query finds.
func (d database) count(t *testing.T, sql string, values ...any) (n int) {
	t.Helper()
	if err := d.admin.QueryRow(t.Context(), sql, values...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// ok sends a message of a session and returns the answer, which must not be an error.
func (w *world) ok(t *testing.T, caller, session string, id any, method string, params map[string]any) string {
	t.Helper()
	res, body := w.do(t, w.request(t.Context(), http.MethodPost, caller, legacy(id, method, params), sessionHeader, session))
	if res.StatusCode/100 != 2 || strings.Contains(body, `"error":`) {
		t.Fatalf("%s: status %d: %s", method, res.StatusCode, body)
	}
	return body
}

// What a client said at one instance holds at every other one, also when the first is gone.
func TestEveryInstanceKnowsASession(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	all := d.instances(t, 3)
	res, body := all[0].do(t, all[0].request(t.Context(), http.MethodPost, alice, legacy(1, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{"roots": map[string]any{}}, "clientInfo": map[string]any{"name": "probe", "version": "1"},
	})))
	id := res.Header.Get(sessionHeader)
	if id == "" {
		t.Fatalf("initialize: %s", body)
	}
	all[1].ok(t, alice, id, 2, "logging/setLevel", map[string]any{"level": "warning"})
	all[2].ok(t, alice, id, 3, "resources/subscribe", map[string]any{"uri": "test://a"})
	all[2].ok(t, alice, id, 4, "resources/subscribe", map[string]any{"uri": "test://b"})
	all[1].ok(t, alice, id, 5, "resources/unsubscribe", map[string]any{"uri": "test://a"})
	all[0].end(t)
	for _, w := range all[1:] {
		wait.For(t, "the state", func() bool {
			said := w.ok(t, alice, id, 6, "tools/call", map[string]any{"name": "client"})
			return strings.Contains(said, "name probe, roots true, level warning") && w.subscribed(id, "test://b") && !w.subscribed(id, "test://a")
		})
	}
	fourth := d.instance(t, nil)
	if said := fourth.ok(t, alice, id, 7, "tools/call", map[string]any{"name": "client"}); !strings.Contains(said, "name probe, roots true, level warning") {
		t.Error(said)
	}
	if !fourth.subscribed(id, "test://b") || fourth.subscribed(id, "test://a") {
		t.Errorf("subscriptions %v", fourth.subscriptions)
	}
}

// The id of a session is of no use to another user and another tenant, at any instance, and what
// they try does not harm the session.
func TestAStolenSessionIsOfNoUseAtAnyInstance(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	all := d.instances(t, 2)
	id := all[0].open(t, alice)
	for _, w := range slices.Backward(all) {
		for _, thief := range []string{bob, eve} {
			for _, verb := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
				var body any
				if verb == http.MethodPost {
					body = legacy(nil, "notifications/cancelled", map[string]any{"requestId": 1})
				}
				res, said := w.do(t, w.request(t.Context(), verb, thief, body, sessionHeader, id, lastEventHeader, all[0].Handler.servers.instance+"-1-0"))
				if res.StatusCode != http.StatusNotFound {
					t.Errorf("%s by %s: status %d: %s", verb, thief, res.StatusCode, said)
				}
			}
		}
		if said := w.ok(t, alice, id, 2, "tools/call", map[string]any{"name": "whoami"}); !strings.Contains(said, "acme alice") {
			t.Error(said)
		}
	}
	if n := d.count(t, `SELECT count(*) FROM ragd_shared.mcp_messages`); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
}

// While the database is asked whose a session is, no request of a thief gets through.
func TestAStolenSessionIsOfNoUseMeanwhile(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	w := d.instance(t, nil)
	id := w.open(t, alice)
	tx, err := d.admin.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	if _, err := tx.Exec(t.Context(), `LOCK TABLE ragd_shared.mcp_sessions`); err != nil {
		t.Fatal(err)
	}
	answers := make(chan int, 2)
	steal := func() {
		res, _ := w.do(t, w.request(t.Context(), http.MethodPost, bob, legacy(2, "ping", nil), sessionHeader, id))
		answers <- res.StatusCode
	}
	go steal()
	wait.For(t, "the database to be asked", func() bool {
		return d.count(t, `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'ragd_shared.mcp_sessions'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) > 0
	})
	go steal()
	nothing(t, answers, "an answer before the database has said whose the session is")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if status := within(t, answers, "the answer"); status != http.StatusNotFound {
			t.Errorf("status %d, want 404", status)
		}
	}
}

// The store shows a tenant nothing of another one's sessions.
func TestTheStoreSeparatesTenants(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	w := d.instance(t, nil)
	w.open(t, alice)
	s, of := w.Handler.servers.store, w.Handler.servers.byID["acme"][""]
	var mine *session
	for _, found := range of.sessions.open {
		mine = found
	}
	ctx := t.Context()
	if err := s.send(ctx, "acme", mine.hash, parked, sent{Kind: events, Stream: "x", Body: []byte("secret")}); err != nil {
		t.Fatal(err)
	}
	message := int64(d.count(t, `SELECT message_id FROM ragd_shared.mcp_messages`))
	if _, err := s.load(ctx, "globex", mine.hash, mine.owner); !errors.Is(err, errSessionEnded) {
		t.Errorf("load: %v", err)
	}
	for name, change := range map[string]func() (int64, error){
		"setLevel":    func() (int64, error) { return s.setLevel(ctx, "globex", mine.hash, "debug") },
		"subscribe":   func() (int64, error) { return s.subscribe(ctx, "globex", mine.hash, "x") },
		"unsubscribe": func() (int64, error) { return s.unsubscribe(ctx, "globex", mine.hash, "x") },
		"notify":      func() (int64, error) { return s.notify(ctx, "globex", mine.hash) },
	} {
		if version, err := change(); version != 0 || err != nil {
			t.Errorf("%s: version %d, %v", name, version, err)
		}
	}
	if err := s.send(ctx, "globex", mine.hash, "", sent{Kind: deliver}); !errors.Is(err, errSessionEnded) {
		t.Errorf("send: %v", err)
	}
	if _, found, err := s.message(ctx, "globex", mine.hash, message); found || err != nil {
		t.Errorf("message: %v, %v", found, err)
	}
	if list, err := s.pending(ctx, "globex", mine.hash); len(list) > 0 || err != nil {
		t.Errorf("pending: %v, %v", list, err)
	}
	if list, err := s.events(ctx, "globex", mine.hash, parked, "x", 0); len(list) > 0 || err != nil {
		t.Errorf("events: %v, %v", list, err)
	}
	if err := s.create(ctx, "globex", hash{1}, hash{2}, nil); err != nil {
		t.Errorf("create: %v", err)
	}
	if err := s.touch(ctx, "globex", [][]byte{mine.hash[:]}); err != nil {
		t.Errorf("touch: %v", err)
	}
	if err := s.end(ctx, "globex", mine.hash); err != nil {
		t.Errorf("end: %v", err)
	}
	if n := d.count(t, `SELECT count(*) FROM ragd_shared.mcp_sessions AS s JOIN ragd_shared.mcp_messages USING (session_hash) WHERE s.tenant_id = 'acme' AND version = 1`); n != 1 {
		t.Error("another tenant has changed the session")
	}
}

func TestASessionEndsEverywhere(t *testing.T) {
	t.Parallel()
	all := newDatabase(t).instances(t, 3)
	id := all[0].open(t, alice)
	_, lines := all[1].events(t, all[1].request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id))
	all[0].send(all[0].call(t.Context(), alice, id, 7, "wait"))
	within(t, all[0].started, "the call")

	if res, body := all[2].do(t, all[2].request(t.Context(), http.MethodDelete, alice, nil, sessionHeader, id)); res.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: status %d: %s", res.StatusCode, body)
	}
	within(t, all[0].stopped, "the end of the call")
	for range lines { // ends with the session
	}
	for _, w := range all {
		wait.For(t, "the end of the session", func() bool {
			res, _ := w.do(t, w.call(t.Context(), alice, id, 8, "whoami"))
			return res.StatusCode == http.StatusNotFound
		})
	}
}

// A database that a tenant has left deletes its sessions, which are in use in the one where the tenant lives.
func TestASessionThatIsStoredGoesOn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	w := d.instance(t, nil)
	id := w.open(t, alice)
	w.send(w.call(t.Context(), alice, id, 7, "wait"))
	within(t, w.started, "the call")
	_, err := d.admin.Exec(t.Context(), `
		SELECT pg_notify('ragd_event', json_build_object('schema', 'tenant_' || tenant_id, 'kind', 'mcp_session', 'name', encode(session_hash, 'hex'), 'index', '0')::text)
		FROM ragd_shared.mcp_sessions`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // what is announced later has arrived when the subscription is known
		uri := fmt.Sprint("test://", i)
		d.instance(t, nil).ok(t, alice, id, 8+i, "resources/subscribe", map[string]any{"uri": uri})
		wait.For(t, "the subscription", func() bool {
			w.ok(t, alice, id, 20+i, "tools/call", map[string]any{"name": "whoami"})
			return w.subscribed(id, uri)
		})
	}
	select {
	case <-w.stopped:
		t.Error("the call was ended")
	default:
	}
	w.ok(t, alice, id, nil, "notifications/cancelled", map[string]any{"requestId": 7})
	within(t, w.stopped, "the end of the call")
}

func TestACallIsCancelledAtAnotherInstance(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	all := d.instances(t, 3)
	id := all[0].open(t, alice)
	all[1].send(all[1].call(t.Context(), alice, id, 7, "wait"))
	within(t, all[1].started, "the call")
	all[2].ok(t, alice, id, nil, "notifications/cancelled", map[string]any{"requestId": 7})
	within(t, all[1].stopped, "the cancellation")

	// One that is where the call is needs no message.
	sentBefore := d.count(t, `SELECT count(*) FROM ragd_shared.mcp_messages`)
	all[1].send(all[1].call(t.Context(), alice, id, 8, "wait"))
	within(t, all[1].started, "the call")
	all[1].ok(t, alice, id, nil, "notifications/cancelled", map[string]any{"requestId": 8})
	within(t, all[1].stopped, "the cancellation")
	if n := d.count(t, `SELECT count(*) FROM ragd_shared.mcp_messages`); n != sentBefore {
		t.Errorf("%d messages, want %d", n, sentBefore)
	}
}

// question reads the request for input of a call.
func question(t *testing.T, lines <-chan string) (id any) {
	t.Helper()
	_, data := readEvents(t, lines, 1)
	var asked struct {
		ID     any
		Method string
	}
	if err := json.Unmarshal([]byte(data[0]), &asked); err != nil || asked.Method != "elicitation/create" {
		t.Fatalf("%v: %s", err, data[0])
	}
	return asked.ID
}

// Answers reach the calls that asked, wherever they are. Two calls of a session that ask at the same
// time are not confused.
func TestAnswersReachTheCallsAtOtherInstances(t *testing.T) {
	t.Parallel()
	all := newDatabase(t).instances(t, 3)
	id := all[0].open(t, alice)
	_, first := all[0].events(t, all[0].call(t.Context(), alice, id, 7, "ask"))
	_, second := all[1].events(t, all[1].call(t.Context(), alice, id, 8, "ask"))
	questions := []any{question(t, first), question(t, second)}
	if questions[0] == questions[1] {
		t.Fatalf("both questions have the id %v", questions[0])
	}
	answer := func(w *world, i int, colour string) {
		body := map[string]any{"jsonrpc": "2.0", "id": questions[i], "result": map[string]any{"action": "accept", "content": map[string]any{"colour": colour}}}
		res, said := w.do(t, w.request(t.Context(), http.MethodPost, alice, body, sessionHeader, id))
		if res.StatusCode != http.StatusAccepted {
			t.Fatalf("status %d: %s", res.StatusCode, said)
		}
	}
	answer(all[2], 1, "green")
	answer(all[0], 0, "red") // here the call is
	for i, lines := range []<-chan string{first, second} {
		want := []string{"accept map[colour:red]", "accept map[colour:green]"}[i]
		if _, data := readEvents(t, lines, 1); !strings.Contains(data[0], want) {
			t.Errorf("call %d: %s", i, data[0])
		}
	}
}

// A client whose connection broke off gets the rest of a call's stream at another instance.
func TestAStreamIsResumedAtAnotherInstance(t *testing.T) {
	t.Parallel()
	all := newDatabase(t).instances(t, 2)
	id := all[0].open(t, alice)
	call := all[0].call(t.Context(), alice, id, 7, "notify and wait")
	call.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	_, lines := all[0].events(t, call) // the connection stays open: the first instance has not noticed yet
	ids, _ := readEvents(t, lines, 2)

	_, rest := all[1].events(t, all[1].request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, ids[0]))
	if _, data := readEvents(t, rest, 1); !strings.Contains(data[0], "progress") {
		t.Errorf("missed %q", data)
	}
	close(all[0].release)
	if _, data := readEvents(t, rest, 1); !strings.Contains(data[0], `"id":7`) || !strings.Contains(data[0], "done") {
		t.Errorf("the answer is %q", data)
	}
	for range rest { // ends with the answer
	}
	// Nobody else can resume it there.
	for _, other := range []string{bob, eve} {
		res, _ := all[1].do(t, all[1].request(t.Context(), http.MethodGet, other, nil, sessionHeader, id, lastEventHeader, ids[0]))
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", other, res.StatusCode)
		}
	}
}

// The rest of a stream does not come from an instance that was killed: the client's connection ends, so that it asks
// once more.
func TestAStreamOfAKilledInstanceEnds(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	own, err := pgxpool.NewWithConfig(t.Context(), d.pool.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	often := func(c *Config) { c.KeepAlive = 50 * time.Millisecond }
	first := d.instance(t, func(c *Config) {
		often(c)
		c.DB = data.NewDB(own, 0)
	})
	second := d.instance(t, often)
	id := first.open(t, alice)
	call := first.call(t.Context(), alice, id, 7, "notify and wait")
	call.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	_, lines := first.events(t, call)
	ids, _ := readEvents(t, lines, 2)
	_, rest := second.events(t, second.request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, ids[0]))
	readEvents(t, rest, 1)
	for range 3 * maxSilences { // the instance keeps it open
		until(t, rest, ": keep-alive", "a comment")
	}
	own.Close()
	ended := make(chan struct{})
	go func() {
		for range rest {
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the stream does not end")
	}
}

// Notifications that a client missed at one instance come first in its new stream at another.
func TestNotificationsAreResumedAtAnotherInstance(t *testing.T) {
	t.Parallel()
	all := newDatabase(t).instances(t, 2)
	id := all[0].open(t, alice)
	notify := func(w *world, n int) { w.announce(id, map[string]any{"n": n}) }
	ctx, leave := context.WithCancel(t.Context())
	_, lines := all[0].events(t, all[0].request(ctx, http.MethodGet, alice, nil, sessionHeader, id))
	notify(all[0], 1)
	ids, _ := readEvents(t, lines, 1)
	leave()
	wait.For(t, "the stream to be left", func() bool { return all[0].Handler.servers.openStreams.Used("acme") == 0 })
	notify(all[0], 2)
	back := all[1].request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, ids[0])
	_, lines = all[1].events(t, back)
	if _, data := readEvents(t, lines, 1); !strings.Contains(data[0], `"n":2`) {
		t.Errorf("missed %q", data)
	}
	notify(all[1], 3)
	if _, data := readEvents(t, lines, 1); !strings.Contains(data[0], `"n":3`) {
		t.Errorf("later %q", data)
	}
	notifies := func(w *world) (does bool) {
		s := w.Handler.servers
		s.mu.Lock()
		defer s.mu.Unlock()
		s.each("acme", func(l local) { does = l.session.notifies.Load() })
		return does
	}
	if !notifies(all[1]) {
		t.Error("the instance of the stream does not notify the client")
	}
	wait.For(t, "the first instance to notify the client no longer", func() bool {
		all[0].ok(t, alice, id, 9, "ping", nil)
		return !notifies(all[0])
	})
}

// The answer of a call whose client was away when its instance ended is kept for it.
func TestAStreamOutlivesItsInstance(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	all := d.instances(t, 2)
	id := all[0].open(t, alice)
	ctx, leave := context.WithCancel(t.Context())
	call := all[0].call(ctx, alice, id, 7, "notify and wait")
	call.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	_, lines := all[0].events(t, call)
	ids, _ := readEvents(t, lines, 2)
	leave()
	wait.For(t, "the client to have left", func() (left bool) {
		s := all[0].Handler.servers
		s.mu.Lock()
		defer s.mu.Unlock()
		s.each("acme", func(l local) {
			for _, st := range l.session.streams.all() {
				left = left || !st.connected()
			}
		})
		return left
	})
	close(all[0].release)
	all[0].end(t)
	for _, after := range []string{ids[1], ids[0]} {
		_, rest := all[1].events(t, all[1].request(t.Context(), http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, after))
		n := 1
		if after == ids[0] {
			n = 2
		}
		if _, data := readEvents(t, rest, n); !strings.Contains(data[n-1], "done") {
			t.Errorf("after %s: %q", after, data)
		}
		for range rest { // ends with the answer
		}
	}
}

// Events of an instance that is gone are not kept: a new stream begins, and the client is not left
// waiting.
func TestAStreamOfAnInstanceThatIsGoneBeginsAnew(t *testing.T) {
	t.Parallel()
	missed := make(chan string, 10)
	w := newDatabase(t).instance(t, func(c *Config) {
		c.Missed = func(id tenant.ID, server, session string) { missed <- string(id) + "/" + server + "/" + session }
	})
	id := w.open(t, alice)
	gone := []string{strings.Repeat("x", instanceChars) + "-1-0", w.Handler.servers.instance + "-99-0"}
	for _, last := range append(gone, "1-0", "nonsense") {
		ctx, leave := context.WithCancel(t.Context())
		_, lines := w.events(t, w.request(ctx, http.MethodGet, alice, nil, sessionHeader, id, lastEventHeader, last))
		w.announce(id, map[string]any{"n": last})
		if _, data := readEvents(t, lines, 1); !strings.Contains(data[0], last) {
			t.Errorf("%q after %q", data, last)
		}
		if slices.Contains(gone, last) {
			if to := within(t, missed, "the client to be told"); to != "acme//"+id {
				t.Errorf("%s was told", to)
			}
		}
		leave()
		wait.For(t, "the stream to be left", func() bool { return w.Handler.servers.openStreams.Used("acme") == 0 })
	}
	if len(missed) > 0 {
		t.Errorf("%d more clients were told", len(missed))
	}
}

// A request in a session that the instance knows asks the database nothing, nor does one of a
// revision without sessions.
func TestKnownSessionsNeedNoDatabase(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	all := d.instances(t, 2)
	id := all[0].open(t, alice)
	all[1].ok(t, alice, id, 2, "ping", nil)
	d.pool.Close()
	for _, w := range all {
		w.ok(t, alice, id, 3, "tools/call", map[string]any{"name": "whoami"})
		if res, body := w.do(t, w.modern(t.Context(), alice, 1, "tools/call", map[string]any{"name": "whoami"})); res.StatusCode != http.StatusOK {
			t.Errorf("status %d: %s", res.StatusCode, body)
		}
	}
}

func TestSessionsAreBoundedInTheDatabase(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	w := d.instance(t, nil)
	first := w.open(t, alice)
	_, err := d.admin.Exec(t.Context(), `
		INSERT INTO ragd_shared.mcp_sessions (tenant_id, session_hash, owner_hash, client, notifier, used_at)
		SELECT 'acme', sha256(n::text::bytea), '', '{}', '', now() + n * interval '1 second' FROM generate_series(1, $1) AS n`, maxStoredSessions-1)
	if err != nil {
		t.Fatal(err)
	}
	w.open(t, alice)
	if n := d.count(t, `SELECT count(*) FROM ragd_shared.mcp_sessions`); n != maxStoredSessions {
		t.Errorf("%d sessions are stored", n)
	}
	wait.For(t, "the session that was not used for longest to be gone", func() bool {
		res, _ := w.do(t, w.call(t.Context(), alice, first, 2, "whoami"))
		return res.StatusCode == http.StatusNotFound
	})
	big := legacy(1, "initialize", map[string]any{"protocolVersion": "2025-11-25", "clientInfo": map[string]any{"name": strings.Repeat("x", maxClientBytes), "version": "1"}})
	if res, body := w.do(t, w.request(t.Context(), http.MethodPost, alice, big)); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "65536") {
		t.Errorf("a large client: status %d: %s", res.StatusCode, body)
	}
}

func TestMessagesAreDeleted(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	all := d.instances(t, 1)
	one := all[0]
	id := one.open(t, alice)
	cancel := func() { one.ok(t, alice, id, nil, "notifications/cancelled", map[string]any{"requestId": 99}) }
	cancel()
	old := `UPDATE ragd_shared.mcp_messages SET created_at = now() - interval '1 hour'`
	if _, err := d.admin.Exec(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	cancel()
	if n := d.count(t, `SELECT count(*) FROM ragd_shared.mcp_messages`); n != 1 {
		t.Errorf("%d messages after another was sent", n)
	}
	if _, err := d.admin.Exec(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	one.Handler.servers.touch()
	if n := d.count(t, `SELECT count(*) FROM ragd_shared.mcp_messages`); n != 0 {
		t.Errorf("%d messages after the sweep", n)
	}
}

// While the connection for events is broken, messages and changes are kept for the instance.
func TestAnInstanceCatchesUp(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	all := d.instances(t, 2)
	id := all[0].open(t, alice)
	all[0].send(all[0].call(t.Context(), alice, id, 7, "wait"))
	within(t, all[0].started, "the call")
	// The announcement of what is written without triggers is lost.
	tx, err := d.admin.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	for _, sql := range []string{
		`SET LOCAL session_replication_role = replica`,
		`INSERT INTO ragd_shared.mcp_messages (tenant_id, session_hash, addressee, kind, stream, number, body)
			SELECT tenant_id, session_hash, '', 'deliver', '', 0, '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}' FROM ragd_shared.mcp_sessions`,
		`UPDATE ragd_shared.mcp_sessions SET log_level = 'error', version = 2`,
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = d.admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN ragd_event'`)
	if err != nil {
		t.Fatal(err)
	}
	within(t, all[0].stopped, "the cancellation")
	wait.For(t, "the level", func() bool {
		return strings.Contains(all[0].ok(t, alice, id, 8, "tools/call", map[string]any{"name": "client"}), "level error")
	})
}

// A database that does not answer is a typed error, soon.
func TestADatabaseThatIsDown(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	all := d.instances(t, 2)
	id := all[0].open(t, alice)
	d.pool.Close()
	unavailable := func(w *world, r *http.Request) {
		t.Helper()
		if res, body := w.do(t, r); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"error"`) {
			t.Errorf("status %d: %s", res.StatusCode, body)
		}
	}
	unavailable(all[0], all[0].request(t.Context(), http.MethodPost, alice, legacy(1, "initialize", map[string]any{"protocolVersion": "2025-11-25"})))
	unavailable(all[1], all[1].call(t.Context(), alice, id, 2, "whoami"))
	unavailable(all[0], all[0].request(t.Context(), http.MethodDelete, alice, nil, sessionHeader, id))
	unavailable(all[0], all[0].request(t.Context(), http.MethodPost, alice, legacy(nil, "notifications/cancelled", map[string]any{"requestId": 9}), sessionHeader, id))
}
