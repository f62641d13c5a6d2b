// Package ocr recognizes characters in pictures, with the program tesseract or an HTTP
// endpoint that answers as the server of Apache Tika does.
package ocr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Config are the settings of an Engine. Resolve prepares it for another process.
type Config struct {
	// Engine is tesseract, the path of that program, or the address of an endpoint. It is asked
	// with PUT, the picture as the body and the header X-Tika-OCRLanguage, and answers the text.
	Engine string
	// Languages are codes such as eng and deu, of which tesseract needs the data.
	Languages []string
	Timeout   time.Duration // of one file, with all its pages
	MaxPages  int           // of one file; the others stay unread
}

// Limits of one picture.
const (
	pictureTimeout = 2 * time.Minute
	maxTextBytes   = 4 << 20
)

// Engine recognizes characters. Not safe for concurrent use.
type Engine struct {
	config Config
	read   int // pictures
}

// New returns an Engine.
func New(config Config) *Engine { return &Engine{config: config} }

var languagePattern = regexp.MustCompile(`^[A-Za-z_]{2,20}(/[A-Za-z_]{2,20})?$`)

// Resolve checks the settings and makes the path of a program absolute. It returns an error for a
// wrong setting, a program that is not installed, and languages whose data is missing. It does
// not call an endpoint.
func (c *Config) Resolve(ctx context.Context) error {
	if len(c.Languages) == 0 {
		return errors.New("ocr-languages is empty: name a language such as eng")
	}
	for _, language := range c.Languages {
		if !languagePattern.MatchString(language) {
			return fmt.Errorf("ocr-languages: %q is not the code of a language such as eng", language)
		}
	}
	if c.isEndpoint() {
		if u, err := url.Parse(c.Engine); err != nil || u.Host == "" {
			return fmt.Errorf("ocr: %q is not an address such as http://localhost:9998/tika", c.Engine)
		}
		return nil
	}
	path, err := exec.LookPath(c.Engine)
	if err != nil {
		return fmt.Errorf("ocr: %s is not installed (Debian's package is tesseract-ocr): %w", c.Engine, err)
	}
	out, err := exec.CommandContext(ctx, path, "--list-langs").Output()
	if err != nil {
		return fmt.Errorf("ocr: %s does not list its languages: %w", c.Engine, err)
	}
	known := strings.Fields(string(out))
	for _, language := range c.Languages {
		if !slices.Contains(known, language) {
			return fmt.Errorf("ocr-languages: %s has no data of %q (Debian's package is tesseract-ocr-%s)", path, language, strings.ReplaceAll(language, "_", "-"))
		}
	}
	c.Engine, err = filepath.Abs(path)
	return err
}

func (c Config) isEndpoint() bool { return strings.Contains(c.Engine, "://") }

// Read returns the text in a picture; "" for one that has none or that the engine cannot read.
// Errors: Unavailable if the engine does not work; that of ctx when it ends.
func (e *Engine) Read(ctx context.Context, picture []byte, mediaType string) (string, error) {
	if e.read++; e.read > e.config.MaxPages {
		return "", nil
	}
	limited, cancel := context.WithTimeout(ctx, pictureTimeout)
	defer cancel()
	read := e.program
	if e.config.isEndpoint() {
		read = e.endpoint
	}
	text, err := read(limited, picture, mediaType)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return "", nil // one picture that takes too long does not cost the other pages
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), ""), err
}

// program runs tesseract, which ends when this process does. Its memory is bounded by that of
// this process.
func (e *Engine) program(ctx context.Context, picture []byte, _ string) (string, error) {
	cmd := exec.CommandContext(ctx, e.config.Engine, "stdin", "stdout", "-l", strings.Join(e.config.Languages, "+"))
	cmd.Env = []string{"OMP_THREAD_LIMIT=1"} // pages of several files run beside each other
	cmd.Stdin = bytes.NewReader(picture)
	text := &textlimit.Head{Most: maxTextBytes}
	cmd.Stdout = text
	runtime.LockOSThread() // the program ends with the thread that has started it
	defer runtime.UnlockOSThread()
	endWithParent(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit):
		return "", nil // a picture that it cannot read
	case err != nil:
		return "", fault.Wrap(fault.Unavailable, err, "the program that recognizes characters cannot be run")
	}
	return text.String(), nil
}

func (e *Engine) endpoint(ctx context.Context, picture []byte, mediaType string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, e.config.Engine, bytes.NewReader(picture))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", mediaType)
	req.Header.Set("Accept", "text/plain")
	req.Header.Set("X-Tika-OCRLanguage", strings.Join(e.config.Languages, "+"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "the endpoint that recognizes characters does not answer")
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNoContent, res.StatusCode == http.StatusUnprocessableEntity, res.StatusCode == http.StatusUnsupportedMediaType:
		return "", nil
	case res.StatusCode != http.StatusOK:
		return "", fault.New(fault.Unavailable, "the endpoint that recognizes characters answered with HTTP status %d", res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxTextBytes))
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "the endpoint that recognizes characters broke off")
	}
	return string(text), nil
}
