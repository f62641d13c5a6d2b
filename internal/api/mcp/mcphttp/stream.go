package mcphttp

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
)

// A client that loses the connection of a stream comes back with the header Last-Event-ID and
// gets what it missed, and then the rest. So the events of a stream have ids and are kept for
// a while, in memory. A client that resumes on another instance gets them over the database,
// see handover.go.

// Limits of what is kept of the streams of a session, for Config.ResumeFor.
const (
	// maxHeldEvents and maxHeldBytes bound the events that are kept of one stream, and
	// maxHeldStreams the streams of one session: the oldest are dropped.
	maxHeldEvents  = 256
	maxHeldBytes   = 1 << 20
	maxHeldStreams = 32
	// maxTenantHeldBytes bounds the events that are kept for a tenant on this instance. Beyond
	// it streams cannot be resumed.
	maxTenantHeldBytes = 64 << 20
)

// firstPriming is the first revision whose clients expect streams to begin with an event
// without data.
const firstPriming = "2025-11-25"

// lastEventHeader has the id of the last event that a client received.
const lastEventHeader = "Last-Event-ID"

// streams holds the streams of one session that a client may resume. Safe for concurrent use.
type streams struct {
	tenant   tenant.ID
	instance string
	held     *limit.Limiter[tenant.ID] // bytes of the tenant
	keep     time.Duration             // how long a stream waits for its client, and is kept after its end

	mu         sync.Mutex
	byID       map[int]*stream
	last       int            // id
	listening  *stream        // of the last GET; nil for none
	waiting    map[string]int // events for it, with their places in all that were announced
	announced  int
	delivering bool // some are being added
}

func newStreams(id tenant.ID, instance string, held *limit.Limiter[tenant.ID], keep time.Duration) *streams {
	return &streams{tenant: id, instance: instance, held: held, keep: keep, byID: map[int]*stream{}, waiting: map[string]int{}}
}

// stream is the stream of one request. Safe for concurrent use.
type stream struct {
	of      *streams
	id      int
	listens bool   // of a GET: it lasts as long as its client
	primes  bool   // begins with an event without data
	cancel  func() // ends the request

	mu     sync.Mutex
	events [][]byte // the last ones
	bytes  int
	next   int         // number of the next event, from 0
	conn   *connection // nil while there is no client
	left   bool        // the client of a call has left, and has not come back
	over   bool        // takes no more notifications: it has ended, or goes on at another instance
	absent *time.Timer // ends a stream whose client does not come back; nil while there is one
	ended  chan struct{}
}

// begin adds the stream of a request on conn.
func (s *streams) begin(conn *connection, listens, primes bool, cancel func()) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	added := &stream{of: s, id: s.last, listens: listens, primes: primes, cancel: cancel, conn: conn, ended: make(chan struct{})}
	s.byID[added.id] = added
	if old := s.byID[added.id-maxHeldStreams]; old != nil {
		delete(s.byID, old.id)
		go old.forgetEvents()
	}
	return added
}

// eventID is the id of an event: INSTANCE-STREAM-NUMBER.
type eventID struct {
	instance       string
	stream, number int
}

// parseEventID returns the id of an event; false for a text that is none.
func parseEventID(text string) (id eventID, ok bool) {
	parts := strings.Split(text, "-")
	if len(parts) != 3 || len(parts[0]) != instanceChars {
		return id, false
	}
	stream, err := strconv.Atoi(parts[1])
	if err != nil {
		return id, false
	}
	number, err := strconv.Atoi(parts[2])
	return eventID{parts[0], stream, number}, err == nil && number >= 0
}

// streamName returns the name of the stream of the event.
func (e eventID) streamName() string { return e.instance + "-" + strconv.Itoa(e.stream) }

// find returns the stream of an event, or nil if it is not kept on this instance.
func (s *streams) find(id eventID) *stream {
	if id.instance != s.instance {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id.stream]
}

// all returns the streams that are kept.
func (s *streams) all() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byID))
}

// endListeners ends the streams of a GET whose clients are gone, and waits until they have
// ended: the client has opened a new one, and they would take its notifications.
func (s *streams) endListeners(ctx context.Context) {
	for _, st := range s.all() {
		if !st.listens || st.connected() {
			continue
		}
		st.cancel()
		select {
		case <-st.ended:
		case <-ctx.Done():
		}
	}
}

