package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io"
	"math"
	"slices"
)

// The binary format of PostgreSQL's COPY: copyHead, the rows, copyEnd. A row is the number of its
// fields in two bytes and each field after its length in four, which is -1 for null.
var (
	copyHead = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	copyEnd  = []byte{0xff, 0xff}
)

var errRows = errors.New("rows that cannot be read")

// rowSize returns the size of the row that the data begin with; false if more data are needed. Errors:
// errRows unless it has this number of fields.
func rowSize(data []byte, fields int) (size int, whole bool, err error) {
	if len(data) < 2 {
		return 0, false, nil
	}
	if int(binary.BigEndian.Uint16(data)) != fields {
		return 0, false, errRows
	}
	size = 2
	for range fields {
		if len(data) < size+4 {
			return 0, false, nil
		}
		n := int32(binary.BigEndian.Uint32(data[size:]))
		size += 4
		if n < -1 {
			return 0, false, errRows
		}
		if n = max(n, 0); int(n) > len(data)-size {
			return 0, false, nil
		}
		size += int(n)
	}
	return size, true, nil
}

// countRows returns the number of rows in the data. Errors: errRows unless they are whole rows of
// this number of fields.
func countRows(data []byte, fields int) (n int, err error) {
	for ; len(data) > 0; n++ {
		size, whole, err := rowSize(data, fields)
		if err != nil || !whole {
			return 0, errRows
		}
		data = data[size:]
	}
	return n, nil
}

// eachRow calls do with the fields of each row. The slice of fields is used again; nil is null.
func eachRow(data []byte, fields int, do func(row [][]byte) error) error {
	row := make([][]byte, fields)
	for len(data) > 0 {
		size, whole, err := rowSize(data, fields)
		if err != nil || !whole {
			return errRows
		}
		at := 2
		for i := range row {
			n := int(int32(binary.BigEndian.Uint32(data[at:])))
			at += 4
			if row[i] = nil; n >= 0 {
				row[i] = data[at : at+n : at+n]
				at += n
			}
		}
		if err := do(row); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}

// chunkRows is how many rows an import holds as values at once.
const chunkRows = 1000

// eachChunk calls do with the fields of at most chunkRows rows at a time. The slice of rows is used again; nil is null.
func eachChunk(data []byte, fields int, do func(rows [][][]byte) error) error {
	var rows [][][]byte
	err := eachRow(data, fields, func(row [][]byte) error {
		rows = append(rows, slices.Clone(row))
		if len(rows) < chunkRows {
			return nil
		}
		err := do(rows)
		rows = rows[:0]
		return err
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	return do(rows)
}

// appendRow appends a row.
func appendRow(to []byte, row [][]byte) []byte {
	to = binary.BigEndian.AppendUint16(to, uint16(len(row)))
	for _, field := range row {
		if field == nil {
			to = binary.BigEndian.AppendUint32(to, math.MaxUint32)
			continue
		}
		to = append(binary.BigEndian.AppendUint32(to, uint32(len(field))), field...)
	}
	return to
}

// asCopy returns rows in the format of COPY.
func asCopy(rows []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(copyHead), bytes.NewReader(rows), bytes.NewReader(copyEnd))
}

// Sizes of the content of frames, in bytes. A frame ends after a row whose hash says so, on average
// after cutBytes, so that most frames of a table stay as they are when some rows change: see Known.
const (
	minFrame = 128 << 10
	cutBytes = 512 << 10
	maxFrame = 4 << 20
)

// cutter collects the rows that COPY writes, and passes them on in pieces. It is an io.Writer.
type cutter struct {
	fields int
	emit   func(rows []byte, n int) error
	limit  int // bytes of a row

	pending []byte // not yet parsed
	begun   bool   // copyHead has been read
	piece   []byte
	rows    int
}

// Write implements io.Writer.
func (c *cutter) Write(data []byte) (int, error) {
	rest := data
	if len(c.pending) > 0 {
		c.pending = append(c.pending, data...)
		rest = c.pending
	}
	rest, err := c.parse(rest)
	c.pending = append(c.pending[:0], rest...)
	return len(data), err
}

// parse adds the rows that the data begin with, and returns the rest.
func (c *cutter) parse(data []byte) (rest []byte, err error) {
	if !c.begun {
		if len(data) < len(copyHead) {
			return data, nil
		}
		if !bytes.HasPrefix(data, copyHead) {
			return nil, errRows
		}
		c.begun, data = true, data[len(copyHead):]
	}
	for !bytes.HasPrefix(data, copyEnd) {
		size, whole, err := rowSize(data, c.fields)
		if err != nil || !whole {
			return data, err
		}
		if err := c.add(data[:size]); err != nil {
			return nil, err
		}
		data = data[size:]
	}
	return nil, nil
}

// add adds a row to the piece, and passes the piece on if it ends there.
func (c *cutter) add(row []byte) error {
	if len(row) > c.limit {
		return errRowTooLarge
	}
	if len(c.piece) > 0 && len(c.piece)+len(row) > maxFrame {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.piece, c.rows = append(c.piece, row...), c.rows+1
	hash := fnv.New64a()
	_, _ = hash.Write(row) // never fails
	if len(c.piece) >= minFrame && hash.Sum64()%cutBytes < uint64(len(row)) || len(c.piece) >= maxFrame {
		return c.flush()
	}
	return nil
}

// flush passes the last piece on.
func (c *cutter) flush() error {
	if c.rows == 0 {
		return nil
	}
	err := c.emit(c.piece, c.rows)
	c.piece, c.rows = c.piece[:0], 0
	return err
}

var errRowTooLarge = errors.New("a row is larger than a frame")
