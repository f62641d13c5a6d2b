package localfiles

import (
	"io"
	"os"
	"path"

	"github.com/ragdhq/ragd/internal/ingest/export"
	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// eachItem yields the items of a file that is an export of another system. Unlike other files it may have any
// size, since it is not read as a whole. known is false for any other file; more is whether the caller
// wants more.
func eachItem(f file, yield func(Document, error) bool) (known, more bool) {
	opened, err := os.Open(f.path)
	if err != nil {
		return false, true
	}
	defer opened.Close()
	counted := &readCounter{r: opened}
	exported, known := export.Open(f.path, counted, f.size)
	if !known {
		return false, true
	}
	for item, err := range exported.Items() {
		doc := Document{
			Location: f.path + ":" + item.Name, URI: path.Join(f.uri, item.Name), Title: item.Title, ContentType: item.ContentType,
			Content: item.Content, Metadata: item.Origin.Metadata(), InputBytes: counted.take(f.size),
		}
		switch {
		case err != nil && item.Name == "":
			doc, err = Document{}, problem(f.path, "is %s", plainReason(err))
		case err != nil:
			doc.Content, err = nil, problem(doc.Location, "is %s", plainReason(err))
		default:
			err = doc.checkMember(parse.Source{Content: item.Content, ContentType: item.ContentType, FileName: item.Name})
		}
		if !yield(doc, err) {
			return true, false
		}
	}
	return true, true
}

// readCounter counts the bytes that are read from a file.
type readCounter struct {
	r        io.ReaderAt
	n, taken int64
}

// ReadAt implements io.ReaderAt.
func (c *readCounter) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// take returns how many of the most bytes of the file were read since the last call.
func (c *readCounter) take(most int64) int64 {
	n := min(c.n, most) - c.taken
	c.taken += n
	return n
}
