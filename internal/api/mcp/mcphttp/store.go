package mcphttp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of what is stored of the sessions of a tenant.
const (
	// maxStoredSessions bounds the sessions. Those that were not used for longest are deleted.
	maxStoredSessions = 10_000
	// maxClientBytes bounds the parameters of initialize.
	maxClientBytes = 64 << 10
	// maxStoredSubscriptions bounds the subscriptions of a session. Further ones are not notified.
	maxStoredSubscriptions = 1000
	// maxSentBytes bounds a message from one instance to another: as many as are kept of a stream.
	maxSentBytes = 1 << 20
	// storeTimeout bounds a statement, so that no request waits for a database that is down.
	storeTimeout = 5 * time.Second
)

// store keeps sessions in the database, and the messages that instances send each other about
// them. All of its methods take the id of the tenant whose rows they use. The ids of sessions are
// stored as hashes: who reads the database cannot use them. Errors of all methods: Unavailable when
// the database does not answer.
type store struct {
	db *data.DB
	// instance is the name of this one.
	instance string
	// keepMessages is how long messages are kept.
	keepMessages time.Duration
}

// hash is the SHA-256 of the id of a session, or of its owner.
type hash = [sha256.Size]byte

// storedSession is the state of a session that every instance needs.
type storedSession struct {
	OwnerHash     []byte
	Client        json.RawMessage // the parameters of initialize
	LogLevel      string
	Subscriptions []string // URIs
	Notifier      string   // the instance that notifies the client
	Version       int64
}

// create stores a session that a client opens on this instance. It deletes the tenant's sessions
// that have expired, and those beyond the limit. Errors: Invalid for a client that says too much of
// itself.
func (s *store) create(ctx context.Context, of tenant.ID, session, owner hash, client json.RawMessage) error {
	if len(client) > maxClientBytes {
		return fault.Field("params", "has %d bytes: initialize may have at most %d", len(client), maxClientBytes)
	}
	if client == nil {
		client = json.RawMessage(`{}`)
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := s.db.Handle(of).Exec(ctx, `
		WITH expired AS (
			DELETE FROM ragd_shared.mcp_sessions WHERE created_at < now() - $5::interval OR session_hash IN (
				SELECT o.session_hash FROM ragd_shared.mcp_sessions AS o ORDER BY o.used_at DESC OFFSET $6)
		)
		INSERT INTO ragd_shared.mcp_sessions (session_hash, owner_hash, client, notifier) VALUES ($1, $2, $3, $4)`,
		session[:], owner[:], client, s.instance, sessionLifetime, maxStoredSessions-1)
	return err
}

// load returns the state of the session of an owner. Errors: NotFound for
// one that has ended, has expired or is another caller's.
func (s *store) load(ctx context.Context, of tenant.ID, session, owner hash) (storedSession, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	found, err := data.Get[storedSession](ctx, s.db.Handle(of), `
		SELECT owner_hash, client, log_level, subscriptions, notifier, version FROM ragd_shared.mcp_sessions
		WHERE session_hash = $1 AND owner_hash = $2 AND created_at > now() - $3::interval`, session[:], owner[:], sessionLifetime)
	if errors.Is(err, pgx.ErrNoRows) {
		return found, errSessionEnded
	}
	return found, err
}

// change sets columns of a session and returns its new version; 0 if the condition does not hold.
func (s *store) change(ctx context.Context, of tenant.ID, session hash, set, condition string, value any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	version, err := data.Value[int64](ctx, s.db.Handle(of), `
		UPDATE ragd_shared.mcp_sessions SET `+set+`, version = version + 1, used_at = now()
		WHERE session_hash = $1 AND `+condition+` RETURNING version`, session[:], value)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return version, err
}

func (s *store) setLevel(ctx context.Context, of tenant.ID, session hash, level string) (int64, error) {
	return s.change(ctx, of, session, `log_level = $2`, `log_level <> $2`, level)
}

// subscribe adds a URI, up to the limit.
func (s *store) subscribe(ctx context.Context, of tenant.ID, session hash, uri string) (int64, error) {
	return s.change(ctx, of, session, `subscriptions = subscriptions || $2::text`, `NOT $2::text = ANY(subscriptions)
			AND cardinality(subscriptions) < `+strconv.Itoa(maxStoredSubscriptions), uri)
}

func (s *store) unsubscribe(ctx context.Context, of tenant.ID, session hash, uri string) (int64, error) {
	return s.change(ctx, of, session, `subscriptions = array_remove(subscriptions, $2::text)`, `$2::text = ANY(subscriptions)`, uri)
}

// notify makes this instance the one that notifies the client.
func (s *store) notify(ctx context.Context, of tenant.ID, session hash) (int64, error) {
	return s.change(ctx, of, session, `notifier = $2`, `notifier <> $2`, s.instance)
}

// end deletes a session with its messages.
func (s *store) end(ctx context.Context, of tenant.ID, session hash) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := s.db.Handle(of).Exec(ctx, `DELETE FROM ragd_shared.mcp_sessions WHERE session_hash = $1`, session[:])
	return err
}

