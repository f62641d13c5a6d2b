// Package archivefile writes the archive of a tenant to a file, over several calls if they are cut off: what has arrived
// is in a file beside it, whose frames are not sent again.
package archivefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

// PartSuffix is what the name of the file with the frames that have arrived ends in.
const PartSuffix = ".part"

// File is an archive that is being written. Its part file has the preamble and frames, each once. Not safe for concurrent use.
type File struct {
	path   string
	part   *os.File
	size   int64 // of the part file
	frames map[frame.Sum]stored
	codec  *frame.Codec

	// Of the present call.
	at       frame.Position
	order    []stored // the frames of the archive
	incoming []byte   // bytes that have arrived and are no whole frame yet
	begun    bool     // the preamble has arrived
	ended    bool
}

// stored is a frame in the part file.
type stored struct {
	head   frame.Head
	offset int64
}

// Open opens the part file of an archive that is to be written to path, with the frames that it has. Bytes after the last whole
// frame are dropped.
func Open(path string) (*File, error) {
	part, err := os.OpenFile(path+PartSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, part: part, frames: map[frame.Sum]stored{}, codec: frame.NewCodec()}
	if err := f.scan(); err != nil {
		return nil, errors.Join(err, part.Close())
	}
	return f, nil
}

// scan reads the frames of the part file.
func (f *File) scan() error {
	preamble := frame.Preamble()
	begin := make([]byte, len(preamble))
	if _, err := io.ReadFull(f.part, begin); err != nil || !bytes.Equal(begin, preamble) {
		if err := f.part.Truncate(0); err != nil {
			return err
		}
		if _, err := f.part.WriteAt(preamble, 0); err != nil {
			return err
		}
	}
	f.size = int64(len(preamble))
	raw := make([]byte, frame.HeadBytes)
	for {
		if _, err := f.part.ReadAt(raw[:frame.HeadBytes], f.size); err != nil {
			break
		}
		head, err := frame.ParseHead(raw[:frame.HeadBytes])
		if err != nil {
			break
		}
		content := make([]byte, head.Stored)
		if _, err := f.part.ReadAt(content, f.size+frame.HeadBytes); err != nil {
			break
		}
		if _, err := f.codec.Decode(head, content); err != nil {
			break
		}
		f.frames[head.Sum] = stored{head, f.size}
		f.size += int64(frame.HeadBytes + head.Stored)
	}
	return f.part.Truncate(f.size)
}

// Begin begins a call, and returns the checksums of at most this many frames that need not be sent.
func (f *File) Begin(most int) []byte {
	f.at, f.order, f.incoming, f.begun, f.ended = frame.Position{}, nil, nil, false, false
	var known []byte
	for sum, has := range f.frames {
		if has.head.Kind == frame.Rows && len(known) < most*frame.SumBytes {
			known = append(known, sum[:]...)
		}
	}
	return known
}

// Frames returns how many frames have arrived.
func (f *File) Frames() int { return len(f.frames) }

// Size returns the bytes that have arrived.
func (f *File) Size() int64 { return f.size }

// Write takes the next bytes of the archive. It implements io.Writer. Errors: for what is damaged.
func (f *File) Write(data []byte) (int, error) {
	f.incoming = append(f.incoming, data...)
	if !f.begun {
		preamble := frame.Preamble()
		if len(f.incoming) < len(preamble) {
			return len(data), nil
		}
		if !bytes.HasPrefix(f.incoming, preamble) {
			return 0, errors.New("the service sends another version of archives than this ragd knows: use the ragd of the service")
		}
		f.begun, f.incoming = true, f.incoming[len(preamble):]
	}
	for len(f.incoming) >= frame.HeadBytes {
		head, err := frame.ParseHead(f.incoming[:frame.HeadBytes])
		if err != nil {
			return 0, err
		}
		end := frame.HeadBytes + head.Stored
		if len(f.incoming) < end {
			break
		}
		if err := f.add(head, f.incoming[:end]); err != nil {
			return 0, err
		}
		f.incoming = append(f.incoming[:0], f.incoming[end:]...)
	}
	return len(data), nil
}

