package main

import (
	"context"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// between is the pause that the suite expects between two notifications.
	between = 50 * time.Millisecond
	// settle is the time that the library needs to send a notification; it drops
	// notifications that are unsent when the call returns.
	settle = 10 * time.Millisecond
)

func addNotifyingTools(s *server.MCPServer) {
	tool(s, "test_tool_with_logging", func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			err := s.SendNotificationToClient(ctx, string(mcpgo.MethodNotificationMessage), map[string]any{"level": "info", "data": text})
			if err != nil {
				return nil, err
			}
			time.Sleep(between)
		}
		return mcpgo.NewToolResultText("Logged three messages."), nil
	})
	tool(s, "test_tool_with_progress", func(ctx context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		for _, progress := range []int{0, 50, 100} {
			if req.Params.Meta != nil && req.Params.Meta.ProgressToken != nil {
				err := s.SendNotificationToClient(ctx, string(mcpgo.MethodNotificationProgress), map[string]any{
					"progressToken": req.Params.Meta.ProgressToken, "progress": progress, "total": 100,
				})
				if err != nil {
					return nil, err
				}
			}
			time.Sleep(between)
		}
		return mcpgo.NewToolResultText("Made progress."), nil
	})
	// Logs only where the request allows it.
	tool(s, "test_logging_tool", func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		note := mcpgo.NewLoggingMessageNotification(mcpgo.LoggingLevelInfo, "suite", "logged")
		if err := s.SendLogMessageToClient(ctx, note); err != nil {
			return nil, err
		}
		time.Sleep(settle)
		return mcpgo.NewToolResultText("Logged if that was wanted."), nil
	})
	tool(s, "test_trigger_tool_change", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		tool(s, "test_changed_tool", always(mcpgo.NewTextContent("Changed.")))
		s.DeleteTools("test_changed_tool")
		return mcpgo.NewToolResultText("Changed the list of tools."), nil
	})
	tool(s, "test_trigger_prompt_change", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		s.AddPrompt(mcpgo.NewPrompt("test_changed_prompt"), nil)
		s.DeletePrompts("test_changed_prompt")
		return mcpgo.NewToolResultText("Changed the list of prompts."), nil
	})
}
