package move

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// The binary format of PostgreSQL's COPY: copyHead, the rows, copyEnd. A row is the number of its
// fields in two bytes and each field after its length in four, which is -1 for null.
var (
	copyHead = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	copyEnd  = []byte{0xff, 0xff}
)

var errRows = errors.New("rows that cannot be read")

// reader splits what COPY writes into rows. It is an io.Writer.
type reader struct {
	each    func(row []byte) error // keeps nothing of the row
	begun   bool
	pending []byte
}

// Write implements io.Writer.
func (r *reader) Write(data []byte) (int, error) {
	rest := data
	if len(r.pending) > 0 {
		r.pending = append(r.pending, data...)
		rest = r.pending
	}
	rest, err := r.parse(rest)
	r.pending = append(r.pending[:0], rest...)
	return len(data), err
}

// parse passes on the rows that the data begin with, and returns the rest.
func (r *reader) parse(data []byte) (rest []byte, err error) {
	if !r.begun {
		if len(data) < len(copyHead) {
			return data, nil
		}
		if !bytes.HasPrefix(data, copyHead) {
			return nil, errRows
		}
		r.begun, data = true, data[len(copyHead):]
	}
	for len(data) >= len(copyEnd) && !bytes.HasPrefix(data, copyEnd) {
		size := rowSize(data)
		if size == 0 {
			return data, nil
		}
		if err := r.each(data[:size]); err != nil {
			return nil, err
		}
		data = data[size:]
	}
	return data, nil
}

// rowSize returns the size of the row that the data begin with; 0 if they do not have all of it.
func rowSize(data []byte) int {
	size := 2
	for range binary.BigEndian.Uint16(data) {
		if len(data) < size+4 {
			return 0
		}
		n := int(int32(binary.BigEndian.Uint32(data[size:])))
		size += 4 + max(n, 0)
		if size > len(data) {
			return 0
		}
	}
	return size
}

// fields returns copies of the fields of a row; nil is null.
func fields(row []byte) [][]byte {
	row = bytes.Clone(row)
	all := make([][]byte, binary.BigEndian.Uint16(row))
	at := 2
	for i := range all {
		n := int(int32(binary.BigEndian.Uint32(row[at:])))
		if at += 4; n >= 0 {
			all[i] = row[at : at+n : at+n]
			at += n
		}
	}
	return all
}

// sum is the number of rows of a table and a checksum that does not depend on their order: the sum of the SHA-256
// of all rows, as numbers of 256 bits.
type sum struct {
	rows  int64
	total [4]uint64
}

// add adds a row.
func (s *sum) add(row []byte) error {
	hash := sha256.Sum256(row)
	s.rows++
	var carry uint64
	for i := range s.total {
		next := s.total[i] + carry
		carry = b2u(next < carry)
		part := binary.LittleEndian.Uint64(hash[8*i:])
		s.total[i] = next + part
		carry += b2u(s.total[i] < part)
	}
	return nil
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// String returns the checksum as text.
func (s sum) String() string {
	var raw []byte
	for _, part := range s.total {
		raw = binary.LittleEndian.AppendUint64(raw, part)
	}
	return hex.EncodeToString(raw[:8])
}
