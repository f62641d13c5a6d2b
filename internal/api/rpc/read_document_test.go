package rpc_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// download returns the document and the content of a download.
func download(t *testing.T, c servicetest.Client, req *ragdv1.DownloadDocumentRequest) (*ragdv1.Document, []byte, error) {
	t.Helper()
	stream, err := c.DownloadDocument(t.Context(), req)
	if err != nil {
		return nil, nil, err
	}
	var document *ragdv1.Document
	var content []byte
	for stream.Receive() {
		if d := stream.Msg().GetDocument(); d != nil {
			document = d
		}
		content = append(content, stream.Msg().GetContent()...)
	}
	return document, content, errors.Join(stream.Err(), stream.Close())
}

func wantDownloaded(t *testing.T, c servicetest.Client, req *ragdv1.DownloadDocumentRequest, want []byte) {
	t.Helper()
	d, content, err := download(t, c, req)
	if err != nil || !bytes.Equal(content, want) {
		t.Fatalf("%v: %d bytes of %d, %v", req, len(content), len(want), err)
	}
	sum := sha256.Sum256(want)
	if d.ByteSize != uint32(len(want)) || d.ContentSha256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%v: document %v", req, d)
	}
}

func TestADocumentIsDownloadedAsItWasUploaded(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	for _, name := range []string{"handbook.pdf", "tides.html", "notes.txt"} {
		content := sample(t, "files/"+name)
		d := c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: name, Source: content})
		wantDownloaded(t, c, &ragdv1.DownloadDocumentRequest{IndexName: "docs", DocumentId: d.DocumentId}, content.Content)
		wantDownloaded(t, c, &ragdv1.DownloadDocumentRequest{Uri: name}, content.Content)
	}
	_, _, err := download(t, c, &ragdv1.DownloadDocumentRequest{Uri: "notes.txt", StartByte: 1 << 20})
	servicetest.WantCode(t, "a range beyond the end", err, connect.CodeInvalidArgument)
	_, _, err = download(t, c, &ragdv1.DownloadDocumentRequest{Uri: "nothing.txt"})
	servicetest.WantCode(t, "an unknown document", err, connect.CodeNotFound)
}

// A large document is stored in segments and sent in pieces that are smaller.
func TestALargeDocumentIsDownloadedInPieces(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	c.Index(t, "docs")
	content := []byte(strings.Repeat("All ships moor at the quay before the tide falls.\n", 700_000)) // 33 MiB
	upload, err := c.UploadDocuments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "log.txt"}
	parts := []*ragdv1.UploadDocumentsRequest{{Part: &ragdv1.UploadDocumentsRequest_Document{Document: first}}}
	for rest := range slices.Chunk(content, 10<<20) {
		parts = append(parts, &ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Content{Content: rest}})
	}
	for _, part := range parts {
		if err := upload.Send(part); err != nil {
			t.Fatal(err)
		}
	}
	if res, err := upload.CloseAndReceive(); err != nil || res.Results[0].Error != nil {
		t.Fatal(res, err)
	}
	stream, err := c.DownloadDocument(t.Context(), &ragdv1.DownloadDocumentRequest{Uri: "log.txt"})
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for stream.Receive() {
		piece := stream.Msg().GetContent()
		if len(piece) > 1<<20 {
			t.Fatalf("a piece has %d bytes", len(piece))
		}
		h.Write(piece)
	}
	sum := sha256.Sum256(content)
	if stream.Err() != nil || !bytes.Equal(h.Sum(nil), sum[:]) {
		t.Errorf("downloaded other bytes: %v", stream.Err())
	}
	const boundary = 8 << 20 // of the stored segments
	_, part, err := download(t, c, &ragdv1.DownloadDocumentRequest{Uri: "log.txt", StartByte: boundary - 7, EndByte: boundary + 9})
	if err != nil || !bytes.Equal(part, content[boundary-7:boundary+9]) {
		t.Errorf("a range over two segments = %q, %v", part, err)
	}
	_, err = c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{Uri: "log.txt"})
	servicetest.WantCode(t, "the text of a document that was not read", err, connect.CodeFailedPrecondition)
}

// The positions of chunks are those in the text, whatever the format of the file.
func TestChunksPointIntoTheTextOfTheirDocument(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	files, err := filepath.Glob("../../ingest/parse/testdata/files/*")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		d, err := c.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: name, Source: &ragdv1.UploadDocumentRequest_Content{Content: content},
			Chunking: &ragdv1.Chunking{Strategy: "recursive", MaxSize: proto.Int32(200)},
		})
		if err != nil {
			continue // the samples have formats that are refused
		}
		if done := c.Await(t, "docs", d.Job.JobId, d.Document.DocumentId); done.Status != "ready" {
			_, err := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{Uri: name})
			servicetest.WantCode(t, name, err, connect.CodeFailedPrecondition)
			continue
		}
		text, err := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{Uri: name})
		if err != nil || text.EndByte != text.ByteSize || len(text.Text) != int(text.ByteSize) {
			t.Fatalf("%s: %v, %v", name, text, err)
		}
		chunks, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.Document.DocumentId, PageSize: 1000})
		if err != nil || len(chunks.Chunks) == 0 {
			t.Fatalf("%s: %v, %v", name, chunks, err)
		}
		for _, chunk := range chunks.Chunks {
			if got := text.Text[chunk.StartByte:chunk.EndByte]; !strings.HasSuffix(chunk.Text, got) {
				t.Errorf("%s: chunk %d is %q, the text has %q", name, chunk.Ordinal, chunk.Text, got)
			}
		}
		read++
	}
	if read < 10 {
		t.Errorf("only %d samples were read", read)
	}
}

