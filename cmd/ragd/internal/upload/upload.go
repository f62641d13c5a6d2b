// Package upload uploads a corpus into an index: the client's side of an ingest. It sends
// documents with bounded concurrency, retries while the service is busy or restarting,
// and waits for the jobs that the uploads started.
//
//	result, err := upload.Run(ctx, client, localfiles.Options{Base: "."}.Files("handbook"), upload.Config{Index: "docs"})
//
// An upload can be repeated at any time: uris are stable, and the same bytes under the same
// uri change nothing. A run that was interrupted is resumed by running it again.
package upload

import (
	"context"
	"iter"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

// Client holds the clients of the services that an upload calls.
type Client struct {
	Documents ragdv1connect.DocumentServiceClient
	Indexes   ragdv1connect.IndexServiceClient

	batch func(context.Context, []*item) ([]*ragdv1.UploadResult, error) // sends a batch, in tests
}

// Config configures an upload.
type Config struct {
	Index string
	// Namespace is the namespace of the index; the default one if empty.
	Namespace string
	// Concurrency bounds the streams of uploads, and with them the documents in
	// memory: some MiB for each stream, or one larger document. Default 4.
	Concurrency int
	// Chunking and Metadata are sent with every document. A document's own metadata
	// overrides Metadata key by key.
	Chunking *ragdv1.Chunking
	Metadata map[string]any
	// Extract is sent with every document.
	Extract *structpb.Struct
	// NoWait returns when everything is uploaded, before the jobs are done.
	NoWait bool
	// Progress, if set, is called after every step, from one goroutine at a time. It
	// must not block for long.
	Progress func(Progress)
	// Retrying, if set, is called with every error that is going to be retried. It may
	// be called concurrently.
	Retrying func(error)
}

// Progress is the progress of a run.
type Progress struct {
	InputBytes int64 // sent of the corpus, as localfiles.Options.Size counts them
	Uploaded   int   // documents the service has acknowledged
	Failed     int
	Sent       bool // everything is uploaded
	Jobs       int  // jobs that had not ended when everything was uploaded
	Waiting    int  // upper bound of those of Jobs that have not ended yet
	Chunks     int  // chunks of the documents in work, as far as known
	ChunksDone int  // those of Chunks that are done
	// Reading is the number of documents in work whose chunks are not known yet, as far as
	// their jobs were looked at.
	Reading int
	// Trouble is why an attempt failed that the service is going to repeat, such as a
	// provider that does not answer; empty if there is none. Troubled counts the documents.
	Trouble  string
	Troubled int
}

// Failure is a document that was not stored or not processed.
type Failure struct {
	Location string `json:"place"` // in the corpus
	URI      string `json:"uri,omitempty"`
	Reason   string `json:"reason"`
}

// Warning is something unusual about a document that was uploaded.
type Warning struct {
	Location string `json:"place"`
	Text     string `json:"text"`
}

// Result is the outcome of an upload.
type Result struct {
	Uploaded  int // documents the service has acknowledged: Ready, Pending or failed since
	Unchanged int // of those, the ones that were ready before
	Ready     int // searchable
	Pending   int // not yet processed when the run ended
	Failures  []Failure
	Skips     []localfiles.Skip
	Warnings  []Warning
	Elapsed   time.Duration
	// Extraction is the cost of metadata extraction, nil without extraction.
	Extraction *Extraction
}

// Extraction is the cost of metadata extraction by language models.
type Extraction struct {
	Calls        int    `json:"calls"`
	InputTokens  int    `json:"inputTokens"`
	OutputTokens int    `json:"outputTokens"`
	Failed       int    `json:"failed"`              // fields of chunks that are missing
	FailedJob    string `json:"failedJob,omitempty"` // a job whose failures say why
}

// addExtraction adds the cost of a job that has ended.
func (r *Result) addExtraction(job *ragdv1.Job) {
	e := job.GetExtraction()
	if e == nil {
		return
	}
	if r.Extraction == nil {
		r.Extraction = &Extraction{}
	}
	sum := r.Extraction
	sum.Calls += int(e.GetCalls())
	sum.InputTokens += int(e.GetInputTokens())
	sum.OutputTokens += int(e.GetOutputTokens())
	if e.GetFailed() > 0 {
		sum.Failed += int(e.GetFailed())
		sum.FailedJob = job.GetJobId()
	}
}

// Run uploads the documents and waits until the service has processed them. A document
// that fails becomes a Failure and the run goes on. The run ends with an error if ctx
// ends, if the service refuses the key or the index, or if it has not answered for two
// minutes. The Result is always valid and holds what was done until then.
func Run(ctx context.Context, client Client, docs iter.Seq2[localfiles.Document, error], cfg Config) (*Result, error) {
	r := &run{client: client, cfg: cfg, open: map[string][]document{}}
	start := time.Now()
	r.new = r.isEmpty(ctx)
	err := r.send(ctx, docs)
	if err == nil && !cfg.NoWait {
		err = r.wait(ctx)
	}
	return r.end(time.Since(start)), err
}

// run is the state of one Run.
type run struct {
	client Client
	cfg    Config
	new    bool // the index had no documents

	mu       sync.Mutex // guards the rest while documents are sent
	ended    bool       // nothing changes any more
	result   Result
	progress Progress
	// open holds the uploaded documents whose jobs are not known to have ended, by job
	// id. A document given twice has one job.
	open   map[string][]document
	oldest time.Time // creation of the oldest open job, on the service's clock
}

// document identifies an uploaded document.
type document struct{ location, uri string }

// step calls change to change the state, and reports the progress. It does nothing once
// the run has ended: a read of the corpus may outlast the run.
func (r *run) step(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	change()
	r.progress.Uploaded, r.progress.Failed = r.result.Uploaded, len(r.result.Failures)
	if r.cfg.Progress != nil {
		r.cfg.Progress(r.progress)
	}
}

// end ends the run and returns its result.
func (r *run) end(elapsed time.Duration) *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.result.Elapsed = elapsed
	for _, docs := range r.open {
		r.result.Pending += len(docs)
	}
	result := r.result
	return &result
}

// fail records a failure. The caller holds r.mu.
func (r *run) fail(location, uri, reason string) {
	r.result.Failures = append(r.result.Failures, Failure{location, uri, reason})
}
