package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// recordLimit is a reader that fails once more than MaxItem bytes were read since reset, so that a decoder
// holds no larger record.
type recordLimit struct {
	r    io.Reader
	left int
	over bool
}

// recordSlack is what a decoder reads ahead of a record at most, and writes around its text.
const recordSlack = 1 << 20

func (l *recordLimit) reset() { l.left = MaxItem + recordSlack }

// Read implements io.Reader.
func (l *recordLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		l.over = true
		return 0, errors.New("the record is too large")
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// failure returns the error for an export that cannot be read any further.
func (l *recordLimit) failure(what string, err error) error {
	if l.over {
		return tooLarge("it has a record of more than %d bytes", MaxItem)
	}
	return broken(what, err)
}

// record is an object of an export in JSON: an element of an array, or a line. list is the name of
// the field with the array, empty for an array or lines at the top.
type record struct {
	list string
	raw  json.RawMessage
}

// records calls visit with the records of a JSON file, whether it is an array, several arrays, lines, or an object
// with arrays. An object that has no array of a name in lists is one record. It ends when visit returns
// false. Errors: those of a broken file, or of a record that is too large.
func records(r io.Reader, lists []string, visit func(record) bool) error {
	limited := &recordLimit{r: r}
	limited.reset()
	reader := bufio.NewReaderSize(limited, HeadBytes)
	if mark, _ := reader.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = reader.Discard(3) // they are buffered
	}
	w := recordWalk{decoder: json.NewDecoder(reader), limited: limited, lists: lists, visit: visit}
	for {
		limited.reset()
		err := w.top()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errStop):
			return nil
		case err != nil:
			return limited.failure("JSON export", err)
		}
	}
}

// recordWalk is a walk through a JSON file.
type recordWalk struct {
	decoder *json.Decoder
	limited *recordLimit
	lists   []string
	visit   func(record) bool
}

// errStop ends a walk because no more records are wanted.
var errStop = errors.New("no more records are wanted")

// top reads a value at the top of the file.
func (w recordWalk) top() error {
	token, err := w.decoder.Token()
	switch {
	case err != nil:
		return err
	case token == json.Delim('['):
		return w.array("")
	case token == json.Delim('{'):
		return w.object()
	}
	return errors.New("it has neither an array nor an object at the top")
}

// array visits the elements of an array, whose first sign was read.
func (w recordWalk) array(list string) error {
	for w.decoder.More() {
		w.limited.reset()
		var raw json.RawMessage
		if err := w.decoder.Decode(&raw); err != nil {
			return err
		}
		if !w.visit(record{list, raw}) {
			return errStop
		}
	}
	_, err := w.decoder.Token()
	return err
}

// object visits the records in an object, whose first sign was read, or the object as a record.
func (w recordWalk) object() error {
	fields := map[string]json.RawMessage{}
	listed := false
	for w.decoder.More() {
		token, err := w.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if !slices.Contains(w.lists, name) {
			var raw json.RawMessage
			if err := w.decoder.Decode(&raw); err != nil {
				return err
			}
			fields[name] = raw
			continue
		}
		if token, err = w.decoder.Token(); err != nil {
			return err
		}
		if token == json.Delim('[') {
			listed = true
			if err := w.array(name); err != nil {
				return err
			}
		} else if token != nil {
			return errors.New("the field " + name + " is no array")
		}
	}
	if _, err := w.decoder.Token(); err != nil {
		return err
	}
	if listed {
		return nil
	}
	whole, err := json.Marshal(fields)
	if err == nil && !w.visit(record{"", whole}) {
		err = errStop
	}
	return err
}

// dialect is a system that exports JSON.
type dialect struct {
	system string
	lists  []string // fields with arrays of records
	// has reports whether a record of a list has the fields that those of the system have.
	has func(list string, fields map[string]json.RawMessage) bool
	// begin returns what reads one export. learn remembers the names in a record; it is nil if all are in the
	// records themselves. item returns the item of a record, without a Name for none.
	begin func() (learn func(record), item func(record) (Item, error))
}

var dialects = []dialect{gitHub, zendesk, discourse}

// openRecords recognises an export in JSON by the first records in its head.
func openRecords(head []byte, open opener) (*Export, bool) {
	for _, d := range dialects {
		known, seen := false, 0
		_ = records(bytes.NewReader(head), d.lists, func(r record) bool { // the head ends within a record
			var fields map[string]json.RawMessage
			if json.Unmarshal(r.raw, &fields) == nil && d.has(r.list, fields) {
				known = true
			}
			seen++
			return !known && seen < 100
		})
		if known || d.has("", fieldsOf(head)) {
			return &Export{d.system, func(yield yielder) { d.items(open, yield) }}, true
		}
	}
	return nil, false
}

// fieldsOf returns the fields of the first record of a JSON file whose beginning is head, also if it is cut
// off in the record: then the last field is missing or empty.
func fieldsOf(head []byte) map[string]json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimLeft(head, "[ \r\n\t")))
	fields := map[string]json.RawMessage{}
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return fields
	}
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			break
		}
		var raw json.RawMessage
		err = decoder.Decode(&raw)
		fields[name] = raw
		if err != nil {
			break
		}
	}
	return fields
}

// items yields the items of an export in JSON.
func (d dialect) items(open opener, yield yielder) {
	learn, item := d.begin()
	if learn != nil {
		// Where the file is broken is said when its items are read.
		d.each(open, func(r record) bool { learn(r); return true }, func(Item, error) bool { return false })
	}
	number := 0
	d.each(open, func(r record) bool {
		number++
		found, err := item(r)
		if err != nil {
			found.Name = fmt.Sprintf("record %d", number)
			err = fault.Field("content", "is no record as those of %s: %s; mend or remove it", d.system, jsonReason(err))
		}
		return found.Name == "" || yield(found, err)
	}, yield)
}

// each calls visit with the records, and yield with an error that ends them.
func (d dialect) each(open opener, visit func(record) bool, yield yielder) {
	r, err := open()
	if err != nil {
		yield(Item{}, broken("JSON export", err))
		return
	}
	defer r.Close()
	if err := records(r, d.lists, visit); err != nil {
		yield(Item{}, err)
	}
}

// jsonReason returns what is wrong with a record without the names of Go's types.
func jsonReason(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return "the field " + wrong.Field + " is a " + wrong.Value
	}
	return "its JSON cannot be read"
}

// hasFields reports whether a record has all fields of a list separated by spaces.
func hasFields(fields map[string]json.RawMessage, names string) bool {
	for name := range strings.FieldsSeq(names) {
		if _, ok := fields[name]; !ok {
			return false
		}
	}
	return true
}
