package mcphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// The library does not know that a stream of subscriptions/listen may tell of tasks: it reads no ids of them, and
// acknowledges none.

// listenedTasks are the tasks that a stream tells of.
type listenedTasks struct {
	ids          []string
	once         sync.Once
	acknowledged chan struct{} // closed once the client is about to get them
}

// ListenedTasks returns the ids of the tasks that the stream of ctx tells of, and a channel that is closed when its
// client has been told so; nil for none.
func ListenedTasks(ctx context.Context) (ids []string, acknowledged <-chan struct{}) {
	if f, ok := ctx.Value(failingKey{}).(*failing); ok && f.tasks != nil {
		return f.tasks.ids, f.tasks.acknowledged
	}
	return nil, nil
}

// refusesTasks has Config.ListenToTasks choose among the tasks that a stream shall tell of. It answers a client that may not
// ask for them, and reports whether it did.
func (h *Handler) refusesTasks(w http.ResponseWriter, c *call) bool {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			Notifications struct {
				TaskIDs []string `json:"taskIds"`
			} `json:"notifications"`
			Meta *mcpgo.Meta `json:"_meta"`
		} `json:"params"`
	}
	if h.cfg.ListenToTasks == nil || c.message.verb != http.MethodPost || !c.message.isStream() || json.Unmarshal(c.message.body, &request) != nil {
		return false // the library says what is wrong
	}
	asked, has := request.Params.Notifications.TaskIDs, request.Params.Meta.ClientCapabilities()
	if asked == nil {
		return false
	}
	if has == nil {
		has = &mcpgo.ClientCapabilities{}
	}
	ids, failed := h.cfg.ListenToTasks(c.ctx, *has, asked)
	if failed != nil {
		writeAnswer(w, map[string]any{"jsonrpc": mcpgo.JSONRPC_VERSION, "id": request.ID}, failed)
		return true
	}
	c.failing.tasks = &listenedTasks{ids: ids, acknowledged: make(chan struct{})}
	return false
}

// acknowledge adds the tasks to the event that acknowledges the subscriptions of a stream. Others are returned as they
// are.
func (l *listenedTasks) acknowledge(p []byte) []byte {
	method := []byte(mcpgo.MethodNotificationSubscriptionsAcknowledged)
	begin, end := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')
	if !bytes.Contains(p, method) || begin < 0 || end < begin {
		return p
	}
	var message struct {
		JSONRPC string         `json:"jsonrpc"`
		Method  string         `json:"method"`
		Params  map[string]any `json:"params"`
	}
	if json.Unmarshal(p[begin:end+1], &message) != nil || message.Method != string(method) {
		return p
	}
	agreed, ok := message.Params["notifications"].(map[string]any)
	if !ok {
		return p
	}
	agreed["taskIds"] = l.ids
	raw, err := json.Marshal(message)
	if err != nil {
		return p
	}
	l.once.Do(func() { close(l.acknowledged) })
	return bytes.Join([][]byte{p[:begin], raw, p[end+1:]}, nil)
}
