package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// DecodeSettings converts the settings of a tool to their struct. known lists their names for
// errors. Errors: Invalid, for unknown names too.
func DecodeSettings(given map[string]any, into any, known string) error {
	raw, err := json.Marshal(given)
	if err != nil {
		return fault.Field("settings", "cannot be written as JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fault.Field("settings."+wrong.Field, "cannot be a %s", wrong.Value)
	case err != nil:
		return fault.Field("settings", "%s: known are %s", strings.TrimPrefix(err.Error(), "json: "), known)
	}
	return nil
}

// reserved are headers that HTTP or the service sets, in addition to those that begin with Ragd-.
var reserved = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// HeaderName returns the name of a header that a tool sends as HTTP writes it. more are further
// headers that the service sets, and beginnings of their names, which end with "-". Errors:
// Invalid for a name that HTTP does not allow, or of more than maxBytes, and for a header that
// the service sets.
func HeaderName(field, name string, maxBytes int, more ...string) (string, error) {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	sets := func(header string) bool {
		return header == canonical || strings.HasSuffix(header, "-") && strings.HasPrefix(canonical, header)
	}
	switch {
	case !httpguts.ValidHeaderFieldName(name) || len(name) > maxBytes:
		return "", fault.Field(field, "a name is not one of HTTP: letters, digits and -")
	case sets("Ragd-") || slices.ContainsFunc(reserved, sets) || slices.ContainsFunc(more, sets):
		return "", fault.Field(field, "%s is set by the service", canonical)
	}
	return canonical, nil
}
