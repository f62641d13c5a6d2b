package export

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// opener opens a file of an export, decompressed, from its start.
type opener func() (io.ReadCloser, error)

// openMember opens a member of a zip file, decompressed if it is a compressed file itself.
func openMember(f *zip.File) (io.ReadCloser, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReader(r)
	head, _ := buffered.Peek(16) // a reader of less fails below
	unpacked, err := parse.Decompress(head, buffered)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return closers{unpacked, r}, nil
}

// closers is a reader that closes another one with it.
type closers struct {
	io.ReadCloser
	below io.Closer
}

// Close implements io.Closer.
func (c closers) Close() error { return errors.Join(c.ReadCloser.Close(), c.below.Close()) }

// openStream recognises an export that is one file.
func openStream(name string, open opener) (*Export, bool) {
	r, err := open()
	if err != nil {
		return nil, false
	}
	head, err := io.ReadAll(io.LimitReader(r, HeadBytes))
	_ = r.Close()
	if err != nil && len(head) == 0 {
		return nil, false
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	switch {
	case isMailbox(name, head):
		return &Export{"mail", func(yield yielder) { mailMessages(open, yield) }}, true
	case bytes.HasPrefix(head, []byte("WARC/")):
		return &Export{"web", opened(open, "WARC file", warc)}, true
	case bytes.HasPrefix(text, []byte("<")) && isMediaWiki(text):
		return &Export{"mediawiki", opened(open, "MediaWiki export", mediaWiki)}, true
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		return openRecords(text, open)
	}
	return nil, false
}

// opened returns a function that opens a file and yields its items.
func opened(open opener, what string, items func(*bufio.Reader, yielder)) func(yielder) {
	return func(yield yielder) {
		r, err := open()
		if err != nil {
			yield(Item{}, broken(what, err))
			return
		}
		defer r.Close()
		items(bufio.NewReaderSize(r, HeadBytes), yield)
	}
}
