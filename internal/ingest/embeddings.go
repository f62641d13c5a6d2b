package ingest

import (
	"encoding/binary"
	"math"

	"github.com/ragdhq/ragd/internal/tenant"
)

// embeddings holds the embeddings of a document's chunks in order. Those of a long document
// are in a file: they are several times as large as its text.
type embeddings struct {
	inMemory  [][]float32
	file      *spool
	dimension int
}

// valueBytes is the size of one value of an embedding in a file.
const valueBytes = 4

// spoolEmbeddings returns embeddings that are appended to a file. The amount
// of content in work bounds the size of all such files.
func spoolEmbeddings(id tenant.ID, dimension int) (embeddings, error) {
	file, err := newSpool(nil, id)
	return embeddings{file: file, dimension: dimension}, err
}

func (e *embeddings) append(made [][]float32) error {
	content := make([]byte, 0, len(made)*e.dimension*valueBytes)
	for _, embedding := range made {
		for _, value := range embedding {
			content = binary.LittleEndian.AppendUint32(content, math.Float32bits(value))
		}
	}
	return e.file.write(content)
}

// at returns the embedding of the chunk with the ordinal.
func (e *embeddings) at(ordinal int) ([]float32, error) {
	if e.file == nil {
		return e.inMemory[ordinal], nil
	}
	content := make([]byte, e.dimension*valueBytes)
	if err := e.file.readAt(content, int64(ordinal)*int64(len(content))); err != nil {
		return nil, err
	}
	embedding := make([]float32, e.dimension)
	for i := range embedding {
		embedding[i] = math.Float32frombits(binary.LittleEndian.Uint32(content[i*valueBytes:]))
	}
	return embedding, nil
}

// close deletes the file, if there is one, and releases its disk capacity.
func (e *embeddings) close() { e.file.close() }
