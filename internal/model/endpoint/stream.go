package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"time"
)

// maxEvent bounds the bytes of one event of a stream.
const maxEvent = 4 << 20

// PostEvents is PostJSON for an answer in server-sent events. It calls each with the data of
// every event, which is valid until each returns. The event [DONE], an error of each, and a
// pause longer than the configured timeout end the stream. An answer that is no stream is passed
// on as one event. Errors: *StatusError; *BadAnswerError for an event that is too long;
// context.DeadlineExceeded for a pause; those of each.
func (c *Client) PostEvents(ctx context.Context, path string, in any, each func(data []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pause := time.AfterFunc(c.config.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer pause.Stop()
	request, err := c.post(ctx, path, in)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream")
	c.authorize(request)
	err = c.events(request, func(data []byte) error {
		pause.Reset(c.config.Timeout)
		return each(data)
	})
	if err != nil && context.Cause(ctx) == context.DeadlineExceeded { //nolint:errorlint // the cause is set above
		return context.DeadlineExceeded
	}
	return err
}

func (c *Client) events(request *http.Request, each func(data []byte) error) error {
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	if err := c.check(response); err != nil {
		return err
	}
	defer response.Body.Close()
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		whole, err := io.ReadAll(io.LimitReader(response.Body, maxEvent+1))
		if err != nil {
			return err
		}
		if len(whole) > maxEvent {
			return BadAnswer("an answer of more than %d bytes", maxEvent)
		}
		return each(whole)
	}
	return readEvents(response.Body, each)
}

// readEvents calls each with the data of every event until [DONE] or the end.
func readEvents(from io.Reader, each func(data []byte) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 4<<10), maxEvent)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			if data = append(data, bytes.TrimPrefix(rest, []byte(" "))...); len(data) > maxEvent {
				return BadAnswer("an event of more than %d bytes", maxEvent)
			}
			continue
		}
		if len(line) > 0 || len(data) == 0 { // another field, a comment, or no event
			continue
		}
		if string(data) == "[DONE]" {
			return nil
		}
		if err := each(data); err != nil {
			return err
		}
		data = data[:0]
	}
	if lines.Err() == bufio.ErrTooLong { //nolint:errorlint // as the scanner returns it
		return BadAnswer("an event of more than %d bytes", maxEvent)
	}
	return lines.Err()
}
