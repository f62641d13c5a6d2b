package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// NewReader returns a function that reads resources as clients do, with the rights of the caller in
// the context. Config.Tools is required. Errors: NotFound and Invalid for a URI of no resource; those of the API.
func NewReader(cfg Config) func(ctx context.Context, uri string) ([]*ragdv1.ResourceContent, error) {
	cfg = cfg.withDefaults()
	p := &protocol{tools: cfg.Tools, api: cfg.API, callTimeout: cfg.CallTimeout, log: cfg.Logger}
	return func(ctx context.Context, uri string) ([]*ragdv1.ResourceContent, error) {
		read, err := p.readResource(ctx, uri)
		if err != nil {
			return nil, err
		}
		contents := make([]*ragdv1.ResourceContent, len(read))
		for i, part := range read {
			if contents[i], err = contentMessage(part); err != nil {
				return nil, fmt.Errorf("read %s: %w", uri, err)
			}
		}
		return contents, nil
	}
}

// contentMessage returns the contents of a resource as a message of the API.
func contentMessage(part mcpgo.ResourceContents) (*ragdv1.ResourceContent, error) {
	switch c := part.(type) {
	case mcpgo.TextResourceContents:
		meta, err := metaMessage(c.Meta)
		return &ragdv1.ResourceContent{Uri: c.URI, MimeType: c.MIMEType, Content: &ragdv1.ResourceContent_Text{Text: c.Text}, Meta: meta}, err
	case mcpgo.BlobResourceContents:
		raw, err := base64.StdEncoding.DecodeString(c.Blob)
		return &ragdv1.ResourceContent{Uri: c.URI, MimeType: c.MIMEType, Content: &ragdv1.ResourceContent_Blob{Blob: raw}}, err
	}
	return nil, fmt.Errorf("contents of type %T", part)
}

func metaMessage(meta map[string]any) (*structpb.Struct, error) {
	if len(meta) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	out := &structpb.Struct{}
	return out, out.UnmarshalJSON(raw)
}

// resourceContents is the reverse of contentMessage.
func resourceContents(m *ragdv1.ResourceContent) mcpgo.ResourceContents {
	if blob, ok := m.GetContent().(*ragdv1.ResourceContent_Blob); ok {
		return mcpgo.BlobResourceContents{URI: m.GetUri(), MIMEType: m.GetMimeType(), Blob: base64.StdEncoding.EncodeToString(blob.Blob)}
	}
	var meta map[string]any
	if m.GetMeta() != nil {
		meta = m.GetMeta().AsMap()
	}
	return mcpgo.TextResourceContents{URI: m.GetUri(), MIMEType: m.GetMimeType(), Text: m.GetText(), Meta: meta}
}
