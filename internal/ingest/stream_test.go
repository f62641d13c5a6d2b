package ingest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func begin(req *ragdv1.UploadDocumentRequest) *ragdv1.UploadDocumentsRequest {
	return &ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Document{Document: req}}
}

func part(content []byte) *ragdv1.UploadDocumentsRequest {
	return &ragdv1.UploadDocumentsRequest{Part: &ragdv1.UploadDocumentsRequest_Content{Content: content}}
}

// stream sends the messages and returns the answer.
func stream(t *testing.T, c servicetest.Client, messages ...*ragdv1.UploadDocumentsRequest) ([]*ragdv1.UploadResult, error) {
	t.Helper()
	s, err := c.UploadDocuments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if err := s.Send(m); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			t.Fatal(err)
		}
	}
	res, err := s.CloseAndReceive()
	return res.GetResults(), err
}

// In a stream of valid and invalid documents, each gets the same result as if sent alone.
func TestAStreamAnswersForEveryDocument(t *testing.T) {
	t.Parallel()
	f := setup(t)
	strategy := upload("strategy", "some text")
	strategy.Chunking = &ragdv1.Chunking{Strategy: "nonsense"}
	other := upload("elsewhere", "some text")
	other.IndexName = "nope"
	empty := &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "parts"}
	messages := []*ragdv1.UploadDocumentsRequest{
		begin(upload("first", "The first harbour.")),
		begin(upload("blank", " ")), part(nil),
		begin(empty), part([]byte("The second ")), part([]byte("harbour.")),
		begin(strategy), part([]byte("more")),
		begin(other),
		begin(upload("first", "The newer harbour.")), // the same uri again is the next version
		begin(upload("first", "The newer harbour.")),
	}
	results, err := stream(t, f.Client, messages...)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", "invalid_argument text", "", "invalid_argument chunking.strategy", "not_found ", "", ""}
	for i, r := range results {
		got := ""
		if r.Error != nil {
			got = r.Error.Code + " " + r.Error.Field
		}
		if got != want[i] || (r.Error == nil) == (r.Job.GetJobId() == "") {
			t.Errorf("result %d = %v, want the error %q", i, r, want[i])
		}
	}
	if len(results) != len(want) || !results[6].Unchanged || results[6].Job.JobId != results[5].Job.JobId {
		t.Errorf("results = %v", results)
	}
	for _, r := range results {
		if r.Error == nil {
			f.Await(t, "docs", r.Job.JobId, r.DocumentId)
		}
	}
	if got := f.found(t, "harbour"); len(got) != 2 {
		t.Errorf("found %q", got)
	}
	if d := f.document(t, "first"); d.Version != 2 || d.Status != "ready" {
		t.Errorf("the replaced document = %v", d)
	}
	if got := f.counts(t); got != [4]int32{2, 2, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
}

func TestAStreamOfManyDocumentsIsStoredInOrder(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var messages []*ragdv1.UploadDocumentsRequest
	for i := range 450 {
		messages = append(messages, begin(upload(fmt.Sprintf("d%03d", 449-i), fmt.Sprintf("Harbour number %d.", i))))
	}
	for _, unchanged := range []bool{false, true} {
		results, err := stream(t, f.Client, messages...)
		if err != nil || len(results) != 450 {
			t.Fatalf("%d results, %v", len(results), err)
		}
		for i, r := range results {
			if r.Uri != fmt.Sprintf("d%03d", 449-i) || r.Unchanged != unchanged || r.Error != nil {
				t.Errorf("result %d = %v", i, r)
			}
		}
		for _, r := range results {
			f.Await(t, "docs", r.Job.JobId, r.DocumentId)
		}
	}
	if got := f.counts(t); got != [4]int32{450, 450, 0, 0} {
		t.Errorf("chunks, ready, pending, failed = %v", got)
	}
}

// A large document is sent in pieces, stored in segments, and read as a whole.
func TestALargeDocumentIsSentInPieces(t *testing.T) {
	t.Parallel()
	f := setup(t)
	comment := "<!-- " + strings.Repeat("filler ", 150_000) + "-->\n"
	page := "<!doctype html><title>Big</title><p>It begins with a quarry.</p>" + strings.Repeat(comment, 18) + "<p>It ends with a harbour.</p>"
	messages := []*ragdv1.UploadDocumentsRequest{begin(&ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "big.html"})}
	for piece := range bytes.SplitSeq([]byte(page), []byte("\n")) {
		messages = append(messages, part(append(piece, '\n')))
	}
	results, err := stream(t, f.Client, messages...)
	if err != nil || len(results) != 1 || results[0].Error != nil {
		t.Fatalf("%v, %v", results, err)
	}
	d := f.Await(t, "docs", results[0].Job.JobId, results[0].DocumentId)
	if d.Status != "ready" || int(d.ByteSize) < len(page) || d.Title != "Big" {
		t.Errorf("document = %v", d)
	}
	if got := f.found(t, "quarry harbour"); len(got) != 1 {
		t.Errorf("found %d chunks", len(got))
	}
}

