package mcphttp

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// maxEndedSessions limits the ended ids remembered per server. An evicted id could be
// used again, but only by the caller who ended it.
const maxEndedSessions = 1000

// maxSessionID bounds the ids of sessions that are looked up, in bytes. Those that were given out
// are shorter.
const maxSessionID = 128

// sessions holds the legacy sessions of one server on this instance. A session that was
// idle too long, or was evicted for another, is forgotten together with the library's
// state, but its id stays valid: a caller that uses it again, here or on another
// instance, gets the state that is stored, or a new one without a database. Not safe for
// concurrent use: the caller holds the mutex of servers.
type sessions struct {
	signer signer
	// stored says that the database knows the sessions, and whose they are.
	stored bool
	// admits reports whether one more session may be opened.
	admits func() bool
	open   map[ownedID]*session
	ended  endedIDs
	// forgotten drops the library's state of a session.
	forgotten func(id string)
	// streams returns the streams of a new session.
	streams func() *streams
}

var errSessionEnded = fault.New(fault.NotFound, "session not found: it ended or was never yours; initialize a new one")

// ownedID is the id of a session with the caller that uses it: whether it is the caller's is known
// only once the database was asked.
type ownedID struct {
	id    string
	owner hash
}

type session struct {
	ownedID
	hash     hash            // of the id
	ctx      context.Context // ends with the session
	end      context.CancelFunc
	lastUsed time.Time
	requests int // in flight, including streams
	streams  *streams
	calls    map[string]int // in flight, by id
	listener *call          // the last GET stream; nil for none

	// inLibrary says that the library has the session.
	inLibrary atomic.Bool
	// notifies says that this instance notifies the client, and no other.
	notifies atomic.Bool
	// version is that of the state below, or a later one that was seen.
	version atomic.Int64
	// doubts counts what may have made the state below old, from 1. known is the count for which
	// it was loaded, 0 before whose session it is has been checked.
	doubts, known atomic.Int64

	restoring sync.Mutex // guards the fields below
	level     string
	uris      map[string]bool // subscriptions
}

func newSessions(s signer, stored bool, admits func() bool, forgotten func(id string), streams func() *streams) *sessions {
	return &sessions{signer: s, stored: stored, admits: admits, open: map[ownedID]*session{}, ended: endedIDs{known: map[string]bool{}}, forgotten: forgotten, streams: streams}
}

// begin opens a session and returns its id. Errors: Exhausted.
func (s *sessions) begin(o owner, now time.Time) (string, *session, error) {
	id := s.signer.mint(o, now)
	opened, err := s.add(ownedID{id, o.hash()}, now)
	if err == nil {
		opened.notifies.Store(true)
	}
	return id, opened, err
}

// use returns the caller's session. Errors: Invalid without an id; NotFound for an id
// that is unknown, ended, expired or another caller's, without telling which. If signed is
// false, that is left to the database.
func (s *sessions) use(id string, o owner, signed bool, now time.Time) (*session, error) {
	if id == "" {
		return nil, fault.Field(sessionHeader, "is missing: send the id that initialize answered with")
	}
	if s.ended.known[id] || len(id) > maxSessionID || signed && !s.signer.check(id, o, now) {
		return nil, errSessionEnded
	}
	owned := ownedID{id, o.hash()}
	if found := s.open[owned]; found != nil {
		return found, nil
	}
	return s.add(owned, now)
}

func (s *sessions) add(id ownedID, now time.Time) (*session, error) {
	if !s.admits() {
		return nil, fault.Retry(time.Minute, "all sessions that this tenant may have open are in use")
	}
	added := &session{ownedID: id, hash: sha256.Sum256([]byte(id.id)), lastUsed: now, streams: s.streams(), calls: map[string]int{}, uris: map[string]bool{}}
	if !s.stored {
		added.inLibrary.Store(true)
		added.notifies.Store(true)
	}
	added.doubt()
	added.ctx, added.end = context.WithCancel(context.Background())
	s.open[id] = added
	return added, nil
}

// fresh reports whether the session is the caller's and its state is known.
func (s *session) fresh() bool { return s.known.Load() == s.doubts.Load() }

// doubt says that the state may be old.
func (s *session) doubt() { s.doubts.Add(1) }

// oldestIdle returns the session without requests that has been idle longest; nil if there is
// none.
func (s *sessions) oldestIdle() *session {
	var oldest *session
	for _, found := range s.open {
		if found.requests == 0 && (oldest == nil || found.lastUsed.Before(oldest.lastUsed)) {
			oldest = found
		}
	}
	return oldest
}

// finish ends a session with all of its streams and requests.
func (s *sessions) finish(ending *session) {
	s.ended.add(ending.id)
	s.forget(ending)
}

func (s *sessions) forget(ending *session) {
	if s.open[ending.ownedID] != ending {
		return
	}
	ending.end()
	ending.streams.end()
	delete(s.open, ending.ownedID)
	if ending.inLibrary.Load() {
		s.forgotten(ending.id)
	}
}

// forgetIdle forgets the sessions without requests that were last used before the given
// time.
func (s *sessions) forgetIdle(before time.Time) {
	for _, found := range s.open {
		if found.requests == 0 && found.lastUsed.Before(before) {
			s.forget(found)
		}
	}
}

// endedIDs holds the ids of the sessions that ended last, at most maxEndedSessions. It is
// not a cache.Cache, which may evict the newest as well as the oldest.
type endedIDs struct {
	known  map[string]bool
	ring   []string // ids in the order in which they ended, from oldest on
	oldest int
}

func (e *endedIDs) add(id string) {
	switch {
	case e.known[id]:
		return
	case len(e.ring) < maxEndedSessions:
		e.ring = append(e.ring, id)
	default:
		delete(e.known, e.ring[e.oldest])
		e.ring[e.oldest] = id
		e.oldest = (e.oldest + 1) % maxEndedSessions
	}
	e.known[id] = true
}
