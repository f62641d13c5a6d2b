package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// reader is a program that writes the text of a file to its standard output. FILE in the
// command stands for the path.
type reader struct {
	name    string
	command []string
	formats string // separated by spaces; the names of directories below files
}

// readers returns the programs to compare. The first is ragd.
func readers() []reader {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	const office = "docx pptx xlsx xls"
	return []reader{
		{"ragd", []string{self, "read", "FILE"}, "*"},
		{"poppler", []string{"pdftotext", "-q", "FILE", "-"}, "pdf"},
		{"pdfium", []string{"python3", "-c", pdfium, "FILE"}, "pdf"},
		{"mupdf", []string{"mutool", "draw", "-q", "-F", "txt", "FILE"}, "pdf"},
		{"pandoc", []string{"pandoc", "--to=gfm", "--wrap=none", "FILE"}, "docx odt epub html rtf ipynb latex csv"},
		{"markitdown", []string{"markitdown", "FILE"}, "pdf html epub csv ipynb email " + office},
		{"odfpy", []string{"python3", "-c", odfpy, "FILE"}, "odt ods odp"},
		{"striprtf", []string{"python3", "-c", striprtf, "FILE"}, "rtf"},
		{"unrtf", []string{"unrtf", "--text", "--nopict", "FILE"}, "rtf"},
	}
}

const pdfium = `
import sys, pypdfium2
for page in pypdfium2.PdfDocument(sys.argv[1]):
    sys.stdout.buffer.write((page.get_textpage().get_text_bounded() + "\f").encode("utf-8", "ignore"))
`

const odfpy = `
import sys
from odf import opendocument, teletype, text
def walk(node):
    if node.qname in ((text.TEXTNS, "p"), (text.TEXTNS, "h")):
        sys.stdout.buffer.write((teletype.extractText(node) + "\n").encode("utf-8", "ignore"))
    else:
        for child in node.childNodes:
            if child.nodeType == child.ELEMENT_NODE:
                walk(child)
walk(opendocument.load(sys.argv[1]).body)
`

const striprtf = `
import sys
from striprtf.striprtf import rtf_to_text
sys.stdout.buffer.write(rtf_to_text(open(sys.argv[1], encoding="latin-1").read(), errors="ignore").encode("utf-8", "ignore"))
`

func (r reader) reads(format string) bool {
	return r.formats == "*" || slices.Contains(strings.Fields(r.formats), format)
}

// result is what a reader returned for a file.
type result struct {
	Text   string `json:"-"`
	Failed string // the reader's message, "" if it read the file
	CPU    time.Duration
	Memory int64 // KiB at the peak
}

// read runs the reader on a file, or takes its result from kept, a path without ending.
func (r reader) read(path, kept string, again bool, timeout time.Duration) (result, error) {
	if !again {
		if known, err := load(kept); err == nil {
			return known, nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	command := slices.Clone(r.command)
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "FILE", path)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return result{}, err
	}
	found := result{Text: strings.ToValidUTF8(out.String(), "")}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		found.Failed = err.Error() + ": " + lines[len(lines)-1]
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		found.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		found.Memory = usage.Maxrss
	}
	return found, found.store(kept)
}

func load(kept string) (result, error) {
	var r result
	about, err := os.ReadFile(kept + ".json")
	if err != nil {
		return r, err
	}
	text, err := os.ReadFile(kept + ".txt")
	if err != nil {
		return r, err
	}
	r.Text = string(text)
	return r, json.Unmarshal(about, &r)
}

func (r result) store(kept string) error {
	if err := os.MkdirAll(filepath.Dir(kept), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(kept+".txt", []byte(r.Text), 0o600); err != nil {
		return err
	}
	about, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(kept+".json", about, 0o600)
}
