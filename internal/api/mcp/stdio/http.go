package stdio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

const (
	sessionHeader   = "Mcp-Session-Id"
	lastEventHeader = "Last-Event-ID"
	// maxErrorBytes limits the part of a refusal that is read.
	maxErrorBytes = 64 << 10
	// maxEventBytes limits an event of a stream.
	maxEventBytes = 64 << 20
)

// RefusalError is the error of a request that the service refused.
type RefusalError struct {
	Status  int // of HTTP
	Code    int // of JSON-RPC
	Message string
}

// Error implements error.
func (e *RefusalError) Error() string { return e.Message }

// post sends a message; s is nil outside of a session. Errors: *RefusalError; those of the
// connection.
func (b *bridge) post(ctx context.Context, m *message, s *session) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.cfg.URL, bytes.NewReader(m.raw))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if m.version != "" {
		r.Header.Set(mcpgo.HeaderProtocolVersion, m.version)
		r.Header.Set(mcpgo.HeaderMethod, string(m.method))
		if name, ok := nameIn(m.method, m.params); ok {
			if encoded, ok := mcpgo.EncodeHeaderValue(name); ok {
				r.Header.Set(mcpgo.HeaderName, encoded)
			}
		}
	}
	s.mark(r.Header)
	return b.do(r)
}

// nameIn returns what the header Mcp-Name of a request says; false without one.
func nameIn(method mcpgo.MCPMethod, params json.RawMessage) (string, bool) {
	if !strings.HasPrefix(string(method), "tasks/") {
		return mcpgo.ExtractHeaderName(method, params)
	}
	var given struct {
		TaskID string `json:"taskId"`
	}
	err := json.Unmarshal(params, &given) // the library does not know these methods
	return given.TaskID, err == nil
}

// do sends a request with the credential.
func (b *bridge) do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Accept", "application/json, text/event-stream")
	if b.cfg.Sign != nil {
		b.cfg.Sign(r.Header)
	}
	res, err := b.cfg.Client.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < http.StatusBadRequest {
		return res, nil
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	var answer struct {
		Error struct {
			Code    int
			Message string
		}
	}
	_ = json.Unmarshal(raw, &answer) // another answer, such as a proxy's, has no message
	return nil, &RefusalError{
		Status: res.StatusCode, Code: cmp.Or(answer.Error.Code, mcpgo.INTERNAL_ERROR),
		Message: cmp.Or(answer.Error.Message, fmt.Sprintf("the service answered with the HTTP status %s", res.Status)),
	}
}

// messages calls do with each message of an answer, until do returns false, and returns the id of
// the last event. It closes the answer. Errors: those of the connection.
func messages(res *http.Response, do func(raw []byte) bool) (lastEvent string, err error) {
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := io.ReadAll(res.Body)
		if err == nil && len(bytes.TrimSpace(raw)) > 0 {
			do(raw)
		}
		return "", err
	}
	var data []byte
	scanner := bufio.NewScanner(res.Body)
	scanner.Buffer(make([]byte, 0, 64<<10), maxEventBytes)
	for scanner.Scan() {
		line := scanner.Bytes()
		if len(line) == 0 { // the end of an event
			if len(data) > 0 && !do(data) {
				return lastEvent, nil
			}
			data = nil
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		case "id":
			lastEvent = string(value)
		}
	}
	return lastEvent, scanner.Err()
}

// answers reports whether a message is the answer to a request.
func answers(raw []byte, id json.RawMessage) bool {
	var fields struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	return json.Unmarshal(raw, &fields) == nil && fields.Method == "" && bytes.Equal(fields.ID, id)
}

// checkTimeout limits Check.
const checkTimeout = 15 * time.Second

// Check returns an error if the endpoint does not answer or refuses the credential. Errors:
// *RefusalError; those of the connection.
func Check(ctx context.Context, cfg Config) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	m, err := parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"` +
		mcpgo.MetaKeyProtocolVersion + `":"` + mcpgo.ProtocolVersion20260728 + `","` + mcpgo.MetaKeyClientCapabilities + `":{}}}}`))
	if err != nil {
		return err
	}
	res, err := (&bridge{cfg: cfg}).post(ctx, m, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}
