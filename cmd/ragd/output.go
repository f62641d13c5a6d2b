package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (p *program) jsonFlag(cmd *cobra.Command) {
	cmd.PersistentFlags().BoolVar(&p.json, "json", false, "print JSON")
}

// show prints a message: with --json as it is, else what text writes, whose lines
// are aligned at tabs.
func (p *program) show(msg proto.Message, text func(w io.Writer)) error {
	if p.json {
		return p.showJSON(msg)
	}
	w := newTable(p.stdout)
	text(w)
	return w.Flush()
}

func (p *program) showJSON(msg proto.Message) error {
	data, err := marshal(msg)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	_, err = p.stdout.Write(indented.Bytes())
	return err
}

// list prints items as they come: with --json an object a line, else a table with
// the columns, or a note that there are no nouns.
func list[T proto.Message](p *program, nouns string, items iter.Seq2[T, error], columns string, row func(T) []any) error {
	const flushEvery = 200 // rows that are aligned with each other
	w := newTable(p.stdout)
	rows := 0
	for item, err := range items {
		if err != nil {
			_ = w.Flush()
			return err
		}
		if p.json {
			if err := p.showLine(item); err != nil {
				return err
			}
			continue
		}
		if rows == 0 {
			fmt.Fprintln(w, strings.ReplaceAll(columns, " ", "\t"))
		}
		if rows++; rows%flushEvery == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		printRow(w, row(item))
	}
	if rows == 0 && !p.json {
		note(p.stderr, "no %s", nouns)
	}
	return w.Flush()
}

func (p *program) showLine(msg proto.Message) error {
	data, err := marshal(msg)
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return err
	}
	compact.WriteByte('\n')
	_, err = p.stdout.Write(compact.Bytes())
	return err
}

// marshal returns the message with zeros in it, so that a script finds every
// field. Its spaces vary from build to build on purpose and have to be taken out.
func marshal(msg proto.Message) ([]byte, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(msg)
}

// printJSON prints what is no message.
func (p *program) printJSON(value any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

func printRow(w io.Writer, cells []any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, oneLine(fmt.Sprint(cell)))
	}
	fmt.Fprintln(w)
}

// field prints "name  value" unless the value is empty.
func field(w io.Writer, name string, value any) {
	if text := oneLine(fmt.Sprint(value)); text != "" {
		fmt.Fprintf(w, "%s\t%s\n", name, text)
	}
}

func stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format(time.RFC3339)
}

// compactJSON returns what is set in a message in one line, "" for nothing.
func compactJSON(msg proto.Message) string {
	data, err := protojson.Marshal(msg)
	var compact bytes.Buffer
	if err != nil || json.Compact(&compact, data) != nil || compact.String() == "{}" {
		return ""
	}
	return compact.String()
}

// note prints a line for the person at the terminal, beside the output.
func note(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
