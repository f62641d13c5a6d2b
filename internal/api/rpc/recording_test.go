package rpc_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/ingest/parse/transcript"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

const talk = `{"text":"The lock opens at noon. The toll is nine crowns.","segments":[
	{"start":0,"end":4,"text":" The lock opens at noon."},{"start":62.5,"end":66,"text":" The toll is nine crowns."}]}`

func TestARecordingIsSearchedByWhatIsSaidInIt(t *testing.T) {
	t.Parallel()
	var failures atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/audio/transcriptions" || r.Header.Get("Authorization") != "Bearer k" {
			http.NotFound(w, r)
			return
		}
		if failures.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, talk)
	}))
	t.Cleanup(server.Close)
	s := servicetest.New(t, service.Config{Transcription: &transcript.Config{
		BaseURL: server.URL + "/v1", APIKey: "k", Model: "whisper-1", Timeout: time.Minute, MaxBytes: 1000,
	}})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	acme.Index(t, "docs")
	other.Index(t, "docs")
	recording := []byte("OggS\x00\x02\x00\x00OpusHead\xff")
	upload := &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "harbour talk.ogg", Source: &ragdv1.UploadDocumentRequest_Content{Content: recording}}
	failures.Store(3) // two of the first attempt of the job
	d := acme.Upload(t, upload)
	if d.Status != "ready" || d.ContentType != "audio/ogg" || d.Title != "harbour talk" {
		t.Fatalf("uploaded %v", d)
	}
	res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "what is the toll"})
	if err != nil || len(res.Sources) == 0 {
		t.Fatalf("found %v, %v", res, err)
	}
	position := res.Sources[0].Metadata.Fields["position"].GetStructValue().AsMap()
	if !strings.Contains(res.Sources[0].Document, "nine crowns") || position["time"] != 0.0 || position["timeEnd"] != 66.0 {
		t.Errorf("found %q at %v", res.Sources[0].Document, position)
	}
	if res, err := other.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "what is the toll"}); err != nil || len(res.Sources) > 0 {
		t.Errorf("another tenant finds %v, %v", res, err)
	}
	archive := &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "talks.zip", Source: &ragdv1.UploadDocumentRequest_Content{Content: zipped(t, "talk.ogg", recording)}}
	failures.Store(2)
	d = acme.Upload(t, archive)
	if d.Status != "ready" {
		t.Fatalf("uploaded %v", d)
	}
	res, err = acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "what is the toll", Filter: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"position.file": structpb.NewStringValue("talk.ogg")}})})
	if err != nil || len(res.Sources) != 1 || !strings.Contains(res.Sources[0].Document, "nine crowns") {
		t.Errorf("found in an archive %v, %v", res, err)
	}
	wait.For(t, "the usage", func() bool {
		list, err := acme.ListUsage(t.Context(), &ragdv1.ListUsageRequest{Stage: "transcription", GroupBy: []string{"index", "model"}})
		return err == nil && len(list.Rows) == 1 && list.Rows[0].Calls == 2 && list.Rows[0].Seconds == 132 && list.Rows[0].Model == "transcription/whisper-1" && list.Rows[0].IndexName == "docs"
	})
	upload.Source = &ragdv1.UploadDocumentRequest_Content{Content: append(recording, make([]byte, 1000)...)}
	if _, err := acme.UploadDocument(t.Context(), upload); err == nil || !strings.Contains(err.Error(), "over the limit of 1000 of the setting transcription-max-bytes") {
		t.Errorf("a large recording: %v", err)
	}
}

// zipped returns a zip file with one member.
func zipped(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestARecordingIsRefusedWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	_, err := acme.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "a.mp3", Source: &ragdv1.UploadDocumentRequest_Content{Content: []byte("ID3\x04\x00\x00\x00\x00\x00\x00\xff")},
	})
	if err == nil || !strings.Contains(err.Error(), "content: is a recording") || !strings.Contains(err.Error(), "transcription-model") {
		t.Errorf("uploaded with %v", err)
	}
}
