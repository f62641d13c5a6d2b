// Package mcptool runs the tools of tenants that are tools of other MCP servers: it connects
// to the server, takes over the description of the tool, and passes calls on.
package mcptool

import (
	"context"
	"encoding/json"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// maxNameBytes bounds the name of a tool at its server.
const maxNameBytes = 128

// settings are those of a tool of the kind mcp, by their JSON names.
type settings struct {
	URL       string            `json:"url"`
	ToolName  string            `json:"toolName"`
	Headers   map[string]string `json:"headers"`
	TimeoutMS int               `json:"timeoutMs"`
	Tool      *Description      `json:"tool"`
}

// Description is what a server says about a tool. It is stored with the settings.
type Description struct {
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  *Annotations    `json:"annotations,omitempty"`
}

// Schemas returns the schemas and annotations by their JSON names; nil for what there is not.
func (d Description) Schemas() map[string]any {
	all := map[string]any{"inputSchema": d.InputSchema, "outputSchema": nil, "annotations": d.Annotations}
	if len(d.OutputSchema) > 0 {
		all["outputSchema"] = d.OutputSchema
	}
	return all
}

// Annotations tell how a tool behaves, as its server says; nil means unknown.
type Annotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// Definition is a tool that can be called. Safe for concurrent use.
type Definition struct {
	// Tool is what the server said when the tool was created or refreshed; nil before.
	Tool *Description

	// Authorize returns the token of a call, "" for none; with renew another one, as the server refuses the
	// last one. nil for none.
	Authorize func(ctx context.Context, renew bool) (string, error)

	connection *mcpclient.Connection
	toolName   string
}

// NewDefinition returns a tool of a server, with what the server says about it.
func NewDefinition(connection *mcpclient.Connection, toolName string, said *Description) *Definition {
	return &Definition{Tool: said, connection: connection, toolName: toolName}
}

// Parse returns the tool with these settings. Errors: Invalid, naming fields below settings;
// Precondition for an address that the guard refuses.
func Parse(given map[string]any, guard *outbound.Guard) (*Definition, error) {
	var s settings
	if err := remote.DecodeSettings(given, &s, "url, toolName, headers and timeoutMs"); err != nil {
		return nil, err
	}
	d := &Definition{Tool: s.Tool, toolName: s.ToolName}
	if d.Tool != nil && string(d.Tool.OutputSchema) == "null" {
		d.Tool.OutputSchema = nil
	}
	if err := d.parse(s, guard); err != nil {
		return nil, fault.Under("settings", err)
	}
	return d, nil
}

func (d *Definition) parse(s settings, guard *outbound.Guard) (err error) {
	if d.connection, err = mcpclient.Parse(mcpclient.Settings{URL: s.URL, Headers: s.Headers, TimeoutMS: s.TimeoutMS}, guard); err != nil {
		return err
	}
	if s.ToolName == "" {
		return fault.Field("toolName", "is missing: name the tool of the server")
	}
	return textlimit.Check("toolName", s.ToolName, maxNameBytes)
}
