package parse

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
)

// compression is a format of compressed files.
type compression struct {
	format    Format
	signature string
	open      func(io.Reader) (io.ReadCloser, error)
}

// maxWindow is how many bytes a decompressor looks back at most, which it holds in memory: what
// zstd and xz use at their highest levels.
const maxWindow = 128 << 20

var compressions = []compression{
	{Gzip, "\x1f\x8b", func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }},
	{Zstd, "\x28\xb5\x2f\xfd", func(r io.Reader) (io.ReadCloser, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(maxUnpacked))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}},
	{XZ, "\xfd7zXZ\x00", func(r io.Reader) (io.ReadCloser, error) {
		unpacked, err := xz.NewReader(r, maxWindow)
		return io.NopCloser(unpacked), err
	}},
	{Bzip2, "BZh", func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(bzip2.NewReader(r)), nil }},
}

// bzip2Block is what follows the signature of bzip2 and a digit, so that a text that begins with BZh
// is not taken for compressed.
const bzip2Block = "1AY&SY"

// compressionOf returns how content is compressed, nil if it is not.
func compressionOf(content []byte) *compression {
	i := slices.IndexFunc(compressions, func(c compression) bool {
		rest, ok := bytes.CutPrefix(content, []byte(c.signature))
		return ok && (c.format != Bzip2 || len(rest) > 0 && bytes.HasPrefix(rest[1:], []byte(bzip2Block)))
	})
	if i < 0 {
		return nil
	}
	return &compressions[i]
}

// IsCompressed reports whether a file that begins with head is compressed with gzip, Zstandard, xz or
// bzip2. What it holds is found by unpacking it.
func IsCompressed(head []byte) bool { return compressionOf(head) != nil }

// Decompress returns a reader of what r holds, which begins with head, if that is compressed with gzip,
// Zstandard, xz or bzip2; else r itself. The caller bounds how much it reads, and closes the reader.
func Decompress(head []byte, r io.Reader) (io.ReadCloser, error) {
	if c := compressionOf(head); c != nil {
		return c.open(r)
	}
	return io.NopCloser(r), nil
}

// compressedHead is how much of a compressed file is unpacked to find out what it holds, in bytes.
const compressedHead = 8 << 10

// compressedFormat returns Tar for a compressed tar archive, else the format of the compression. Errors:
// Invalid for a file that is broken at its start or holds what cannot be read.
func compressedFormat(c *compression, src Source) (Format, error) {
	name, _ := formatOfName(src.FileName)
	unpacked, err := c.open(bytes.NewReader(src.Content))
	if err != nil {
		return "", c.failure(err)
	}
	defer unpacked.Close()
	head := make([]byte, compressedHead)
	n, err := io.ReadFull(unpacked, head)
	head = head[:n]
	switch {
	case isTar(head), n == 0 && name == Tar:
		return Tar, nil
	case n == 0 && errors.Is(err, io.EOF):
		return "", noText(c.format, nil)
	case n == 0 && !errors.Is(err, io.ErrUnexpectedEOF): // the start of a file may be too short to unpack
		return "", c.failure(err)
	case n < compressedHead || bytes.HasPrefix(head, []byte("PK")) || IsCompressed(head):
		return c.format, nil
	}
	if _, err := Detect(Source{Content: head, FileName: NameWithin(src.FileName)}); err != nil {
		return "", err
	}
	return c.format, nil
}

// failure returns the error for a file that cannot be unpacked.
func (c *compression) failure(err error) error {
	switch {
	case errors.Is(err, errBudget):
		return unpacksTooFar(c.format)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, xz.ErrMemlimit):
		return tooLarge(c.format, "unpacking it takes more than %d bytes of memory", maxWindow)
	}
	return broken(c.format, err)
}

// NameWithin returns the name of what a compressed file holds: its own without the ending of the
// compression, such as manual.txt for manual.txt.gz. It returns any other name as it is.
func NameWithin(name string) string {
	for _, ending := range []string{".gz", ".zst", ".xz", ".bz2"} {
		if at := len(name) - len(ending); at > 0 && strings.EqualFold(name[at:], ending) {
			return name[:at]
		}
	}
	return name
}

// compressed reads what a compressed file holds, as if that were the file.
func (p *parser) compressed(ctx context.Context) (Document, error) {
	if p.nesting == 0 {
		return Document{}, tooLarge(p.format, "archives stand in each other more than %d deep", maxNesting)
	}
	c := compressionOf(p.src.Content)
	if c == nil {
		return Document{}, broken(p.format, nil)
	}
	unpacked, err := c.open(bytes.NewReader(p.src.Content))
	if err != nil {
		return Document{}, c.failure(err)
	}
	defer unpacked.Close()
	content, err := p.budget.read(unpacked)
	if err != nil {
		return Document{}, c.failure(err)
	}
	inner := Source{Content: content, FileName: NameWithin(p.src.FileName), Recognize: p.src.Recognize, Convert: p.src.Convert}
	return parseWithin(ctx, inner, p.budget, p.nesting-1)
}
