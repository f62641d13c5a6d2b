package main

import (
	"fmt"
	"time"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
)

// ingestReport is what --json prints of an ingest.
type ingestReport struct {
	Index              string             `json:"index"`
	Uploaded           int                `json:"uploaded"`
	Unchanged          int                `json:"unchanged"`
	Ready              int                `json:"ready"`
	Pending            int                `json:"pending"`
	Failed             int                `json:"failed"`
	Seconds            float64            `json:"seconds"`
	DocumentsPerSecond float64            `json:"documentsPerSecond"`
	Failures           []upload.Failure   `json:"failures"`
	Skips              []skip             `json:"skips"`
	Extraction         *upload.Extraction `json:"extraction,omitempty"`
}

type skip struct {
	Place  string `json:"place"`
	Reason string `json:"reason"`
}

// reportIngest prints what became of a corpus. It returns err, or an error if
// documents failed.
func (p *program) reportIngest(index string, result *upload.Result, err error) error {
	rate := rateOf(result)
	if p.json {
		if printErr := p.printJSON(newIngestReport(index, result, rate)); printErr != nil {
			return printErr
		}
	} else {
		p.printIngest(index, result, rate)
	}
	if err != nil && result.Uploaded > 0 {
		note(p.stderr, "what is uploaded is safe; the same command again goes on from here")
	}
	if err != nil {
		return err
	}
	return failures(result)
}

// failures is an error if documents failed.
func failures(result *upload.Result) error {
	if failed := len(result.Failures); failed > 0 {
		return fmt.Errorf("%s failed", count(failed, "document"))
	}
	return nil
}

// rateOf is how many documents a second went through, or, where nothing was waited
// for, up.
func rateOf(result *upload.Result) float64 {
	if result.Ready == 0 {
		return float64(result.Uploaded) / result.Elapsed.Seconds()
	}
	return float64(result.Uploaded-result.Pending) / result.Elapsed.Seconds()
}

func newIngestReport(index string, result *upload.Result, rate float64) ingestReport {
	report := ingestReport{
		Index: index, Uploaded: result.Uploaded, Unchanged: result.Unchanged, Ready: result.Ready,
		Pending: result.Pending, Failed: len(result.Failures),
		Seconds: result.Elapsed.Seconds(), DocumentsPerSecond: rate,
		Failures: append([]upload.Failure{}, result.Failures...), Skips: []skip{},
		Extraction: result.Extraction,
	}
	for _, s := range result.Skips {
		report.Skips = append(report.Skips, skip(s))
	}
	return report
}

func (p *program) printIngest(index string, result *upload.Result, rate float64) {
	p.printSkips(result.Skips)
	for _, failure := range result.Failures {
		note(p.stderr, "failed: %s: %s", oneLine(failure.Place), oneLine(failure.Reason))
	}
	took := result.Elapsed.Round(10 * time.Millisecond)
	line := fmt.Sprintf("%s ready in index %s", count(result.Ready, "document"), index)
	if result.Unchanged > 0 {
		line += fmt.Sprintf(", %d of them unchanged", result.Unchanged)
	}
	if result.Pending > 0 {
		line += fmt.Sprintf(", %d being processed", result.Pending)
	}
	fmt.Fprintf(p.stdout, "%s: %v, %.0f documents/s\n", line, took, rate)
	if e := result.Extraction; e != nil {
		fmt.Fprintln(p.stdout, "extraction: "+extractionLine(e.Calls, e.InputTokens, e.OutputTokens, e.Failed))
		if e.Failed > 0 {
			note(p.stderr, "why something was not extracted, its job says: ragd job get %s", e.FailedJob)
		}
	}
}

// extractionLine is what finding out about chunks took.
func extractionLine(calls, in, out, failed int) string {
	return fmt.Sprintf("%s, %d tokens in, %d out, %d failed", count(calls, "call"), in, out, failed)
}

func (p *program) printSkips(skips []localfiles.Skip) {
	const shown = 10
	for i, s := range skips {
		if i == shown {
			note(p.stderr, "skipped %d more; --json names all", len(skips)-shown)
			return
		}
		note(p.stderr, "skipped: %s: %s", oneLine(s.Place), s.Reason)
	}
}

// count returns "1 document" or "2 documents".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
