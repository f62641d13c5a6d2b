package hub

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/model/localmodel"
)

const (
	models = "../testdata/models"
	commit = "0123456789abcdef0123456789abcdef01234567"
)

// hub is a stand-in for a model hub with one model.
type hub struct {
	*httptest.Server
	files map[string][]byte

	mu      sync.Mutex
	asked   []string // files with the range, in order
	breakAt int      // bytes of a large file after which the connection breaks, once
	corrupt bool     // whether the weights are not those of the checksum
	noRange bool     // whether ranges are ignored
	token   string   // that is needed
}

// newHub serves a folder of the test data as team/tiny.
func newHub(t *testing.T, folder string) *hub {
	t.Helper()
	h := &hub{files: map[string][]byte{
		"pytorch_model.bin": make([]byte, 1000), "onnx/model.onnx": make([]byte, 1000), "README.md": []byte("read me"),
		"../evil": []byte("x"),
	}}
	root := filepath.Join(models, folder)
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		h.files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/models/team/tiny/revision/main", h.list)
	mux.HandleFunc("GET /team/tiny/resolve/"+commit+"/{file...}", h.file)
	h.Server = httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return h
}

func (h *hub) list(w http.ResponseWriter, r *http.Request) {
	if h.token != "" && r.Header.Get("Authorization") != "Bearer "+h.token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	answer := map[string]any{"sha": commit}
	var siblings []any
	for name, content := range h.files {
		entry := map[string]any{"rfilename": name, "size": len(content), "blobId": hex.EncodeToString(gitHash(content))}
		if strings.HasSuffix(name, ".safetensors") {
			sum := sha256.Sum256(content)
			entry["lfs"] = map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": len(content), "pointerSize": 130}
		}
		siblings = append(siblings, entry)
	}
	answer["siblings"] = siblings
	_ = json.NewEncoder(w).Encode(answer)
}

func gitHash(content []byte) []byte {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	return sum[:]
}

func (h *hub) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	content, ok := h.files[name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, strings.TrimSpace(name+" "+r.Header.Get("Range")))
	large := strings.HasSuffix(name, ".safetensors")
	if large && h.corrupt {
		content = slices.Clone(content)
		content[len(content)-1]++
	}
	if large && h.breakAt > 0 {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:h.breakAt])
		h.breakAt = 0
		panic(http.ErrAbortHandler)
	}
	if h.noRange {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, name, time.Time{}, strings.NewReader(string(content)))
}

// pulled returns a client of the hub and a request into a fresh folder.
func pulled(t *testing.T, h *hub) (*Client, Request) {
	t.Helper()
	return New(Config{URL: h.URL + "/", Pause: time.Second}), Request{Model: "team/tiny", Dir: filepath.Join(t.TempDir(), "models")}
}

func TestAPulledModelHasTheVectorsOfTheOriginal(t *testing.T) {
	t.Parallel()
	h := newHub(t, "bert-cls-dense")
	client, request := pulled(t, h)
	var done, total int64
	request.Progress = func(d, n int64) { done, total = d, n }
	folder, err := client.Pull(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if done != total || done == 0 {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	for _, name := range []string{"pytorch_model.bin", "README.md", "onnx", "expected.json"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			t.Errorf("%s was fetched", name)
		}
	}
	texts := []string{"What is the capital of France?"}
	got, err := localmodel.New(localmodel.Config{Dir: request.Dir}).Embed(t.Context(), "acme", "tiny", texts, true)
	if err != nil {
		t.Fatal(err)
	}
	want, err := localmodel.New(localmodel.Config{Dir: models}).Embed(t.Context(), "acme", "bert-cls-dense", texts, true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0], want[0]) {
		t.Errorf("the vector is %v, want %v", got, want)
	}
	entries, err := os.ReadDir(request.Dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the models folder has %v (%v), want the model alone", entries, err)
	}
	if _, err := client.Pull(t.Context(), request); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the second pull returned %v", err)
	}
	request.Replace = true
	if _, err := client.Pull(t.Context(), request); err != nil {
		t.Errorf("the pull that replaces returned %v", err)
	}
}

func TestABrokenTransferGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	for _, noRange := range []bool{false, true} {
		t.Run(fmt.Sprint("without ranges: ", noRange), func(t *testing.T) {
			t.Parallel()
			h := newHub(t, "bert-mean")
			h.breakAt, h.noRange = 20_000, noRange
			client, request := pulled(t, h)
			folder, err := client.Pull(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(h.asked, "model.safetensors bytes=20000-") {
				t.Errorf("the rest was not asked for: %v", h.asked)
			}
			got, err := os.ReadFile(filepath.Join(folder, "model.safetensors"))
			if err != nil || string(got) != string(h.files["model.safetensors"]) {
				t.Errorf("the file differs (%v)", err)
			}
		})
	}
}

func TestAnInterruptedPullIsContinuedByTheNextOne(t *testing.T) {
	t.Parallel()
	h := newHub(t, "bert-mean")
	client, request := pulled(t, h)
	staging := filepath.Join(request.Dir, ".pull-tiny-"+commit[:12])
	if err := os.MkdirAll(staging, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(staging, "model.safetensors.part"), h.files["model.safetensors"][:10_000], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Pull(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(h.asked, "model.safetensors bytes=10000-") {
		t.Errorf("the rest was not asked for: %v", h.asked)
	}
}

func TestAFileWithAnotherChecksumIsRefused(t *testing.T) {
	t.Parallel()
	h := newHub(t, "bert-mean")
	h.corrupt = true
	client, request := pulled(t, h)
	if _, err := client.Pull(t.Context(), request); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Fatalf("the pull returned %v", err)
	}
	if _, err := os.Stat(filepath.Join(request.Dir, "tiny")); err == nil {
		t.Error("there is a folder")
	}
	h.corrupt = false
	if _, err := client.Pull(t.Context(), request); err != nil {
		t.Errorf("the next pull returned %v", err)
	}
}

func TestModelsThatCannotBeUsedAreRefusedBeforeTheirWeights(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(h *hub, r *Request, c *Config)
		want   string
	}{
		"another architecture": {func(h *hub, _ *Request, _ *Config) {
			h.files["config.json"] = []byte(`{"model_type":"gpt2"}`)
		}, `model_type "gpt2"`},
		"no safetensors":  {func(h *hub, _ *Request, _ *Config) { delete(h.files, "model.safetensors") }, "model.safetensors"},
		"no model":        {func(h *hub, _ *Request, _ *Config) { delete(h.files, "config.json") }, "config.json"},
		"too large":       {func(_ *hub, _ *Request, c *Config) { c.MaxBytes = 1000 }, "more than 1000 bytes"},
		"an unknown name": {func(_ *hub, r *Request, _ *Config) { r.Model = "team/other" }, "has no model team/other"},
		"a path":          {func(_ *hub, r *Request, _ *Config) { r.Model = "../x/y" }, "not the name"},
		"a folder's path": {func(_ *hub, r *Request, _ *Config) { r.Name = "../x" }, "cannot be the name"},
		"a module outside": {func(h *hub, _ *Request, _ *Config) {
			h.files["modules.json"] = []byte(`[{"path":"","type":"Transformer"},{"path":"../evil","type":"Pooling"}]`)
		}, "outside of the folder"},
		"no token": {func(h *hub, _ *Request, _ *Config) { h.token = "secret" }, "token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, "bert-mean")
			config := Config{URL: h.URL, Pause: time.Second}
			request := Request{Model: "team/tiny", Dir: t.TempDir()}
			c.change(h, &request, &config)
			if _, err := New(config).Pull(t.Context(), request); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
			if slices.Contains(h.asked, "model.safetensors") {
				t.Error("the weights were fetched")
			}
		})
	}
}
