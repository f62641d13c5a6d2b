package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// signatureHeaders have the HMAC-SHA256 of the body in hexadecimal, most of them after "sha256=". Their senders, in
// this order: GitHub, Bitbucket and Jira, Gitea and Forgejo, Discourse, Notion, Linear.
var signatureHeaders = []string{
	"X-Hub-Signature-256", "X-Hub-Signature", "X-Gitea-Signature", "X-Discourse-Event-Signature", "X-Notion-Signature", "Linear-Signature",
}

// tokenHeaders have the secret itself. Their senders: GitLab, Google Drive.
var tokenHeaders = []string{"X-Gitlab-Token", "X-Goog-Channel-Token"}

// Receipt checks the signature of a message of somebody else's service. The body is written to it.
type Receipt struct {
	mac     hash.Hash
	want    [][]byte // one of them must be the sum
	granted bool     // the header alone was enough
}

// Receive begins to check a message: by the signatures of Standard Webhooks, whose key is the secret as ParseSecret reads
// it or else its bytes, by an HMAC-SHA256 of the body, or by a token, in the headers that services use for them. Errors:
// ErrHeaders, ErrTimestamp.
func Receive(header http.Header, now time.Time, secret string) (*Receipt, error) {
	if header.Get(HeaderSignature) != "" {
		key, err := ParseSecret("", secret)
		if err != nil {
			key = Secret{[]byte(secret)}
		}
		return receiveStandard(header, now, key)
	}
	for _, name := range signatureHeaders {
		given := header.Get(name)
		if given == "" {
			continue
		}
		want, err := hex.DecodeString(strings.TrimPrefix(given, "sha256="))
		if err != nil {
			return nil, ErrHeaders
		}
		return &Receipt{mac: hmac.New(sha256.New, []byte(secret)), want: [][]byte{want}}, nil
	}
	for _, name := range tokenHeaders {
		if given := header.Get(name); given != "" {
			a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret)) // of one length
			return &Receipt{mac: sha256.New(), granted: subtle.ConstantTimeCompare(a[:], b[:]) == 1}, nil
		}
	}
	return nil, ErrHeaders
}

// receiveStandard begins to check a message that is signed as Sign does. Signatures of other versions are ignored.
func receiveStandard(header http.Header, now time.Time, secret Secret) (*Receipt, error) {
	id, timestamp, signatures := header.Get(HeaderID), header.Get(HeaderTimestamp), header.Get(HeaderSignature)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" || signatures == "" {
		return nil, ErrHeaders
	}
	if at := time.Unix(seconds, 0); at.Before(now.Add(-Tolerance)) || at.After(now.Add(Tolerance)) {
		return nil, ErrTimestamp
	}
	r := &Receipt{mac: secret.mac(id, timestamp)}
	for given := range strings.FieldsSeq(signatures) {
		if rest, ok := strings.CutPrefix(given, version); ok {
			if want, err := base64.StdEncoding.Strict().DecodeString(rest); err == nil {
				r.want = append(r.want, want)
			}
		}
	}
	return r, nil
}

// Write adds a part of the body.
func (r *Receipt) Write(p []byte) (int, error) { return r.mac.Write(p) }

// Valid reports whether who sent the message knows the secret, once all of its body was written.
func (r *Receipt) Valid() bool {
	sum := r.mac.Sum(nil)
	for _, want := range r.want {
		if hmac.Equal(sum, want) {
			return true
		}
	}
	return r.granted
}
