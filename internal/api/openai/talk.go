package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/quota/admission"
)

// recheckEvery is the interval between checks of the credential of an open stream.
const recheckEvery = 10 * time.Second

// event is an event of a stream: data as JSON, or the raw text.
type event struct {
	name string // "" for none
	data any
	raw  string
}

// form is the shape of an answer in one of the APIs.
type form interface {
	// streamed reports whether the answer is wanted in events.
	streamed() bool
	// whole returns an answer that is not streamed.
	whole(*utterance) any
	// opening returns the events before the first piece of a text.
	opening() []event
	piece(text string) []event
	// closing returns the events of an answer whose text has been sent.
	closing(*utterance) []event
	// failure returns the events of an error after opening.
	failure(wireError) []event
}

// talks returns a handler of requests for an answer in a conversation. read returns the conversation and the
// form of its answer.
func talks[In any](h *Handler, read func(*In, *http.Request) (*conversation, form, error)) http.Handler {
	return reading(h, func(w http.ResponseWriter, r *http.Request, in *In, content []byte) {
		c, shape, err := read(in, r)
		if err == nil && shape.streamed() {
			err = notOnce(r)
		}
		switch {
		case err != nil:
			fail(w, r, err)
		case shape.streamed():
			h.stream(w, r, c, shape)
		default:
			once(h, w, r, content, func(ctx context.Context) (any, error) {
				said, err := h.converse(ctx, c, nil)
				if err != nil {
					return nil, err
				}
				return shape.whole(said), nil
			})
		}
	})
}

// stream answers in events. What fails before the first one is answered with its status, so that clients try
// again as they do without a stream. The stream ends when its credential becomes invalid.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, c *conversation, shape form) {
	ctx, stop := access.WhileValid(r.Context(), recheckEvery, access.Recheck)
	defer stop()
	s := &eventStream{w: w, shape: shape}
	said, err := h.converse(ctx, c, func(piece string) error { return s.tell(ctx, piece) })
	if err == nil {
		err = s.open()
	}
	if err == nil {
		_ = s.send(shape.closing(said)) // fails only if the caller has disconnected, or no longer receives
		return
	}
	if ctx.Err() != nil && r.Context().Err() == nil {
		err = context.Cause(ctx)
	}
	if !s.opened {
		fail(w, r, err)
		return
	}
	_, out := wired(http.Header{}, r, err)
	_ = s.send(shape.failure(out)) // likewise
}

// eventStream sends the events of an answer. Not safe for concurrent use.
type eventStream struct {
	w      http.ResponseWriter
	shape  form
	opened bool
}

// tell sends a piece of the text. Without one it tells the client that the answer is still being made.
func (s *eventStream) tell(ctx context.Context, piece string) error {
	if piece == "" {
		if !s.opened {
			return nil
		}
		return write(s.w, []byte(": working\n\n"))
	}
	if err := admission.Grow(ctx, int64(len(piece))); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	return s.send(s.shape.piece(piece))
}

// open sends the header and the first events, once.
func (s *eventStream) open() error {
	if s.opened {
		return nil
	}
	s.opened = true
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.Header().Set("X-Accel-Buffering", "no") // proxies pass each event on
	s.w.WriteHeader(http.StatusOK)
	return s.send(s.shape.opening())
}

func (s *eventStream) send(events []event) error {
	var b bytes.Buffer
	for _, e := range events {
		if e.name != "" {
			fmt.Fprintf(&b, "event: %s\n", e.name)
		}
		encoded := []byte(e.raw)
		if e.data != nil {
			var err error
			if encoded, err = json.Marshal(e.data); err != nil {
				return fmt.Errorf("encode an event: %w", err)
			}
		}
		fmt.Fprintf(&b, "data: %s\n\n", encoded)
	}
	if b.Len() == 0 {
		return nil
	}
	return write(s.w, b.Bytes())
}
