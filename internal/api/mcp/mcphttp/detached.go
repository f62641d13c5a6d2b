package mcphttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync/atomic"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/api/jsonmessage"
)

// The library decodes a message about eight times, its arguments included, and encodes an
// answer level by level, each time with all that is below. With Config.Detached it gets
// neither: the arguments of a tool call pass it by in the context, and instead of the answer
// it encodes two marks, which are replaced when the encoded message is written.

// detached holds what passes the library by in one tool call.
type detached struct {
	arguments json.RawMessage // nil if they are in the message
	splices   bool            // marks are replaced
	// answer is nil until the tool has returned. Notifications are written meanwhile, by
	// another goroutine.
	answer atomic.Pointer[toolAnswer]
}

// toolAnswer replaces the marks, as JSON. structured is nil for a text alone.
type toolAnswer struct{ text, structured []byte }

type detachedKey struct{}

// Arguments returns the arguments of the tool call in ctx as JSON, or nil if the library
// has them.
func Arguments(ctx context.Context) json.RawMessage {
	if d, ok := ctx.Value(detachedKey{}).(*detached); ok {
		return d.arguments
	}
	return nil
}

// Result returns the result of the tool call in ctx, whose structured content is valid JSON; nil for
// none. Errors: for text that is not UTF-8.
func Result(ctx context.Context, text string, structured json.RawMessage) (*mcpgo.CallToolResult, error) {
	d, ok := ctx.Value(detachedKey{}).(*detached)
	if !ok || !d.splices {
		return newResult(text, structured), nil
	}
	encoded, err := jsonmessage.AppendString(nil, text)
	if err != nil {
		return nil, err
	}
	d.answer.Store(&toolAnswer{encoded, structured})
	if structured == nil {
		return newResult(textMark, nil), nil
	}
	return newResult(textMark, json.RawMessage(`"`+structuredMark+`"`)), nil
}

func newResult(text string, structured json.RawMessage) *mcpgo.CallToolResult {
	result := &mcpgo.CallToolResult{Content: []mcpgo.Content{mcpgo.NewTextContent(text)}}
	if structured != nil {
		result.StructuredContent = structured
	}
	return result
}

// Marks for the two forms of an answer. No caller knows them.
var textMark, structuredMark = "text " + rand.Text(), "structured " + rand.Text()

// splice returns the encoded message p with the answer in place of the marks. p without
// them is returned as it is.
func (d *detached) splice(p []byte) []byte {
	if d == nil {
		return p
	}
	a := d.answer.Load()
	if a == nil {
		return p
	}
	before, rest, hasText := bytes.Cut(p, []byte(`"`+textMark+`"`))
	between, after, hasStructured := bytes.Cut(rest, []byte(`"`+structuredMark+`"`))
	if !hasText || hasStructured != (a.structured != nil) { // a notification, or another answer
		return p
	}
	whole := make([]byte, 0, len(p)+len(a.text)+len(a.structured))
	for _, piece := range [][]byte{before, a.text, between, a.structured, after} {
		whole = append(whole, piece...)
	}
	return whole
}

// detach returns the message of a tool call without its arguments, and the arguments. It
// returns body and nil for other messages, and for those which decoders might read in
// different ways.
func detach(body []byte) (rest []byte, arguments json.RawMessage) {
	var call, params bool
	var inner, found [2]int // ranges of the arguments in the last value and in params
	whole := jsonmessage.NestedMembers(body, 2, func(level int, name []byte, begin, end int) bool {
		switch key := string(name); {
		case level > 1:
			if key == "arguments" && inner[1] == 0 {
				inner = [2]int{begin, end}
				return true
			}
			return !strings.EqualFold(key, "arguments")
		case key == "method":
			call = string(body[begin:end]) == `"`+string(mcpgo.MethodToolsCall)+`"`
			return call
		case key == "params" && !params:
			params, found = true, inner
		case strings.EqualFold(key, "method") || strings.EqualFold(key, "params"):
			return false
		}
		inner = [2]int{}
		return true
	})
	if !whole || !call || found[1] == 0 {
		return body, nil
	}
	const nothing = "{}"
	arguments = body[found[0]:found[1]:found[1]]
	rest = make([]byte, 0, len(body)-len(arguments)+len(nothing))
	rest = append(append(rest, body[:found[0]]...), nothing...)
	return append(rest, body[found[1]:]...), arguments
}
