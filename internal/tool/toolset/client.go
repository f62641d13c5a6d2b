package toolset

import "encoding/json"

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

// LogMessage is a log message of a tool.
type LogMessage struct {
	Level string // one of MCP's, such as info
	Data  any    // a JSON value
}
