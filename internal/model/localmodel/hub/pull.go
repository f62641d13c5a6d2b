package hub

import (
	"context"
	"crypto/sha1" //nolint:gosec // Git's checksum of small files, as the hub reports it
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/model/localmodel"
)

// pull is a transfer in progress.
type pull struct {
	client  *Client
	request Request
	commit  string
	staging string
	files   map[string]file // of the revision, by name

	done, total int64
}

// small are the files of a model's folder besides the weights and the modules.
var small = []string{
	"config.json", "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json",
	"tokenizer_config.json", "special_tokens_map.json", "tokenizer.json", "vocab.txt",
}

const weights = "model.safetensors"

// run fetches the files into the staging folder.
func (p *pull) run(ctx context.Context) error {
	if _, ok := p.files["config.json"]; !ok {
		return fmt.Errorf("%s has no config.json: it is not a model that can be used here", p.request.Model)
	}
	if _, ok := p.files[weights]; !ok {
		return fmt.Errorf("%s has no %s; weights in other files are not supported", p.request.Model, weights)
	}
	if err := p.fetchAll(ctx, small); err != nil {
		return err
	}
	modules, err := p.modules()
	if err != nil {
		return err
	}
	for _, m := range modules {
		if err := p.fetchAll(ctx, []string{path.Join(m, "config.json")}); err != nil {
			return err
		}
	}
	if _, err := localmodel.DescribeConfig(p.staging); err != nil {
		return fmt.Errorf("%s is not supported: %w", p.request.Model, err)
	}
	large := []string{weights}
	for _, m := range modules {
		large = append(large, path.Join(m, weights))
	}
	return p.fetchAll(ctx, large)
}

// modules returns the folders of the modules after the first one.
func (p *pull) modules() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(p.staging, "modules.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var modules []struct{ Path string }
	if err := json.Unmarshal(data, &modules); err != nil {
		return nil, fmt.Errorf("modules.json: %w", err)
	}
	var folders []string
	for _, m := range modules {
		if m.Path != "" && filepath.IsLocal(m.Path) && !strings.Contains(m.Path, "..") {
			folders = append(folders, path.Clean(m.Path))
		}
	}
	return folders, nil
}

// fetchAll fetches those of the files that the revision has.
func (p *pull) fetchAll(ctx context.Context, names []string) error {
	var wanted []file
	for _, name := range names {
		f, ok := p.files[name]
		if !ok {
			continue
		}
		if f.LFS != nil {
			f.Size = f.LFS.Size
		}
		if f.Size < 0 || p.total+f.Size > p.client.config.MaxBytes {
			return fmt.Errorf("%s has more than %d bytes, the most that is fetched", p.request.Model, p.client.config.MaxBytes)
		}
		p.total += f.Size
		wanted = append(wanted, f)
	}
	for _, f := range wanted {
		if err := p.fetch(ctx, f); err != nil {
			return fmt.Errorf("fetch %s of %s: %w", f.Name, p.request.Model, err)
		}
	}
	return nil
}

// sum returns the hash and the expected checksum of a file.
func (f file) sum() (hash.Hash, string, error) {
	switch {
	case f.LFS != nil && len(f.LFS.SHA256) == 2*sha256.Size:
		return sha256.New(), f.LFS.SHA256, nil
	case f.LFS == nil && len(f.Blob) == 2*sha1.Size:
		h := sha1.New() //nolint:gosec // see above
		fmt.Fprintf(h, "blob %d\x00", f.Size)
		return h, f.Blob, nil
	}
	return nil, "", errors.New("the hub has no checksum for it")
}

// fetch fetches a file unless it is there. Interrupted transfers go on where they ended.
func (p *pull) fetch(ctx context.Context, f file) error {
	target := filepath.Join(p.staging, filepath.FromSlash(f.Name))
	if info, err := os.Stat(target); err == nil && info.Size() == f.Size { // was checked when it was renamed
		p.advance(f.Size)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // as in Pull
		return err
	}
	part, err := os.OpenFile(target+".part", os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // as in Pull
	if err != nil {
		return err
	}
	defer part.Close()
	if err := p.transfer(ctx, f, part); err != nil {
		return err
	}
	if err := p.verify(f, part); err != nil {
		return errors.Join(err, part.Truncate(0))
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(target+".part", target)
}

func (p *pull) advance(n int64) {
	p.done += n
	if p.request.Progress != nil {
		p.request.Progress(p.done, p.total)
	}
}

// verify compares the checksums of a fetched file.
func (p *pull) verify(f file, part *os.File) error {
	h, want, err := f.sum()
	if err != nil {
		return err
	}
	pinned := sha256.New()
	if _, err := part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(io.MultiWriter(h, pinned), part); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("its checksum is %s, but the hub says %s: try again", got, want)
	}
	if want, got := p.request.Sums[f.Name], hex.EncodeToString(pinned.Sum(nil)); want != "" && got != want {
		return fmt.Errorf("its SHA-256 is %s, but that of the revision %s is %s: the hub has another file", got, p.commit, want)
	}
	return nil
}

// transfer appends to part until it has the size of the file. It gives up after some attempts
// that brought nothing.
func (p *pull) transfer(ctx context.Context, f file, part *os.File) error {
	at, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if at > f.Size {
		if at, err = 0, errors.Join(part.Truncate(0), rewind(part)); err != nil {
			return err
		}
	}
	p.advance(at)
	for failures := 0; at < f.Size; {
		n, err := p.attempt(ctx, f, part, at)
		at += n
		var refused *statusError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refused) && refused.code < http.StatusInternalServerError && refused.code != http.StatusTooManyRequests:
			return err
		case n > 0:
			failures = 0
		default:
			if failures++; failures == p.client.config.Attempts {
				return err
			}
			if err := wait(ctx, time.Duration(failures)*p.client.config.Pause/30); err != nil {
				return err
			}
		}
	}
	return nil
}

func rewind(part *os.File) error {
	_, err := part.Seek(0, io.SeekStart)
	return err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// statusError is an answer other than the file.
type statusError struct {
	code   int
	status string
}

func (e *statusError) Error() string { return "the hub answered " + e.status }

// attempt appends what one request brings, and returns how many bytes these are.
func (p *pull) attempt(ctx context.Context, f file, part *os.File, at int64) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	res, err := p.client.get(ctx, "/"+p.request.Model+"/resolve/"+p.commit+"/"+(&url.URL{Path: f.Name}).EscapedPath(), at)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusPartialContent && at > 0:
		if !strings.HasPrefix(res.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", at)) {
			return 0, fmt.Errorf("the hub sent the bytes %q in place of those from %d on", res.Header.Get("Content-Range"), at)
		}
	case res.StatusCode == http.StatusOK:
		if _, err := io.CopyN(io.Discard, res.Body, at); err != nil { // it does not send parts
			return 0, err
		}
	default:
		return 0, &statusError{res.StatusCode, res.Status}
	}
	idle := time.AfterFunc(p.client.config.Pause, func() { cancel(errors.New("the hub sent no data for a while")) })
	defer idle.Stop()
	n, err := io.Copy(part, io.LimitReader(&watched{res.Body, func(n int) {
		idle.Reset(p.client.config.Pause)
		p.advance(int64(n))
	}}, f.Size-at))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err == nil && at+n < f.Size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// watched calls read after each read.
type watched struct {
	io.Reader
	read func(n int)
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.read(n)
	return n, err
}
