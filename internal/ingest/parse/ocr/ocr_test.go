package ocr_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/ocr"
	"github.com/ragdhq/ragd/internal/ingest/parse/subprocess"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

const childCommand = "child-of-the-test"

// TestMain makes the test binary behave as a child that reads files.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != childCommand {
		os.Exit(m.Run())
	}
	if err := subprocess.Serve(os.Stdin, os.Stdout, parse.Parse); err != nil {
		os.Exit(1)
	}
}

func newPool(t *testing.T, config *ocr.Config) *subprocess.Pool {
	t.Helper()
	p := subprocess.New(subprocess.Config{Command: []string{os.Args[0], childCommand}, OCR: config})
	t.Cleanup(p.Close)
	return p
}

func scan(t *testing.T, name string) parse.Source {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../testdata/scans", name))
	if err != nil {
		t.Fatal(err)
	}
	return parse.Source{Content: content, FileName: name}
}

func configOf(engine string) *ocr.Config {
	return &ocr.Config{Engine: engine, Languages: []string{"eng"}, Timeout: time.Minute, MaxPages: 10}
}

// tesseract returns a configuration with the program tesseract, and skips the test where it is
// not installed.
func tesseract(t *testing.T) *ocr.Config {
	t.Helper()
	if _, err := exec.LookPath("tesseract"); err != nil {
		t.Skip("tesseract is not installed; hack/test-tools.sh installs it on Debian")
	}
	c := configOf("tesseract")
	if err := c.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestScannedPagesAreReadByTesseract(t *testing.T) {
	t.Parallel()
	d, err := newPool(t, tesseract(t)).Parse(t.Context(), "acme", scan(t, "scanned-and-text.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"gate opens two hours before high water", "A berth costs 30", "Fees are due on arrival"} {
		if !strings.Contains(strings.Join(strings.Fields(d.Text), " "), want) {
			t.Errorf("%q is missing in\n%s", want, d.Text)
		}
	}
	if d.Properties["recognizedPages"] != "1-2" || d.Properties["scannedPages"] != "" || len(d.Scanned) > 0 {
		t.Errorf("properties %v, scanned %v", d.Properties, d.Scanned)
	}
	pages := map[int]string{}
	for _, s := range d.Spans {
		if s.Kind == parse.Page {
			pages[s.Number] = d.Text[s.Start:s.End]
		}
	}
	if !strings.Contains(pages[1], "tug") || !strings.Contains(pages[2], "berth") || !strings.Contains(pages[3], "berth") {
		t.Errorf("pages %v", pages)
	}
}

// A picture and an attached one are read as scanned pages are; what is beside them is text all the same.
func TestPicturesAreReadWithAnEngineOnly(t *testing.T) {
	t.Parallel()
	picture := scan(t, "notice.png")
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, content := range map[string]string{"notice.png": string(picture.Content), "scan.pdf": string(scan(t, "scanned.pdf").Content), "note.txt": "The tug is late."} {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	message := "From: a@example.org\nSubject: Gate\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nSee the notice.\n" +
		"--b\nContent-Type: image/png\nContent-Disposition: attachment; filename=notice.png\nContent-Transfer-Encoding: base64\n\n" +
		base64.StdEncoding.EncodeToString(picture.Content) + "\n--b--\n"
	const read = "The gate opens two hours before high water."
	with, without := newPool(t, tesseract(t)), newPool(t, nil)
	for _, tc := range []struct {
		name    string
		content []byte
		want    []string
		alone   string // text without an engine, "" for none
	}{
		{"notice.png", picture.Content, []string{read}, ""},
		{"a.zip", archive.Bytes(), []string{read, "The tug is late.", "announces on channel twelve"}, "The tug is late."},
		{"a.eml", []byte(message), []string{read, "See the notice."}, "See the notice."},
	} {
		d, err := with.Parse(t.Context(), "acme", parse.Source{Content: tc.content, FileName: tc.name})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		text := strings.Join(strings.Fields(d.Text), " ")
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in %q", tc.name, want, text)
			}
		}
		d, err = without.Parse(t.Context(), "acme", parse.Source{Content: tc.content, FileName: tc.name})
		if tc.alone == "" && fault.KindOf(err) != fault.Invalid || tc.alone != "" && (err != nil || !strings.Contains(d.Text, tc.alone)) {
			t.Errorf("%s without an engine: %q, %v", tc.name, d.Text, err)
		}
	}
}

func TestScannedPagesStayUnreadWithoutAnEngine(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil)
	d, err := p.Parse(t.Context(), "acme", scan(t, "scanned.pdf"))
	if err != nil || d.Text != "" || !slices.Equal(d.Scanned, []int{1, 2}) {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = p.Parse(t.Context(), "acme", scan(t, "scanned-and-text.pdf"))
	if err != nil || !strings.Contains(d.Text, "Fees are due") || d.Properties["scannedPages"] != "1-2" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestAnEndpointReadsScannedPages(t *testing.T) {
	t.Parallel()
	type picture struct{ method, kind, languages, magic string }
	var mu sync.Mutex
	var asked []picture
	status := http.StatusOK
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, picture{r.Method, r.Header.Get("Content-Type"), r.Header.Get("X-Tika-OCRLanguage"), http.DetectContentType(body)})
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "read by\x00 an endpoint \xff\n")
	}))
	t.Cleanup(endpoint.Close)
	answer := func(code int) {
		mu.Lock()
		defer mu.Unlock()
		status = code
	}
	c := configOf(endpoint.URL + "/tika")
	c.Languages = []string{"eng", "deu"}
	p := newPool(t, c)
	d, err := p.Parse(t.Context(), "acme", scan(t, "scanned.pdf"))
	if err != nil || strings.Count(d.Text, "read by an endpoint") != 2 {
		t.Fatalf("%q, %v", d.Text, err)
	}
	mu.Lock()
	got := slices.Clone(asked)
	mu.Unlock()
	if len(got) != 2 || got[0] != (picture{"PUT", "image/png", "eng+deu", "image/png"}) || got[1].kind == "" || got[1].languages != "eng+deu" {
		t.Errorf("asked %+v", got)
	}
	answer(http.StatusInternalServerError)
	if _, err := p.Parse(t.Context(), "acme", scan(t, "scanned.pdf")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("an endpoint that fails: %v", err)
	}
	answer(http.StatusUnprocessableEntity)
	if d, err := p.Parse(t.Context(), "acme", scan(t, "scanned.pdf")); err != nil || d.Text != "" || len(d.Scanned) != 2 {
		t.Errorf("pictures that the endpoint cannot read: %+v, %v", d, err)
	}
}

