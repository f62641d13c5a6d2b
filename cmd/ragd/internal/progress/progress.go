// Package progress shows how far an upload is: bars on a terminal, lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
)

// Meter shows how far an upload is.
type Meter interface {
	// Update shows the progress. Calls must not overlap.
	Update(upload.Progress)
	// Retrying shows that a call failed and is tried again. It may be called concurrently.
	Retrying(error)
	// Finish clears the bar.
	Finish()
}

// New returns a meter that writes to out: a bar if out is a terminal, else plain lines.
// size is the number of bytes that will be read, -1 if it is not known.
func New(out io.Writer, size int64, terminal bool) Meter {
	if terminal {
		return &barMeter{out: out, bar: NewBar(out, size, "uploading", progressbar.OptionShowBytes(true))}
	}
	return &lineMeter{out: out, size: size, due: time.Now().Add(lineInterval)}
}

// barMeter shows two bars one after the other: bytes uploaded, whose total is known from
// the start, then documents processed by the service.
type barMeter struct {
	out  io.Writer
	jobs bool // the bar is the second one
	bar  *progressbar.ProgressBar
	troubles
}

// troubles tells each reason once why jobs are repeated.
type troubles struct{ told string }

// news returns a line about jobs that failed for a reason that was not told before, else
// an empty string.
func (t *troubles) news(now upload.Progress) string {
	if now.Trouble == "" || now.Trouble == t.told {
		return ""
	}
	t.told = now.Trouble
	return fmt.Sprintf("not processed yet: %s: %s; the service tries again", output.Count(now.Troubled, "document"), output.OneLine(now.Trouble))
}

// NewBar returns a bar that writes to out. total is the value at its end, -1 if it is not known.
func NewBar(out io.Writer, total int64, description string, more ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(description),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}, more...)...)
}

func (m *barMeter) Update(now upload.Progress) {
	if line := m.news(now); line != "" {
		_ = m.bar.Clear()
		output.Note(m.out, "%s", line)
	}
	failed := ""
	if now.Failed > 0 {
		failed = fmt.Sprintf(", %d failed", now.Failed)
	}
	if !now.Sent {
		m.bar.Describe(fmt.Sprintf("uploading: %d documents%s", now.Uploaded, failed))
		_ = m.bar.Set64(now.InputBytes)
		return
	}
	if now.Jobs <= fewDocuments {
		m.updateFew(now, failed)
		return
	}
	if !m.jobs {
		m.Finish()
		m.jobs = true
		m.bar = NewBar(m.out, int64(now.Jobs), "processing",
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("documents"))
	}
	m.bar.Describe("processing" + failed)
	_ = m.bar.Set(now.Jobs - now.Waiting)
}

// Up to fewDocuments documents, one may be most of the work: the bar then also counts
// chunks, in stepsPerDocument steps for each document.
const (
	fewDocuments     = 5
	stepsPerDocument = 1000
)

// updateFew shows the progress within each of a few documents.
func (m *barMeter) updateFew(now upload.Progress, failed string) {
	if !m.jobs {
		m.Finish()
		m.jobs = true
		m.bar = NewBar(m.out, int64(now.Jobs)*stepsPerDocument, "processing")
	}
	done := (now.Jobs - now.Waiting) * stepsPerDocument
	text := fmt.Sprintf("processing: %d of %d documents", now.Jobs-now.Waiting, now.Jobs)
	if now.Chunks > 0 && now.Waiting > 0 {
		done += now.Waiting * stepsPerDocument * now.ChunksDone / now.Chunks
		text += fmt.Sprintf(", %d of %d chunks", now.ChunksDone, now.Chunks)
	} else if now.Reading > 0 {
		text += ", reading"
	}
	m.bar.Describe(text + failed)
	_ = m.bar.Set(done)
}

func (m *barMeter) Retrying(error) { m.bar.Describe("no answer, trying again") }

func (m *barMeter) Finish() { _ = m.bar.Finish() }

// lineInterval is the least time between two lines.
const lineInterval = 5 * time.Second

// lineMeter prints a line at most once per lineInterval.
type lineMeter struct {
	mu   sync.Mutex
	out  io.Writer
	size int64     // bytes of the corpus, -1 if not known
	due  time.Time // of the next line
	troubles
}

func (m *lineMeter) Update(now upload.Progress) {
	if line := m.news(now); line != "" {
		output.Note(m.out, "%s", line)
	}
	if now.Sent {
		chunks := ""
		switch {
		case now.Jobs > fewDocuments:
		case now.Chunks > 0:
			chunks = fmt.Sprintf(", %d of %d chunks", now.ChunksDone, now.Chunks)
		case now.Reading > 0:
			chunks = ", reading"
		}
		m.print("processing: %d of %d documents done, %d failed%s", now.Jobs-now.Waiting, now.Jobs, now.Failed, chunks)
		return
	}
	sent := megabytes(now.InputBytes)
	if m.size > 0 {
		sent += " of " + megabytes(m.size)
	}
	m.print("uploading: %s, %d documents, %d failed", sent, now.Uploaded, now.Failed)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func (m *lineMeter) Retrying(err error) { m.print("trying again: %s", output.OneLine(err.Error())) }

func (m *lineMeter) Finish() {}

// print prints a line unless the last one is too recent.
func (m *lineMeter) print(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); now.After(m.due) {
		m.due = now.Add(lineInterval)
		output.Note(m.out, format, args...)
	}
}
