package mcp

import (
	"context"
	"sync/atomic"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// progressDelay gives the library time to send the last notification before the answer, by the
// transports whose streams are not those of calls; it drops notifications that are still queued
// then.
const progressDelay = 10 * time.Millisecond

// progress sends progress notifications of a call, if the client asked for them.
type progress struct {
	server *server.MCPServer
	token  mcpgo.ProgressToken // nil if they are not wanted
	sent   atomic.Bool
}

func newProgress(ctx context.Context, req mcpgo.CallToolRequest) *progress {
	p := &progress{server: server.ServerFromContext(ctx)}
	if req.Params.Meta != nil && p.server != nil {
		p.token = req.Params.Meta.ProgressToken
	}
	return p
}

// report returns the function that reports progress, nil if it is not wanted. A notification
// that cannot be sent does not fail the call.
func (p *progress) report() func(context.Context, toolset.Progress) {
	if p.token == nil {
		return nil
	}
	return func(ctx context.Context, now toolset.Progress) {
		if shift := mcphttp.Shift(ctx, now.Done); shift > 0 {
			now.Done += shift
			now.Total = 0 // it is not known of all rounds together
		}
		params := map[string]any{"progressToken": p.token, "progress": now.Done, "message": now.Message}
		if now.Total > 0 {
			params["total"] = now.Total
		}
		if mcphttp.Notify(ctx, string(mcpgo.MethodNotificationProgress), params) {
			return
		}
		if p.server.SendNotificationToClient(ctx, string(mcpgo.MethodNotificationProgress), params) == nil {
			p.sent.Store(true)
		}
	}
}

// wait delays the answer until the last notification has been sent.
func (p *progress) wait() {
	if p.sent.Load() {
		time.Sleep(progressDelay)
	}
}