func TestOnlyTheFirstPagesAreRead(t *testing.T) {
	t.Parallel()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "text") }))
	t.Cleanup(endpoint.Close)
	c := configOf(endpoint.URL)
	c.MaxPages = 1
	d, err := newPool(t, c).Parse(t.Context(), "acme", scan(t, "scanned.pdf"))
	if err != nil || d.Text != "text" || d.Properties["recognizedPages"] != "1" || d.Properties["scannedPages"] != "2" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTimeIsLimited(t *testing.T) {
	t.Parallel()
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(endpoint.Close)
	c := configOf(endpoint.URL)
	c.Timeout = 500 * time.Millisecond
	p := newPool(t, c)
	if _, err := p.Parse(t.Context(), "acme", scan(t, "scanned.pdf")); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), "takes more than 500ms") {
		t.Errorf("a scan: %v", err)
	}
	if d, err := p.Parse(t.Context(), "acme", scan(t, "scanned-and-text.pdf")); err != nil || !strings.Contains(d.Text, "Fees are due") || len(d.Scanned) != 2 {
		t.Errorf("a file that has text too: %+v, %v", d, err)
	}
}

// A child that is killed takes the program that it runs with it.
func TestTheProgramEndsWithItsChild(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "slow")
	note := program + ".pid"
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho $$ > "+note+"\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	pool := newPool(t, configOf(program))
	caller, giveUp := context.WithCancel(t.Context())
	parsed := make(chan error, 1)
	go func() {
		_, err := pool.Parse(caller, "acme", scan(t, "scanned.pdf"))
		parsed <- err
	}()
	var pid []byte
	wait.For(t, "the program to start", func() bool {
		pid, _ = os.ReadFile(note)
		return len(pid) > 0
	})
	giveUp()
	if err := <-parsed; err == nil {
		t.Error("a call that was given up succeeded")
	}
	wait.For(t, "the program to end", func() bool {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		engine, language, want string
	}{
		{"no-such-program", "eng", "ocr: no-such-program is not installed"},
		{"http://", "eng", "is not an address"},
		{"http://localhost:1/tika", "", "ocr-languages is empty"},
		{"http://localhost:1/tika", "../eng", `"../eng" is not the code of a language`},
		{"http://localhost:1/tika", "-l", `"-l" is not the code of a language`},
	} {
		c := ocr.Config{Engine: tc.engine}
		if tc.language != "" {
			c.Languages = []string{tc.language}
		}
		if err := c.Resolve(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: %v", tc.engine, tc.language, err)
		}
	}
	missing := *tesseract(t)
	missing.Languages = []string{"tlh"}
	if err := missing.Resolve(t.Context()); err == nil || !strings.Contains(err.Error(), "tesseract-ocr-tlh") {
		t.Errorf("error %v", err)
	}
}
