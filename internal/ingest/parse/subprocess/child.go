package subprocess

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/libreoffice"
	"github.com/ragdhq/ragd/internal/ingest/parse/ocr"
	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// child is a process that reads files.
type child struct {
	cmd     *exec.Cmd
	input   io.WriteCloser
	encoder *gob.Encoder
	decoder *gob.Decoder
	stderr  *crashNote
	files   int
	cache   string // as of its Config
}

// start starts a child.
func start(config Config) (*child, error) {
	cmd := exec.Command(config.Command[0], config.Command[1:]...) // it outlives the request that it is started for
	cmd.Env = config.variables()
	c := &child{cmd: cmd, stderr: &crashNote{}, cache: config.cache}
	cmd.Stderr = c.stderr
	var err error
	if c.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.encoder, c.decoder = gob.NewEncoder(c.input), gob.NewDecoder(output)
	return c, nil
}

// variables returns the only variables of the environment that a child gets: those that
// say where the user's cache is, which holds the compiled reader of PDF files.
func (c Config) variables() []string {
	variables := []string{} // not nil, which would be the whole environment
	for _, name := range []string{cacheVariable, "HOME", "LocalAppData"} {
		value := os.Getenv(name)
		if name == cacheVariable {
			value = cmp.Or(c.cache, value)
		}
		if value != "" {
			variables = append(variables, name+"="+value)
		}
	}
	return variables
}

// request is a file sent to a child, or the order to prepare for PDF files and to read none. With Locate or Draw the
// pages of a PDF file are looked at, instead of its text.
type request struct {
	Prepare bool
	Source  parse.Source
	Locate  []pdftext.Passage
	Draw    *pdftext.Drawing
	Timeout time.Duration
	Memory  uint64
	OCR     *ocr.Config         // nil leaves scanned pages unread
	Office  *libreoffice.Config // nil rejects files of Office before 2007
}

// answer is the result of a child: what the request asks for, or the fields of an error.
type answer struct {
	Document parse.Document
	Located  []pdftext.Located
	Picture  pdftext.Picture
	Failed   bool
	Late     bool        // it took too long
	Error    fault.Error // without its cause
	Cause    string
}

func (a answer) err() error {
	if !a.Failed {
		return nil
	}
	err := a.Error
	if a.Cause != "" {
		err.Cause = errors.New(a.Cause)
	}
	if err.Kind == fault.Internal {
		return err.Cause
	}
	return &err
}

// endedError is returned for a child that ended instead of answering.
type endedError struct {
	reason  error
	unheard bool // it was gone before it could read the file
}

func (e *endedError) Error() string { return e.reason.Error() }

// ask sends a request for a file to the child and waits for the answer. After an *endedError the
// child cannot be used any more.
func (c *child) ask(ctx context.Context, r request, config Config) (answer, error) {
	c.files++
	limited, cancel := c.within(ctx, config)
	defer cancel()
	stop := context.AfterFunc(limited, func() { _ = c.cmd.Process.Kill() })
	defer stop()
	var a answer
	r.Timeout, r.Memory, r.OCR, r.Office = config.Timeout, config.Memory, config.OCR, config.LibreOffice
	sent := c.encoder.Encode(r)
	late := fault.Field("content", "takes more than %v to be read: split it, or save it in a simpler form", config.Timeout)
	if sent == nil && c.decoder.Decode(&a) == nil {
		if a.Late {
			return answer{}, late
		}
		return a, a.err()
	}
	_ = c.input.Close()
	waited := c.cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return answer{}, &endedError{reason: ctx.Err()}
	case errors.Is(context.Cause(limited), errLate):
		return answer{}, &endedError{reason: late}
	case errors.Is(context.Cause(limited), errBusy):
		return answer{}, &endedError{reason: fault.New(fault.Unavailable, "the machine is too busy to read the file: it did not get %v of processor time within %v", config.Timeout, patience)}
	}
	return answer{}, &endedError{reason: c.postMortem(waited, config), unheard: sent != nil}
}

// within bounds the time of a file in the child.
func (c *child) within(ctx context.Context, config Config) (context.Context, context.CancelFunc) {
	return within(ctx, config.Timeout, config.OCR != nil, func() (time.Duration, error) { return processorTime(c.cmd.Process.Pid) })
}

// postMortem returns the reason why a child ended.
func (c *child) postMortem(waited error, config Config) error {
	said := c.stderr.String()
	cause := fmt.Errorf("the child that read it ended: %w: %s", waited, said)
	if ranOutOfMemory(said) {
		err := fault.Field("content", "needs more than %d MiB of memory to be read: split it", config.Memory>>20)
		err.Cause = cause
		return err
	}
	var exit *exec.ExitError
	if errors.As(waited, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			// Not by us: by a system that is short of memory, or by an operator.
			return fault.Wrap(fault.Unavailable, cause, "the reader of files was killed")
		}
	}
	err := fault.Field("content", "makes the reader of its format crash: open it in the program that made it and save it again")
	err.Cause = cause
	return err
}

// ranOutOfMemory reports whether the runtime's last message is about memory. The race
// detector has messages of its own.
func ranOutOfMemory(said string) bool {
	return strings.Contains(said, "out of memory") || strings.Contains(said, "cannot allocate memory") ||
		strings.Contains(said, "address space collisions")
}

// kill ends the child at once.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.input.Close()
	_ = c.cmd.Wait() // that it was killed is no news, and that it was waited for neither
}

// crashNote keeps the beginning of what is written to it, where the cause of a crash is.
type crashNote struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const maxNote = 4 << 10

func (n *crashNote) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.buf.Write(p[:min(len(p), maxNote-n.buf.Len())])
	return len(p), nil
}

func (n *crashNote) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.String()
}
