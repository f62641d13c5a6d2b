package httpserver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/logrepeat"
)

func TestOneLineARequest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		handle http.HandlerFunc
		want   map[string]any
	}{
		{
			name: "an answer",
			handle: func(w http.ResponseWriter, r *http.Request) {
				httpserver.Add(r.Context(), "tenant", "acme")
				_, _ = w.Write([]byte("ok"))
			},
			want: map[string]any{"level": "DEBUG", "status": 200.0, "code": "ok", "tenant": "acme"},
		},
		{
			name: "a refusal",
			handle: func(w http.ResponseWriter, r *http.Request) {
				httpserver.Fail(r.Context(), fault.New(fault.Denied, "no"))
				w.WriteHeader(http.StatusForbidden)
			},
			want: map[string]any{"level": "INFO", "status": 403.0, "code": "denied", "err": "no"},
		},
		{
			name: "a failure of ours",
			handle: func(w http.ResponseWriter, r *http.Request) {
				httpserver.Fail(r.Context(), errors.New("disk full"))
				w.WriteHeader(http.StatusInternalServerError)
			},
			want: map[string]any{"level": "ERROR", "status": 500.0, "code": "internal", "err": "disk full"},
		},
		{
			name: "an answer that was cut off",
			handle: func(_ http.ResponseWriter, r *http.Request) {
				httpserver.Fail(r.Context(), errors.New("panic"))
				panic(http.ErrAbortHandler)
			},
			want: map[string]any{"level": "ERROR", "status": 0.0, "code": "internal", "err": "panic"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, "/x", nil)
			r.Header.Set("X-Request-Id", "from-caller")
			func() {
				defer func() { _ = recover() }()
				httpserver.Log(log, nil, nil)(tc.handle).ServeHTTP(w, r)
			}()
			var got map[string]any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("not one line: %v: %s", err, out.String())
			}
			delete(got, "time")
			delete(got, "duration_ms")
			for key, value := range map[string]any{"msg": "request", "method": "POST", "path": "/x", "request_id": "from-caller"} {
				tc.want[key] = value
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if id := w.Header().Get("X-Request-Id"); id != "from-caller" {
				t.Errorf("answered with request id %q", id)
			}
		})
	}
}

func TestOddRequestIDsAreReplaced(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"", "a b", "a\x7f", "ä", strings.Repeat("a", 65)} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["X-Request-Id"] = []string{given}
		httpserver.Log(slog.New(slog.DiscardHandler), nil, nil)(http.NotFoundHandler()).ServeHTTP(w, r)
		if id := w.Header().Get("X-Request-Id"); len(id) != 16 || id == given {
			t.Errorf("%q became %q", given, id)
		}
	}
}

// A caller that is refused again and again does not fill the log, and the lines have bounded texts.
func TestAFloodOfRefusalsIsSummedUp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	repeats := logrepeat.NewRequests(log)
	const requests = 1000
	handler := httpserver.Log(log, repeats, nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bolt" {
			httpserver.Add(r.Context(), "tenant", "bolt")
		} else {
			httpserver.Add(r.Context(), "tenant", "acme", "subject", "key")
		}
		httpserver.Fail(r.Context(), fault.New(fault.Invalid, "no such field %s", strings.Repeat("x", 100_000)))
		w.WriteHeader(http.StatusBadRequest)
	}))
	for range requests {
		r := httptest.NewRequest(http.MethodPost, "/"+strings.Repeat("y", 10_000), nil)
		r.RemoteAddr = "[2001:db8::1:2]:4000"
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/bolt", nil))
	repeats.Close()
	type entry struct {
		Msg, Tenant, Path, Err string
		LeftOut                int `json:"left_out"`
	}
	written, leftOut, other := 0, 0, 0
	for line := range strings.Lines(out.String()) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Tenant == "bolt":
			other++
		case e.Msg == "request":
			written++
		default:
			leftOut += e.LeftOut
		}
		if len(line) > 2000 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if written > 20 || written+leftOut != requests || other != 1 {
		t.Errorf("%d lines and %d left out of %d requests; %d lines of another tenant", written, leftOut, requests, other)
	}
}
