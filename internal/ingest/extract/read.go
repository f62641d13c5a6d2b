package extract

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/model/endpoint"
)

// Answers are the requested JSON, or text if the caller gave a template or the model
// does not support JSON.

// maxLineBytes bounds a title, a keyword or a question, maxSummaryBytes a summary.
const (
	maxLineBytes    = 1 << 10
	maxSummaryBytes = 8 << 10
)

// readText reads an answer that is one text. It normalises white space and removes a
// label such as "Summary:" and enclosing quotes.
func readText(answer, field string, most int) (string, error) {
	var object map[string]any
	if json.Unmarshal([]byte(answer), &object) == nil {
		text, ok := object[field].(string)
		if !ok {
			return "", endpoint.BadAnswer("JSON without the text %q", field)
		}
		answer = text
	} else if isBroken(answer) {
		return "", endpoint.BadAnswer("broken JSON")
	}
	text := tidy(withoutLabel(answer, field))
	switch {
	case text == "":
		return "", endpoint.BadAnswer("an empty %s", field)
	case len(text) > most:
		return "", endpoint.BadAnswer("a %s of %d bytes, over the limit of %d", field, len(text), most)
	}
	return text, nil
}

// readList reads an answer that is a list. It returns at most most texts, without
// duplicates.
func readList(answer, field string, most int, split func(string) []string) ([]string, error) {
	var parts []string
	var object map[string]any
	if json.Unmarshal([]byte(answer), &object) == nil {
		switch value := object[field].(type) {
		case []any:
			for _, v := range value {
				if text, ok := v.(string); ok {
					parts = append(parts, text)
				}
			}
		case string:
			parts = split(value)
		}
	} else if json.Unmarshal([]byte(answer), &parts) != nil {
		if isBroken(answer) {
			return nil, endpoint.BadAnswer("broken JSON")
		}
		parts = split(withoutLabel(answer, field))
	}
	seen := map[string]bool{}
	var list []string
	for _, part := range parts {
		text := tidy(bullet.ReplaceAllString(strings.TrimSpace(part), ""))
		if folded := strings.ToLower(text); text != "" && len(text) <= maxLineBytes && !seen[folded] && len(list) < most {
			seen[folded] = true
			list = append(list, text)
		}
	}
	if len(list) == 0 {
		return nil, endpoint.BadAnswer("no %s", field)
	}
	return list, nil
}

// isBroken reports whether an answer that is not valid JSON was meant to be JSON. A
// truncated answer must not become a summary.
func isBroken(answer string) bool {
	return strings.HasPrefix(answer, "{") || strings.HasPrefix(answer, `["`) || strings.HasPrefix(answer, "```")
}

// bullet matches the mark before a list item.
var bullet = regexp.MustCompile(`^(?:[-*•–]|\(?\d{1,3}[.):]|Q\d{1,3}[.:])\s+`)

// withoutLabel removes the name of the field before an answer.
func withoutLabel(answer, field string) string {
	answer = strings.TrimSpace(answer)
	label, rest, ok := strings.Cut(answer, ":")
	label = strings.ToLower(strings.Trim(label, "*#_ "))
	if ok && (label == field || label == strings.TrimSuffix(field, "s")) {
		return strings.TrimLeft(rest, "*_ ")
	}
	return answer
}

// tidy normalises white space and removes quotes that enclose the whole text.
func tidy(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	for _, quotes := range []string{`""`, "''", "“”", "**", "``"} {
		q := []rune(quotes)
		inner, ok := strings.CutPrefix(text, string(q[0]))
		inner, closed := strings.CutSuffix(inner, string(q[1]))
		if ok && closed && !strings.ContainsAny(inner, quotes) {
			text = strings.TrimSpace(inner)
		}
	}
	return text
}

// splitKeywords splits at commas, semicolons and lines.
func splitKeywords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || r == '\n' })
}

// splitQuestions returns the questions of a text, several per line if need be,
// without the text between them. Without question marks it returns the lines.
func splitQuestions(text string) []string {
	var questions []string
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		for {
			end := strings.IndexAny(line, "?？")
			if end < 0 {
				break
			}
			end += len("?")
			if strings.HasPrefix(line[end-1:], "？") {
				end += len("？") - 1
			}
			questions = append(questions, line[:end])
			line = strings.TrimSpace(line[end:])
		}
	}
	if questions == nil {
		return lines
	}
	return questions
}
