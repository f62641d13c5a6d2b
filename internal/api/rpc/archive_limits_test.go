package rpc_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

// A frame has no more rows than an import can hold, and JSON no more bytes.
func TestArchivesWithManySmallRowsAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme").Index(t, "docs")
	data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	frames := framesOf(t, data)
	const usage = `{"table":"control/usage","columns":[{"name":"index_name","type":"text"}]}`
	rows := bytes.Repeat([]byte{0, 1, 0xff, 0xff, 0xff, 0xff}, 8<<20)
	out, codec, at := frame.Preamble(), frame.NewCodec(), frame.Position{}
	add := func(kind frame.Kind, content []byte) {
		head, next := at.Next(kind, len(content), sha256.Sum256(content))
		out, at = codec.Append(out, head, content), next
	}
	for _, f := range frames[:3] { // header, section, the tenant
		add(f.Kind, f.Content)
	}
	add(frame.Section, []byte(usage))
	add(frame.Rows, rows)
	wide := rebuild(t, data, func(f frame.Frame) [][]byte {
		if f.Kind == frame.Section {
			return [][]byte{[]byte(`{"table":"control/usage","columns":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`)}
		}
		return [][]byte{f.Content}
	})
	end := rebuild(t, data, func(f frame.Frame) [][]byte {
		if f.Kind == frame.End {
			return [][]byte{append(slices.Clone(f.Content), bytes.Repeat([]byte(" "), 1<<20)...)}
		}
		return [][]byte{f.Content}
	})
	for what, test := range map[string]struct {
		data []byte
		says string
	}{"rows": {out, "rows in one frame"}, "columns": {wide, "frame of JSON"}, "the last frame": {end, "frame of JSON"}} {
		_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: "bomb"}, test.data)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", what, err)
		}
		_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "bomb"})
		noError(t, err)
	}
}

// An archive has no more indexes than the tenant may have.
func TestArchivesHaveNoMoreIndexesThanTheQuota(t *testing.T) {
	t.Parallel()
	from := servicetest.New(t, service.Config{NoWorkers: true})
	acme := from.Tenant(t, "acme")
	for i := range 3 {
		acme.Index(t, fmt.Sprint("docs", i))
	}
	s := servicetest.New(t, service.Config{NoWorkers: true, MaxIndexes: 2})
	data, _ := exportTenant(t, from.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
	_, err := importTenant(t, s.Operator(), &ragdv1.ImportOptions{}, data)
	servicetest.WantCode(t, "three indexes", err, connect.CodeResourceExhausted)
	if err == nil || !strings.Contains(err.Error(), "max-indexes") {
		t.Errorf("%v", err)
	}
	_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"})
	noError(t, err)
	for quota, code := range map[float64]connect.Code{2: connect.CodeResourceExhausted, 3: 0} {
		_, err := from.Operator().UpdateTenant(t.Context(), &ragdv1.UpdateTenantRequest{TenantId: "acme", Settings: servicetest.Object(t, map[string]any{"maxIndexes": quota})})
		noError(t, err)
		data, _ := exportTenant(t, from.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
		_, err = importTenant(t, s.Operator(), &ragdv1.ImportOptions{TenantId: fmt.Sprint("own-", quota)}, data)
		if code == 0 {
			noError(t, err)
		} else {
			servicetest.WantCode(t, fmt.Sprint("a quota of ", quota), err, code)
		}
	}
}

// Issuers of an archive are those that the tenant's admin could have declared.
func TestForgedIssuersAreRefused(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme")
	imported := func(url, jwks, scope string) error {
		_, err := s.Pool.Exec(t.Context(), `
			INSERT INTO ragd.issuers (tenant_id, issuer_name, url, audiences, jwks_url, scope_claim, scope_prefix, scopes, filter_claim, bounds_claim)
			VALUES ('acme', 'own', $1, '{}', $2, 'scope', '', ARRAY[$3::text], '', '')`, url, jwks, scope)
		noError(t, err)
		data, _ := exportTenant(t, s.Operator(), &ragdv1.ExportTenantRequest{TenantId: "acme"})
		_, err = s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"})
		noError(t, err)
		_, err = importTenant(t, s.Operator(), &ragdv1.ImportOptions{}, data)
		if err != nil {
			_, gone := s.Operator().DeleteTenant(t.Context(), &ragdv1.DeleteTenantRequest{TenantId: "acme"})
			noError(t, gone)
			s.Tenant(t, "acme")
		}
		return err
	}
	for _, forged := range [][3]string{
		{"https://id.example.com", "", "operator"}, {"https://id.example.com", "", "owner"}, {"https://id.example.com", "http://id.example.com/keys", "read"},
		{"https://id.example.com", "file:///etc/keys", "read"}, {"http://id.example.com", "", "read"}, {"", "", "read"},
	} {
		servicetest.WantCode(t, fmt.Sprint(forged), imported(forged[0], forged[1], forged[2]), connect.CodeInvalidArgument)
	}
	noError(t, imported("https://id.example.com", "https://id.example.com/keys", "read"))
}
