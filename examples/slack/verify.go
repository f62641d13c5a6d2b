package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// window is how old, or how far ahead, a signed request may be. Slack recommends five minutes.
	window = 5 * time.Minute
	// retries is how long Slack repeats an event that was not acknowledged, rounded up.
	retries = 2 * time.Hour
	maxBody = 1 << 20
)

var errSignature = errors.New("the signature is not that of Slack")

// verify returns the body of a request that Slack has signed, which says so in X-Slack-Signature: v0= and the HMAC of
// the version, the timestamp and the body.
func (a *app) verify(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	stamp, signature := r.Header.Get("X-Slack-Request-Timestamp"), r.Header.Get("X-Slack-Signature")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return nil, errSignature
	}
	if age := a.now().Sub(time.Unix(seconds, 0)); age > window || age < -window {
		return nil, errors.New("the request is too old")
	}
	if !hmac.Equal([]byte(signature), []byte(sign(a.secret, stamp, body))) {
		return nil, errSignature
	}
	if !a.seen.first("signature "+signature, 2*window) {
		return nil, errors.New("the request was received before")
	}
	return body, nil
}

// sign returns the signature of a body at a time in seconds.
func sign(secret, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// memory knows what was seen, for a time. Safe for concurrent use.
type memory struct {
	mu    sync.Mutex
	until map[string]time.Time
	now   func() time.Time
}

// first reports whether a name is seen for the first time, and remembers it for a time.
func (m *memory) first(name string, keep time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for known, until := range m.until {
		if now.After(until) {
			delete(m.until, known)
		}
	}
	if _, known := m.until[name]; known {
		return false
	}
	m.until[name] = now.Add(keep)
	return true
}
