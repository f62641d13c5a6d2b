package evaluate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// judge adds a judgement of a document. One that is not above 0 is ignored.
func (q *Question) judge(r Relevant, location string) {
	if q.Locations == nil {
		q.Locations = map[string]string{}
	}
	for i := range q.Relevant {
		if q.Relevant[i].item() == r.item() {
			q.Relevant = append(q.Relevant[:i], q.Relevant[i+1:]...) // the last one counts
			break
		}
	}
	if r.Grade > 0 {
		q.Relevant, q.Locations[r.URI] = append(q.Relevant, r), location
	}
}

// maxQuestionLine is the largest line of a file of questions, in bytes.
const maxQuestionLine = 1 << 20

// ReadQuestions reads questions as JSON Lines with the fields id and text and, optionally,
// what answers it: uris, a list of documents; relevant, a list of objects with uri, grade,
// startByte and endByte; answer and alternativeAnswers, a list; or unanswerable. Other fields and blank lines are ignored.
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

// questionLine is a question in a file.
type questionLine struct {
	ID           any            `json:"id"` // a string or a number
	Text         string         `json:"text"`
	URIs         []string       `json:"uris,omitempty"`
	Relevant     []relevantLine `json:"relevant,omitempty"`
	Answer       string         `json:"answer,omitempty"`
	Alternatives []string       `json:"alternativeAnswers,omitempty"`
	Unanswerable bool           `json:"unanswerable,omitempty"`
	Drafted      bool           `json:"drafted,omitempty"`
}

type relevantLine struct {
	URI       string   `json:"uri"`
	Grade     *float64 `json:"grade,omitempty"`
	StartByte *int     `json:"startByte,omitempty"`
	EndByte   *int     `json:"endByte,omitempty"`
}

func readQuestion(line []byte, location string) (Question, error) {
	var fields questionLine
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return Question{}, fmt.Errorf("field %q must not be a JSON %s: id, text and answer are strings, uris and alternativeAnswers are lists of strings", wrong.Field, wrong.Value)
		}
		return Question{}, fmt.Errorf("is not valid JSON: %w", err)
	}
	q := Question{Text: fields.Text, Answer: fields.Answer, AlternativeAnswers: fields.Alternatives, Unanswerable: fields.Unanswerable, Drafted: fields.Drafted}
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
		q.judge(Relevant{URI: uri, Grade: 1}, location)
	}
	for _, r := range fields.Relevant {
		relevant, err := r.relevant()
		if err != nil {
			return q, err
		}
		q.judge(relevant, location)
	}
	return q, nil
}

func (r relevantLine) relevant() (Relevant, error) {
	out := Relevant{URI: r.URI, Grade: 1}
	if r.Grade != nil {
		out.Grade = *r.Grade
	}
	switch {
	case r.StartByte == nil && r.EndByte == nil:
	case r.StartByte == nil || r.EndByte == nil:
		return out, errors.New("an entry of relevant has one of startByte and endByte: give both or none")
	default:
		out.Span = &Span{*r.StartByte, *r.EndByte}
	}
	return out, nil
}

// WriteQuestions writes questions as ReadQuestions reads them.
func WriteQuestions(w io.Writer, questions []Question) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, q := range questions {
		if err := encoder.Encode(lineOf(q)); err != nil {
			return err
		}
	}
	return nil
}

// lineOf returns the question as a line of a file, with uris if that says it all.
func lineOf(q Question) questionLine {
	line := questionLine{ID: q.ID, Text: q.Text, Answer: q.Answer, Alternatives: q.AlternativeAnswers, Unanswerable: q.Unanswerable, Drafted: q.Drafted}
	plain := true
	for _, r := range q.Relevant {
		of := relevantLine{URI: r.URI}
		if g := grade(r); g != 1 {
			of.Grade, plain = &g, false
		}
		if s := r.Span; s != nil {
			of.StartByte, of.EndByte, plain = &s.Start, &s.End, false
		}
		line.URIs, line.Relevant = append(line.URIs, r.URI), append(line.Relevant, of)
	}
	if plain {
		line.Relevant = nil
	} else {
		line.URIs = nil
	}
	return line
}

// Judge sets what is relevant to the questions from a file as ReadQrels reads it. It ignores
// judgements for other questions. Questions with judgements keep their answers, which then say only
// what answers of agents are compared with.
func Judge(questions []Question, name string, r io.Reader) error {
	byID := make(map[string]*Question, len(questions))
	for i := range questions {
		q := &questions[i]
		q.Relevant, q.Locations, q.Unanswerable = nil, nil, false
		byID[q.ID] = q
	}
	err := eachJudgement(name, r, func(id, uri string, relevance float64, line int) {
		if q := byID[id]; q != nil {
			q.judge(Relevant{URI: uri, Grade: relevance}, fmt.Sprintf("%s:%d", name, line))
		}
	})
	for _, q := range byID {
		if len(q.Relevant) == 0 {
			q.Answer, q.AlternativeAnswers = "", nil
		}
	}
	return err
}
