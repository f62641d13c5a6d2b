package mcptool

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/mcpclient"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// Limits of what a server asks a user, and says to the log of a client.
const (
	maxAsked        = 4 // questions of one call
	maxAskedBytes   = 16 << 10
	maxMessageBytes = 2 << 10 // of a question
	maxAddressBytes = 2 << 10 // of an address that a user is asked to open
	maxLogBytes     = 4 << 10
)

// question returns a server's request for input of a user with the host that asks, so that the user can
// tell: a form, or an address to open. Errors: Precondition for another question, and for one that is too large.
func question(host string, params json.RawMessage) (json.RawMessage, error) {
	var asked struct {
		Mode    string          `json:"mode,omitempty"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema,omitempty"`
		ID      string          `json:"elicitationId,omitempty"`
		URL     string          `json:"url,omitempty"`
	}
	if err := json.Unmarshal(params, &asked); err != nil || len(params) > maxAskedBytes {
		return nil, fault.New(fault.Precondition, "%s asks the user something that is not passed on: only forms and addresses of at most %d bytes are", host, maxAskedBytes)
	}
	asked.Message = host + " asks: " + textlimit.Shorten(asked.Message, maxMessageBytes)
	switch asked.Mode {
	case "", mcp.ElicitationModeForm:
		asked.Mode, asked.ID, asked.URL = "", "", ""
	case mcp.ElicitationModeURL:
		if !opens(asked.URL) {
			return nil, fault.New(fault.Precondition, "%s asks the user to open an address that is not passed on: it must be one of https without credentials, of at most %d bytes", host, maxAddressBytes)
		}
		asked.Schema, asked.ID = nil, cmp.Or(asked.ID, rand.Text())
	default:
		return nil, fault.New(fault.Precondition, "%s asks the user in the mode %q, which is not passed on", host, textlimit.OneLine(asked.Mode, 50))
	}
	return json.Marshal(asked)
}

// opens reports whether a user can be asked to open an address: one of https, or of this machine, that does not
// pretend to be of another host.
func opens(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || len(address) > maxAddressBytes || parsed.Host == "" || parsed.User != nil {
		return false
	}
	local := parsed.Hostname() == "localhost" || net.ParseIP(parsed.Hostname()).IsLoopback()
	return parsed.Scheme == "https" || parsed.Scheme == "http" && local
}

// toOpen returns the requests of a server that answers a call with addresses that its user has to open first, as they
// go to the caller's client; nil if the error is another one.
func toOpen(host string, failed error, mask remote.Mask) (map[string]json.RawMessage, error) {
	var needs mcp.URLElicitationRequiredError
	if !errors.As(failed, &needs) || len(needs.Elicitations) == 0 {
		return nil, nil
	}
	asked := map[string]json.RawMessage{}
	for i, params := range needs.Elicitations {
		raw, err := json.Marshal(map[string]any{"method": mcp.MethodElicitationCreate, "params": params})
		if err != nil {
			return nil, err
		}
		asked[addressKey+strconv.Itoa(i)] = raw
	}
	return passedOn(host, asked, mask)
}

// addressKey is what the keys of the requests of toOpen begin with. The server does not get their answers.
const addressKey = "address."

// withoutOpened returns what the client has answered without the answers to toOpen.
func withoutOpened(answers map[string]json.RawMessage) map[string]json.RawMessage {
	rest := map[string]json.RawMessage{}
	for key, answer := range answers {
		if !strings.HasPrefix(key, addressKey) {
			rest[key] = answer
		}
	}
	return rest
}

// passedOn returns the requests of a server as they go to the caller's client. Errors: Precondition for
// requests for something else than input of the user, which the caller's model and files are not for.
func passedOn(host string, asked map[string]json.RawMessage, mask remote.Mask) (map[string]json.RawMessage, error) {
	if len(asked) > maxAsked {
		return nil, fault.New(fault.Precondition, "%s asks more than %d things at once", host, maxAsked)
	}
	out := map[string]json.RawMessage{}
	for id, raw := range asked {
		var request struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(raw, &request); err != nil || request.Method != string(mcp.MethodElicitationCreate) {
			return nil, fault.New(fault.Precondition, "%s asks the client for something else than input of its user, which is not passed on", host)
		}
		params, err := question(host, request.Params)
		if err != nil {
			return nil, err
		}
		if request.Params, err = mask.JSON(params); err != nil {
			return nil, err
		}
		if out[id], err = json.Marshal(request); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// asking returns the function that asks the user of the caller while a call is under way.
func (w With) asking(host string) mcpclient.Elicitation {
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
		var asked struct{ Mode string }
		if err := json.Unmarshal(params, &asked); err == nil && asked.Mode == mcp.ElicitationModeURL && !w.Opens {
			return nil, fault.New(fault.Precondition, "the client cannot have its user open an address")
		}
		params, err := question(host, params)
		if err != nil {
			return nil, err
		}
		return w.Ask(ctx, params)
	}
}

// levels are those of log messages.
var levels = []mcp.LoggingLevel{
	mcp.LoggingLevelDebug, mcp.LoggingLevelInfo, mcp.LoggingLevelNotice, mcp.LoggingLevelWarning,
	mcp.LoggingLevelError, mcp.LoggingLevelCritical, mcp.LoggingLevelAlert, mcp.LoggingLevelEmergency,
}

// logging returns the function that passes log messages of a session on; nil if nobody wants them.
func (w With) logging(mask remote.Mask) func(mcp.JSONRPCNotification) {
	if w.Log == nil {
		return nil
	}
	return func(n mcp.JSONRPCNotification) {
		level, _ := n.Params.AdditionalFields["level"].(string)
		if n.Method != string(mcp.MethodNotificationMessage) || !slices.Contains(levels, mcp.LoggingLevel(level)) {
			return
		}
		raw, err := json.Marshal(n.Params.AdditionalFields["data"])
		if err == nil {
			raw, err = mask.JSON(raw)
		}
		if err != nil || len(raw) > maxLogBytes {
			return
		}
		w.Log(level, json.RawMessage(raw))
	}
}

// startLogging asks a server for its log messages.
func startLogging(ctx context.Context, s *mcpclient.Session) error {
	if s.GetServerCapabilities().Logging == nil {
		return nil
	}
	var request mcp.SetLevelRequest
	request.Params.Level = mcp.LoggingLevelDebug // the client of the caller has its own level
	err := s.SetLevel(ctx, request)              //nolint:staticcheck // servers of today know it
	if mcpclient.IsBroken(err) {
		return err
	}
	return nil // a server may refuse it
}
