package logtest

import (
	"bytes"
	"io"
	"strings"
)

// Announcement passes on what a program writes, and sends the address that `ragd serve` says it is ready at. It
// is for one writer at a time.
type Announcement struct {
	rest    io.Writer
	line    []byte // the beginning of a line whose end has not come yet
	address chan string
}

// NewAnnouncement returns an Announcement that passes everything on to rest.
func NewAnnouncement(rest io.Writer) *Announcement {
	return &Announcement{rest: rest, address: make(chan string, 1)}
}

// Address returns a channel of the first address, a URL. The program chooses the port: one that was free a moment
// ago may be another program's by now.
func (a *Announcement) Address() <-chan string { return a.address }

// Write implements io.Writer.
func (a *Announcement) Write(text []byte) (int, error) {
	a.line = append(a.line, text...)
	for {
		line, rest, whole := bytes.Cut(a.line, []byte("\n"))
		if !whole {
			return a.rest.Write(text)
		}
		if url, ok := strings.CutPrefix(string(line), "ragd is ready at "); ok {
			select {
			case a.address <- strings.TrimSpace(url):
			default: // the first one counts
			}
		}
		a.line = rest
	}
}
