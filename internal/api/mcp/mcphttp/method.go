package mcphttp

import (
	"context"
	"encoding/json"
	"net/http"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// Method is a method of the revision 2026-07-28 or later that the library does not have.
type Method struct {
	// Name is the member of the parameters that the header Mcp-Name repeats.
	Name string
	// Run answers a request of a client with these capabilities about what is named. The result is a JSON object, without
	// resultType.
	Run func(ctx context.Context, has mcpgo.ClientCapabilities, name string, params json.RawMessage) (result map[string]any, failed *Failure)
}

// perform answers a request for a method of Config.Methods.
func (h *Handler) perform(w http.ResponseWriter, r *http.Request, c *call, m Method) {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
	}
	answer := map[string]any{"jsonrpc": mcpgo.JSONRPC_VERSION}
	failed := &Failure{Code: mcpgo.PARSE_ERROR, Message: "the request body is not a single JSON-RPC message"}
	if json.Unmarshal(c.message.body, &request) == nil {
		answer["id"] = request.ID
		var has mcpgo.ClientCapabilities
		var name string
		if has, name, failed = m.check(r.Header, c.message.method, request.Params); failed == nil {
			var result map[string]any
			if result, failed = m.Run(c.ctx, has, name, request.Params); failed == nil {
				result["resultType"] = mcpgo.ResultTypeComplete
				answer["result"] = result
			}
		}
	}
	writeAnswer(w, answer, failed)
}

// writeAnswer writes an answer, with the failure in it if there is one.
func writeAnswer(w http.ResponseWriter, answer map[string]any, failed *Failure) {
	status := http.StatusOK
	if failed != nil {
		answer["error"], status = failed, http.StatusBadRequest
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // fails only if the client has disconnected
}

// check checks what the library checks of its own methods: the version, the headers that repeat what the body
// says, and that the client says what it can do. It returns that, and what the request names.
func (m Method) check(header http.Header, method mcpgo.MCPMethod, params json.RawMessage) (has mcpgo.ClientCapabilities, name string, failed *Failure) {
	var given struct {
		Meta *mcpgo.Meta `json:"_meta"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &given) != nil || json.Unmarshal(params, &members) != nil {
		return has, "", &Failure{Code: mcpgo.INVALID_PARAMS, Message: "params must be an object with _meta"}
	}
	version := given.Meta.ProtocolVersion()
	switch stated := header.Get(mcpgo.HeaderProtocolVersion); {
	case version == "":
		return has, "", &Failure{Code: mcpgo.INVALID_PARAMS, Message: "_meta lacks " + mcpgo.MetaKeyProtocolVersion}
	case stated != version:
		return has, "", &Failure{Code: mcpgo.HEADER_MISMATCH, Message: "the header " + mcpgo.HeaderProtocolVersion + " must be the version that _meta says"}
	case !mcpgo.IsValidProtocolVersion(version):
		return has, "", &Failure{Code: mcpgo.UNSUPPORTED_PROTOCOL_VERSION, Message: "this protocol version is not known here"}
	}
	if err := mcpgo.ValidateStandardHeaders(header.Get, version, method, params); err != nil {
		return has, "", &Failure{Code: mcpgo.HEADER_MISMATCH, Message: err.Error()}
	}
	if json.Unmarshal(members[m.Name], &name) != nil || name == "" {
		return has, "", &Failure{Code: mcpgo.INVALID_PARAMS, Message: m.Name + " must be a text"}
	}
	if stated, ok := mcpgo.DecodeHeaderValue(header.Get(mcpgo.HeaderName)); !ok || stated != name {
		return has, "", &Failure{Code: mcpgo.HEADER_MISMATCH, Message: "the header " + mcpgo.HeaderName + " must be " + m.Name}
	}
	stated := given.Meta.ClientCapabilities()
	if stated == nil {
		return has, "", &Failure{Code: mcpgo.INVALID_PARAMS, Message: "_meta lacks " + mcpgo.MetaKeyClientCapabilities}
	}
	return *stated, name, nil
}
