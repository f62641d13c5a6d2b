package mcp

import (
	"context"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// logger is the name under which clients see log messages.
const logger = "ragd"

// hookLogs registers hooks that remember which sessions have asked for log messages, by setting
// a level: others get none.
func (s *protocol) hookLogs(hooks *server.Hooks) {
	hooks.AddAfterSetLevel(func(ctx context.Context, _ any, req *mcpgo.SetLevelRequest, _ *mcpgo.EmptyResult) {
		if session := server.ClientSessionFromContext(ctx); session != nil {
			s.logging.Store(session.SessionID(), true)
			failStored(ctx, mcphttp.SetLevel(ctx, string(req.Params.Level)))
		}
	})
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { s.logging.Delete(session.SessionID()) })
}

// logs reports whether the client of the request has asked for log messages: its session, or the
// request in revisions without sessions.
func (s *protocol) logs(ctx context.Context) bool {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		return info.LogLevel != ""
	}
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return false
	}
	_, asked := s.logging.Load(session.SessionID())
	return asked
}

// logCall logs the end of a call of a tool to its client, and of nobody else: info, or an error
// with its kind. It returns after the message was sent, as the library drops what is not sent
// when the call is answered.
func (s *protocol) logCall(ctx context.Context, tool string, took time.Duration, err error) {
	to := server.ServerFromContext(ctx)
	if to == nil || !s.logs(ctx) {
		return
	}
	level, data := mcpgo.LoggingLevelInfo, map[string]any{
		"message": "tool called", "tool": tool, "durationMs": took.Milliseconds(), "requestId": httpserver.RequestID(ctx),
	}
	if err != nil {
		level, data["message"], data["code"] = mcpgo.LoggingLevelError, "tool failed", problemOf(err).kind.String()
	}
	if sendLog(ctx, to, mcpgo.NewLoggingMessageNotification(level, logger, data)) {
		time.Sleep(progressDelay)
	}
}

// sendLog sends a log message to the client of a call whose level includes it. It returns true if
// the library has still to send it.
func sendLog(ctx context.Context, to *server.MCPServer, m mcpgo.LoggingMessageNotification) (queued bool) {
	level := mcpgo.LoggingLevel("")
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		level = info.LogLevel
	} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithLogging); ok {
		level = session.GetLogLevel()
	}
	if level == "" || !m.Params.Level.ShouldSendTo(level) || mcphttp.Notify(ctx, m.Method, m.Params) {
		return false
	}
	return to.SendLogMessageToClient(ctx, m) == nil
}

// toolLog returns the function that passes log messages of a tool to its client, and to nobody
// else; nil if the client has not asked for them.
func (s *protocol) toolLog(ctx context.Context, tool string, p *progress) func(context.Context, toolset.LogMessage) {
	to := server.ServerFromContext(ctx)
	if to == nil || !s.logs(ctx) {
		return nil
	}
	return func(ctx context.Context, m toolset.LogMessage) {
		if sendLog(ctx, to, mcpgo.NewLoggingMessageNotification(mcpgo.LoggingLevel(m.Level), tool, m.Data)) {
			p.sent.Store(true)
		}
	}
}