// touch notes that sessions are used, and deletes messages that are too old.
func (s *store) touch(ctx context.Context, of tenant.ID, sessions [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := s.db.Handle(of).Exec(ctx, `
		WITH old AS (DELETE FROM ragd_shared.mcp_messages WHERE created_at < now() - $2::interval)
		UPDATE ragd_shared.mcp_sessions SET used_at = now() WHERE session_hash = ANY($1)`, sessions, s.keepMessages)
	return err
}

// messageKind says what a message is.
type messageKind string

const (
	deliver messageKind = "deliver" // a message of the client, for the instance that has its call
	resume  messageKind = "resume"  // asks for the events of a stream after one; the body says who asks
	events  messageKind = "events"  // one or more events of a stream
	alive   messageKind = "alive"   // nothing has happened for a while
	ended   messageKind = "ended"   // the stream has no more events
	listens messageKind = "listens" // the stream has no more events here: it is one for notifications
	gone    messageKind = "gone"    // the events are not kept
)

// parked is the addressee of events of streams whose client was away when their instance ended.
const parked = "parked"

// sent is a message about a session.
type sent struct {
	MessageID int64
	Kind      messageKind
	Stream    string
	Number    int64
	Body      []byte
}

// send sends a message to an instance, to who resumes a stream, or to all instances, and deletes old
// ones of the session. Errors: Invalid for one that is too large; NotFound if the session has ended.
func (s *store) send(ctx context.Context, of tenant.ID, session hash, addressee string, m sent) error {
	if len(m.Body) > maxSentBytes {
		return fault.New(fault.Invalid, "the message has %d bytes, but another instance has the call that it is about, and can be sent at most %d", len(m.Body), maxSentBytes)
	}
	if m.Body == nil {
		m.Body = []byte{}
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	n, err := s.db.Handle(of).Exec(ctx, `
		WITH old AS (DELETE FROM ragd_shared.mcp_messages WHERE session_hash = $1 AND created_at < now() - $7::interval)
		INSERT INTO ragd_shared.mcp_messages (session_hash, addressee, kind, stream, number, body)
		SELECT s.session_hash, $2, $3, $4, $5, $6 FROM ragd_shared.mcp_sessions AS s WHERE s.session_hash = $1`,
		session[:], addressee, string(m.Kind), m.Stream, m.Number, m.Body, s.keepMessages)
	if err == nil && n == 0 {
		return errSessionEnded
	}
	return err
}

// message returns a message, or false if it is no longer there.
func (s *store) message(ctx context.Context, of tenant.ID, session hash, id int64) (sent, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	found, err := data.Get[sent](ctx, s.db.Handle(of), `
		SELECT message_id, kind, stream, number, body FROM ragd_shared.mcp_messages WHERE session_hash = $1 AND message_id = $2`, session[:], id)
	if errors.Is(err, pgx.ErrNoRows) {
		return found, false, nil
	}
	return found, err == nil, err
}

// pending returns the messages to this instance that are kept: what was announced while it could not
// be told may be among them.
func (s *store) pending(ctx context.Context, of tenant.ID, session hash) ([]sent, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return data.Select[sent](ctx, s.db.Handle(of), `
		SELECT message_id, kind, stream, number, body FROM ragd_shared.mcp_messages
		WHERE session_hash = $1 AND addressee IN ('', $2) ORDER BY message_id`, session[:], s.instance)
}

// events returns the messages about a stream that were sent to an addressee after one, in the order
// in which they were sent. There may be more.
func (s *store) events(ctx context.Context, of tenant.ID, session hash, addressee, stream string, after int64) ([]sent, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return data.Select[sent](ctx, s.db.Handle(of), `
		SELECT message_id, kind, stream, number, body FROM ragd_shared.mcp_messages
		WHERE session_hash = $1 AND addressee = $2 AND stream = $3 AND message_id > $4 ORDER BY message_id LIMIT 100`, session[:], addressee, stream, after)
}
