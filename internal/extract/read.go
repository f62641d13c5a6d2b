package extract

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/ragdhq/ragd/internal/endpoint"
)

// Answers come as the JSON that was asked for, or, by a caller's template or from
// a model that knows no JSON, as text.

// maxLineBytes bounds a title, a keyword or a question, maxSummaryBytes a summary.
const (
	maxLineBytes    = 1 << 10
	maxSummaryBytes = 8 << 10
)

// readText reads one text: white space is made single, a label like "Summary:"
// and quotes around it are dropped.
func readText(answer, field string, most int) (string, error) {
	var object map[string]any
	if json.Unmarshal([]byte(answer), &object) == nil {
		text, ok := object[field].(string)
		if !ok {
			return "", endpoint.Nonsense("JSON without the text %q", field)
		}
		answer = text
	} else if isBroken(answer) {
		return "", endpoint.Nonsense("broken JSON")
	}
	text := tidy(withoutLabel(answer, field))
	switch {
	case text == "":
		return "", endpoint.Nonsense("an empty %s", field)
	case len(text) > most:
		return "", endpoint.Nonsense("a %s of %d bytes, over the limit of %d", field, len(text), most)
	}
	return text, nil
}

// readList reads a list of at most most texts, none of them twice.
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
			return nil, endpoint.Nonsense("broken JSON")
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
		return nil, endpoint.Nonsense("no %s", field)
	}
	return list, nil
}

// isBroken reports whether what is no JSON was meant to be: an answer that broke off
// is not to be shown as a summary.
func isBroken(answer string) bool {
	return strings.HasPrefix(answer, "{") || strings.HasPrefix(answer, `["`) || strings.HasPrefix(answer, "```")
}

// bullet is the mark before an item of a list.
var bullet = regexp.MustCompile(`^(?:[-*•–]|\(?\d{1,3}[.):]|Q\d{1,3}[.:])\s+`)

// withoutLabel drops the name of a field that a model has put before its answer.
func withoutLabel(answer, field string) string {
	answer = strings.TrimSpace(answer)
	label, rest, ok := strings.Cut(answer, ":")
	label = strings.ToLower(strings.Trim(label, "*#_ "))
	if ok && (label == field || label == strings.TrimSuffix(field, "s")) {
		return strings.TrimLeft(rest, "*_ ")
	}
	return answer
}

// tidy makes white space single and drops quotes around the whole.
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

// splitQuestions splits into lines, or into questions where they stand in one.
// What is said before and after them is dropped.
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
