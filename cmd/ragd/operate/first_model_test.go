package operate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/settings"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/model/localmodel/hub"
)

const tinyModel = "../../../internal/model/localmodel/testdata/models/bert-mean"

// newHub serves a folder as the model team/tiny, and counts the requests.
func newHub(t *testing.T, folder string) (url string, requests *atomic.Int32) {
	t.Helper()
	type file struct {
		Name string         `json:"rfilename"`
		Size int            `json:"size"`
		LFS  map[string]any `json:"lfs"`
	}
	var files []file
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(folder, name))
		sum := sha256.Sum256(content)
		files = append(files, file{name, len(content), map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": len(content)}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	requests = new(atomic.Int32)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/models/team/tiny/revision/main", func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": files})
	})
	mux.Handle("GET /team/tiny/resolve/"+commit+"/", http.StripPrefix("/team/tiny/resolve/"+commit+"/", http.FileServer(http.Dir(folder))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, requests
}

// starting returns the program before a first start, and what it prints.
func starting(t *testing.T, url string) (*program, *bytes.Buffer) {
	t.Helper()
	var printed bytes.Buffer
	p := &program{
		Program:  &command.Program{Out: output.Printer{Stdout: &printed, Stderr: &printed}, Getenv: func(string) string { return "" }},
		settings: &settings.Settings{ModelHub: url},
	}
	p.settings.Service.DataDir, p.settings.Service.EmbeddingModel = t.TempDir(), embed.Auto
	return p, &printed
}

func tiny(p *program) hub.Request {
	return hub.Request{Model: "team/tiny", Dir: p.modelsDir(), Answer: time.Minute}
}

func chosen(t *testing.T, p *program) string {
	t.Helper()
	name, err := localmodel.New(localmodel.Config{Dir: p.modelsDir()}).Embedding()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTheFirstStartFetchesAModel(t *testing.T) {
	t.Parallel()
	url, requests := newHub(t, tinyModel)
	p, printed := starting(t, url)
	for range 2 {
		if err := p.fetchFirstModel(t.Context(), tiny(p)); err != nil {
			t.Fatal(err)
		}
	}
	if name := chosen(t, p); name != "tiny" || requests.Load() != 1 {
		t.Errorf("the model is %q after %d requests: %s", name, requests.Load(), printed)
	}
}

func TestAStartThatShallNotFetchAsksNoHub(t *testing.T) {
	t.Parallel()
	url, requests := newHub(t, tinyModel)
	for name, change := range map[string]func(*program) error{
		"offline":              func(p *program) error { p.settings.Offline = true; return nil },
		"another model":        func(p *program) error { p.settings.Service.EmbeddingModel = "builtin/hash-512"; return nil },
		"an external database": func(p *program) error { p.settings.Service.DatabaseURL = "postgres://db/ragd"; return nil },
		"a second start":       func(p *program) error { return os.Mkdir(filepath.Join(p.settings.Service.DataDir, "postgres"), 0o700) },
		"a model": func(p *program) error {
			return os.CopyFS(filepath.Join(p.modelsDir(), "mine"), os.DirFS(tinyModel))
		},
	} {
		p, printed := starting(t, url)
		if err := change(p); err != nil {
			t.Fatal(err)
		}
		if err := p.fetchFirstModel(t.Context(), tiny(p)); err != nil || printed.Len() > 0 {
			t.Errorf("%s: %v, printed %q", name, err, printed)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("the hub got %d requests", n)
	}
}

func TestAStartWithoutAHubSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	silent, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(silent)
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	for name, url := range map[string]string{"no hub": "http://127.0.0.1:1", "a hub that says nothing": server.URL} {
		p, printed := starting(t, url)
		request := tiny(p)
		request.Answer = 50 * time.Millisecond
		if err := p.fetchFirstModel(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"no embedding model was fetched", "finds the words of a question", "ragd model pull team/tiny", "ragd index reembed"} {
			if !strings.Contains(printed.String(), want) {
				t.Errorf("%s: it prints no %q: %s", name, want, printed)
			}
		}
		if found := chosen(t, p); found != "" {
			t.Errorf("%s: there is a model %q", name, found)
		}
	}
	<-silent
}

// A file that is not the pinned one is refused, though it has the checksum of the hub.
func TestAnotherFileThanThePinnedOneIsRefused(t *testing.T) {
	t.Parallel()
	url, _ := newHub(t, tinyModel)
	p, printed := starting(t, url)
	request := tiny(p)
	request.Sums = map[string]string{"model.safetensors": fmt.Sprintf("%064x", 1)}
	if err := p.fetchFirstModel(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if found := chosen(t, p); found != "" || !strings.Contains(printed.String(), "the hub has another file") {
		t.Errorf("the model %q is used: %s", found, printed)
	}
}
