package toolset

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Client is the part of a client's request that a tool of the tenant may read.
type Client struct {
	// Capabilities are those that the client has declared, in the JSON of MCP.
	Capabilities json.RawMessage
	// Responses are the client's answers to an earlier Asked, by id: objects in the JSON of MCP.
	Responses map[string]json.RawMessage
	// State is that of the Asked, "" for none. The caller has made sure that the tool gave it out.
	State string
}

// Asked asks the client of a call for input: its user, its model or its roots.
type Asked struct {
	// Requests are requests in the JSON of MCP, by id.
	Requests map[string]json.RawMessage
	// State comes back with the answers, "" for none.
	State string
}

// Addresses returns what the user is asked to open, sorted.
func (a *Asked) Addresses() []string {
	var found []string
	for _, raw := range a.Requests {
		var request struct {
			Params struct{ Mode, URL string }
		}
		if json.Unmarshal(raw, &request) == nil && request.Params.Mode == "url" {
			found = append(found, request.Params.URL)
		}
	}
	slices.Sort(found)
	return found
}

// ErrOpen returns the error for a caller whose client cannot open addresses for its user, with what to do.
func ErrOpen(tool string, addresses []string) error {
	return fault.New(fault.Precondition, "the user has to open this address in a browser before %q can go on: %s - show it to the user, and call the tool again when that is done", tool, strings.Join(addresses, " , "))
}

// LogMessage is a log message of a tool.
type LogMessage struct {
	Level string // one of MCP's, such as info
	Data  any    // a JSON value
}
