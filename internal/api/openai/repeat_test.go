package openai_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"testing"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A request with an idempotency key is carried out once, whatever it is; the boundary of a form may
// differ.
func TestARequestWithAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	c := of(s, acme, "Idempotency-Key", "one")
	upload := func(c caller, name, boundary string) (int, map[string]any) {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		_ = w.SetBoundary(boundary)
		_ = w.WriteField("purpose", "assistants")
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, "A harbour.")
		_ = w.Close()
		return c.send(t, http.MethodPost, "/v1/files", w.FormDataContentType(), &form)
	}
	_, first := upload(c, "a.txt", "left")
	_, again := upload(c, "a.txt", "right")
	if first["id"] == nil || first["id"] != again["id"] {
		t.Errorf("%v, and again %v", first, again)
	}
	if status, answer := upload(c, "b.txt", "left"); status != http.StatusBadRequest || errorOf(answer)["param"] != "Idempotency-Key" {
		t.Errorf("another file: %d %v", status, answer)
	}
	if files := of(s, acme).want(t, http.StatusOK, http.MethodGet, "/v1/files", nil)["data"].([]any); len(files) != 1 {
		t.Errorf("there are %d files", len(files))
	}
	if _, theirs := upload(of(s, s.Tenant(t, "bolt"), "Idempotency-Key", "one"), "a.txt", "left"); theirs["id"] == nil || theirs["id"] == first["id"] {
		t.Errorf("another tenant: %v", theirs)
	}

	c = of(s, acme, "Idempotency-Key", "two")
	store := c.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", map[string]any{"name": "papers"})
	if again := c.want(t, http.StatusOK, http.MethodPost, "/v1/vector_stores", map[string]any{"name": "papers"}); again["id"] != store["id"] || again["created_at"] != store["created_at"] {
		t.Errorf("%v, and again %v", store, again)
	}
	path := "/v1/vector_stores/" + store["id"].(string)
	c.want(t, http.StatusOK, http.MethodGet, path, nil)
	c.want(t, http.StatusBadRequest, http.MethodDelete, path, nil)
	c = of(s, acme, "Idempotency-Key", "three")
	for range 2 {
		c.want(t, http.StatusOK, http.MethodDelete, path, nil)
	}
	streamed := map[string]any{"model": "passages", "stream": true, "messages": []any{map[string]any{"role": "user", "content": "a"}}}
	if answer := c.want(t, http.StatusBadRequest, http.MethodPost, "/v1/chat/completions", streamed); errorOf(answer)["param"] != "Idempotency-Key" {
		t.Errorf("a stream: %v", answer)
	}
}
