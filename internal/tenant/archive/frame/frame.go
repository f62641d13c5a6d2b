// Package frame reads and writes the frames of archives of tenants: pieces of bounded size, each
// compressed, each with a checksum of its own and one of everything up to it, so that a byte that
// was changed and a frame that is missing, doubled or in another order are found where they are.
//
//	preamble  "ragd archive 1\n", where 1 is the version of the format
//	frame     kind (1 byte), number (4), bytes stored (4), CRC-32C of these (4), bytes of content (4),
//	          SHA-256 of the content (32), chain (32), the content compressed with Zstandard
//
// Numbers are big-endian, and count frames from 0. The chain is the SHA-256 of the chain before it (32
// zero bytes for the first frame), the kind, the number, the bytes of content and their SHA-256. It does not
// depend on how the content is compressed. The last frame is of the kind End, and nothing follows it.
//
// The checksums find damage, not forgery.
package frame

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Version is the version of the format that this package writes, and the newest that it reads.
const Version = 1

const (
	// MaxBytes is the most content of a frame.
	MaxBytes = 64 << 20
	// maxStored is the most bytes of a frame without its head. Content that cannot be compressed grows a little.
	maxStored = MaxBytes + MaxBytes/128
	// HeadBytes is the size of the head of a frame.
	HeadBytes = 1 + 4*4 + 2*SumBytes
	// SumBytes is the size of a checksum.
	SumBytes = sha256.Size
)

// Kind says what a frame has.
type Kind byte

// The kinds.
const (
	Header  Kind = 'H' // what the archive is of; the first frame
	Section Kind = 'S' // which table the following rows are of
	Rows    Kind = 'R'
	End     Kind = 'E' // what the archive has; the last frame
)

const preamble = "ragd archive "

// Preamble returns what an archive begins with.
func Preamble() []byte { return []byte(preamble + strconv.Itoa(Version) + "\n") }

// Sum is a SHA-256.
type Sum [SumBytes]byte

// Head is the head of a frame.
type Head struct {
	Kind   Kind
	Number uint32
	Stored int    // bytes
	Check  uint32 // CRC-32C of the stored bytes
	Size   int    // of the content, in bytes
	Sum    Sum    // of the content
	Chain  Sum
}

// Position is where a reader or a writer is in an archive: after a number of frames with this chain. The zero
// Position is that of the first frame.
type Position struct {
	Frames uint32
	Chain  Sum
}

// Next returns the head of the frame that follows, with this content, and the position after it. What it
// says about the stored bytes is not set.
func (p Position) Next(kind Kind, size int, sum Sum) (Head, Position) {
	h := Head{Kind: kind, Number: p.Frames, Size: size, Sum: sum}
	all := make([]byte, 0, 2*SumBytes+9)
	all = append(all, p.Chain[:]...)
	all = append(all, byte(kind))
	all = binary.BigEndian.AppendUint32(all, h.Number)
	all = binary.BigEndian.AppendUint32(all, uint32(size))
	h.Chain = sha256.Sum256(append(all, sum[:]...))
	return h, Position{p.Frames + 1, h.Chain}
}

// Append appends the bytes of the head.
func (h Head) Append(to []byte) []byte {
	to = append(to, byte(h.Kind))
	to = binary.BigEndian.AppendUint32(to, h.Number)
	to = binary.BigEndian.AppendUint32(to, uint32(h.Stored))
	to = binary.BigEndian.AppendUint32(to, h.Check)
	to = binary.BigEndian.AppendUint32(to, uint32(h.Size))
	to = append(to, h.Sum[:]...)
	return append(to, h.Chain[:]...)
}

// ParseHead reads the bytes of a head. Errors: Invalid for sizes that no frame has.
func ParseHead(data []byte) (h Head, err error) {
	if len(data) != HeadBytes {
		return h, fault.New(fault.Invalid, "the head of a frame has %d bytes, not %d", len(data), HeadBytes)
	}
	h.Kind = Kind(data[0])
	h.Number = binary.BigEndian.Uint32(data[1:])
	stored, size := binary.BigEndian.Uint32(data[5:]), binary.BigEndian.Uint32(data[13:])
	h.Check = binary.BigEndian.Uint32(data[9:])
	copy(h.Sum[:], data[17:])
	copy(h.Chain[:], data[17+SumBytes:])
	if stored > maxStored || size > MaxBytes {
		return h, fault.New(fault.Invalid, "it says that it has %d bytes, and %d of content", stored, size)
	}
	h.Stored, h.Size = int(stored), int(size)
	return h, nil
}

// Frame is a frame that was read.
type Frame struct {
	Head
	Content []byte // valid until the next one is read
	Raw     []byte // as it is stored, with its head; likewise
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Codec compresses and decompresses frames. Not safe for concurrent use.
type Codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// NewCodec returns a Codec.
func NewCodec() *Codec {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are valid
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBytes), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return &Codec{encoder, decoder}
}

// Append appends a frame with its head, whose Stored and Check it sets.
func (c *Codec) Append(to []byte, h Head, content []byte) []byte {
	at := len(to)
	to = c.encoder.EncodeAll(content, h.Append(to))
	stored := to[at+HeadBytes:]
	binary.BigEndian.PutUint32(to[at+5:], uint32(len(stored)))
	binary.BigEndian.PutUint32(to[at+9:], crc32.Checksum(stored, castagnoli))
	return to
}

