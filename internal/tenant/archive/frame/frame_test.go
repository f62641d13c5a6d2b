package frame_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

// write returns an archive with these contents: the first is the header, the last the end.
func write(contents ...string) (data []byte, raw [][]byte) {
	data = frame.Preamble()
	codec, at := frame.NewCodec(), frame.Position{}
	for i, content := range contents {
		kind := frame.Rows
		switch i {
		case 0:
			kind = frame.Header
		case len(contents) - 1:
			kind = frame.End
		}
		head, next := at.Next(kind, len(content), sha256.Sum256([]byte(content)))
		at = next
		one := codec.Append(nil, head, []byte(content))
		raw, data = append(raw, one), append(data, one...)
	}
	return data, raw
}

// read returns the contents of an archive.
func read(from io.Reader) (contents []string, err error) {
	for r := frame.NewReader(from); ; {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return contents, nil
		}
		if err != nil {
			return contents, err
		}
		contents = append(contents, string(f.Content))
	}
}

var example = []string{`{"of": "acme"}`, "rows", "", strings.Repeat("more rows ", 1000), "end"}

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	data, raw := write(example...)
	for _, from := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data))} {
		got, err := read(from)
		if err != nil || !slices.Equal(got, example) {
			t.Errorf("%q, %v", got, err)
		}
	}
	// A reader goes on at a position.
	first := frame.NewReader(bytes.NewReader(data))
	for range 2 {
		if _, err := first.Next(); err != nil {
			t.Fatal(err)
		}
	}
	rest := frame.Continue(bytes.NewReader(bytes.Join(raw[2:], nil)), first.Position())
	for _, want := range example[2:] {
		f, err := rest.Next()
		if err != nil || string(f.Content) != want {
			t.Errorf("%q, %v, want %q", f.Content, err, want)
		}
	}
	if _, err := rest.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestEveryChangeIsFound(t *testing.T) {
	t.Parallel()
	data, raw := write(example...)
	for at := range data {
		changed := slices.Clone(data)
		changed[at] ^= 0x10
		if got, err := read(bytes.NewReader(changed)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a change of byte %d is not found: %.50q, %v", at, got, err)
		}
		if got, err := read(bytes.NewReader(data[:at])); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a cut after %d bytes is not found: %.50q, %v", at, got, err)
		}
	}
	in := func(order ...int) []byte {
		all := frame.Preamble()
		for _, i := range order {
			all = append(all, raw[i]...)
		}
		return all
	}
	_, others := write("{}", "rows", "", strings.Repeat("more rows ", 1000), "end")
	for what, test := range map[string]struct {
		data []byte
		says string
	}{
		"another order":              {in(0, 2, 1, 3, 4), "frame 1, byte"},
		"a frame twice":              {in(0, 1, 1, 2, 3, 4), "frame 2, byte"},
		"a frame left out":           {in(0, 1, 3, 4), "frame 2, byte"},
		"no header":                  {in(1, 2, 3, 4), "frame 0, byte 15"},
		"something after the end":    {append(in(0, 1, 2, 3, 4), 0), "frame 5, byte"},
		"a frame after the end":      {in(0, 1, 2, 3, 4, 4), "frame 5, byte"},
		"a frame of another archive": {append(in(0), bytes.Join(others[1:], nil)...), "frame 1, byte"},
	} {
		if _, err := read(bytes.NewReader(test.data)); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A head that promises more than follows takes no memory for it, and content that is larger than it says is refused.
func TestBombsAreRefused(t *testing.T) {
	t.Parallel()
	codec := frame.NewCodec()
	zeros := make([]byte, 8<<20)
	for what, size := range map[string]int{"more content than the head says": 10, "a head that says more": frame.MaxBytes, "a head that says too much": frame.MaxBytes + 1} {
		head, _ := frame.Position{}.Next(frame.Header, size, sha256.Sum256(zeros))
		if _, err := read(bytes.NewReader(codec.Append(frame.Preamble(), head, zeros))); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	data, _ := write(example...)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte("ragd archive 1\n"))
	f.Add([]byte("ragd archive 99999999999999999999\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := read(bytes.NewReader(data))
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("%v", err)
			}
			return
		}
		if len(got) < 2 {
			t.Errorf("%q is a whole archive", got)
		}
	})
}
