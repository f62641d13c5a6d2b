package connector_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func TestASourceAnnouncesChanges(t *testing.T) {
	t.Parallel()
	host := newGitHost(t, true, map[string]string{"a.md": "# A\n\nThis is a."})
	served := newSecretService(t, "127.0.0.1")
	acme, bolt := newTenant(t, served, "acme"), newTenant(t, served, "bolt")
	ctx := t.Context()
	const secret = "0123456789abcdef"
	for name, value := range map[string]string{"push": secret, "short": secret[1:]} {
		if _, err := acme.SetSecret(ctx, &ragdv1.SetSecretRequest{SecretName: name, Value: value, Hosts: &ragdv1.SecretHosts{Hosts: []string{"git.example.com"}}}); err != nil {
			t.Fatal(err)
		}
	}
	wanted := func(secretName string) *ragdv1.CreateConnectorRequest {
		req := git(&ragdv1.GitSource{Url: host.URL})
		req.PushSecretName = secretName
		return req
	}
	for name, code := range map[string]connect.Code{"missing": connect.CodeNotFound, "short": connect.CodeFailedPrecondition, "no name": connect.CodeInvalidArgument} {
		if _, err := acme.CreateConnector(ctx, wanted(name)); connect.CodeOf(err) != code {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := create(t, acme, wanted("push"))
	if got.Status != "succeeded" || got.PushSecretName != "push" || !strings.HasSuffix(got.PushUrl, "/push/acme/site") {
		t.Fatalf("first run: %v", got)
	}
	create(t, bolt, git(&ragdv1.GitSource{Url: host.URL})) // which takes none

	// push announces a change and returns the status.
	push := func(url, body, signedWith string) int {
		t.Helper()
		mac := hmac.New(sha256.New, []byte(signedWith))
		mac.Write([]byte(body))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if signedWith != "" {
			req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	host.push(t, map[string]string{"b.md": "# B\n\nThis is b."})
	before := got.StartTime.AsTime()
	for name, c := range map[string][2]string{
		"no signature":                  {got.PushUrl, ""},
		"another secret":                {got.PushUrl, secret + "!"},
		"no such connector":             {got.PushUrl + "s", secret},
		"no such tenant":                {strings.Replace(got.PushUrl, "acme", "nobody", 1), secret},
		"another tenant's, without one": {strings.Replace(got.PushUrl, "acme", "bolt", 1), secret},
	} {
		if status := push(c[0], "{}", c[1]); status != http.StatusUnauthorized {
			t.Errorf("%s: status %d", name, status)
		}
	}
	if status := push(got.PushUrl, strings.Repeat("x", 26<<20), secret); status != http.StatusBadRequest {
		t.Errorf("too long: status %d", status)
	}
	if status := push(got.PushUrl, `{"ref":"refs/heads/main"}`, secret); status != http.StatusAccepted {
		t.Errorf("signed: status %d", status)
	}
	wait.For(t, "the run", func() bool {
		c, err := acme.GetConnector(ctx, &ragdv1.GetConnectorRequest{ConnectorName: "site"})
		return err == nil && c.Status == "succeeded" && c.StartTime.AsTime().After(before) && c.Counts.Added == 1
	})
	equal(t, "documents", documentsUnder(t, acme, host.URL+"#"), []string{"HEAD:a.md v1", "HEAD:b.md v1"})
	equal(t, "documents of another tenant", documentsUnder(t, bolt, host.URL+"#"), []string{"HEAD:a.md v1"})

	if _, err := acme.PauseConnector(ctx, &ragdv1.PauseConnectorRequest{ConnectorName: "site"}); err != nil {
		t.Fatal(err)
	}
	if status := push(got.PushUrl, "{}", secret); status != http.StatusBadRequest {
		t.Errorf("paused: status %d", status)
	}
	changed, err := acme.UpdateConnector(ctx, &ragdv1.UpdateConnectorRequest{ConnectorName: "site", PushSecretName: new("")})
	if err != nil || changed.PushUrl != "" {
		t.Errorf("without announcements: %v %v", changed, err)
	}
	if status := push(got.PushUrl, "{}", secret); status != http.StatusUnauthorized {
		t.Errorf("without announcements: status %d", status)
	}
}
