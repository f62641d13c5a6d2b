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

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/toolset"
)

const (
	// maxLineBytes limits a message; the largest upload fits as base64.
	maxLineBytes = 32 << 20
	// maxConcurrent limits the requests served at the same time.
	maxConcurrent = 16
)

// ServeStdio serves one client that writes one message per line to in and reads answers
// from out, as agents do with a program that they start. It returns nil after in has
// ended and all requests are answered, and the context's error if ctx ends first. It
// writes nothing but messages to out.
//
// The library's own stdio server is not used because it cancels calls in flight when the
// input ends, so a script that pipes its requests in would get no answers.
func ServeStdio(ctx context.Context, cfg Config, in io.Reader, out io.Writer) error {
	cfg = cfg.withDefaults()
	p, err := newProtocol(cfg, toolset.OverrideHeader)
	if err != nil {
		return err
	}
	s := &stdio{
		server: p.server(nil), out: out, log: cfg.Logger,
		slots:         make(chan struct{}, maxConcurrent),
		notifications: make(chan mcpgo.JSONRPCNotification, maxConcurrent),
	}
	return s.serve(ctx, in)
}

// startTimeout limits the calls of ReadsOnly.
const startTimeout = 15 * time.Second

// ReadsOnly reports whether the credential of the API lacks the scope write: canceling a
// job without an id is denied then, and else the job is not found. Errors: those of the
// API if it does not answer or refuses the credential.
func ReadsOnly(ctx context.Context, api API) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, err := api.ListIndexes(ctx, &ragdv1.ListIndexesRequest{PageSize: 1}); err != nil {
		return false, err
	}
	_, err := api.CancelJob(ctx, &ragdv1.CancelJobRequest{})
	return problemOf(err).kind == fault.Denied, nil
}

// stdio implements the library's session for the single client of the process.
// Notifications of a request are written before its answer.
type stdio struct {
	server        *server.MCPServer
	log           *slog.Logger
	slots         chan struct{}
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

// readLines sends the lines of in to lines until in ends. A read cannot be interrupted:
// after ctx has ended, the goroutine remains until in returns something or the process
// ends.
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

// accept starts serving a message. Notifications are served at once and in order, so that
// a cancellation does not wait for the request that it cancels.
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
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	s.work.Go(func() {
		defer func() { <-s.slots }()
		if err := s.answer(ctx, message.ID, line); err != nil {
			fail(err)
		}
	})
	return nil
}

// flushEvery is the longest delay of a notification.
const flushEvery = 50 * time.Millisecond

// notify writes the notifications of running requests until ctx ends.
func (s *stdio) notify(ctx context.Context) {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.mu.Lock()
			_ = s.flush() // a broken pipe is reported when the answer is written
			s.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// flush writes the queued notifications. The caller holds mu.
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

// answer serves a message and writes the response, if there is one. Errors: those of the
// writer.
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
