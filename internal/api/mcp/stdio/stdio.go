// Package stdio connects an MCP client on standard input and output to the HTTP endpoint of a
// service. It passes on every message as it is, so that a client finds the same tools, prompts,
// resources and notifications as over HTTP. What HTTP adds stays hidden from the client: the
// session, which is opened again when the service has forgotten it, and the streams, which are
// opened again when their connection is lost.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxLineBytes limits a message; the largest upload fits as base64.
	maxLineBytes = 32 << 20
	// maxConcurrent limits the requests that are passed on at the same time.
	maxConcurrent = 16
)

// Config configures a connection. URL and Client are required.
type Config struct {
	// URL is the address of the endpoint, such as https://ragd.example.com/mcp.
	URL    string
	Client *http.Client
	// Sign adds the credential to a request. Optional.
	Sign func(http.Header)
	// Logger gets what the client cannot be told. Default: none.
	Logger *slog.Logger
	// Version is that of the program, for clients that open no session themselves.
	Version string
}

// bridge passes the messages of one client on.
type bridge struct {
	cfg   Config
	log   *slog.Logger
	life  context.Context // of streams, which outlast the requests that open them
	slots chan struct{}
	work  sync.WaitGroup // requests that the client waits for
	fail  context.CancelCauseFunc

	writing sync.Mutex // guards out
	out     io.Writer

	opening sync.Mutex // held while a session is opened

	mu         sync.Mutex // guards the following
	session    *session   // nil until one is opened
	running    map[string]context.CancelFunc
	subscribed map[string]*message // by URI
	level      *message            // the last logging/setLevel
}

// Serve passes messages on, one on each line of in, and writes what the service sends to out, one
// message on each line. It returns nil after in has ended and all requests are answered, and the
// context's error if ctx ends first. It writes nothing but messages to out.
func Serve(ctx context.Context, cfg Config, in io.Reader, out io.Writer) error {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b := &bridge{
		cfg: cfg, log: cfg.Logger, life: ctx, slots: make(chan struct{}, maxConcurrent), fail: cancel, out: out,
		running: map[string]context.CancelFunc{}, subscribed: map[string]*message{},
	}
	lines := make(chan []byte)
	read := make(chan error, 1)
	go func() { read <- readLines(ctx, in, lines) }()
	for {
		select {
		case line := <-lines:
			b.accept(ctx, line)
		case err := <-read:
			b.work.Wait()
			err = errors.Join(err, context.Cause(ctx))
			b.close(context.WithoutCancel(ctx))
			return err
		case <-ctx.Done():
			b.work.Wait()
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

// message is a message of the client, with what decides how it is passed on.
type message struct {
	raw    []byte
	id     json.RawMessage // nil for notifications
	method mcpgo.MCPMethod // empty for answers
	params json.RawMessage
	// version is the revision of the protocol if that is one without sessions.
	version string
}

// parse decodes a message. Errors: for what is not a single JSON-RPC message.
func parse(line []byte) (*message, error) {
	var fields struct {
		ID     json.RawMessage `json:"id"`
		Method mcpgo.MCPMethod `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(line, &fields); err != nil {
		return nil, err
	}
	m := &message{raw: line, id: fields.ID, method: fields.Method, params: fields.Params}
	if string(m.id) == "null" {
		m.id = nil
	}
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var version string
	if json.Unmarshal(m.params, &params) == nil && json.Unmarshal(params.Meta[mcpgo.MetaKeyProtocolVersion], &version) == nil && mcpgo.IsModernProtocol(version) {
		m.version = version
	}
	return m, nil
}

// isRequest reports whether the client waits for an answer.
func (m *message) isRequest() bool { return m.id != nil && m.method != "" }

// isStream reports whether the answer stays open until the client cancels it.
func (m *message) isStream() bool {
	return m.version != "" && m.method == mcpgo.MethodSubscriptionsListen
}

// accept starts passing a message on. Notifications are passed on in order, so that a
// cancellation follows the request that it cancels, and a session is open before it is used.
func (b *bridge) accept(ctx context.Context, line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	m, err := parse(line)
	if err != nil {
		b.refuse(nil, mcpgo.PARSE_ERROR, "the line is not a single JSON-RPC message")
		return
	}
	switch {
	case m.version != "" && m.method == mcpgo.MethodNotificationCancelled:
		b.cancelled(m)
	case m.version == "" && m.method == mcpgo.MethodInitialize:
		b.initialize(ctx, m)
	case !m.isRequest():
		b.notify(ctx, m)
	case m.isStream():
		listening, stop := b.started(ctx, m)
		go func() {
			defer stop()
			b.listen(listening, m)
		}()
	default:
		select {
		case b.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		calling, stop := b.started(ctx, m)
		b.work.Go(func() {
			defer func() { <-b.slots }()
			defer stop()
			b.request(calling, m)
		})
	}
}

// started returns a context of a request that a cancellation ends, and a function that must be
// called when the request is answered.
func (b *bridge) started(ctx context.Context, m *message) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	id := string(m.id)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[id] = cancel
	return ctx, func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, id)
	}
}

// cancelled ends a request. Without a session the end of its connection is the cancellation.
func (b *bridge) cancelled(m *message) {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.params, &params) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[string(params.RequestID)]; cancel != nil {
		cancel()
	}
}

// write writes a message to the client.
func (b *bridge) write(raw []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		b.log.Warn("the service sent what is not JSON", "err", err)
		return
	}
	line.WriteByte('\n')
	b.writing.Lock()
	defer b.writing.Unlock()
	if _, err := b.out.Write(line.Bytes()); err != nil {
		b.fail(err)
	}
}

// refuse writes an error as the answer to a request; id is nil if that is not known.
func (b *bridge) refuse(id json.RawMessage, code int, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	raw, err := json.Marshal(map[string]any{
		"jsonrpc": mcpgo.JSONRPC_VERSION, "id": id, "error": map[string]any{"code": code, "message": text},
	})
	if err != nil {
		b.log.Warn("an error cannot be written", "err", err)
		return
	}
	b.write(raw)
}

// changed tells the client that all lists may have changed, after notifications may have been
// missed.
func (b *bridge) changed() {
	for _, method := range []string{mcpgo.MethodNotificationToolsListChanged, mcpgo.MethodNotificationPromptsListChanged, mcpgo.MethodNotificationResourcesListChanged} {
		b.write([]byte(`{"jsonrpc":"2.0","method":"` + method + `"}`))
	}
}
