package answerbox

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// maxBytes is what the box may weigh, uncompressed.
const maxBytes = 30_000

func TestTheScriptIsSmall(t *testing.T) {
	t.Parallel()
	if len(script) > maxBytes || len(script) < 1000 {
		t.Errorf("the script has %d bytes, of at most %d", len(script), maxBytes)
	}
	for _, risky := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"} {
		if bytes.Contains(script, []byte(risky)) {
			t.Errorf("the script has %s", risky)
		}
	}
}

// Pages of all origins load the script, also with crossorigin, and caches ask with its version.
func TestTheScriptIsServedToAllPages(t *testing.T) {
	t.Parallel()
	handler := Script()
	get := func(headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	plain := get("Origin", "https://docs.example.com")
	if !bytes.Equal(plain.Body.Bytes(), script) {
		t.Error("the answer is not the script")
	}
	for name, want := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin",
		"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Credentials": "",
	} {
		if got := plain.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	packed, err := gzip.NewReader(get("Accept-Encoding", "gzip").Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(packed); err != nil || !bytes.Equal(body, script) {
		t.Errorf("the compressed answer is not the script: %v", err)
	}
	if res := get("If-None-Match", plain.Header().Get("ETag")); res.Code != http.StatusNotModified {
		t.Errorf("a cache that has the script gets %d", res.Code)
	}
	if res := get("If-None-Match", plain.Header().Get("ETag"), "Accept-Encoding", "gzip"); res.Code != http.StatusOK {
		t.Errorf("a cache that has the other form gets %d", res.Code)
	}
}
