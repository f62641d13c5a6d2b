package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/transcript"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// meter keeps what it counts.
type meter struct {
	calls   []string
	refuses error
}

func (m *meter) Admit(context.Context, string) error { return m.refuses }

func (m *meter) Transcribed(_ context.Context, tenant, model string, seconds float64, input, output int) {
	m.calls = append(m.calls, fmt.Sprintf("%s %s %v %d %d", tenant, model, seconds, input, output))
}

func TestReader(t *testing.T) {
	t.Parallel()
	type call struct{ path, key, model, format, language, name, mediaType, content string }
	var mu sync.Mutex
	var calls []call
	status, body := http.StatusOK, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		c := call{path: r.URL.Path, key: r.Header.Get("Authorization"), model: r.FormValue("model"), format: r.FormValue("response_format"), language: r.FormValue("language")}
		if file, header, err := r.FormFile("file"); err == nil {
			content, _ := io.ReadAll(file)
			c.name, c.mediaType, c.content = header.Filename, header.Header.Get("Content-Type"), string(content)
		}
		calls = append(calls, c)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	config := transcript.Config{BaseURL: server.URL + "/v1", APIKey: "secret-key", Model: "whisper-1", Language: "en", Timeout: time.Minute, MaxBytes: 100}
	counted := &meter{}
	recording := []byte("fLaC\x00\xff")
	read := func(answerStatus int, answer string) (said []parse.Said, _ []call, err error) {
		mu.Lock()
		calls, status, body = nil, answerStatus, answer
		mu.Unlock()
		_, err = transcript.New(config, counted).Parse(t.Context(), "acme", parse.Source{Content: recording}, func(ctx context.Context, src parse.Source) (parse.Document, error) {
			if src.Recordings != config.MaxBytes {
				t.Errorf("recordings of up to %d bytes are read", src.Recordings)
			}
			if src.Transcripts == nil {
				return parse.Document{Unheard: [][]byte{recording, recording}}, nil
			}
			said = src.Transcripts[parse.RecordingKey(recording)].Said
			return parse.Parse(ctx, src)
		})
		mu.Lock()
		defer mu.Unlock()
		return said, calls, err
	}

	said, asked, err := read(200, `{"task":"transcribe","language":"english","duration":"8.4","text":"One. Two.","segments":[{"id":0,"start":0.0,"end":3.2,"text":" One."},{"id":1,"start":3.2,"end":8.4,"text":" Two."}]}`)
	if want := []parse.Said{{Start: 0, End: 3.2, Text: " One."}, {Start: 3.2, End: 8.4, Text: " Two."}}; err != nil || !slices.Equal(said, want) {
		t.Errorf("read %v, %v", said, err)
	}
	if want := (call{"/v1/audio/transcriptions", "Bearer secret-key", "whisper-1", "verbose_json", "en", "recording.flac", "audio/flac", "fLaC\x00\xff"}); len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %+v, want %+v", asked, want)
	}
	if said, _, err = read(200, `{"text":" One piece. "}`); err != nil || len(said) != 1 || said[0] != (parse.Said{Text: "One piece."}) {
		t.Errorf("without segments: %v, %v", said, err)
	}
	if want := []string{"acme transcription/whisper-1 8.4 0 0", "acme transcription/whisper-1 0 0 0"}; !slices.Equal(counted.calls, want) {
		t.Errorf("counted %q, want %q", counted.calls, want)
	}
	counted.calls = nil
	for _, answer := range []string{`{"text":"a","duration":61.5,"usage":{"input_tokens":30,"output_tokens":4}}`, `{"text":"a","duration":"NaN","usage":{"input_tokens":-1}}`, `{"segments":[{"end":7,"text":"a"}]}`} {
		if _, _, err := read(200, answer); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"acme transcription/whisper-1 61.5 30 4", "acme transcription/whisper-1 0 0 0", "acme transcription/whisper-1 7 0 0"}; !slices.Equal(counted.calls, want) {
		t.Errorf("counted %q, want %q", counted.calls, want)
	}
	counted.refuses = fault.New(fault.Exhausted, "no tokens are left")
	if _, asked, err := read(200, ""); !errors.Is(err, counted.refuses) || len(asked) != 0 {
		t.Errorf("without tokens: %v after %d calls", err, len(asked))
	}
	counted.refuses = nil
	for _, tc := range []struct {
		status, calls int
		body, says    string
		kind          fault.Kind
	}{
		{400, 1, `{"error":{"message":"response_format verbose_json is not supported"}}`, "transcription-model does not answer with verbose_json", fault.Invalid},
		{415, 1, "", "of a format that the endpoint does not read", fault.Invalid},
		{401, 1, "secret-key is wrong", "should check the setting transcription-api-key", fault.Precondition},
		{404, 1, "", "should check the setting transcription-base-url", fault.Precondition},
		{302, 1, "", "should check the setting transcription-base-url", fault.Precondition},
		{503, 2, "", "the endpoint of transcription is failing", fault.Unavailable},
		{200, 2, "<html>", "an answer that makes no sense", fault.Unavailable},
		{200, 2, `{"segments":[{"start":"soon"}]}`, "an answer that makes no sense", fault.Unavailable},
	} {
		_, asked, err := read(tc.status, tc.body)
		if fault.KindOf(err) != tc.kind || !strings.Contains(fault.Public(err), tc.says) || len(asked) != tc.calls || strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%d %s: %v after %d calls, want %s after %d", tc.status, tc.body, err, len(asked), tc.says, tc.calls)
		}
	}
	server.Close()
	if _, _, err := read(200, ""); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a closed endpoint: %v", err)
	}
}

func TestCheckNamesTheSetting(t *testing.T) {
	t.Parallel()
	good := transcript.Config{BaseURL: "http://localhost:8000/v1", Model: "m", Timeout: time.Second, MaxBytes: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*transcript.Config){
		"transcription-model":     func(c *transcript.Config) { c.Model = "" },
		"transcription-base-url":  func(c *transcript.Config) { c.BaseURL = "localhost:8000" },
		"transcription-language":  func(c *transcript.Config) { c.Language = "English, please" },
		"transcription-timeout":   func(c *transcript.Config) { c.Timeout = -time.Second },
		"transcription-max-bytes": func(c *transcript.Config) { c.MaxBytes = 0 },
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want one of %s", err, want)
		}
	}
}