// Decode returns the content of a frame from its stored bytes. Errors: for what cannot be decompressed or is not what
// the head says.
func (c *Codec) Decode(h Head, stored []byte) ([]byte, error) {
	if crc32.Checksum(stored, castagnoli) != h.Check {
		return nil, errors.New("its stored bytes were changed")
	}
	content, err := c.decoder.DecodeAll(stored, make([]byte, 0, h.Size))
	switch {
	case err != nil:
		return nil, errors.New("its content cannot be decompressed")
	case len(content) != h.Size || sha256.Sum256(content) != h.Sum:
		return nil, errors.New("its content is not what its checksum says")
	}
	return content, nil
}

// Reader reads the frames of an archive, and checks them. Not safe for concurrent use.
type Reader struct {
	from   io.Reader
	codec  *Codec
	at     Position
	offset int64 // bytes read
	begun  bool  // the preamble has been read
	ended  bool  // the frame of the kind End has been read
	buffer []byte
}

// NewReader returns a Reader of a whole archive.
func NewReader(from io.Reader) *Reader { return &Reader{from: from, codec: NewCodec()} }

// Continue returns a Reader of the rest of an archive, from the frame at this position.
func Continue(from io.Reader, at Position) *Reader {
	return &Reader{from: from, codec: NewCodec(), at: at, begun: true}
}

// Position returns the position after the last frame that was read.
func (r *Reader) Position() Position { return r.at }

// Offset returns the bytes that were read.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next frame, or io.EOF after the last one. Errors: Invalid, with the frame, for what is
// damaged or no archive; those of the underlying reader.
func (r *Reader) Next() (Frame, error) {
	if !r.begun {
		if err := r.readPreamble(); err != nil {
			return Frame{}, err
		}
		r.begun = true
	}
	r.buffer = sized(r.buffer, HeadBytes)
	start := r.offset
	n, err := r.read(r.buffer)
	switch {
	case r.ended && n == 0 && errors.Is(err, io.EOF):
		return Frame{}, io.EOF
	case r.ended && (err == nil || n > 0):
		return Frame{}, r.damaged(start, "something follows the last frame")
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return Frame{}, r.damaged(start, "the archive ends before it is complete")
	case err != nil:
		return Frame{}, err
	}
	h, err := ParseHead(r.buffer)
	if err != nil {
		return Frame{}, r.damaged(start, fault.Public(err))
	}
	want, next := r.at.Next(h.Kind, h.Size, h.Sum)
	switch {
	case h.Number != want.Number:
		return Frame{}, r.damaged(start, fmt.Sprintf("it has the number %d", h.Number))
	case h.Chain != want.Chain:
		return Frame{}, r.damaged(start, "its head was changed, or the frames before it are of another archive")
	case h.Kind != Header && h.Kind != Section && h.Kind != Rows && h.Kind != End:
		return Frame{}, r.damaged(start, "it is of an unknown kind")
	case (h.Kind == Header) != (h.Number == 0):
		return Frame{}, r.damaged(start, "the header must be the first frame")
	}
	if err := r.readStored(h.Stored); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Frame{}, r.damaged(start, "the archive ends before it is complete")
	} else if err != nil {
		return Frame{}, err
	}
	content, err := r.codec.Decode(h, r.buffer[HeadBytes:])
	if err != nil {
		return Frame{}, r.damaged(start, err.Error())
	}
	r.at, r.ended = next, h.Kind == End
	return Frame{Head: h, Content: content, Raw: r.buffer}, nil
}

// pieceBytes is how much memory is taken at once for bytes that a head promises.
const pieceBytes = 1 << 20

// readStored appends n bytes to the buffer. Memory grows with what arrives.
func (r *Reader) readStored(n int) error {
	for n > 0 {
		at, piece := len(r.buffer), min(n, pieceBytes)
		r.buffer = append(r.buffer, make([]byte, piece)...)
		if _, err := r.read(r.buffer[at:]); err != nil {
			return err
		}
		n -= piece
	}
	return nil
}

func (r *Reader) read(to []byte) (int, error) {
	n, err := io.ReadFull(r.from, to)
	r.offset += int64(n)
	return n, err
}

// readPreamble reads the version of the format.
func (r *Reader) readPreamble() error {
	const longest = len(preamble) + 10
	var line []byte
	for one := []byte{0}; len(line) < longest && !bytes.HasSuffix(line, []byte("\n")); line = append(line, one[0]) {
		if _, err := r.read(one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	text, is := strings.CutPrefix(string(line), preamble)
	text, whole := strings.CutSuffix(text, "\n")
	version, err := strconv.Atoi(text)
	switch {
	case !is || !whole || err != nil || version < 1:
		return fault.New(fault.Invalid, "this is no archive of a tenant: `ragd export` makes one")
	case version > Version:
		return fault.New(fault.Invalid, "the archive has version %d of the format, and this ragd reads up to %d: use a newer ragd", version, Version)
	}
	return nil
}

// damaged returns the error about the frame that begins at an offset.
func (r *Reader) damaged(offset int64, reason string) error {
	return fault.New(fault.Invalid, "the archive is damaged at frame %d, byte %d: %s", r.at.Frames, offset, reason)
}

func sized(buffer []byte, n int) []byte {
	if cap(buffer) < n {
		return make([]byte, n)
	}
	return buffer[:n]
}
