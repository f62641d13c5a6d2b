package mcphttp

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/fault"
)

// maxEndedSessions limits the ended ids remembered per server. An evicted id could be
// used again, but only by the caller who ended it.
const maxEndedSessions = 1000

// sessions holds the legacy sessions of one server on this instance. A session that was
// idle too long, or was evicted for another, is forgotten together with the library's
// state, but its id stays valid: a caller that uses it again, here or on another
// instance, gets a new state. Not safe for concurrent use: the caller holds the mutex of
// servers.
type sessions struct {
	signer signer
	// admits reports whether one more session may be opened.
	admits func() bool
	open   map[string]*session
	ended  endedIDs
	// forgotten drops the library's state of a session.
	forgotten func(id string)
	// streams returns the streams of a new session.
	streams func() *streams
}

var errSessionEnded = fault.New(fault.NotFound, "session not found: it ended or was never yours; initialize a new one")

type session struct {
	ctx      context.Context // ends with the session
	end      context.CancelFunc
	lastUsed time.Time
	requests int // in flight, including streams
	streams  *streams
}

func newSessions(s signer, admits func() bool, forgotten func(id string), streams func() *streams) *sessions {
	return &sessions{signer: s, admits: admits, open: map[string]*session{}, ended: endedIDs{known: map[string]bool{}}, forgotten: forgotten, streams: streams}
}

// begin opens a session and returns its id. Errors: Exhausted.
func (s *sessions) begin(o owner, now time.Time) (string, *session, error) {
	id := s.signer.mint(o, now)
	opened, err := s.add(id, now)
	return id, opened, err
}

// use returns the caller's session. Errors: Invalid without an id; NotFound for an id
// that is unknown, ended, expired or another caller's, without telling which.
func (s *sessions) use(id string, o owner, now time.Time) (*session, error) {
	if id == "" {
		return nil, fault.Field(sessionHeader, "is missing: send the id that initialize answered with")
	}
	if s.ended.known[id] || !s.signer.check(id, o, now) {
		return nil, errSessionEnded
	}
	if found := s.open[id]; found != nil {
		return found, nil
	}
	return s.add(id, now)
}

func (s *sessions) add(id string, now time.Time) (*session, error) {
	if !s.admits() {
		return nil, fault.Retry(time.Minute, "all sessions that this tenant may have open are in use")
	}
	added := &session{lastUsed: now, streams: s.streams()}
	added.ctx, added.end = context.WithCancel(context.Background())
	s.open[id] = added
	return added, nil
}

// oldestIdle returns the session without requests that has been idle longest; "" if there is
// none.
func (s *sessions) oldestIdle() (id string, lastUsed time.Time) {
	for candidate, found := range s.open {
		if found.requests == 0 && (id == "" || found.lastUsed.Before(lastUsed)) {
			id, lastUsed = candidate, found.lastUsed
		}
	}
	return id, lastUsed
}

// finish ends a session with all of its streams and requests.
func (s *sessions) finish(id string) {
	s.ended.add(id)
	s.forget(id)
}

func (s *sessions) forget(id string) {
	if found := s.open[id]; found != nil {
		found.end()
		found.streams.end()
		delete(s.open, id)
		s.forgotten(id)
	}
}

// forgetIdle forgets the sessions without requests that were last used before the given
// time.
func (s *sessions) forgetIdle(before time.Time) {
	for id, found := range s.open {
		if found.requests == 0 && found.lastUsed.Before(before) {
			s.forget(id)
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
