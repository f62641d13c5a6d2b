package ingest_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/subprocess"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// The commands with which the test binary reads files as a child of the service. A mortal one may
// kill itself at any point.
const (
	readerCommand       = "reader-of-the-test"
	mortalReaderCommand = "mortal-reader-of-the-test"
)

func TestMain(m *testing.M) {
	command := ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	in, out := io.Reader(os.Stdin), io.Writer(os.Stdout)
	switch command {
	case mortalReaderCommand:
		in, out = mortal(in, out)
		fallthrough
	case readerCommand:
		if err := subprocess.Serve(in, out, parse.Parse); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(m.Run())
	}
}

// mortal returns an input and an output that kill the process sooner or later: before it reads
// a file, in the middle of one, or in the middle of an answer.
func mortal(in io.Reader, out io.Writer) (io.Reader, io.Writer) {
	switch rand.N(4) {
	case 0:
		kill()
	case 1:
		out = fatalWriter{out, new(rand.N(16 << 10))}
	default:
		in = fatalReader{in, new(rand.N(32 << 10))}
	}
	return in, out
}

func kill() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // until the signal arrives
}

// fatalReader kills the process when so many bytes were read.
type fatalReader struct {
	io.Reader
	left *int
}

func (r fatalReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if *r.left -= n; *r.left <= 0 {
		kill()
	}
	return n, err
}

// fatalWriter kills the process when so many bytes were written.
type fatalWriter struct {
	io.Writer
	left *int
}

func (w fatalWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p[:min(len(p), *w.left)])
	if *w.left -= n; *w.left <= 0 {
		kill()
	}
	return n, err
}

func content(t *testing.T, path string) *ragdv1.UploadDocumentRequest_Content {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("parse/testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	return &ragdv1.UploadDocumentRequest_Content{Content: data}
}

// While the files of one tenant keep every reader busy that it may have, those of another
// are read.
func TestBombsOfATenantDoNotDelayAnother(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{ParseCommand: []string{os.Args[0], readerCommand}})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	acme.Index(t, "docs")
	bolt.Index(t, "docs")
	const bombs = 60
	kinds := []string{"form-bomb.pdf", "form-bomb.pdf", "form-bomb.pdf", "form-bomb.pdf", "bomb.zip", "bomb-of-bombs.zip", "bomb.docx", "bomb.xlsx", "billion-laughs.docx", "deep-xml.docx", "deep-arrays.pdf", "bomb.tar.gz"}
	for i := range bombs {
		name := kinds[i%len(kinds)]
		_, err := acme.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprintf("%d/%s", i, name), Source: content(t, "hostile/"+name)})
		if err != nil {
			t.Fatal(err)
		}
	}
	picture := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	picture = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(picture, 100_000), 100_000)
	_, err := acme.UploadDocument(t.Context(), &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a.png", Source: &ragdv1.UploadDocumentRequest_Content{Content: picture}})
	servicetest.WantCode(t, "a picture of 100,000 by 100,000 pixels", err, connect.CodeInvalidArgument)
	for _, name := range []string{"plan.docx", "handbook.pdf", "message.eml"} {
		if d := bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: name, Source: content(t, "files/"+name)}); d.Status != "ready" {
			t.Errorf("%s: %s %s", name, d.Status, d.Error)
		}
	}
	left, err := acme.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "docs"})
	if err != nil || left.PendingDocumentCount == 0 {
		t.Errorf("no bomb was left when the other tenant's files were read: %v, %v", left, err)
	}
}

// Children are killed at any time. Each document ends all the same: read, by another child,
// or with the reason.
func TestKilledReadersLoseNoDocument(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{ParseCommand: []string{os.Args[0], mortalReaderCommand}})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	names := []string{"plan.docx", "berths.xlsx", "message.eml", "tales.epub", "intro.pptx"}
	const reads = 40
	ids := map[string]string{}
	for i := range reads {
		name := names[i%len(names)]
		sent, err := acme.UploadDocument(ctx, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprintf("%d/%s", i, name), Source: content(t, "files/"+name)})
		if err != nil {
			t.Fatal(err)
		}
		ids[sent.Document.DocumentId] = sent.Job.JobId
	}
	ended := map[string]int{}
	for id := range ids {
		for range wait.Poll(t, "the end of a read") {
			d, err := acme.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: "docs", DocumentId: id})
			if err != nil {
				t.Fatal(err)
			}
			if d.Status == "ready" && d.ChunkCount == 0 || d.Status == "failed" && d.Error != "the reader of files was killed" {
				t.Errorf("%s: %s with %d chunks: %s", d.Uri, d.Status, d.ChunkCount, d.Error)
			}
			if d.Status == "ready" || d.Status == "failed" {
				ended[d.Status]++
				break
			}
		}
	}
	if ended["ready"] == 0 || ended["ready"]+ended["failed"] != reads {
		t.Errorf("documents by state: %v", ended)
	}
	retried, err := acme.ListJobs(ctx, &ragdv1.ListJobsRequest{PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	again := 0
	for _, j := range retried.Jobs {
		if j.Attempts > 1 {
			again++
		}
	}
	if again == 0 {
		t.Error("no reader was killed while it had a file")
	}
	t.Logf("%v, %d of them read again", ended, again)
}
