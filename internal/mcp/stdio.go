package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// maxLineBytes bounds a message; it holds the largest upload as base64.
	maxLineBytes = 32 << 20
	// maxConcurrent bounds the requests that are served at a time.
	maxConcurrent = 16
)

// ServeStdio serves one client that writes a message a line to in and reads them
// from out, as agents do with a program that they start. It returns nil when in
// ends and what was asked is answered, and the context's error when ctx ends
// first. Nothing but messages is written to out.
//
// The library has a server for this; it cancels the calls in flight when the
// input ends, so that a script that pipes its questions in gets no answers.
func ServeStdio(ctx context.Context, cfg Config, in io.Reader, out io.Writer) error {
	cfg = cfg.withDefaults()
	tools, err := newToolset(cfg, inHeader)
	if err != nil {
		return err
	}
	s := &stdio{
		server: tools.server(nil), out: out, log: cfg.Logger,
		free:          make(chan struct{}, maxConcurrent),
		notifications: make(chan mcpgo.JSONRPCNotification, maxConcurrent),
	}
	return s.serve(ctx, in)
}

// stdio is the one client of a process, as the library's session. What a request
// has to notify of is written before its answer.
type stdio struct {
	server        *server.MCPServer
	log           *slog.Logger
	free          chan struct{}
	work          sync.WaitGroup
	notifications chan mcpgo.JSONRPCNotification

	mu  sync.Mutex // guards out
	out io.Writer
}

func (s *stdio) serve(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancelCause(s.server.WithContext(ctx, s))
	defer cancel(nil)
	go s.notify(ctx)
	lines := make(chan []byte)
	read := make(chan error, 1)
	go func() { read <- readLines(ctx, in, lines) }()
	for {
		select {
		case line := <-lines:
			if err := s.accept(ctx, cancel, line); err != nil {
				return err
			}
		case err := <-read:
			s.work.Wait()
			return errors.Join(err, context.Cause(ctx))
		case <-ctx.Done():
			s.work.Wait()
			return context.Cause(ctx)
		}
	}
}

// readLines sends the lines of in until it ends. A read cannot be interrupted:
// after ctx has ended, the goroutine stays until the process does or in gives
// something.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
	for scanner.Scan() {
		select {
		case lines <- bytes.Clone(scanner.Bytes()):
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a message is over the limit of %d bytes", maxLineBytes)
	}
	return scanner.Err()
}

// accept starts to serve a message. Notifications are served at once and in
// order, so that a cancellation does not wait behind what it cancels.
func (s *stdio) accept(ctx context.Context, fail context.CancelCauseFunc, line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var message struct {
		ID any `json:"id"`
	}
	if err := json.Unmarshal(line, &message); err != nil || message.ID == nil {
		return s.answer(ctx, nil, line)
	}
	select {
	case s.free <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	s.work.Go(func() {
		defer func() { <-s.free }()
		if err := s.answer(ctx, message.ID, line); err != nil {
			fail(err)
		}
	})
	return nil
}

// flushEvery is how long a notification waits at most.
const flushEvery = 50 * time.Millisecond

// notify writes what requests notify of while they run, until ctx ends.
func (s *stdio) notify(ctx context.Context) {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.mu.Lock()
			_ = s.flush() // a broken pipe is found by the answer
			s.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// flush writes the notifications that wait. The caller holds mu.
func (s *stdio) flush() error {
	for {
		select {
		case notification := <-s.notifications:
			if err := s.write(notification); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// answer serves a message and writes what there is to say to it. Errors: those of
// the writer.
func (s *stdio) answer(ctx context.Context, id any, line []byte) error {
	response := s.handle(ctx, id, line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.flush(); err != nil || response == nil {
		return err
	}
	return s.write(response)
}

func (s *stdio) write(message any) error {
	raw, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	_, err = s.out.Write(append(raw, '\n'))
	return err
}

func (s *stdio) handle(ctx context.Context, id any, line []byte) (response mcpgo.JSONRPCMessage) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "mcp request", "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			response = mcpgo.NewJSONRPCError(mcpgo.NewRequestId(id), mcpgo.INTERNAL_ERROR, "internal error", nil)
		}
	}()
	return s.server.HandleMessage(ctx, line)
}

// SessionID implements server.ClientSession.
func (*stdio) SessionID() string { return "stdio" }

// Initialize implements server.ClientSession.
func (*stdio) Initialize() {}

// Initialized implements server.ClientSession.
func (*stdio) Initialized() bool { return true }

// NotificationChannel implements server.ClientSession.
func (s *stdio) NotificationChannel() chan<- mcpgo.JSONRPCNotification { return s.notifications }
