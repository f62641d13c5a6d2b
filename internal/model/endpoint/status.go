package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// StatusError is an answer that is not a success.
type StatusError struct {
	Status     int
	RetryAfter time.Duration // the wait that the endpoint asked for, 0 if none
	Code       string        // the endpoint's name of the error, if any
	Message    string        // the endpoint's message, shortened; for logs
}

// Error returns the status, the code and the message, without secrets.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("status %d", e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Refused reports whether the status blames the content of the request: other content
// may be accepted.
func (e *StatusError) Refused() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge ||
		e.Status == http.StatusUnprocessableEntity
}

// codeNoQuota is the code with which OpenAI-compatible servers say 429 when the
// account has no quota left, so that retrying does not help.
const codeNoQuota = "insufficient_quota"

func (e *StatusError) transient() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return true
	case http.StatusTooManyRequests:
		return e.Code != codeNoQuota
	}
	return e.Status >= 500
}

// BadAnswerError is a successful answer whose content cannot be used: it is not JSON,
// cut off, or incomplete.
type BadAnswerError struct{ What string }

func (e *BadAnswerError) Error() string { return e.What }

// BadAnswer returns a *BadAnswerError. The text must not quote the answer, which may
// repeat what a tenant sent.
func BadAnswer(format string, args ...any) error {
	return &BadAnswerError{What: fmt.Sprintf(format, args...)}
}

// check returns nil for a success. Otherwise it reads and closes the body and returns
// a *StatusError.
func (c *Client) check(response *http.Response) error {
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // as much as can be read
	e := &StatusError{Status: response.StatusCode, RetryAfter: retryAfter(response.Header, time.Now())}
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
		return e // such answers often repeat the key
	}
	e.Code, e.Message = describe([]byte(c.redact(string(body)))) // before describe cuts it, and a key with it
	return e
}

// redact returns a text without the key and the values of headers.
func (c *Client) redact(text string) string {
	for _, secret := range append(slices.Collect(maps.Values(c.config.Headers)), c.config.APIKey) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[key]")
		}
	}
	return text
}

// describe returns the code and the message of the common error bodies:
// {"error":{"code","message"}}, {"error":"..."}, {"message"}, {"detail"}.
func describe(body []byte) (code, message string) {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		outer.Message = ""
	}
	var inner struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	var plain string
	switch {
	case bytes.HasPrefix(outer.Error, []byte("{")) && json.Unmarshal(outer.Error, &inner) == nil:
		code, message = inner.Type, inner.Message
		if s, ok := inner.Code.(string); ok && s != "" {
			code = s
		}
	case json.Unmarshal(outer.Error, &plain) == nil:
		message = plain
	case outer.Message != "":
		message = outer.Message
	default:
		message = outer.Detail
	}
	return textlimit.Shorten(code, 64), textlimit.Shorten(message, 300)
}

// retryAfter parses Retry-After-Ms, or Retry-After in seconds or as a date. It returns
// 0 if there is neither.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms / 1000)
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return bounded(seconds)
	}
	if at, err := http.ParseTime(value); err == nil {
		return bounded(at.Sub(now).Seconds())
	}
	return 0
}

// bounded converts seconds to a duration from 0 to a day. Servers may send anything,
// NaN included.
func bounded(seconds float64) time.Duration {
	const day = 24 * 60 * 60
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, day) * float64(time.Second))
}
