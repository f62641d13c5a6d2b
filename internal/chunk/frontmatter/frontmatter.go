// Package frontmatter reads the metadata at the beginning of a Markdown file.
package frontmatter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/metadata"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// MaxSize is the size of the largest front matter that is read, in bytes, as it is
// written and as JSON. Every chunk of the document stores it.
const MaxSize = 16 << 10

// maxReason bounds the reason of a decoder that is part of an error, in bytes.
const maxReason = 512

// Matter is the metadata at the beginning of a Markdown file: YAML between lines of
// three dashes, TOML between lines of three plus signs, or a JSON object that begins with a line of {
// and ends with a line of }.
type Matter struct {
	// JSON is the metadata as a JSON object; nil if there is none. Dates are texts in the
	// form of RFC 3339, without the time if that is midnight.
	JSON []byte
	// Title is the field title if that is a text.
	Title string
	// Body is the number of bytes before the text that follows.
	Body int
}

// Read returns the front matter of a Markdown text, the zero value if it has none
// or consists of nothing else. The error says why something that looks like front matter is
// not; it belongs to the text then.
func Read(text string) (Matter, error) {
	block, language, body := block(text)
	if language == "" || strings.TrimSpace(text[body:]) == "" {
		return Matter{}, nil
	}
	if len(block) > MaxSize {
		return Matter{}, fmt.Errorf("the front matter has %d bytes, over the limit of %d: it is treated as text", len(block), MaxSize)
	}
	fields, err := decode(language, block)
	if err != nil {
		return Matter{}, fmt.Errorf("the front matter is not valid %s: %s: it is treated as text", language, textlimit.OneLine(err.Error(), maxReason))
	}
	if fields == nil { // text between two lines of dashes
		return Matter{}, nil
	}
	raw, err := metadata.Marshal("frontMatter", fields)
	if err == nil && len(raw) > MaxSize {
		err = fmt.Errorf("is %d bytes as JSON, over the limit of %d", len(raw), MaxSize)
	}
	if err != nil {
		return Matter{}, fmt.Errorf("the front matter %s: it is treated as text", strings.TrimPrefix(fault.Public(err), "frontMatter: "))
	}
	title, _ := fields["title"].(string)
	return Matter{JSON: raw, Title: title, Body: body}, nil
}

// block returns what is between the first two delimiter lines of a text, its
// language, and the position of the text that follows. The language is empty if the text
// does not begin with a delimiter or there is no second one.
func block(text string) (block, language string, body int) {
	start := len(text) - len(strings.TrimPrefix(text, "\ufeff"))
	first, rest, _ := strings.Cut(text[start:], "\n")
	var delimiters []string
	switch strings.TrimRight(first, " \t\r") {
	case "---":
		language, delimiters = "YAML", []string{"---", "..."}
	case "+++":
		language, delimiters = "TOML", []string{"+++"}
	case "{":
		language, delimiters = "JSON", []string{"}"}
	default:
		return "", "", 0
	}
	if next, _, _ := strings.Cut(rest, "\n"); strings.TrimSpace(next) == "" {
		return "", "", 0 // a rule across the page
	}
	at := len(text) - len(rest)
	begin := at
	if language == "JSON" {
		begin = start
	}
	for line := range strings.Lines(rest) {
		for _, delimiter := range delimiters {
			if strings.TrimRight(line, " \t\r\n") != delimiter {
				continue
			}
			if language == "JSON" {
				return text[begin : at+len(delimiter)], language, at + len(line)
			}
			return text[begin:at], language, at + len(line)
		}
		at += len(line)
	}
	return "", "", 0
}

// decode returns the fields of a block as values that JSON has, nil if the block
// is not a list of fields. A panic of a decoder is an error.
func decode(language, block string) (fields map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			fields, err = nil, fmt.Errorf("the decoder failed: %v", p)
		}
	}()
	var decoded any
	switch language {
	case "JSON":
		if json.Unmarshal([]byte(block), &fields) != nil { // a text may begin so
			return nil, nil
		}
		return fields, nil
	case "TOML":
		if _, err := toml.Decode(block, &fields); err != nil {
			return nil, err
		}
		decoded = fields
	default:
		if err := yaml.Unmarshal([]byte(block), &decoded); err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
		}
	}
	if decoded == nil {
		return map[string]any{}, nil
	}
	fields, _ = jsonValue(decoded).(map[string]any)
	return fields, nil
}

// jsonValue converts a value of YAML or TOML to one that JSON has.
func jsonValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = jsonValue(value)
		}
		return v
	case map[any]any:
		fields := make(map[string]any, len(v))
		for key, value := range v {
			fields[fmt.Sprint(key)] = jsonValue(value)
		}
		return fields
	case []map[string]any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = jsonValue(value)
		}
		return list
	case []any:
		for i, value := range v {
			v[i] = jsonValue(value)
		}
		return v
	case time.Time:
		if v.Hour()+v.Minute()+v.Second()+v.Nanosecond() == 0 {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	}
	return v
}
