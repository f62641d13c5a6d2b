package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func (p *program) jobCommands() *cobra.Command {
	return p.clientFlags(p.group("job", "Look at the work that uploads started, cancel it or try it again", `
A job is work that goes on after a call was answered, such as cutting and
embedding a document. It is queued, running, succeeded, failed or cancelled.`,
		p.jobList(), p.jobGet(), p.jobWatch(), p.jobCancel(), p.jobRetry(),
	))
}

func showJob(job *ragdv1.Job) func(io.Writer) {
	return func(w io.Writer) {
		field(w, "job", job.GetJobId())
		field(w, "kind", job.GetKind())
		field(w, "status", job.GetStatus())
		field(w, "progress", jobProgress(job))
		field(w, "attempts", job.GetAttempts())
		field(w, "error", job.GetError())
		if e := job.GetExtraction(); e != nil {
			field(w, "extraction", extractionLine(int(e.GetCalls()), int(e.GetInputTokens()), int(e.GetOutputTokens()), int(e.GetFailed())))
			for _, f := range e.GetFailures() {
				field(w, fmt.Sprintf("chunk %d", f.GetOrdinal()), oneLine(f.GetField()+": "+f.GetReason()))
			}
		}
		field(w, "index", job.GetIndexName())
		field(w, "document", job.GetDocumentId())
		field(w, "created", stamp(job.GetCreateTime()))
		field(w, "updated", stamp(job.GetUpdateTime()))
	}
}

func jobProgress(job *ragdv1.Job) string {
	progress := job.GetProgress()
	if progress.GetTotal() == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d %s", progress.GetDone(), progress.GetTotal(), progress.GetUnit())
}
