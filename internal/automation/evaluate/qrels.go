// Package evaluate measures how well an index or an agent answers questions whose answers are known:
// it stores sets of questions, runs them as jobs with the settings of a query or by asking the agent,
// and compares runs.
package evaluate

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
)

// qrelsHeaders are the names of the columns of judgements, and those of BEIR data sets.
var qrelsHeaders = []string{"query_id\tdoc_id\trelevance", "query-id\tcorpus-id\tscore"}

// ReadQrels reads tab-separated judgements: a header, then query_id, doc_id and
// relevance on each line. It returns the judgements by question. Errors begin
// with name and the number of the line.
func ReadQrels(name string, r io.Reader) (map[string]measure.Judgements, error) {
	judged := map[string]measure.Judgements{}
	err := eachJudgement(name, r, func(question, document string, relevance float64, _ int) {
		if judged[question] == nil {
			judged[question] = measure.Judgements{}
		}
		judged[question][document] = relevance
	})
	if err != nil {
		return nil, err
	}
	return judged, nil
}

// eachJudgement calls do for each judgement of a file as ReadQrels reads it, with the
// number of its line.
func eachJudgement(name string, r io.Reader, do func(question, document string, relevance float64, line int)) error {
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		line := strings.TrimRight(lines.Text(), "\r")
		if number == 1 {
			if !slices.Contains(qrelsHeaders, strings.TrimPrefix(line, "\xef\xbb\xbf")) {
				return fmt.Errorf("%s:1: the header is missing: the first line must be query_id, doc_id and relevance with tabs between them, got %.60q", name, line)
			}
			continue
		}
		if line == "" {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			return fmt.Errorf("%s:%d: has %d columns, want query_id, doc_id and relevance with tabs between them", name, number, len(fields))
		}
		relevance, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return fmt.Errorf("%s:%d: relevance %q is not a number", name, number, fields[2])
		}
		do(fields[0], fields[1], relevance, number)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	if number == 0 {
		return fmt.Errorf("%s:1: the header is missing: the file is empty", name)
	}
	return nil
}

// WriteQrels writes the relevant documents of questions as ReadQrels reads them. Spans are
// left out.
func WriteQrels(w io.Writer, questions []Question) error {
	if _, err := fmt.Fprintln(w, qrelsHeaders[0]); err != nil {
		return err
	}
	for _, q := range questions {
		for _, r := range q.Relevant {
			if r.Span != nil {
				continue
			}
			if strings.ContainsAny(q.ID+r.URI, "\t\r\n") {
				return fmt.Errorf("question %q: a tab or line break in its id or a uri cannot be written to tab-separated judgements", q.ID)
			}
			if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", q.ID, r.URI, strconv.FormatFloat(grade(r), 'g', -1, 64)); err != nil {
				return err
			}
		}
	}
	return nil
}
