package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// passage is a passage as the model reads it.
type passage struct {
	Number int     `json:"number"`
	ID     string  `json:"id,omitempty"` // for the tool fetch
	Title  string  `json:"title,omitempty"`
	URI    string  `json:"uri,omitempty"`
	Score  float64 `json:"score,omitempty"`
	Text   string  `json:"text"`
}

// searchKinds are the kinds of tools whose results have passages that can be cited. What others call
// passages may stand in no document.
var searchKinds = []string{"vector_query", "graph_rag", researchKind}

// researchKind is the kind of the tool whose result has its passages one level deeper.
const researchKind = "research"

// foundSource is a passage as the tools return it.
type foundSource struct {
	ID         string
	DocumentID string
	URI        string
	Title      string
	StartByte  uint32
	EndByte    uint32
	Document   string
	Score      float64
}

// read returns what the model reads of a result: JSON, in which no text of a document can pass for
// part of the conversation.
func (r *run) read(d toolset.Definition, arguments json.RawMessage, result toolset.Result) string {
	var found struct {
		Sources  []foundSource
		Passages []struct{ Source foundSource }
		Parts    []struct {
			Text    string
			Found   bool
			Missing []string
		}
		Citations []Citation
		Text      string
		Warnings  []string
	}
	if result.Structured != nil {
		if err := json.Unmarshal(result.Structured, &found); err != nil {
			found.Sources, found.Passages, found.Citations = nil, nil, nil // of another shape
		}
	}
	if d.Kind == researchKind {
		for _, p := range found.Passages {
			found.Sources = append(found.Sources, p.Source)
		}
		for _, p := range found.Parts {
			if !p.Found {
				found.Warnings = append(found.Warnings, fmt.Sprintf("not found for sure: %s", p.Text))
			}
		}
	}
	switch {
	case d.Kind == ToolKind:
		return r.readAnswer(d, found.Text, found.Citations)
	case slices.Contains(searchKinds, d.Kind) && len(found.Sources) > 0:
		passages, left := []passage{}, maxResultBytes
		for _, s := range found.Sources {
			if left -= len(s.Document); left < 0 {
				break
			}
			n := r.add(Citation{URI: s.URI, DocumentID: s.DocumentID, Title: s.Title, StartByte: s.StartByte, EndByte: s.EndByte, Text: s.Document})
			passages = append(passages, passage{n, r.fetched(arguments, s.ID), s.Title, s.URI, s.Score, s.Document})
		}
		return llm.JSON(map[string]any{"tool": d.Name, "data": map[string]any{"passages": passages, "warnings": found.Warnings}})
	}
	text := result.Text
	if text == "" {
		text = string(result.Structured)
	}
	text = textlimit.Shorten(text, maxResultBytes)
	r.results = append(r.results, text)
	return llm.JSON(map[string]any{"tool": d.Name, "data": text})
}

// fetchTool is the name of the tool that reads a document by the id of a passage.
const fetchTool = "fetch"

// fetched returns the id by which the model can fetch the document of a passage that a call has found;
// "" if it is not offered that tool.
func (r *run) fetched(arguments json.RawMessage, id string) string {
	if _, ok := r.tools[fetchTool]; !ok || id == "" {
		return ""
	}
	var given struct{ IndexName string }
	if err := json.Unmarshal(arguments, &given); err != nil || given.IndexName == "" {
		return id
	}
	return given.IndexName + "/" + id
}

// add numbers a passage. One that was found before keeps its number.
func (r *run) add(c Citation) int {
	for _, known := range r.passages {
		c.Number = known.Number
		if c == known {
			return known.Number
		}
	}
	c.Number = len(r.passages) + 1
	r.passages = append(r.passages, c)
	return c.Number
}

// readAnswer returns the answer of another agent with its citations numbered as this run does.
func (r *run) readAnswer(d toolset.Definition, text string, citations []Citation) string {
	numbers, passages := map[string]string{}, []passage{}
	for _, c := range citations {
		old := fmt.Sprint(c.Number)
		n := r.add(c)
		numbers[old] = fmt.Sprint(n)
		passages = append(passages, passage{Number: n, Title: c.Title, URI: c.URI, Text: c.Text})
	}
	text = marker.ReplaceAllStringFunc(text, func(found string) string {
		var renamed []string
		for number := range strings.SplitSeq(strings.Trim(found, "[]"), ",") {
			if n := numbers[strings.TrimSpace(number)]; n != "" {
				renamed = append(renamed, n)
			}
		}
		return "[" + strings.Join(renamed, ", ") + "]"
	})
	return llm.JSON(map[string]any{"tool": d.Name, "data": map[string]any{"answer": textlimit.Shorten(text, maxResultBytes), "passages": passages}})
}
