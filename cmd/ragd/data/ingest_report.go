package data

import (
	"fmt"
	"strings"
	"time"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/jobs"
	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/upload"
)

// ingestReport is the output of an ingest with --json.
type ingestReport struct {
	Index              string             `json:"index"`
	Uploaded           int                `json:"uploaded"`
	Unchanged          int                `json:"unchanged"`
	Ready              int                `json:"ready"`
	Pending            int                `json:"pending"`
	Failed             int                `json:"failed"`
	Renamed            int                `json:"renamed,omitempty"`
	Seconds            float64            `json:"seconds"`
	DocumentsPerSecond float64            `json:"documentsPerSecond"`
	Failures           []upload.Failure   `json:"failures"`
	Skips              []skip             `json:"skips"`
	Warnings           []upload.Warning   `json:"warnings"`
	Extraction         *upload.Extraction `json:"extraction,omitempty"`
}

type skip struct {
	Location string `json:"place"`
	Reason   string `json:"reason"`
}

// reportIngest prints the result of an upload that ended with err. It returns err, or an
// error if documents failed.
func reportIngest(p *command.Program, index string, result *upload.Result, old *renamed, verbose bool, err error) error {
	rate := rateOf(result)
	if p.Out.JSON {
		if printErr := p.Out.Value(newIngestReport(index, result, old, rate)); printErr != nil {
			return printErr
		}
	} else {
		printIngest(p, index, result, rate, verbose)
	}
	if err != nil && result.Uploaded > 0 {
		output.Note(p.Out.Stderr, "what is uploaded is safe; the same command again goes on from here")
	}
	if err != nil {
		return err
	}
	return failures(result)
}

// failures returns an error if documents failed.
func failures(result *upload.Result) error {
	if failed := len(result.Failures); failed > 0 {
		return fmt.Errorf("%s failed", output.Count(failed, "document"))
	}
	return nil
}

// rateOf returns the documents processed per second, or uploaded per second if none is
// known to be ready.
func rateOf(result *upload.Result) float64 {
	if result.Ready == 0 {
		return float64(result.Uploaded) / result.Elapsed.Seconds()
	}
	return float64(result.Uploaded-result.Pending) / result.Elapsed.Seconds()
}

func newIngestReport(index string, result *upload.Result, old *renamed, rate float64) ingestReport {
	report := ingestReport{
		Index: index, Uploaded: result.Uploaded, Unchanged: result.Unchanged, Ready: result.Ready,
		Pending: result.Pending, Failed: len(result.Failures), Renamed: old.deleted,
		Seconds: result.Elapsed.Seconds(), DocumentsPerSecond: rate,
		Failures: append([]upload.Failure{}, result.Failures...), Skips: []skip{}, Warnings: append([]upload.Warning{}, result.Warnings...),
		Extraction: result.Extraction,
	}
	for _, s := range result.Skips {
		report.Skips = append(report.Skips, skip(s))
	}
	return report
}

func printIngest(p *command.Program, index string, result *upload.Result, rate float64, verbose bool) {
	printSkips(p, result.Skips, verbose)
	for _, w := range result.Warnings {
		output.Note(p.Out.Stderr, "warning: %s: %s", output.OneLine(w.Location), output.OneLine(w.Text))
	}
	for _, failure := range result.Failures {
		output.Note(p.Out.Stderr, "failed: %s: %s", output.OneLine(failure.Location), output.OneLine(failure.Reason))
	}
	took := result.Elapsed.Round(10 * time.Millisecond)
	line := fmt.Sprintf("%s ready in index %s", output.Count(result.Ready, "document"), index)
	if result.Unchanged > 0 {
		line += fmt.Sprintf(", %d of them unchanged", result.Unchanged)
	}
	if result.Pending > 0 {
		line += fmt.Sprintf(", %d being processed", result.Pending)
	}
	fmt.Fprintf(p.Out.Stdout, "%s: %v, %.0f documents/s\n", line, took, rate)
	if e := result.Extraction; e != nil {
		fmt.Fprintln(p.Out.Stdout, "extraction: "+jobs.ExtractionLine(e.Calls, e.InputTokens, e.OutputTokens, e.Failed))
		if e.Failed > 0 {
			output.Note(p.Out.Stderr, "why something was not extracted, its job says: ragd job get %s", e.FailedJob)
		}
	}
}

// skipsNamed is the number of skipped files that are named for each reason.
const skipsNamed = 3

// printSkips prints what was skipped: grouped by the reason, or with verbose one by one.
func printSkips(p *command.Program, skips []localfiles.Skip, verbose bool) {
	byReason := map[string][]string{}
	var reasons []string // in the order of their first file
	for _, s := range skips {
		name := output.OneLine(s.Location)
		if verbose {
			output.Note(p.Out.Stderr, "skipped: %s: %s", name, s.Reason)
			continue
		}
		if byReason[s.Reason] == nil {
			reasons = append(reasons, s.Reason)
		}
		byReason[s.Reason] = append(byReason[s.Reason], name)
	}
	unnamed := false
	for _, reason := range reasons {
		names := byReason[reason]
		line := strings.Join(names[:min(len(names), skipsNamed)], ", ")
		if more := len(names) - skipsNamed; more > 0 {
			line, unnamed = fmt.Sprintf("%s and %d more", line, more), true
		}
		output.Note(p.Out.Stderr, "skipped %d: %s: %s", len(names), line, reason)
	}
	if unnamed {
		output.Note(p.Out.Stderr, "--verbose names all that is skipped")
	}
}
