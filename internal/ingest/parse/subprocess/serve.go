package subprocess

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/ocr"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// maxStack bounds the stack of each goroutine of a child, in bytes. Deeper recursion is
// taken for an endless loop.
const maxStack = 64 << 20

// grace is how long after the deadline a child may still answer.
const grace = time.Second

// Serve runs in a child. It receives files from in and writes their documents to out
// until in ends. A panic in read ends the process. It uses one processor, and yields to other
// processes.
func Serve(in io.Reader, out io.Writer, read func(context.Context, parse.Source) (parse.Document, error)) error {
	debug.SetMaxStack(maxStack)
	runtime.GOMAXPROCS(1)
	if err := lowerPriority(); err != nil {
		return err
	}
	decoder, encoder := gob.NewDecoder(in), gob.NewEncoder(out)
	for limited := false; ; {
		var r request
		if err := decoder.Decode(&r); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if r.Prepare {
			if err := parse.Prepare(); err != nil {
				return err
			}
			if err := encoder.Encode(answer{}); err != nil {
				return err
			}
			continue
		}
		if !limited {
			// Earlier than the hard limit, the collector works harder.
			debug.SetMemoryLimit(int64(r.Memory / 4 * 3))
			if err := limitMemory(r.Memory); err != nil {
				return err
			}
			limited = true
		}
		if err := encoder.Encode(serve(r, read)); err != nil {
			return err
		}
		rest()
	}
}

// keptMemory is how many bytes an idle child may keep.
const keptMemory = 64 << 20

// rest returns memory to the system after a large file.
func rest() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys-m.HeapReleased > keptMemory {
		debug.FreeOSMemory()
	}
}

func serve(r request, read func(context.Context, parse.Source) (parse.Document, error)) answer {
	// The parent kills a child that is late. If the parent is gone, nobody does.
	defer time.AfterFunc(max(patience, r.Timeout)+grace, func() { os.Exit(1) }).Stop()
	ctx, cancel := within(context.Background(), r.Timeout, r.OCR != nil, func() (time.Duration, error) { return processorTime(os.Getpid()) })
	defer cancel()
	if r.OCR != nil {
		r.Source.Recognize = ocr.New(*r.OCR).Read
	}
	if r.Office != nil {
		r.Source.Convert = r.Office.Convert
	}
	a, err := r.run(ctx, read)
	if err == nil {
		return a
	}
	a = answer{Failed: true, Late: errors.Is(context.Cause(ctx), errLate)}
	var known *fault.Error
	if !errors.As(err, &known) {
		a.Cause = err.Error()
		return a
	}
	a.Error = *known
	a.Error.Cause = nil
	if known.Cause != nil {
		a.Cause = known.Cause.Error()
	}
	return a
}

// run does what the request asks for.
func (r request) run(ctx context.Context, read func(context.Context, parse.Source) (parse.Document, error)) (a answer, err error) {
	switch {
	case r.Draw != nil:
		a.Picture, err = parse.Draw(ctx, r.Source.Content, *r.Draw)
	case r.Locate != nil:
		a.Located, err = parse.Locate(ctx, r.Source.Content, r.Locate)
	default:
		a.Document, err = read(ctx, r.Source)
	}
	return a, err
}
