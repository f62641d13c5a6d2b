package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// outcome is what came of one attempt to deliver.
type outcome struct {
	began      time.Time
	took       time.Duration
	statusCode int    // 0 without an answer
	response   string // the beginning of the answer
	err        string // why the attempt failed; safe to show to the tenant
	retryAfter time.Duration
}

func (o outcome) ok() bool { return o.err == "" }

// gone reports whether the receiver wants no more deliveries.
func (o outcome) gone() bool { return o.statusCode == http.StatusGone }

// disables returns the reason for which a hook is disabled after this attempt.
func (o outcome) disables() string {
	if o.gone() {
		return "the address answered 410 Gone"
	}
	return fmt.Sprintf("every attempt of the last %d hours has failed, at last: %s", int(disableAfter.Hours()), o.err)
}

// message is one HTTP request.
type message struct {
	url     string
	id      string
	header  http.Header
	body    []byte
	secrets []webhook.Secret
	mask    remote.Mask // of what the header has
}

// post sends a message and returns what came of it.
func post(ctx context.Context, client *http.Client, m message) outcome {
	o := outcome{began: time.Now()}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(m.body))
	if err != nil {
		o.err = "the address cannot be used"
		return o
	}
	req.Header = m.header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ragd")
	req.Header.Set("Accept-Encoding", "identity")
	webhook.Sign(req.Header, m.id, o.began, m.body, m.secrets...)
	res, err := client.Do(req)
	if err == nil {
		o.statusCode = res.StatusCode
		o.retryAfter = retryAfter(res.Header.Get("Retry-After"))
		var answer []byte
		answer, err = io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
		_ = res.Body.Close() // what follows is not read
		o.response = excerpt(answer, m.mask)
	}
	o.took = time.Since(o.began)
	switch {
	case err != nil:
		o.err = reason(err)
	case o.statusCode >= 300 && o.statusCode < 400:
		o.err = fmt.Sprintf("answered %d: redirects are not followed, so give the hook the final address", o.statusCode)
	case o.statusCode < 200 || o.statusCode >= 300:
		o.err = fmt.Sprintf("answered %d", o.statusCode)
	}
	return o
}

// excerpt returns the beginning of an answer as text, without secrets.
func excerpt(answer []byte, mask remote.Mask) string {
	hide := mask.Text
	if len(answer) == maxAnswerBytes { // it was cut off
		hide = mask.CutText
	}
	hidden := hide(string(answer))
	text := strings.ToValidUTF8(hidden[:min(len(hidden), maxExcerptBytes)], "�")
	return strings.ReplaceAll(text, "\x00", "�") // which PostgreSQL does not store
}

// maxRetryAfter bounds what a receiver may ask for.
const maxRetryAfter = time.Hour

func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	return 0
}

// reason returns why an attempt failed, without what is known of the operator's network.
func reason(err error) string {
	var refused *fault.Error
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &refused):
		return refused.Message
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no complete answer within %d seconds", int(attemptTimeout.Seconds()))
	case errors.As(err, &dns):
		return "the name of the host was not found"
	case errors.Is(err, context.Canceled):
		return "the attempt was interrupted"
	case strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), "tls:"):
		return "the TLS connection failed: the certificate of the address is not valid for it"
	}
	return "the connection failed"
}
