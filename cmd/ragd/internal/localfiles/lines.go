package localfiles

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/api/jsonmessage"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Lines returns the documents of JSON Lines: one object per line with the fields id or
// uri, title, text, contentType and metadata. Other fields and blank lines are ignored.
// Compressed input is recognised by its first bytes. A line that is not a document, or
// longer than MaxLine, yields a *Problem with name and the line number. A read error
// ends the sequence with a *Problem.
func Lines(name string, r io.Reader) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		input := &counter{r: r}
		plain, err := Decompress(input)
		if err != nil {
			yield(Document{}, problem(name, "%v", err))
			return
		}
		lines := &lineReader{r: bufio.NewReaderSize(plain, 64<<10), limit: MaxLine}
		var seen int64 // bytes of the input that earlier documents account for
		for number := 1; ; number++ {
			location := fmt.Sprintf("%s:%d", name, number)
			line, err := lines.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil && !errors.Is(err, errLongLine) {
				yield(Document{}, problem(location, "%v", reason(err)))
				return
			}
			if number == 1 {
				line = bytes.TrimPrefix(line, byteOrderMark)
			}
			if err == nil && len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			var doc Document
			if err == nil {
				doc, err = decodeLine(line)
			}
			if err != nil {
				err = problem(location, "%v", err)
			}
			doc.Location = location
			doc.InputBytes, seen = input.n-seen, input.n
			if !yield(doc, err) {
				return
			}
		}
	}
}

// LineFiles returns the documents of several files of JSON Lines, one file after the
// other. See Lines.
func LineFiles(paths ...string) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, path := range paths {
			if !lineFile(path, yield) {
				return
			}
		}
	}
}

// lineFile yields the documents of one file. It reports whether the caller wants more.
func lineFile(path string, yield func(Document, error) bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return yield(Document{}, problem(path, "%v", reason(err)))
	}
	defer f.Close()
	for doc, err := range Lines(path, f) {
		if !yield(doc, err) {
			return false
		}
	}
	return true
}

// Decompress returns a reader of the decompressed data if r is in gzip, Zstandard, xz or bzip2, else of the
// same data as r.
func Decompress(r io.Reader) (io.Reader, error) {
	const signature = 10 // bytes that tell one of these
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(signature)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, reason(err)
	}
	return parse.Decompress(head, buffered)
}

// exactMetadata returns an error if the metadata of a line, which is valid JSON, have a whole number that would be rounded. The
// id may have any number.
func exactMetadata(line []byte) error {
	if jsonmessage.Exact(line, "") == nil {
		return nil
	}
	var fields struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(line, &fields) != nil {
		return nil
	}
	return jsonmessage.Exact(fields.Metadata, "metadata")
}

// decodeLine returns the document of one line. The error's text says what is wrong with
// the line.
func decodeLine(line []byte) (Document, error) {
	// The JSON package replaces invalid UTF-8: the document would silently differ from
	// its source.
	if !utf8.Valid(line) {
		return Document{}, errors.New("is not valid UTF-8")
	}
	var fields struct {
		ID          rawID          `json:"id"`
		URI         string         `json:"uri"`
		Title       string         `json:"title"`
		Text        *string        `json:"text"`
		ContentType string         `json:"contentType"`
		Metadata    map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(line, &fields); err != nil {
		return Document{}, jsonReason(err)
	}
	if err := exactMetadata(line); err != nil {
		return Document{}, errors.New(fault.Public(err))
	}
	doc := Document{
		URI: fields.URI, Title: fields.Title, ContentType: fields.ContentType, Metadata: fields.Metadata,
	}
	if doc.URI == "" {
		doc.URI = string(fields.ID)
	}
	switch {
	case doc.URI == "":
		return Document{}, errors.New(`has neither a field "id" nor a field "uri" that names the document`)
	case fields.Text == nil:
		return Document{}, errors.New(`has no field "text"`)
	}
	doc.Text = *fields.Text
	return doc, nil
}

// rawID is an id as text. In JSON it may be a string or a number.
type rawID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *rawID) UnmarshalJSON(data []byte) error {
	switch c := data[0]; {
	case c == '"':
		return json.Unmarshal(data, (*string)(id))
	case c == '-' || '0' <= c && c <= '9':
		*id = rawID(data)
		return nil
	case c == 'n': // null, as if it were absent
		return nil
	}
	return errBadID
}

var errBadID = errors.New(`field "id" must be a string or a number`)

// jsonReason rewrites an error of the JSON package so that it names the field of the
// line instead of Go types.
func jsonReason(err error) error {
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.Is(err, errBadID):
		return errBadID
	case !errors.As(err, &wrongType):
		return fmt.Errorf("is not valid JSON: %w", err)
	case wrongType.Field == "":
		return fmt.Errorf("is a JSON %s where an object was expected", wrongType.Value)
	case wrongType.Type.Kind() == reflect.Float64:
		return fmt.Errorf("field %q has a number out of range: %s", wrongType.Field, wrongType.Value)
	case wrongType.Type.Kind() == reflect.Map:
		return fmt.Errorf("field %q must be an object, not a JSON %s", wrongType.Field, wrongType.Value)
	}
	return fmt.Errorf("field %q must be a string, not a JSON %s", wrongType.Field, wrongType.Value)
}

var errLongLine = fmt.Errorf("is longer than %d MiB, the limit of one line", MaxLine>>20)

// lineReader reads line by line into a buffer that it reuses.
type lineReader struct {
	r     *bufio.Reader
	limit int // of a line, in bytes, with its newline
	line  []byte
}

// next returns the next line without its newline, valid until the next call. It returns
// errLongLine for a line over the limit, which it skips, and io.EOF after the last line.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	long, started := false, false
	for {
		part, err := l.r.ReadSlice('\n')
		started = started || len(part) > 0
		if len(l.line)+len(part) > l.limit {
			long = true
		}
		if !long {
			l.line = append(l.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && started:
		case err != nil:
			return nil, err
		}
		if long {
			return nil, errLongLine
		}
		return bytes.TrimSuffix(l.line, []byte("\n")), nil
	}
}

// counter counts the bytes read through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
