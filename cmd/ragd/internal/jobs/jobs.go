// Package jobs follows jobs of the service to their end, and prints them.
package jobs

import (
	"context"
	"fmt"
	"io"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Show prints a job.
func Show(job *ragdv1.Job) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "job", job.GetJobId())
		output.Field(w, "kind", job.GetKind())
		output.Field(w, "status", job.GetStatus())
		output.Field(w, "progress", Progress(job))
		output.Field(w, "attempts", job.GetAttempts())
		output.Field(w, "error", job.GetError())
		if e := job.GetExtraction(); e != nil {
			output.Field(w, "extraction", ExtractionLine(int(e.GetCalls()), int(e.GetInputTokens()), int(e.GetOutputTokens()), int(e.GetFailed())))
			for _, f := range e.GetFailures() {
				output.Field(w, fmt.Sprintf("chunk %d", f.GetOrdinal()), output.OneLine(f.GetField()+": "+f.GetReason()))
			}
		}
		output.Field(w, "index", job.GetIndexName())
		output.Field(w, "document", job.GetDocumentId())
		output.Field(w, "created", output.Stamp(job.GetCreateTime()))
		output.Field(w, "updated", output.Stamp(job.GetUpdateTime()))
	}
}

// Progress returns how far a job is, empty if that is not known.
func Progress(job *ragdv1.Job) string {
	progress := job.GetProgress()
	if progress.GetTotal() == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d %s", progress.GetDone(), progress.GetTotal(), progress.GetUnit())
}

// Follow calls changed with each state of a job until the job has ended, and returns the last
// state, which counts even if the stream broke off after it.
func Follow(ctx context.Context, c *client.Client, id string, changed func(*ragdv1.Job) error) (*ragdv1.Job, error) {
	stream, err := c.Documents.WatchJob(ctx, &ragdv1.WatchJobRequest{JobId: id})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var last *ragdv1.Job
	for stream.Receive() {
		last = stream.Msg()
		if err := changed(last); err != nil {
			return last, err
		}
	}
	if hasEnded(last) {
		return last, nil
	}
	return last, stream.Err()
}

// hasEnded reports whether a job is in its last state.
func hasEnded(job *ragdv1.Job) bool {
	return job.GetStatus() == "succeeded" || job.GetStatus() == "failed" || job.GetStatus() == "cancelled"
}

// Outcome returns an error unless the last known state of a job is that it succeeded.
func Outcome(id string, job *ragdv1.Job) error {
	switch {
	case !hasEnded(job):
		return fmt.Errorf("the service stopped following job %s before its end", id)
	case job.GetStatus() != "succeeded":
		return fmt.Errorf("job %s ended as %s: %s", id, job.GetStatus(), job.GetError())
	}
	return nil
}

// ExtractionLine describes the cost of extraction: calls, tokens in and out, and fields
// that failed.
func ExtractionLine(calls, in, out, failed int) string {
	return fmt.Sprintf("%s, %d tokens in, %d out, %d failed", output.Count(calls, "call"), in, out, failed)
}
