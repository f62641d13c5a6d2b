// Package output prints the results of commands: messages, tables and JSON on standard
// output, notes on standard error, and text that cannot steer a terminal.
package output

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Printer prints on the two streams of a command.
type Printer struct {
	Stdout, Stderr io.Writer
	JSON           bool // print JSON on Stdout instead of text
	Color          bool // Stdout is a terminal that shows colors
}

// Show prints a message: as JSON with Printer.JSON, else the output of text, aligned at
// tabs.
func (p Printer) Show(msg proto.Message, text func(w io.Writer)) error {
	if p.JSON {
		return p.Message(msg)
	}
	w := NewTable(p.Stdout)
	text(w)
	return w.Flush()
}

// Message prints a message as indented JSON.
func (p Printer) Message(msg proto.Message) error {
	data, err := marshal(msg)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	_, err = p.Stdout.Write(indented.Bytes())
	return err
}

// List prints items as they come: with Printer.JSON one object per line, else as a table.
// columns are the headers, separated by spaces; nouns names the items in the note that
// there are none.
func List[T proto.Message](p Printer, nouns string, items iter.Seq2[T, error], columns string, row func(T) []any) error {
	const flushRows = 200 // rows that are aligned together
	w := NewTable(p.Stdout)
	rows := 0
	for item, err := range items {
		if err != nil {
			_ = w.Flush()
			return err
		}
		if p.JSON {
			if err := p.MessageLine(item); err != nil {
				return err
			}
			continue
		}
		if rows == 0 {
			fmt.Fprintln(w, strings.ReplaceAll(columns, " ", "\t"))
		}
		if rows++; rows%flushRows == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		printRow(w, row(item))
	}
	if rows == 0 && !p.JSON {
		Note(p.Stderr, "no %s", nouns)
	}
	return w.Flush()
}

// CSV writes items as comma-separated values, as they come: a line of columns, then one of row
// for each item.
func CSV[T any](w io.Writer, columns []string, items iter.Seq2[T, error], row func(T) []string) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	for item, err := range items {
		if err == nil {
			err = out.Write(row(item))
		}
		if err != nil {
			out.Flush()
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// MessageLine prints a message as one line of JSON.
func (p Printer) MessageLine(msg proto.Message) error {
	data, err := marshal(msg)
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return err
	}
	compact.WriteByte('\n')
	_, err = p.Stdout.Write(compact.Bytes())
	return err
}

// marshal returns a message as JSON with all fields, also those that are zero. Its
// whitespace differs between builds on purpose, so callers must normalise it.
func marshal(msg proto.Message) ([]byte, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(msg)
}

// Value prints a value that is not a message as indented JSON.
func (p Printer) Value(value any) error {
	encoder := json.NewEncoder(p.Stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// NewTable returns a writer that aligns cells separated by tabs. Flush it at the end.
func NewTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// printRow prints one row of a table.
func printRow(w io.Writer, cells []any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, OneLine(fmt.Sprint(cell)))
	}
	fmt.Fprintln(w)
}

// Field prints a name and a value, separated by a tab, unless the value is empty.
func Field(w io.Writer, name string, value any) {
	if text := OneLine(fmt.Sprint(value)); text != "" {
		fmt.Fprintf(w, "%s\t%s\n", name, text)
	}
}

// Stamp returns a time in RFC 3339, empty for nil.
func Stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format(time.RFC3339)
}

// CompactJSON returns the fields that are set in a message as one line of JSON, empty if
// there are none.
func CompactJSON(msg proto.Message) string {
	data, err := protojson.Marshal(msg)
	var compact bytes.Buffer
	if err != nil || json.Compact(&compact, data) != nil || compact.String() == "{}" {
		return ""
	}
	return compact.String()
}

// Note prints a formatted line.
func Note(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// Number formats a count without an exponent.
func Number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// OrEmpty returns a copy of list that JSON encodes as [] and not null if it is empty.
func OrEmpty(list []string) []string { return append([]string{}, list...) }
