// Package subprocess reads files in child processes. A file that makes a parser crash,
// loop or use too much memory ends its child and nothing else.
//
// A child is the same program, started with a command that calls Serve. Its environment
// says where the user's cache is and nothing else, so none of the service's secrets. It reads one file after another until
// it fails or its parent closes its input. It runs as the same user: this contains
// crashes and excessive memory, not code that takes over a parser.
//
//	pool := subprocess.New(subprocess.Config{Command: []string{self, "parse-worker"}})
//	defer pool.Close()
//	doc, err := pool.Parse(ctx, tenant, src)
//
// Small texts are read in the service's own process: most documents are such texts, and their readers
// take little time for the worst of them.
package subprocess

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/libreoffice"
	"github.com/ragdhq/ragd/internal/ingest/parse/ocr"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// fileTimeout is the default of a Config's Timeout.
const fileTimeout = 2 * time.Minute

// Config are the settings of a Pool. Command is required.
type Config struct {
	Command     []string            // starts a child
	Processes   int                 // children at once; default: one for each processor, at least 2
	PerTenant   int                 // of these, the children of one tenant; default: half
	Timeout     time.Duration       // processor time of one file, where the system tells it; default 2 minutes
	Memory      uint64              // of one child, in bytes; default 1 GiB
	OCR         *ocr.Config         // reads scanned pages; nil leaves them unread
	LibreOffice *libreoffice.Config // reads files of Office before 2007; nil rejects them
	// UserCache is the user's cache directory, which keeps the compiled reader of PDF files; default
	// os.UserCacheDir. If it cannot be written, a temporary directory takes its place.
	UserCache string

	cache string // the directory for children, "" for that of their user
}

// Pool reads files in child processes. Safe for concurrent use.
type Pool struct {
	config Config
	slots  *limit.Limiter[string] // by tenant; one for each file that is being read
	scans  *limit.Limiter[string] // by tenant; one for each file whose scanned pages are being read
	views  *limit.Limiter[string] // by tenant; one for each file whose pages are being looked at
	pdf    preparation

	mu     sync.Mutex
	idle   []*child
	closed bool
}

// New returns a Pool. Children are started when there are files to read.
func New(config Config) *Pool {
	config.Processes = cmp.Or(config.Processes, max(2, runtime.GOMAXPROCS(0)))
	config.PerTenant = cmp.Or(config.PerTenant, (config.Processes+1)/2)
	config.Timeout = cmp.Or(config.Timeout, fileTimeout)
	config.Memory = cmp.Or(config.Memory, 1<<30)
	slots := func(all, perTenant int) *limit.Limiter[string] {
		return limit.New[string](int64(all), int64(perTenant))
	}
	half := max(1, config.Processes/2)
	return &Pool{
		config: config, slots: slots(config.Processes, config.PerTenant),
		scans: slots(half, (half+1)/2), // so that files with text do not wait for scanned ones
		views: slots(half, (half+1)/2), // so that people do not wait for uploads
	}
}

// Sizes in bytes up to which texts are read in this process, where nothing ends a reader: it takes two seconds at most for the worst
// texts of these sizes. Larger ones are read in a child.
const (
	maxOwnTree = 128 << 10 // HTML pages, notebooks, and files in markup languages such as XML and AsciiDoc
	maxOwnText = 1 << 20   // other texts
)

// reads reports whether a file is read in this process.
func reads(format parse.Format, content []byte) bool {
	switch {
	case !format.IsText():
		return false
	case format == parse.HTML, format == parse.Notebook, format.IsMarkup():
		return len(content) <= maxOwnTree
	}
	return len(content) <= maxOwnText
}

// Parse reads a file of a tenant as parse.Parse does. It waits for a child; tenants that
// wait take turns. Further errors: Invalid if the file crashes its child or takes too much
// time or memory; Unavailable if no child can be started, or the machine has no time for it; the error of ctx when that ends.
func (p *Pool) Parse(ctx context.Context, tenant string, src parse.Source) (parse.Document, error) {
	src.Pictures = p.config.OCR != nil
	format, err := parse.Detect(src)
	if err != nil {
		return parse.Document{}, err
	}
	if reads(format, src.Content) {
		return parse.Parse(ctx, src)
	}
	if format.HoldsPDF() {
		if err := p.prepare(ctx); err != nil {
			return parse.Document{}, err
		}
	}
	config := p.config
	config.OCR = nil
	d, err := p.readIn(ctx, p.slots, tenant, src, config)
	if err != nil || len(d.Scanned) == 0 || p.config.OCR == nil || len(d.Unheard) > 0 { // with recordings it is read again
		return d, err
	}
	config.OCR, config.Timeout = p.config.OCR, p.config.OCR.Timeout
	scanned, err := p.readIn(ctx, p.scans, tenant, src, config)
	if fault.KindOf(err) == fault.Invalid && d.Text != "" {
		return d, nil // it takes too long, or too much memory: what has text is searchable all the same
	}
	return scanned, err
}

// readIn reads a file when the tenant has one of the slots.
func (p *Pool) readIn(ctx context.Context, slots *limit.Limiter[string], tenant string, src parse.Source, config Config) (parse.Document, error) {
	a, err := p.askIn(ctx, slots, tenant, request{Source: src}, config)
	return a.Document, err
}

// askIn sends a request when the tenant has one of the slots.
func (p *Pool) askIn(ctx context.Context, slots *limit.Limiter[string], tenant string, r request, config Config) (answer, error) {
	if err := slots.Acquire(ctx, tenant); err != nil {
		return answer{}, err
	}
	defer slots.Release(tenant, 1)
	return p.ask(ctx, r, config)
}

// ask sends a request to a child. A child that ended between two files is replaced once.
func (p *Pool) ask(ctx context.Context, r request, config Config) (answer, error) {
	for {
		c, used, err := p.take()
		if err != nil {
			return answer{}, fault.Wrap(fault.Unavailable, err, "the reader of files cannot be started")
		}
		a, err := c.ask(ctx, r, config)
		var ended *endedError
		if !errors.As(err, &ended) {
			p.give(c)
			return a, err
		}
		c.kill()
		if used && ended.unheard {
			continue
		}
		return answer{}, ended.reason
	}
}

// take returns an idle or new child, and whether it has read files before.
func (p *Pool) take() (c *child, used bool, err error) {
	config := p.config
	config.cache = p.pdf.cache()
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	closed := p.closed
	p.mu.Unlock()
	switch {
	case closed:
		return nil, false, errors.New("the pool is closed")
	case c != nil && c.cache != config.cache: // started before there was a reader of PDF files in the cache
		c.kill()
	case c != nil:
		return c, true, nil
	}
	c, err = start(config)
	return c, false, err
}

// maxFiles is how many files a child reads before it is replaced, in case a parser leaks
// memory.
const maxFiles = 500

func (p *Pool) give(c *child) {
	p.mu.Lock()
	keep := !p.closed && c.files < maxFiles
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.kill()
	}
}

// Close ends the idle children. The others end after their current file.
func (p *Pool) Close() {
	p.pdf.close()
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		c.kill()
	}
}
