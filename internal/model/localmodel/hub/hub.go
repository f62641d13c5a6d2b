// Package hub fetches the folders of models from a model hub, by the API of Hugging Face: a
// list of files with checksums, and the files of a revision.
package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/model/localmodel"
)

// DefaultURL is the hub that is used by default.
const DefaultURL = "https://huggingface.co"

// Config configures a Client.
type Config struct {
	// URL is the address of the hub. Default: DefaultURL.
	URL string
	// Token is sent to the hub, for models that it shows to some users only.
	Token string
	// MaxBytes is the largest model that is fetched. Default: 8 GiB.
	MaxBytes int64
	// Pause is the longest time without data, after which a transfer is tried again. Default:
	// 30 s.
	Pause time.Duration
	// Attempts is how often a file is tried without getting any further. Default: 4.
	Attempts int
}

// Client fetches models.
type Client struct {
	config Config
	http   *http.Client
}

// New returns a client.
func New(config Config) *Client {
	config.URL = strings.TrimRight(cmp.Or(config.URL, DefaultURL), "/")
	config.MaxBytes = cmp.Or(config.MaxBytes, 8<<30)
	config.Pause = cmp.Or(config.Pause, 30*time.Second)
	config.Attempts = cmp.Or(config.Attempts, 4)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = config.Pause
	return &Client{config, &http.Client{Transport: transport}}
}

// Request names a model to fetch.
type Request struct {
	// Model is its name at the hub, such as sentence-transformers/all-MiniLM-L6-v2.
	Model string
	// Revision is a branch, a tag or a commit. Default: main.
	Revision string
	// Dir is the folder with the models, which is made if needed, and Name the folder of this
	// one in it. Default of Name: the last part of Model.
	Dir, Name string
	// Replace replaces a folder that exists already.
	Replace bool
	// Answer is the time within which the hub must answer at all. Default: that of Config.Pause.
	Answer time.Duration
	// Sums are the SHA-256 of files, in hexadecimal, by name. They are compared besides the checksums
	// of the hub.
	Sums map[string]string
	// Progress, if not nil, is called with the bytes of all files that are there and needed.
	Progress func(done, total int64)
}

// file is a file of a revision.
type file struct {
	Name string `json:"rfilename"`
	Size int64  `json:"size"`
	Blob string `json:"blobId"` // Git's hash of the content, of small files
	LFS  *struct {
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
	} `json:"lfs"`
}

// revision is the answer about a revision.
type revision struct {
	Commit string `json:"sha"`
	Files  []file `json:"siblings"`
}

// Pinned returns the request for localmodel.PreferredEmbedding as it was measured. Its vectors
// depend on the files with sums.
func Pinned(dir string) Request {
	return Request{
		Model: "sentence-transformers/" + localmodel.PreferredEmbedding, Revision: "1110a243fdf4706b3f48f1d95db1a4f5529b4d41", Dir: dir,
		Sums: map[string]string{
			"config.json":    "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
			"tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
			weights:          "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
		},
	}
}

var (
	modelName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?$`)
	branchName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$`)
	commitHash = regexp.MustCompile(`^[0-9a-f]{40,64}$`)
)

func (r *Request) check() error {
	r.Revision = cmp.Or(r.Revision, "main")
	r.Name = cmp.Or(r.Name, path.Base(r.Model))
	switch {
	case !modelName.MatchString(r.Model):
		return fmt.Errorf("%q is not the name of a model at a hub, such as sentence-transformers/all-MiniLM-L6-v2", r.Model)
	case !branchName.MatchString(r.Revision) || strings.Contains(r.Revision, ".."):
		return fmt.Errorf("%q is not the name of a revision", r.Revision)
	case !localmodel.ValidName(r.Name):
		return fmt.Errorf("%q cannot be the name of a model's folder: letters, digits, ., _ and - are allowed", r.Name)
	}
	if _, err := os.Lstat(r.folder()); err == nil && !r.Replace {
		return fmt.Errorf("%s exists already: --replace replaces it", r.folder())
	}
	return nil
}

func (r *Request) folder() string { return filepath.Join(r.Dir, r.Name) }

// Pull fetches a model that this process can compute, and returns its folder. Only files that
// are needed are fetched, the large ones last: an unsupported model is refused before. Each is
// checked against its checksum. The folder appears when it is complete; what an interrupted call
// has fetched is used by the next one.
func (c *Client) Pull(ctx context.Context, r Request) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	found, err := c.revision(ctx, r)
	if err != nil {
		return "", err
	}
	staging := filepath.Join(r.Dir, ".pull-"+r.Name+"-"+found.Commit[:12])
	if err := os.MkdirAll(staging, 0o755); err != nil { //nolint:gosec // models are no secrets: the service may run as another user
		return "", err
	}
	p := &pull{client: c, request: r, commit: found.Commit, staging: staging, files: map[string]file{}}
	for _, f := range found.Files {
		p.files[f.Name] = f
	}
	if err := p.run(ctx); err != nil {
		return "", err
	}
	return r.folder(), replace(staging, r.folder())
}

// replace moves a folder to a path that may exist.
func replace(from, to string) error {
	old := filepath.Join(filepath.Dir(to), ".old-"+filepath.Base(to))
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(to, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Rename(old, to))
	}
	return os.RemoveAll(old)
}

// maxAnswer is the longest list of files, in bytes.
const maxAnswer = 16 << 20

// revision asks for the files of a revision.
func (c *Client) revision(ctx context.Context, r Request) (found revision, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Answer, c.config.Pause))
	defer cancel()
	res, err := c.get(ctx, "/api/models/"+r.Model+"/revision/"+url.PathEscape(r.Revision)+"?blobs=true", 0)
	if err != nil {
		return found, fmt.Errorf("the model hub cannot be reached; without a network, copy the folder of the model to %s: %w", r.folder(), err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		return found, fmt.Errorf("the hub %s has no model %s with the revision %s that it shows to you (%s); a token is set by RAGD_MODEL_HUB_TOKEN", c.config.URL, r.Model, r.Revision, res.Status)
	case res.StatusCode != http.StatusOK:
		return found, fmt.Errorf("the hub %s answered %s", c.config.URL, res.Status)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&found); err != nil {
		return found, fmt.Errorf("the answer of %s about %s is not that of a model hub: %w", c.config.URL, r.Model, err)
	}
	if !commitHash.MatchString(found.Commit) {
		return found, fmt.Errorf("the hub %s names no commit of %s", c.config.URL, r.Model)
	}
	return found, nil
}

// get sends a request for a path, for the bytes from the given one on.
func (c *Client) get(ctx context.Context, path string, from int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.URL+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "ragd")
	if c.config.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.config.Token) // not sent on to another host
	}
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	return c.http.Do(req)
}
