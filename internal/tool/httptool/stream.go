package httptool

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// eventStream is the type of answers that report progress and log messages before their result.
const eventStream = "text/event-stream"

// Events are the events of an answer that its caller hears of; a nil function is not called.
type Events struct {
	// Progress hears how far the call has come, in growing values of done; total is 0 if it is
	// not known.
	Progress func(done, total float64, message string)
	// Log hears of a log message: a level of MCP and a JSON value.
	Log func(level string, data any)
}

// logLevels are those of MCP.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// streamReader reads an answer in events.
type streamReader struct {
	to   Events
	mask remote.Mask
	done float64
	any  bool // progress was reported
}

// read reads events up to the one named result, and returns its data; nil if the stream ends
// before.
func (s *streamReader) read(body io.Reader) ([]byte, error) {
	lines := bufio.NewReader(body)
	name, data := "", []string(nil)
	for {
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && name == "result":
			return []byte(strings.Join(data, "\n")), nil
		case line == "":
			s.event(name, strings.Join(data, "\n"))
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
		if err != nil {
			if name == "result" { // the last event lacks its empty line
				return []byte(strings.Join(data, "\n")), nil
			}
			return nil, nil
		}
	}
}

// event passes an event on. What is not understood is dropped: it does not fail the call.
func (s *streamReader) event(name, data string) {
	value, err := schema.Decode([]byte(data))
	if err != nil {
		return
	}
	fields, _ := s.mask.Value(value).(map[string]any)
	switch {
	case name == "progress" && s.to.Progress != nil:
		done, ok := number(fields["progress"])
		if !ok || s.any && done <= s.done {
			return
		}
		s.done, s.any = done, true
		total, _ := number(fields["total"])
		message, _ := fields["message"].(string)
		s.to.Progress(done, total, textlimit.OneLine(message, maxErrorBytes))
	case name == "log" && s.to.Log != nil:
		level, _ := fields["level"].(string)
		if !slices.Contains(logLevels, level) {
			level = "info"
		}
		if fields["data"] != nil {
			s.to.Log(level, fields["data"])
		}
	}
}

func number(value any) (float64, bool) {
	text, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := text.Float64()
	return n, err == nil
}

// streams reports whether an answer has events.
func (d *Definition) streams(a *answer) bool {
	return d.settings.Response.Format == formatMCP && mediaType(a) == eventStream && a.status == http.StatusOK
}

// fetchStream reads an answer in events, so that the answer is their result. Errors:
// Precondition for a stream without one.
func (d *Definition) fetchStream(a *answer, body io.Reader, to *streamReader) error {
	limited := &io.LimitedReader{R: body, N: int64(d.settings.Response.MaxBytes) + 1}
	data, err := to.read(limited)
	switch {
	case err != nil:
		return err
	case limited.N == 0:
		a.cut = true
	case data == nil:
		return fault.New(fault.Precondition, "%s ended its events without the event result", d.host.Host)
	}
	a.body = data
	a.header = http.Header{"Content-Type": {"application/json"}}
	return nil
}
