// Package mailbox splits a mailbox in the format mbox into its messages. It reads a stream and holds
// one message in memory.
package mailbox

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"regexp"
)

// postmark matches the line before a message: the sender and the time.
var postmark = regexp.MustCompile(`^From \S+.* \d\d:\d\d(:\d\d)? .*\d{4}`)

// IsPostmark reports whether a line is one that stands before a message.
func IsPostmark(line []byte) bool {
	return bytes.HasPrefix(line, []byte("From ")) && postmark.Match(line)
}

// ErrTooLarge is the error for a message that is larger than the caller allows.
var ErrTooLarge = errors.New("the message is too large")

// maxPostmark is how much of a line is held that decides whether a message begins, in bytes.
const maxPostmark = 64 << 10

// Messages yields the messages of a mailbox in their order, without the lines before them and without
// the ">" that writers put before lines beginning with From. A message of more than most bytes yields
// ErrTooLarge, and the sequence goes on. An error of r ends it.
func Messages(r io.Reader, most int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		m := reader{lines: bufio.NewReaderSize(r, maxPostmark), most: most}
		for begun := false; ; {
			started, err := m.line()
			switch {
			case err != nil && !errors.Is(err, io.EOF):
				yield(nil, err)
				return
			case started && begun, err != nil && begun:
				if !yield(m.take()) {
					return
				}
			}
			if err != nil {
				return
			}
			begun = true
		}
	}
}

// reader reads a mailbox line by line.
type reader struct {
	lines   *bufio.Reader
	most    int
	message []byte
	over    bool // the message has more than most bytes
	blank   bool // the line before is empty
	within  bool // the next piece continues a line
	quoted  bool // the message has lines with ">From "
}

// line reads a line, or a piece of a long one, into the message, and reports whether it begins the next
// message instead.
func (m *reader) line() (starts bool, err error) {
	piece, err := m.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	if len(piece) == 0 {
		return false, err
	}
	if !m.within && (m.blank || len(m.message) == 0 && !m.over) && IsPostmark(piece) {
		m.blank, m.within = false, piece[len(piece)-1] != '\n'
		return true, nil
	}
	m.quoted = m.quoted || !m.within && bytes.HasPrefix(piece, []byte(">From "))
	m.blank = !m.within && len(bytes.TrimRight(piece, "\r\n")) == 0
	m.within = piece[len(piece)-1] != '\n'
	if m.over = m.over || len(m.message)+len(piece) > m.most; !m.over {
		m.message = append(m.message, piece...)
	}
	return false, nil
}

// take returns the message and begins the next one.
func (m *reader) take() ([]byte, error) {
	raw, over := m.message, m.over
	if m.quoted {
		raw = bytes.ReplaceAll(raw, []byte("\n>From "), []byte("\nFrom "))
	}
	m.message, m.over, m.quoted = nil, false, false
	if over {
		return nil, ErrTooLarge
	}
	return raw, nil
}
