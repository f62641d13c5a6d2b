package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// plainMCP calls vector_query with HTTP and JSON alone, and reads of the answer what a
// program needs. It shows how much of a call is the client library of MCP.
type plainMCP struct {
	client *http.Client
	url    string
	header http.Header
}

func newPlainMCP(client *http.Client, url, secret string) *plainMCP {
	return &plainMCP{client, url, http.Header{
		"Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"vector_query"}, "Mcp-Protocol-Version": {"2026-07-28"},
	}}
}

func (p *plainMCP) ask(ctx context.Context, question []float32) error {
	type object map[string]any
	call, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
		"name": "vector_query", "arguments": object{"indexName": indexName, "queryVector": question},
		"_meta": object{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{}},
	}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(call))
	if err != nil {
		return err
	}
	req.Header = p.header.Clone()
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer struct {
		Result struct {
			IsError           bool
			StructuredContent struct{ Sources []row }
		}
		Error any
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Error != nil || answer.Result.IsError || len(answer.Result.StructuredContent.Sources) == 0 {
		return fmt.Errorf("vector_query: status %d, %v", res.StatusCode, answer)
	}
	return nil
}
