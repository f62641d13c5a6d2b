package seal

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// segmentBytes is how many bytes of a stream are encrypted together.
const segmentBytes = 64 << 10

// NewDataKey returns a random key for one stream, of KeyBytes. The key of a stream is never used for another.
func NewDataKey() []byte {
	key := make([]byte, KeyBytes)
	_, _ = rand.Read(key) // never fails
	return key
}

// streamCipher returns the cipher of a stream. The nonce of a segment is its number and whether it is the last, as
// in the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár, Online Authenticated-Encryption and its
// Nonce-Reuse Misuse-Resistance (CRYPTO 2015): segments that are left out, doubled, cut off or in another order do
// not open.
func streamCipher(key []byte) (cipher.AEAD, error) {
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("a data key has %d bytes, not %d", KeyBytes, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("use a data key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("use a data key: %w", err)
	}
	return aead, nil
}

// nonce returns the nonce of a segment.
func nonce(number uint64, last bool) []byte {
	n := make([]byte, 12)
	binary.BigEndian.PutUint64(n[3:], number)
	if last {
		n[11] = 1
	}
	return n
}

// Writer encrypts a stream. Not safe for concurrent use.
type Writer struct {
	to      io.Writer
	aead    cipher.AEAD
	context []byte
	number  uint64
	plain   []byte
	sealed  []byte
}

// NewWriter returns a Writer that encrypts what is written to it with a data key and writes it to another one.
// belongsTo is what NewReader must be given too. The stream is complete after Close, which does not close to.
func NewWriter(to io.Writer, key []byte, belongsTo ...string) (*Writer, error) {
	aead, err := streamCipher(key)
	if err != nil {
		return nil, err
	}
	return &Writer{to: to, aead: aead, context: context(belongsTo), plain: make([]byte, 0, segmentBytes)}, nil
}

// Write implements io.Writer.
func (w *Writer) Write(data []byte) (n int, err error) {
	for len(data) > 0 {
		if len(w.plain) == segmentBytes { // it is not the last one, as more follows
			if err := w.flush(false); err != nil {
				return n, err
			}
		}
		taken := min(len(data), segmentBytes-len(w.plain))
		w.plain = append(w.plain, data[:taken]...)
		data, n = data[taken:], n+taken
	}
	return n, nil
}

// Close writes the last segment.
func (w *Writer) Close() error { return w.flush(true) }

func (w *Writer) flush(last bool) error {
	w.sealed = w.aead.Seal(w.sealed[:0], nonce(w.number, last), w.plain, w.context)
	w.number, w.plain = w.number+1, w.plain[:0]
	_, err := w.to.Write(w.sealed)
	return err
}

// Reader decrypts a stream. Not safe for concurrent use.
type Reader struct {
	from    *bufio.Reader
	aead    cipher.AEAD
	context []byte
	number  uint64
	sealed  []byte
	plain   []byte // not yet read
	ended   bool
}

// NewReader returns a Reader of what a Writer with the same key and belongsTo wrote. Its Read returns only bytes that
// are authentic, and io.EOF only after the last of them. Errors of Read: ErrNotAuthentic, also for a
// stream that was cut off.
func NewReader(from io.Reader, key []byte, belongsTo ...string) (*Reader, error) {
	aead, err := streamCipher(key)
	if err != nil {
		return nil, err
	}
	return &Reader{
		from: bufio.NewReaderSize(from, segmentBytes), aead: aead, context: context(belongsTo), sealed: make([]byte, segmentBytes+aead.Overhead()),
	}, nil
}

// Read implements io.Reader.
func (r *Reader) Read(to []byte) (int, error) {
	for len(r.plain) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(to, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// next opens the next segment.
func (r *Reader) next() error {
	n, err := io.ReadFull(r.from, r.sealed)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	if n < r.aead.Overhead() {
		return ErrNotAuthentic
	}
	last := err != nil
	if !last {
		if _, err := r.from.Peek(1); errors.Is(err, io.EOF) {
			last = true
		} else if err != nil {
			return err
		}
	}
	plain, err := r.aead.Open(r.sealed[:0], nonce(r.number, last), r.sealed[:n], r.context)
	if err != nil {
		return ErrNotAuthentic
	}
	r.number, r.plain, r.ended = r.number+1, plain, last
	return nil
}