func TestRangesOfATextBeginAndEndBetweenCharacters(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	c.Index(t, "docs")
	const body = "Größe 🚢 weit"
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a.txt", Source: servicetest.Text(body)})
	for start := range uint32(len(body)) {
		for end := start + 1; end <= uint32(len(body))+2; end++ {
			got, err := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{Uri: "a.txt", StartByte: start, EndByte: end})
			if err != nil {
				t.Fatal(start, end, err)
			}
			if got.Text != body[got.StartByte:got.EndByte] || !utf8.ValidString(got.Text) || got.StartByte > start || got.EndByte < min(end, uint32(len(body))) || got.ByteSize != uint32(len(body)) {
				t.Errorf("%d-%d: %v", start, end, got)
			}
		}
	}
	_, err := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{Uri: "a.txt", StartByte: 100})
	servicetest.WantCode(t, "a range beyond the end", err, connect.CodeInvalidArgument)
	_, err = c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{Uri: "a.txt", EndByte: 5 << 20})
	servicetest.WantCode(t, "too large a range", err, connect.CodeInvalidArgument)
}

// The new version of a document may be for other readers than the old one, whose text they must
// not get while the new one is being processed.
func TestTheTextOfAnOldVersionIsNotReadUnderNewMetadata(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "tides.html", Source: sample(t, "files/tides.html"), Metadata: servicetest.Object(t, map[string]any{"team": "blue"}),
	})
	red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
	// A broken file never becomes ready: the first version remains the one that is searched.
	broken, err := acme.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "tides.html", Source: sample(t, "hostile/encrypted.pdf"),
		Metadata: servicetest.Object(t, map[string]any{"team": "red"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	acme.Await(t, "docs", broken.Job.JobId, broken.Document.DocumentId)
	_, err = red.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{Uri: "tides.html"})
	servicetest.WantCode(t, "the old text", err, connect.CodeFailedPrecondition)
}

// Neither another tenant nor a credential whose mandatory filter hides a document reads it by any
// of its names, nor learns of it.
func TestOriginalsAndTextsAreHiddenLikeTheirDocuments(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	documents := map[string]*ragdv1.Document{}
	for _, team := range []string{"red", "blue"} {
		acme.Index(t, team)
		documents[team] = acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: team, Uri: team + ".html", Source: servicetest.Text("<h1>Plan</h1><p>The plan of the " + team + " team."), ContentType: "text/html",
			Metadata: servicetest.Object(t, map[string]any{"team": team}),
		})
		bolt.Index(t, team)
	}
	red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})}))
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: names("red")}))
	filtered := s.Client(acme.Secret, "Ragd-Context", `{"filter": {"team": "red"}}`)

	for who, c := range map[string]servicetest.Client{"another tenant": bolt, "a mandatory filter": red, "bounds": bound, "a filter of the context": filtered} {
		hidden := documents["blue"]
		unknown := strings.Repeat("0", 8) + hidden.DocumentId[8:]
		for _, ref := range []*ragdv1.DownloadDocumentRequest{{DocumentId: hidden.DocumentId}, {Uri: "blue.html"}, {Uri: hidden.ContentSha256}, {DocumentId: unknown}} {
			ref.IndexName = "blue"
			_, content, err := download(t, c, ref)
			servicetest.WantCode(t, who+": DownloadDocument", err, connect.CodeNotFound)
			_, readErr := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: "blue", DocumentId: ref.DocumentId, Uri: ref.Uri})
			servicetest.WantCode(t, who+": ReadDocument", readErr, connect.CodeNotFound)
			if len(content) > 0 || strings.Contains(err.Error(), "range") {
				t.Errorf("%s got %q, %v", who, content, err)
			}
		}
		if who == "another tenant" {
			continue
		}
		wantDownloaded(t, c, &ragdv1.DownloadDocumentRequest{IndexName: "red", Uri: "red.html"}, []byte("<h1>Plan</h1><p>The plan of the red team."))
		text, err := c.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{IndexName: "red", Uri: "red.html"})
		if err != nil || text.ContentType != "text/markdown" || !strings.Contains(text.Text, "# Plan") {
			t.Errorf("%s: its own text = %v, %v", who, text, err)
		}
	}
}
