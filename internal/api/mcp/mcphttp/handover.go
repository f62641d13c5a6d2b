package mcphttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"time"
)

// A client that lost the connection of a stream may come back at another instance. That one asks the
// instance of the stream for it (follower), which writes the events to messages (relay) instead of a
// connection.

// resumeWait is how long an instance that is asked for a stream has time to answer.
const resumeWait = 3 * time.Second

// pollEvery is how often messages are looked for that no event told of.
const pollEvery = 10 * time.Second

// maxSilences is how many keep-alives of the instance of a stream may be missing before it is taken for
// gone.
const maxSilences = 3

// handOver sends a stream to the instance where its client has come back.
func (r *servers) handOver(l local, m sent) {
	to := relay{servers: r, local: l, addressee: string(m.Body), stream: m.Stream}
	id, _ := parseEventID(m.Stream + "-" + strconv.FormatInt(m.Number, 10))
	s := l.session.streams.find(id)
	if s == nil {
		to.reply(gone, nil)
		return
	}
	if s.listens {
		if missed, ok := s.handOver(id.number); ok {
			to.reply(listens, missed)
		} else {
			to.reply(gone, nil)
		}
		return
	}
	ctx, lost := context.WithCancel(l.session.ctx)
	defer lost()
	conn := newConnection(to, r.cfg.KeepAlive, r.cfg.WriteTimeout, lost)
	defer conn.close()
	if !s.attach(conn, id.number) {
		to.reply(gone, nil)
		return
	}
	select {
	case <-s.ended:
		to.reply(ended, nil)
	case <-ctx.Done():
		s.leave(conn)
		to.reply(gone, nil)
	}
}

// relay is a writer of events to who resumes a stream on another instance.
type relay struct {
	servers   *servers
	local     local
	addressee string
	stream    string
}

// Header implements http.ResponseWriter.
func (relay) Header() http.Header { return http.Header{} }

// WriteHeader implements http.ResponseWriter.
func (relay) WriteHeader(int) {}

// Flush implements http.Flusher.
func (relay) Flush() {}

// Write implements http.ResponseWriter. A comment is only said to have come: the other instance sends its own.
func (w relay) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte(":")) {
		return len(p), w.send(alive, nil)
	}
	return len(p), w.send(events, p)
}

func (w relay) send(kind messageKind, body []byte) error {
	return w.servers.store.send(context.WithoutCancel(w.local.session.ctx), w.local.tenant, w.local.session.hash, w.addressee,
		sent{Kind: kind, Stream: w.stream, Body: body})
}

// reply sends what ends the exchange. Without it, the other instance begins a new stream, or ends its
// own.
func (w relay) reply(kind messageKind, body []byte) {
	if err := w.send(kind, body); err != nil {
		w.servers.unread(w.local, err)
	}
}

// follow serves the rest of a stream that is on another instance. It returns false, having written
// nothing, if a new stream has to begin, after the events that are returned: nil if they are not kept.
func (h *Handler) follow(w http.ResponseWriter, r *http.Request, c *call, id eventID) (served bool, missed []byte) {
	f := &follower{call: c, id: id, name: rand.Text(), news: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(c.ctx)
	defer stop()
	defer context.AfterFunc(r.Context(), stop)()
	f.conn = newConnection(w, h.cfg.KeepAlive, h.cfg.WriteTimeout, stop)
	defer func() {
		if served {
			f.conn.close()
		}
	}()
	if f.unpark(ctx) {
		return true, nil
	}
	h.servers.await(f)
	defer h.servers.unawait(f)
	if err := f.send(ctx); err != nil {
		return false, nil
	}
	return f.serve(ctx)
}

// follower resumes a stream that is on another instance.
type follower struct {
	call  *call
	id    eventID
	name  string        // to which the events are sent
	news  chan struct{} // told of messages
	last  int64         // message that was read
	conn  *connection
	begun bool
}

func (r *servers) await(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resumed[f.name] = f
}

func (r *servers) unawait(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.resumed, f.name)
}

