package rpc_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// compressed returns n bytes of a pattern, compressed. A long text is a number of equal gzip members, of
// which one is made: compressing half a gigabyte takes ten seconds with the race detector.
func compressed(t testing.TB, pattern string, n int) []byte {
	t.Helper()
	const member = 8 << 20
	if n > member && n%member == 0 && member%len(pattern) == 0 {
		return bytes.Repeat(compressed(t, pattern, member), n/member)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	block := bytes.Repeat([]byte(pattern), max(1, 64<<10/len(pattern)))
	for left := n; left > 0; left -= len(block) {
		if _, err := z.Write(block[:min(left, len(block))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// allocated returns the bytes that the process allocates during call. No other test may run meanwhile.
func allocated(call func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// The services that need no credential decode tiny messages only: 512 MiB of text or of
// empty messages in a small compressed body take no memory.
func TestServicesWithoutCredentialsTakeTinyMessages(t *testing.T) {
	s := servicetest.New(t, service.Config{NoWorkers: true})
	const size = 512 << 20
	text, empty := compressed(t, "A", size), compressed(t, "\x0a\x00", size)
	const check, reflection = "/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	for _, tc := range []struct {
		name, path, contentType, encoding string
		body                              []byte
	}{
		{"JSON", check, "application/json", "Content-Encoding", text},
		{"protobuf", check, "application/proto", "Content-Encoding", empty},
		{"a gRPC message", check, "application/grpc+proto", "Grpc-Encoding", envelope(1, text)},
		{"reflection", reflection, "application/grpc+proto", "Grpc-Encoding", envelope(1, empty)},
		{"reflection, many messages", reflection, "application/grpc+proto", "Grpc-Encoding", bytes.Repeat(envelope(0, nil), 100_000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			took := allocated(func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+tc.path, bytes.NewReader(tc.body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", tc.contentType)
				r.Header.Set(tc.encoding, "gzip")
				res, err := h2c.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				_, _ = io.Copy(io.Discard, res.Body)
				if status := res.Header.Get("Grpc-Status") + res.Trailer.Get("Grpc-Status"); res.StatusCode == http.StatusOK && (status == "" || status == "0") {
					t.Errorf("answered with %d, %v", res.StatusCode, res.Trailer)
				}
			})
			if took > 16<<20 {
				t.Errorf("took %d MiB", took>>20)
			}
		})
	}
	if answer := post(t, s.URL+check, ""); answer.status != http.StatusOK || !strings.Contains(answer.body, "SERVING") {
		t.Errorf("a health check is answered with %+v", answer)
	}
}

// envelope returns a message with the prefix of the streaming protocols.
func envelope(flags byte, message []byte) []byte {
	n := len(message)
	return append([]byte{flags, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, message...)
}

// h2c speaks HTTP/2 without encryption.
var h2c = func() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}}
}()

// Pages of foreign origins and requests under foreign names are rejected before the
// credential is looked at; health checks may use any name.
func TestForeignHostsAndOriginsAreRejected(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, AllowedOrigins: []string{"https://app.example.com"}})
	acme := s.Tenant(t, "acme")
	const list, health = "/ragd.v1.IndexService/ListIndexes", "/grpc.health.v1.Health/Check"
	for _, tc := range []struct {
		name, path, host, origin string
		status                   int
	}{
		{"a program", list, "", "", http.StatusOK},
		{"localhost", list, "localhost:8484", "", http.StatusOK},
		{"a foreign name", list, "evil.example", "", http.StatusForbidden},
		{"a foreign page", list, "", "https://evil.example", http.StatusForbidden},
		{"a file", list, "", "file://localhost", http.StatusForbidden},
		{"an allowed page", list, "", "https://app.example.com", http.StatusOK},
		{"a health check under another name", health, "pod.example", "", http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+tc.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+acme.Secret)
		r.Host = tc.host
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		if status, body := do(t, r); status != tc.status {
			t.Errorf("%s: status %d, want %d: %s", tc.name, status, tc.status, body)
		}
	}
}
