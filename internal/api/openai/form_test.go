package openai_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

const boundary = "multipart/form-data; boundary=b"

// field is a field of a form, with the header lines of its content.
func field(name, header, content string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"" + header + "\r\n\r\n" + content + "\r\n"
}

func TestForms(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := of(s, s.Tenant(t, "acme"))
	purpose, file := field("purpose", "", "assistants"), field("file", `; filename="a.txt"`, "one")
	for name, c := range map[string]struct {
		body   string
		status int
		param  any
	}{
		"file first":             {file + purpose + "--b--", 200, nil},
		"expiry in pieces":       {field("expires_after[seconds]", "", "3600") + file + purpose + field("expires_after[anchor]", "", "created_at") + "--b--", 200, nil},
		"no end":                 {file + purpose, 400, nil},
		"no file":                {purpose + "--b--", 400, "file"},
		"two files":              {file + file + purpose + "--b--", 400, "file"},
		"no purpose":             {file + "--b--", 400, "purpose"},
		"an empty file":          {purpose + field("file", `; filename="a.txt"`, "") + "--b--", 400, "file"},
		"no name":                {purpose + field("file", "", "one") + "--b--", 400, "file"},
		"name no UTF-8":          {purpose + field("file", "; filename=\"a\xff\"", "one") + "--b--", 400, "file"},
		"long name":              {purpose + field("file", `; filename="`+strings.Repeat("a", 600)+`"`, "one") + "--b--", 400, "file"},
		"another field":          {field("colour", "", "red") + file + purpose + "--b--", 400, "colour"},
		"long field":             {field("purpose", "", strings.Repeat("a", 5000)) + file + "--b--", 400, "purpose"},
		"many fields":            {strings.Repeat(purpose, 30) + file + "--b--", 400, nil},
		"long header of a field": {field("purpose", "\r\nX-A: "+strings.Repeat("a", 100<<10), "assistants") + file + "--b--", 400, nil},
		"many headers":           {field("purpose", strings.Repeat("\r\nX-A: aaaaaaaaa", 8000), "assistants") + file + "--b--", 400, nil},
		"much before the fields": {strings.Repeat("a", 100<<10) + "\r\n" + file + purpose + "--b--", 400, nil},
	} {
		status, answer := acme.send(t, http.MethodPost, "/v1/files", boundary, strings.NewReader(c.body))
		if status != c.status || status != 200 && errorOf(answer)["param"] != c.param {
			t.Errorf("%s: %d %v, want %d about %v", name, status, answer, c.status, c.param)
		}
	}
	endless := io.MultiReader(strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"), io.LimitReader(zeros{}, 257<<20))
	if status, answer := acme.send(t, http.MethodPost, "/v1/files", boundary, endless); status != http.StatusRequestEntityTooLarge {
		t.Errorf("257 MiB: %d %v", status, answer)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A form that no longer arrives, and a message, end with 408, after which clients try again.
func TestAStalledRequestEnds(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{MaxBodyPause: time.Second})
	acme := of(s, s.Tenant(t, "acme"))
	for path, start := range map[string]string{
		"/v1/files":      strings.TrimSuffix(field("file", `; filename="a.txt"`, "one"), "\r\n"),
		"/v1/embeddings": `{"input":`,
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 100000\r\n\r\n%s", path, acme.secret, boundary, start)
		answer, err := io.ReadAll(io.LimitReader(conn, 12))
		if err != nil || string(answer) != "HTTP/1.1 408" {
			t.Errorf("%s: %q, %v", path, answer, err)
		}
	}
}
