package rpc_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/rpc"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

func TestCallsWithoutAValidKeyAreRejected(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	ctx := t.Context()
	revoked, err := acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{})
	if err != nil {
		t.Fatal(err)
	}
	works := func(secret string) error { // and is cached
		_, err := s.Client(secret).ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
		return err
	}
	if err := works(revoked.Secret); err != nil {
		t.Fatal(err)
	}
	var soon *ragdv1.CreateApiKeyResponse
	for life := 300 * time.Millisecond; ; life *= 2 { // until the machine is fast enough to use it
		if soon, err = acme.CreateApiKey(ctx, &ragdv1.CreateApiKeyRequest{ExpireTime: timestamppb.New(time.Now().Add(life))}); err != nil {
			t.Fatal(err)
		}
		if err = works(soon.Secret); err == nil {
			break
		}
		if time.Now().Before(soon.ApiKey.ExpireTime.AsTime()) {
			t.Fatalf("the expiring key does not work yet: %v", err)
		}
	}
	if _, err := acme.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: revoked.ApiKey.ApiKeyId}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the key to expire", func() bool { return time.Now().After(soon.ApiKey.ExpireTime.AsTime()) })

	var first string
	for name, secret := range map[string]string{
		"none": "", "unknown": "ragd_aaaaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "not ours": "hunter2",
		"revoked": revoked.Secret, "expired": soon.Secret, "a prefix": revoked.Secret[:20], "huge": strings.Repeat("x", 10_000),
		"another's id": acme.Secret[:len("ragd_")+12] + revoked.Secret[len("ragd_")+12:],
	} {
		t.Run(name, func(t *testing.T) {
			for _, service := range rpc.ServiceNames() {
				res := post(t, s.URL+"/"+service+"/Anything", secret)
				if res.status != http.StatusUnauthorized {
					t.Errorf("%s answers %d: %s", service, res.status, res.body)
				}
				if res.challenge == "" {
					t.Errorf("%s sends no WWW-Authenticate", service)
				}
				if secret == "" {
					if !strings.Contains(res.body, "no API key was sent") {
						t.Errorf("%s answers %s", service, res.body)
					}
					continue
				}
				if first == "" {
					first = res.body
				}
				if res.body != first { // the answer must not tell why
					t.Errorf("answers differ: %s and %s", first, res.body)
				}
			}
		})
	}
}

type answer struct {
	status          int
	body, challenge string
}

func post(t *testing.T, url, secret string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, string(body), res.Header.Get("WWW-Authenticate")}
}

func TestOperatorsMustNameATenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme").Index(t, "docs")
	ctx := t.Context()
	_, err := s.Operator().ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "no tenant", err, connect.CodeInvalidArgument)
	_, err = s.Operator("Ragd-Tenant", "nobody").ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "an unknown tenant", err, connect.CodeNotFound)
	_, err = s.Operator("Ragd-Tenant", `acme"; DROP SCHEMA ragd; --`).ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	servicetest.WantCode(t, "a malformed tenant", err, connect.CodeInvalidArgument)
	list, err := s.Operator("Ragd-Tenant", "acme").ListIndexes(ctx, &ragdv1.ListIndexesRequest{})
	if err != nil || len(list.IndexNames) != 1 {
		t.Errorf("acme's indexes = %v, %v", list, err)
	}
}

// No admin manages a key with rights that it lacks: a key with a mandatory filter neither
// sees nor revokes one that shows more.
func TestAdminsManageOnlyKeysWithoutMoreRights(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	bolt := s.Tenant(t, "bolt")
	ctx := t.Context()
	made := func(c servicetest.Client, scope string, mandatory map[string]any) *ragdv1.CreateApiKeyResponse {
		t.Helper()
		req := &ragdv1.CreateApiKeyRequest{Scopes: []string{scope}}
		if mandatory != nil {
			req.MandatoryFilter = servicetest.Object(t, mandatory)
		}
		res, err := c.CreateApiKey(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	red, blue := map[string]any{"team": "red"}, map[string]any{"team": "blue"}
	root := made(acme, "admin", nil)
	admin := s.Client(made(acme, "admin", red).Secret)
	more := map[string]*ragdv1.CreateApiKeyResponse{
		"an unfiltered admin's": root, "an unfiltered reader's": made(acme, "read", nil), "another filter's": made(acme, "read", blue),
		"a wider filter's":  made(acme, "read", map[string]any{"$or": []any{red, blue}}),
		"another tenant's":  made(bolt, "read", red),
		"an operator's":     made(s.Operator(), "operator", nil),
		"one that is blank": {ApiKey: &ragdv1.ApiKey{ApiKeyId: "aaaaaaaaaaaa"}},
	}
	fewer := map[string]*ragdv1.CreateApiKeyResponse{
		"the same filter's": made(acme, "admin", red), "a narrower filter's": made(acme, "write", map[string]any{"team": "red", "year": 2024}),
		"its own": made(admin, "admin", nil), "its own, narrower": made(admin, "read", map[string]any{"year": map[string]any{"$gt": 2000}}),
	}
	for name, key := range more {
		id := key.ApiKey.ApiKeyId
		_, err := admin.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: id})
		servicetest.WantCode(t, "RevokeApiKey of "+name, err, connect.CodeNotFound)
		if err != nil && !strings.Contains(err.Error(), "there is no API key with the id "+id) {
			t.Errorf("RevokeApiKey of %s tells why: %v", name, err)
		}
	}
	listed := map[string]bool{}
	for token, more := "", true; more; more = token != "" {
		page, err := admin.ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range page.ApiKeys {
			listed[key.ApiKeyId] = true
		}
		token = page.NextPageToken
	}
	if len(listed) != len(fewer)+1 { // and the admin's own
		t.Errorf("ListApiKeys shows %d keys: %v", len(listed), listed)
	}
	for name, key := range fewer {
		if !listed[key.ApiKey.ApiKeyId] {
			t.Errorf("ListApiKeys does not show %s", name)
		}
		if _, err := admin.RevokeApiKey(ctx, &ragdv1.RevokeApiKeyRequest{ApiKeyId: key.ApiKey.ApiKeyId}); err != nil {
			t.Errorf("RevokeApiKey of %s: %v", name, err)
		}
	}
	if _, err := s.Client(root.Secret).ListApiKeys(ctx, &ragdv1.ListApiKeysRequest{}); err != nil {
		t.Errorf("the unfiltered admin's key does not work any more: %v", err)
	}
}