// end releases what is kept for the session, whose requests have ended.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, st := range s.byID {
		delete(s.byID, id)
		go st.forgetEvents()
	}
	s.listening = nil
	clear(s.waiting)
}

// prime sends an event without data, so that the client has an id to come back with. Clients
// of revisions before 2025-11-25 do not expect one.
func (s *stream) prime() {
	if s.primes {
		s.add([]byte("data: \n\n"))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn.flush()
}

// add keeps one whole event and sends it to the client, if there is one.
func (s *stream) add(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(event)
}

// addLocked is add for a caller that holds mu.
func (s *stream) addLocked(event []byte) {
	whole := fmt.Appendf(make([]byte, 0, len(event)+36), "id: %s-%d-%d\n", s.of.instance, s.id, s.next)
	whole = append(whole, event...)
	s.next++
	s.keep(whole)
	if s.conn == nil {
		return
	}
	if s.conn.write(whole) {
		s.conn.flush()
	}
}

// keep keeps an event within the limits. A stream of which an event could not be kept cannot
// be resumed before it. The caller holds mu.
func (s *stream) keep(event []byte) {
	if len(event) > maxHeldBytes || !s.of.held.TryAcquire(s.of.tenant, int64(len(event))) {
		s.drop(len(s.events))
		return
	}
	s.events, s.bytes = append(s.events, event), s.bytes+len(event)
	for len(s.events) > maxHeldEvents || s.bytes > maxHeldBytes {
		s.drop(1)
	}
}

// drop forgets the n oldest events. The caller holds mu.
func (s *stream) drop(n int) {
	released := 0
	for _, event := range s.events[:n] {
		released += len(event)
	}
	s.events, s.bytes = s.events[n:], s.bytes-released
	if released > 0 {
		s.of.held.Release(s.of.tenant, int64(released))
	}
}

func (s *stream) forgetEvents() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(len(s.events))
}

func (s *stream) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil
}

// leave is called when the client of conn is gone. Unless it comes back in time, the request
// ends; one that is being answered ends by itself.
func (s *stream) leave(conn *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != conn {
		return
	}
	s.conn, s.left = nil, true
	if s.listens {
		s.absent = time.AfterFunc(s.of.keep, s.cancel)
	}
}

// attach sends the events after the one with the given number to a client that came back, and
// later ones as they come. It returns false if some of them are not kept.
func (s *stream) attach(conn *connection, after int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed, ok := s.missed(after)
	if !ok {
		return false
	}
	if s.absent != nil {
		s.absent.Stop()
	}
	if s.conn != nil {
		s.conn.close()
		s.conn.lost()
	}
	s.conn, s.left = conn, false
	conn.begin(http.StatusOK)
	conn.write(bytes.Join(missed, nil))
	conn.flush()
	return true
}

// missed returns the events after the one with the given number; false if some of them are not
// kept. The caller holds mu.
func (s *stream) missed(after int) ([][]byte, bool) {
	missed := s.next - 1 - after
	if after < 0 || missed < 0 || missed > len(s.events) {
		return nil, false
	}
	return s.events[len(s.events)-missed:], true
}

// handOver ends a stream of a GET whose client has come back on another instance, and returns the
// events that it missed; false if some of them are not kept.
func (s *stream) handOver(after int) ([]byte, bool) {
	s.mu.Lock()
	missed, ok := s.missed(after)
	joined := bytes.Join(missed, nil)
	s.over = true
	s.mu.Unlock()
	s.cancel()
	return append(joined, s.of.takeWaiting()...), ok
}

// end is called when the request has ended. The events are kept for a while.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	close(s.ended)
	if s.absent != nil {
		s.absent.Stop()
	}
	time.AfterFunc(s.of.keep, func() {
		s.of.mu.Lock()
		delete(s.of.byID, s.id)
		s.of.mu.Unlock()
		s.forgetEvents()
	})
}

// resume serves the rest of a stream to a client that came back. It returns false, having
// written nothing, if events are missing.
func (h *Handler) resume(w http.ResponseWriter, r *http.Request, c *call, s *stream, after int) bool {
	ctx, gone := context.WithCancel(c.ctx)
	defer context.AfterFunc(r.Context(), gone)()
	conn := newConnection(w, h.cfg.KeepAlive, h.cfg.WriteTimeout, gone)
	defer conn.close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if !s.attach(conn, after) {
		gone()
		return false
	}
	select {
	case <-s.ended:
	case <-ctx.Done():
	}
	s.leave(conn)
	gone()
	return true
}