// send asks the instance of the stream for its events.
func (f *follower) send(ctx context.Context) error {
	c := f.call
	return c.servers.store.send(ctx, c.tenant, c.session.hash, f.id.instance,
		sent{Kind: resume, Stream: f.id.streamName(), Number: int64(f.id.number), Body: []byte(f.name)})
}

// serve writes the events as they come, until the stream or ctx ends, or the instance of the stream says
// nothing any more: then the client, if it comes back once more, is told what it missed.
func (f *follower) serve(ctx context.Context) (served bool, missed []byte) {
	silent := time.NewTimer(resumeWait)
	defer silent.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		late := false
		select {
		case <-ctx.Done():
			return true, nil
		case <-silent.C:
			late = true
		case <-f.news:
		case <-poll.C:
		}
		for {
			list, err := f.read(ctx, f.name)
			switch {
			case err != nil && !f.begun:
				return false, nil
			case err != nil && late, len(list) > 0:
				silent.Reset(maxSilences * f.conn.keepAlive)
			case late:
				return f.begun, nil
			}
			for _, m := range list {
				switch m.Kind {
				case events:
					f.write(m.Body)
				case alive:
				case listens:
					return false, m.Body // not nil
				case ended:
					return true, nil
				default:
					return f.begun, nil
				}
			}
			if len(list) == 0 {
				break
			}
			late = false
		}
	}
}

// read returns the next messages to an addressee about the stream.
func (f *follower) read(ctx context.Context, addressee string) ([]sent, error) {
	c := f.call
	list, err := c.servers.store.events(ctx, c.tenant, c.session.hash, addressee, f.id.streamName(), f.last)
	if len(list) > 0 {
		f.last = list[len(list)-1].MessageID
	}
	return list, err
}

func (f *follower) write(p []byte) {
	if !f.begun {
		f.begun = true
		f.conn.w.Header().Set("Content-Type", "text/event-stream")
		f.conn.w.Header().Set("Cache-Control", "no-store")
		f.conn.begin(http.StatusOK)
	}
	if f.conn.write(p) {
		f.conn.flush()
	}
}

// unpark writes the rest of a stream whose instance has ended. It returns false, having written
// nothing, if some of the events are not kept.
func (f *follower) unpark(ctx context.Context) bool {
	var missed [][]byte
	next := int64(f.id.number) + 1
	for {
		list, err := f.read(ctx, parked)
		if err != nil || len(list) == 0 {
			f.last = 0
			return false
		}
		for _, m := range list {
			switch {
			case m.Kind == ended:
				f.write(bytes.Join(missed, nil))
				return true
			case m.Number == next:
				missed = append(missed, m.Body)
				next++
			case m.Number > next:
				f.last = 0
				return false
			}
		}
	}
}

// park stores the streams of calls whose clients have not come back yet, as this instance ends.
func (r *servers) park(ctx context.Context) {
	if r.store == nil {
		return
	}
	var all []local
	r.mu.Lock()
	r.each("", func(l local) { all = append(all, l) })
	r.mu.Unlock()
	for _, l := range all {
		for _, s := range l.session.streams.all() {
			if err := r.parkStream(ctx, l, s); err != nil {
				r.unread(l, err)
			}
		}
	}
}

func (r *servers) parkStream(ctx context.Context, l local, s *stream) error {
	s.mu.Lock()
	kept, first := s.events, s.next-len(s.events)
	left := s.left && !s.listens
	s.mu.Unlock()
	if !left {
		return nil
	}
	name := eventID{instance: r.instance, stream: s.id}.streamName()
	for i, e := range kept {
		err := r.store.send(ctx, l.tenant, l.session.hash, parked, sent{Kind: events, Stream: name, Number: int64(first + i), Body: e})
		if err != nil {
			return err
		}
	}
	return r.store.send(ctx, l.tenant, l.session.hash, parked, sent{Kind: ended, Stream: name})
}
