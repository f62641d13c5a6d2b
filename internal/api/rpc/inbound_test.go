package rpc_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// raw posts a message as it is and returns the code and message of the answer.
func raw(t *testing.T, s *servicetest.Service, secret, path, contentType string, body []byte, headers ...string) (string, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+secret)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.DefaultClient
	if strings.HasPrefix(contentType, "application/grpc") {
		client = h2c
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if client == h2c {
		status := res.Trailer.Get("Grpc-Status") + res.Header.Get("Grpc-Status")
		return map[string]string{"0": "", "3": "invalid_argument", "8": "resource_exhausted"}[status], res.Trailer.Get("Grpc-Message") + res.Header.Get("Grpc-Message")
	}
	var failed struct{ Code, Message string }
	_ = json.Unmarshal(answer, &failed) // an answer in protobuf has neither
	return failed.Code, failed.Message
}

// Lists with too many entries are rejected before they are decoded, in every protocol: 8
// MiB of empty entries would take gigabytes.
func TestListsWithTooManyEntriesAreNotDecoded(t *testing.T) {
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	const size = 8 << 20
	for _, tc := range []struct {
		path, field string
		number      byte
	}{
		{"/ragd.v1.QueryService/Rerank", "results", 2},
		{"/ragd.v1.QueryService/Embed", "texts", 2},
		{"/ragd.v1.DocumentService/SyncSource", "documents", 4},
		{"/ragd.v1.DocumentService/FindUnchanged", "documents", 4},
		{"/ragd.v1.DocumentService/DeleteDocuments", "uris", 4},
		{"/ragd.v1.VectorService/Upsert", "entries", 2},
	} {
		empty := bytes.Repeat([]byte{tc.number<<3 | 2, 0}, size/2)
		element := "{},"
		if tc.field == "texts" || tc.field == "uris" {
			element = `"",`
		}
		list := strings.TrimSuffix(strings.Repeat(element, size/len(element)), ",")
		for contentType, body := range map[string][]byte{
			"application/proto":          empty,
			"application/json":           []byte(`{"` + tc.field + `":[` + list + `]}`),
			"application/grpc+proto":     envelope(0, empty),
			"application/grpc-web+proto": envelope(0, empty),
		} {
			var code, message string
			took := allocated(func() { code, message = raw(t, s, acme.Secret, tc.path, contentType, body) })
			if code != "invalid_argument" || !strings.HasPrefix(message, tc.field+": must have at most") {
				t.Errorf("%s as %s: %s %.200s", tc.path, contentType, code, message)
			}
			if took > 10*size {
				t.Errorf("%s as %s took %d MiB", tc.path, contentType, took>>20)
			}
		}
	}
	entries, err := proto.Marshal(&ragdv1.UploadDocumentRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	if code, message := raw(t, s, acme.Secret, "/ragd.v1.DocumentService/UploadDocument", "application/proto", entries); code != "not_found" && code != "invalid_argument" {
		t.Errorf("an ordinary message: %s %s", code, message)
	}
}

// A message that would take too much memory once it is decoded is rejected, even if no
// list of it has a limit of its own.
func TestMessagesThatTakeTooMuchMemory(t *testing.T) {
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	inner := protowire.AppendTag(nil, 6, protowire.BytesType) // filter.listValue
	values := bytes.Repeat([]byte{0x0a, 0x00}, 4<<20)
	inner = protowire.AppendBytes(inner, values)
	message := protowire.AppendTag(nil, 6, protowire.BytesType)
	message = protowire.AppendBytes(message, inner)
	text := []byte(`{"filter":[` + strings.TrimSuffix(strings.Repeat("{},", 4<<20), ",") + `]}`)
	for contentType, body := range map[string][]byte{"application/proto": message, "application/json": text} {
		var code, said string
		took := allocated(func() {
			code, said = raw(t, s, acme.Secret, "/ragd.v1.QueryService/VectorQuery", contentType, body)
		})
		if code != "resource_exhausted" || !strings.Contains(said, "MiB of memory once it is decoded") || took > 100<<20 {
			t.Errorf("%s: %s %s, took %d MiB", contentType, code, said, took>>20)
		}
	}
}

// A message may be many times as large as its compressed form, but not as one can be that
// is made for it.
func TestCompressionRatio(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	for name, tc := range map[string]struct{ of, code, says string }{
		"log lines": {logLines(100_000), "", ""},
		"zeros":     {strings.Repeat(" ", 6<<20), "resource_exhausted", "300 times as large as its compressed form"},
	} {
		body, err := json.Marshal(map[string]any{"text": tc.of, "chunking": map[string]any{"strategy": "character", "maxSize": 100_000}})
		if err != nil {
			t.Fatal(err)
		}
		code, message := raw(t, s, acme.Secret, "/ragd.v1.ChunkService/ChunkText", "application/json", compressed(t, string(body), len(body)), "Content-Encoding", "gzip")
		if code != tc.code || !strings.Contains(message, tc.says) {
			t.Errorf("%s: %s %s", name, code, message)
		}
		code, message = raw(t, s, acme.Secret, "/ragd.v1.ChunkService/ChunkText", "application/grpc+json", envelope(1, compressed(t, string(body), len(body))), "Grpc-Encoding", "gzip")
		if code != tc.code || tc.code != "" && !strings.Contains(message, "300 times") {
			t.Errorf("%s over gRPC: %s %s", name, code, message)
		}
	}
	get := s.URL + "/ragd.v1.QueryService/Embed?connect=v1&encoding=proto&base64=1&compression=gzip&message=" + base64.RawURLEncoding.EncodeToString(compressed(t, "\x12\x00", 8<<20))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, get, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+acme.Secret)
	if status, body := do(t, r); status != http.StatusTooManyRequests {
		t.Errorf("in a query: %d %s", status, body)
	}
}

func logLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "2026-01-01T00:00:%02d INFO request served status=200\n", i%60)
	}
	return b.String()
}

// Large messages take memory of their own tenant only: meanwhile its small calls and
// large calls of other tenants are answered.
func TestLargeMessagesTakeMemoryOfTheirTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	vectors(t, bolt, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 1000, IndexConfig: &ragdv1.IndexConfig{Type: "flat"}})
	const senders, declared = 20, 31 << 20
	answers := make(chan string, senders)
	for range senders {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		fmt.Fprintf(conn, "POST /ragd.v1.VectorService/Upsert HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/proto\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", acme.Secret, declared)
		go func() {
			_, _ = conn.Write(make([]byte, declared)) // blocks while the service waits for memory
			answer := make([]byte, 4<<10)
			n, _ := conn.Read(answer)
			answers <- string(answer[:n])
		}()
	}
	if _, err := acme.ListIndexes(t.Context(), &ragdv1.ListIndexesRequest{}); err != nil {
		t.Errorf("a small call of the tenant: %v", err)
	}
	entries := make([]*ragdv1.Entry, 5000)
	for i := range entries {
		entries[i] = &ragdv1.Entry{Id: fmt.Sprint(i), Values: make([]float32, 1000)}
		entries[i].Values[0] = 1
	}
	if _, err := bolt.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "v", Entries: entries}); err != nil {
		t.Errorf("a large call of another tenant: %v", err)
	}
	for range senders {
		select {
		case answer := <-answers:
			if !strings.HasPrefix(answer, "HTTP/1.1 4") { // malformed, or no memory within the time
				t.Errorf("answered with %q", answer)
			}
		case <-time.After(time.Minute):
			t.Fatal("a sender is not answered")
		}
	}
}

// Large messages are decoded and encoded in slots of the processor, which tenants share;
// small ones need none.
func TestLargeMessagesAreDecodedInSlots(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	large := []byte(`{"text":"` + strings.Repeat("a b ", 200_000) + `"}`)
	malformed := append(bytes.Clone(large), '}')
	chunk := func(body []byte, headers ...string) string {
		code, _ := raw(t, s, acme.Secret, "/ragd.v1.ChunkService/ChunkText", "application/json", body, headers...)
		return code
	}
	takeAll := func() (giveBack func()) {
		var held []func()
		for range max(1, runtime.GOMAXPROCS(0)-1) {
			leave, err := s.Handlers.Processor.Enter(t.Context(), "another tenant")
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, leave)
		}
		return func() {
			for _, leave := range held {
				leave()
			}
		}
	}
	giveBack := takeAll()
	small, _ := raw(t, s, acme.Secret, "/ragd.v1.IndexService/ListIndexes", "application/json", []byte(`{}`))
	same(t, "a small message while there is no slot", small, "")
	answered := make(chan string)
	go func() { answered <- chunk(large) }()
	select {
	case code := <-answered:
		t.Errorf("a large message was answered without a slot: %q", code)
	case <-time.After(200 * time.Millisecond):
	}
	giveBack()
	same(t, "a large message once there is a slot", <-answered, "")
	same(t, "a malformed large message", chunk(malformed), "invalid_argument")
	takeAll()() // waits for ever if a call has kept its slot
}
