package evaluate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Question is a question with known relevant documents.
type Question struct {
	ID     string
	Text   string
	Judged Judgements // of documents, by uri
	// Locations says for each judged document where its judgement was read, as "file:line".
	Locations map[string]string
}

// judge adds a judgement of a document.
func (q *Question) judge(uri string, relevance float64, location string) {
	if q.Judged == nil {
		q.Judged, q.Locations = Judgements{}, map[string]string{}
	}
	q.Judged[uri], q.Locations[uri] = relevance, location
}

// maxQuestionLine is the largest line of a file of questions, in bytes.
const maxQuestionLine = 1 << 20

// ReadQuestions reads questions as JSON Lines with the fields id, text and, optionally,
// uris: the documents that answer the question. Other fields and blank lines are ignored.
// Errors begin with name and the number of the line.
func ReadQuestions(name string, r io.Reader) ([]Question, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxQuestionLine)
	var questions []Question
	known := map[string]string{} // locations by id
	for number := 1; lines.Scan(); number++ {
		line := bytes.TrimSpace(lines.Bytes())
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if len(line) == 0 {
			continue
		}
		location := fmt.Sprintf("%s:%d", name, number)
		q, err := readQuestion(line, location)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", location, err)
		case known[q.ID] != "":
			return nil, fmt.Errorf("%s: has the id %q of %s", location, q.ID, known[q.ID])
		}
		known[q.ID] = location
		questions = append(questions, q)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return questions, nil
}

func readQuestion(line []byte, location string) (Question, error) {
	var fields struct {
		ID   any      `json:"id"` // a string or a number
		Text string   `json:"text"`
		URIs []string `json:"uris"`
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return Question{}, fmt.Errorf("field %q must not be a JSON %s: id and text are strings, uris is a list of strings", wrong.Field, wrong.Value)
		}
		return Question{}, fmt.Errorf("is not valid JSON: %w", err)
	}
	q := Question{Text: fields.Text}
	switch id := fields.ID.(type) {
	case string:
		q.ID = id
	case json.Number:
		q.ID = id.String()
	}
	switch {
	case q.ID == "":
		return q, errors.New(`has no field "id" that names the question`)
	case q.Text == "":
		return q, errors.New(`has no field "text" with the question`)
	}
	for _, uri := range fields.URIs {
		q.judge(uri, 1, location)
	}
	return q, nil
}

// Judge sets the judgements of the questions from a file as ReadQrels reads it. It ignores
// judgements for other questions.
func Judge(questions []Question, name string, r io.Reader) error {
	byID := make(map[string]*Question, len(questions))
	for i := range questions {
		questions[i].Judged, questions[i].Locations = nil, nil
		byID[questions[i].ID] = &questions[i]
	}
	return eachJudgement(name, r, func(id, uri string, relevance float64, line int) {
		if q := byID[id]; q != nil {
			q.judge(uri, relevance, fmt.Sprintf("%s:%d", name, line))
		}
	})
}

// FirstRank returns the rank of the first relevant document, from 1; 0 if none was found.
func (a Answer) FirstRank() int {
	for i, id := range distinct(a.Ranking) {
		if a.Judged[id] > 0 {
			return i + 1
		}
	}
	return 0
}

// Missing returns the relevant documents that are not among the first k, sorted.
func (a Answer) Missing(k int) []string {
	ids := distinct(a.Ranking)
	found := ids[:min(k, len(ids))]
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.Judged)), func(id string) bool {
		return a.Judged[id] <= 0 || slices.Contains(found, id)
	})
}

// distinct returns the ids of a ranking, each once.
func distinct(ranking []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ranking), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}