// add adds a frame that has arrived.
func (f *File) add(head frame.Head, raw []byte) error {
	if _, err := f.codec.Decode(head, raw[frame.HeadBytes:]); err != nil {
		return fmt.Errorf("frame %d has arrived damaged: %w", head.Number, err)
	}
	if _, has := f.frames[head.Sum]; !has {
		if _, err := f.part.WriteAt(raw, f.size); err != nil {
			return err
		}
		f.frames[head.Sum] = stored{head, f.size}
		f.size += int64(len(raw))
	}
	return f.next(head)
}

// AddKnown takes the head of a frame that the file has.
func (f *File) AddKnown(data []byte) error {
	if len(f.incoming) > 0 {
		return errors.New("the service sends a frame within another one")
	}
	head, err := frame.ParseHead(data)
	if err != nil {
		return err
	}
	return f.next(head)
}

// next adds a frame, which is in the part file, to the archive.
func (f *File) next(head frame.Head) error {
	has, ok := f.frames[head.Sum]
	if !ok || has.head.Size != head.Size {
		return fmt.Errorf("frame %d was not sent, and is not in %s", head.Number, f.part.Name())
	}
	want, after := f.at.Next(head.Kind, head.Size, head.Sum)
	if head.Number != want.Number || head.Chain != want.Chain {
		return fmt.Errorf("frame %d has arrived in place of frame %d, or damaged", head.Number, want.Number)
	}
	want.Stored, want.Check = has.head.Stored, has.head.Check
	f.at, f.ended, f.order = after, head.Kind == frame.End, append(f.order, stored{want, has.offset})
	return nil
}

// Finish puts the archive in its place and removes the part file. Errors: when it is not complete.
func (f *File) Finish() (size int64, err error) {
	if !f.ended || len(f.incoming) > 0 {
		return 0, io.ErrUnexpectedEOF
	}
	if f.inOrder() {
		if err := errors.Join(f.part.Truncate(f.size), f.part.Sync(), f.part.Close()); err != nil {
			return 0, err
		}
		return f.size, os.Rename(f.part.Name(), f.path)
	}
	whole, err := os.OpenFile(f.path+".whole", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = f.copyTo(whole)
	if err = errors.Join(err, whole.Sync(), whole.Close()); err != nil {
		return 0, errors.Join(err, os.Remove(whole.Name()))
	}
	if err := os.Rename(whole.Name(), f.path); err != nil {
		return 0, err
	}
	return size, errors.Join(f.part.Close(), os.Remove(f.part.Name()))
}

// inOrder reports whether the part file is the archive.
func (f *File) inOrder() bool {
	at := int64(len(frame.Preamble()))
	for _, s := range f.order {
		if s.offset != at || f.frames[s.head.Sum].head != s.head {
			return false
		}
		at += int64(frame.HeadBytes + s.head.Stored)
	}
	return at == f.size
}

// copyTo writes the archive.
func (f *File) copyTo(to io.Writer) (size int64, err error) {
	n, err := to.Write(frame.Preamble())
	size = int64(n)
	for _, s := range f.order {
		if err != nil {
			break
		}
		if n, err = to.Write(s.head.Append(nil)); err != nil {
			break
		}
		var copied int64
		copied, err = io.Copy(to, io.NewSectionReader(f.part, s.offset+frame.HeadBytes, int64(s.head.Stored)))
		size += int64(n) + copied
	}
	return size, err
}

// Close closes the part file, which stays.
func (f *File) Close() error {
	err := f.part.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Skip reads past a number of frames of an archive and returns the offset after them. It checks no contents.
func Skip(archive io.ReaderAt, frames int) (offset int64, err error) {
	offset = int64(len(frame.Preamble()))
	raw := make([]byte, frame.HeadBytes)
	for i := range frames {
		if _, err := archive.ReadAt(raw, offset); err != nil {
			return 0, fmt.Errorf("the archive has fewer than %d frames: %w", frames, err)
		}
		head, err := frame.ParseHead(raw)
		if err != nil {
			return 0, err
		}
		if int(head.Number) != i {
			return 0, fmt.Errorf("the archive has frame %d in place of frame %d", head.Number, i)
		}
		offset += int64(frame.HeadBytes + head.Stored)
	}
	return offset, nil
}
