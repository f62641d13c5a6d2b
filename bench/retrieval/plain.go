package main

import (
	"bytes"
	"context"
	"encoding/base64"
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

// query returns the ids of the nearest vectors with the field set to 1; an empty field means all vectors.
func (p *plainMCP) query(ctx context.Context, question []float32, field string) ([]string, error) {
	type object map[string]any
	arguments := object{"indexName": indexName, "queryVector": base64.StdEncoding.EncodeToString(floats(question))}
	if field != "" {
		arguments["filter"] = object{field: 1}
	}
	call, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
		"name": "vector_query", "arguments": arguments,
		"_meta": object{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": object{}},
	}})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(call))
	if err != nil {
		return nil, err
	}
	req.Header = p.header.Clone()
	res, err := p.client.Do(req)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	if answer.Error != nil || answer.Result.IsError || len(answer.Result.StructuredContent.Sources) == 0 {
		return nil, fmt.Errorf("vector_query: status %d, %v", res.StatusCode, answer)
	}
	ids := make([]string, len(answer.Result.StructuredContent.Sources))
	for n, source := range answer.Result.StructuredContent.Sources {
		ids[n] = source.ID
	}
	return ids, nil
}