func TestADocumentOverTheLimitFailsAlone(t *testing.T) {
	t.Parallel()
	f := setup(t)
	messages := []*ragdv1.UploadDocumentsRequest{begin(&ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "huge"})}
	piece := bytes.Repeat([]byte("a"), 16<<20)
	for range ingest.MaxDocumentBytes/len(piece) + 1 {
		messages = append(messages, part(piece))
	}
	results, err := stream(t, f.Client, append(messages, begin(upload("small", "A harbour.")))...)
	if err != nil || len(results) != 2 {
		t.Fatalf("%v, %v", results, err)
	}
	if e := results[0].Error; e.GetCode() != "invalid_argument" || e.GetField() != "content" {
		t.Errorf("the huge one: %v", e)
	}
	if results[1].Error != nil {
		t.Errorf("the small one: %v", results[1].Error)
	}
}

// A stream that breaks off stores nothing of its unfinished document.
func TestABrokenStreamStoresNoUnfinishedDocument(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := f.UploadDocuments(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(begin(upload("half", "Half a "))); err != nil {
		t.Fatal(err)
	}
	for range 8 { // more than fits into buffers on the way: the service has read the beginning
		if err := s.Send(part(bytes.Repeat([]byte("harbour "), 1<<17))); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	_, err = s.CloseAndReceive()
	servicetest.WantCode(t, "a stream that was left", err, connect.CodeCanceled)
	f.Upload(t, upload("whole", "A whole harbour."))
	_, err = f.GetDocument(t.Context(), &ragdv1.GetDocumentRequest{IndexName: "docs", Uri: "half"})
	servicetest.WantCode(t, "half a document", err, connect.CodeNotFound)
	_, err = stream(t, f.Client, part([]byte("without a beginning")))
	servicetest.WantCode(t, "content without a document", err, connect.CodeInvalidArgument)
}

func TestAStreamStaysWithinTheMandatoryFilter(t *testing.T) {
	t.Parallel()
	f := setup(t)
	team := func(name string) *structpb.Struct {
		s, err := structpb.NewStruct(map[string]any{"team": name})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hidden := upload("hidden", "A blue plan.")
	hidden.Metadata = team("blue")
	f.Upload(t, hidden)
	key := &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: team("red")}
	red := f.service.Client(f.service.Key(t, key))
	var messages []*ragdv1.UploadDocumentsRequest
	for _, c := range []struct{ uri, team string }{{"own", "red"}, {"foreign", "blue"}, {"hidden", "red"}} {
		req := upload(c.uri, "A plan.")
		req.Metadata = team(c.team)
		messages = append(messages, begin(req))
	}
	results, err := stream(t, red, messages...)
	if err != nil || len(results) != 3 {
		t.Fatalf("%v, %v", results, err)
	}
	if results[0].Error != nil || results[1].Error.GetCode() != "permission_denied" || results[2].Error.GetCode() != "permission_denied" {
		t.Errorf("results = %v", results)
	}
	if d := f.document(t, "hidden"); d.Version != 1 {
		t.Errorf("the hidden document = %v", d)
	}
	reader := f.service.Client(f.service.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}}))
	_, err = stream(t, reader, messages...)
	servicetest.WantCode(t, "a reader", err, connect.CodePermissionDenied)
}

// A text over the limit is refused as soon as the limit is exceeded, and is not stored.
func TestATextOverTheLimitIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	var messages []*ragdv1.UploadDocumentsRequest
	lines := part(bytes.Repeat([]byte("{\"harbour\": 12}\n"), 1<<16)) // 1 MiB
	for _, req := range []*ragdv1.UploadDocumentRequest{
		{IndexName: "docs", Uri: "a.txt"}, {IndexName: "docs", Uri: "b.jsonl"},
		{IndexName: "docs", Uri: "c", Chunking: &ragdv1.Chunking{Strategy: "recursive"}},
	} {
		messages = append(messages, begin(req))
		for range 65 {
			messages = append(messages, lines)
		}
	}
	messages = append(messages, begin(upload("d", "A harbour.")))
	results, err := stream(t, acme, messages...)
	if err != nil || len(results) != 4 {
		t.Fatalf("%v, %v", results, err)
	}
	for _, r := range results[:3] {
		if e := r.Error; e.GetCode() != "invalid_argument" || e.GetField() != "content" || !strings.Contains(e.GetMessage(), "over the limit of 67108864 bytes for text") {
			t.Errorf("%s: %v", r.Uri, r)
		}
	}
	if results[3].Error != nil {
		t.Errorf("the document after them: %v", results[3].Error)
	}
}

// A client that stops sending loses its stream, and the disk capacity of the stream.
func TestAStalledStreamIsClosed(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{MaxBodyPause: 200 * time.Millisecond})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	body, sender := io.Pipe()
	defer sender.Close()
	go func() {
		for _, message := range []*ragdv1.UploadDocumentsRequest{begin(upload("a", "")), part(bytes.Repeat([]byte("harbour "), 1<<7))} { // so little that none is on its way when the server closes
			raw, err := protojson.Marshal(message)
			if err != nil {
				t.Error(err)
			}
			_, _ = sender.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(raw))), raw...))
		}
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+ragdv1connect.DocumentServiceUploadDocumentsProcedure, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/connect+json")
	req.Header.Set("Authorization", "Bearer "+acme.Secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(answer), `"code":"deadline_exceeded","message":"nothing of the request has arrived for 200ms`) {
		t.Errorf("answered with %s, %v", answer, err)
	}
	list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
	if err != nil || len(list.Documents) != 0 {
		t.Errorf("stored are %v, %v", list, err)
	}
}
