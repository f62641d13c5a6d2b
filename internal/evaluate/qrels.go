package evaluate

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReadQrels reads tab-separated judgements: a header, then query_id, doc_id and
// relevance on each line. It returns the judgements by question. Errors begin
// with name and the number of the line.
func ReadQrels(name string, r io.Reader) (map[string]Judgements, error) {
	judged := map[string]Judgements{}
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		line := strings.TrimRight(lines.Text(), "\r")
		if number == 1 || line == "" {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: has %d columns, want query_id, doc_id and relevance", name, number, len(fields))
		}
		relevance, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: relevance %q is not a number", name, number, fields[2])
		}
		if judged[fields[0]] == nil {
			judged[fields[0]] = Judgements{}
		}
		judged[fields[0]][fields[1]] = relevance
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	return judged, nil
}
