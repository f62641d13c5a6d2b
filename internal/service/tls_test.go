package service_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/certtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A service with a certificate answers over TLS alone, to clients with a certificate, and says
// when its own ends. Probes need none where metrics are.
func TestTheServiceSpeaksTLS(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	ca, cert, key := authority.Write(t, t.TempDir(), authority.Issue(t, "ragd", expires))
	s := servicetest.New(t, service.Config{
		NoWorkers: true, TLS: httpserver.CertificateFiles{Cert: cert, Key: key, ClientCA: ca}, Metrics: service.MetricsConfig{Listen: "127.0.0.1:0"},
	})
	if !strings.HasPrefix(s.URL, "https://") {
		t.Errorf("it is at %s", s.URL)
	}
	client := func(certificates ...tls.Certificate) ragdv1connect.TenantServiceClient {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: authority.Pool(), Certificates: certificates, MinVersion: tls.VersionTLS12}}
		t.Cleanup(transport.CloseIdleConnections)
		return ragdv1connect.NewTenantServiceClient(&http.Client{Transport: transport}, s.URL, connect.WithGRPC(), connect.WithInterceptors(bearer(servicetest.OperatorKey)))
	}
	if _, err := client(authority.Issue(t, "a client", expires)).CreateTenant(t.Context(), &ragdv1.CreateTenantRequest{TenantId: "acme"}); err != nil {
		t.Error(err)
	}
	if _, err := client().GetTenant(t.Context(), &ragdv1.GetTenantRequest{TenantId: "acme"}); err == nil {
		t.Error("a client without a certificate gets an answer")
	}
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ok", "/metrics": "ragd_certificate_failing 0"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.MetricsURL(), "/metrics")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q: %v", path, want, err)
		}
	}
}

// bearer returns an interceptor that adds a credential to each call.
func bearer(secret string) connect.Interceptor {
	return connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			req.Header().Set("Authorization", "Bearer "+secret)
			return next(ctx, req)
		}
	})
}
