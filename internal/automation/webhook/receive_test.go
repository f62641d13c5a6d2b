package webhook_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/automation/webhook"
)

// GitHub's documents have this secret, body and signature.
const (
	hubSecret    = "It's a Secret to Everybody"
	hubBody      = "Hello, World!"
	hubSignature = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

func TestMessagesOfServicesAreChecked(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_750_000_000, 0)
	standard := func(secret string) http.Header {
		parsed, err := webhook.ParseSecret("", secret)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		webhook.Sign(h, "msg_1", now, []byte(hubBody), parsed)
		return h
	}
	key := webhook.NewSecret().Text()
	old := standard(key)
	old.Set(webhook.HeaderTimestamp, "1")
	for name, c := range map[string]struct {
		header       http.Header
		secret, body string
		want         bool
		err          error
	}{
		"GitHub":                {header: one("X-Hub-Signature-256", "sha256="+hubSignature), want: true},
		"Jira":                  {header: one("X-Hub-Signature", "sha256="+hubSignature), want: true},
		"Gitea":                 {header: one("X-Gitea-Signature", hubSignature), want: true},
		"Discourse":             {header: one("X-Discourse-Event-Signature", "sha256="+hubSignature), want: true},
		"Notion":                {header: one("X-Notion-Signature", "sha256="+hubSignature), want: true},
		"Linear":                {header: one("Linear-Signature", hubSignature), want: true},
		"GitLab":                {header: one("X-Gitlab-Token", hubSecret), want: true},
		"Google":                {header: one("X-Goog-Channel-Token", hubSecret), want: true},
		"Standard Webhooks":     {header: standard(key), secret: key, want: true},
		"another body":          {header: one("X-Hub-Signature-256", "sha256="+hubSignature), body: "Hello, World?"},
		"another secret":        {header: one("X-Hub-Signature-256", "sha256="+hubSignature), secret: "It's a secret to everybody"},
		"another token":         {header: one("X-Gitlab-Token", hubSecret+"!")},
		"another key":           {header: standard(key), secret: webhook.NewSecret().Text()},
		"SHA-1":                 {header: one("X-Hub-Signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59"), err: webhook.ErrHeaders},
		"an empty sum":          {header: one("X-Hub-Signature-256", "sha256="), body: hubBody},
		"a short sum":           {header: one("Linear-Signature", hubSignature[:16])},
		"an old message":        {header: old, secret: key, err: webhook.ErrTimestamp},
		"no signature":          {header: http.Header{}, err: webhook.ErrHeaders},
		"an empty token":        {header: one("X-Gitlab-Token", ""), err: webhook.ErrHeaders},
		"a signature, no token": {header: http.Header{"X-Hub-Signature-256": {"sha256=00"}, "X-Gitlab-Token": {hubSecret}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret, body := c.secret, c.body
			if secret == "" {
				secret = hubSecret
			}
			if body == "" {
				body = hubBody
			}
			receipt, err := webhook.Receive(c.header, now, secret)
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			if _, err := io.Copy(receipt, strings.NewReader(body)); err != nil {
				t.Fatal(err)
			}
			if got := receipt.Valid(); got != c.want {
				t.Errorf("valid %t", got)
			}
		})
	}
}

// one returns a header with one field.
func one(name, value string) http.Header {
	h := http.Header{}
	h.Set(name, value)
	return h
}
