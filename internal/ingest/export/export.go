// Package export reads what other systems export of themselves: each page, ticket, thread or message is an
// item, with its author, its times, its address and what it stands below.
//
//	exported, ok := export.Open(name, file, size)
//	for item, err := range exported.Items() {
//
// It streams: memory holds one item of at most MaxItem bytes, and what is needed to name people and
// places. An item that cannot be read yields an error with its Name, and the sequence goes on; an
// error without a Name ends it. All errors are faults on the field content, as those of package parse.
package export

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits of an export.
const (
	MaxItem    = 32 << 20  // bytes of an item, and of a member of a zip file
	maxItems   = 1_000_000 // of an export
	maxNames   = 1_000_000 // people, places and pages that are remembered to be named
	maxValue   = 512       // bytes of a text in the metadata
	maxEntries = 100       // of a list in the metadata
)

// HeadBytes is how much of a file is looked at to recognise it.
const HeadBytes = 64 << 10

// zipMark begins a zip file.
const zipMark = "PK\x03\x04"

// Item is a document of an export.
type Item struct {
	// Name names the item within the export and is the same in every later export: a path with slashes.
	Name        string
	Title       string
	ContentType string // empty: as the ending of Name says
	Content     []byte
	Origin      Origin
}

// Origin is what a system knows about an item. Fields that it does not know are empty.
type Origin struct {
	System  string // such as "slack"
	ID      string
	URL     string
	Parent  string   // Name of the item above
	Path    []string // titles above, outermost first
	Author  string
	Authors []string // of several
	Created time.Time
	Updated time.Time
	Status  string // such as "closed"
	Labels  []string
	Links   []string // titles or names of items that it refers to
	// Properties are further fields, such as those of the row of a database.
	Properties map[string]string
}

// Metadata returns the origin as metadata of a document, below the key origin; nil if nothing is known.
func (o Origin) Metadata() map[string]any {
	out := map[string]any{}
	for key, value := range map[string]string{"system": o.System, "id": o.ID, "url": o.URL, "parent": o.Parent, "author": o.Author, "status": o.Status} {
		if value = textlimit.OneLine(value, maxValue); value != "" {
			out[key] = value
		}
	}
	for key, values := range map[string][]string{"path": o.Path, "authors": o.Authors, "labels": o.Labels, "links": o.Links} {
		if list := listed(values); len(list) > 0 {
			out[key] = list
		}
	}
	for key, at := range map[string]time.Time{"created": o.Created, "updated": o.Updated} {
		if !at.IsZero() && at.Year() > 0 && at.Year() < 10_000 {
			out[key] = at.UTC().Format(time.RFC3339)
		}
	}
	properties := map[string]any{}
	for key, value := range o.Properties {
		if len(properties) < maxEntries {
			properties[textlimit.OneLine(key, maxValue)] = textlimit.OneLine(value, maxValue)
		}
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(out) == 0 {
		return nil
	}
	return map[string]any{"origin": out}
}

// listed returns the first values that are not empty, each once.
func listed(values []string) (list []any) {
	seen := map[string]bool{}
	for _, value := range values {
		value = textlimit.OneLine(value, maxValue)
		if value != "" && !seen[value] && len(list) < maxEntries {
			seen[value] = true
			list = append(list, value)
		}
	}
	return list
}

// yielder receives the items of an export and reports whether it wants more.
type yielder func(Item, error) bool

// Export is an export that was recognised.
type Export struct {
	// System is the name of the system, such as "slack"; empty for an archive of several exports.
	System string
	items  func(yielder)
}

// Open recognises an export by its content; the name helps for what has no mark of its own. It reads no more than
// the beginning, of a zip file also its list of members. ok is false for any other file.
func Open(name string, r io.ReaderAt, size int64) (exported *Export, ok bool) {
	head := make([]byte, min(size, HeadBytes))
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	if bytes.HasPrefix(head, []byte(zipMark)) {
		return openZip(r, size)
	}
	return openStream(name, func() (io.ReadCloser, error) {
		return parse.Decompress(head, io.NewSectionReader(r, 0, size))
	})
}

// MayBe reports whether a file that begins with head, of at most HeadBytes, may be an export. Of zip and compressed files only
// Open can tell.
func MayBe(name string, head []byte) bool {
	if bytes.HasPrefix(head, []byte(zipMark)) || parse.IsCompressed(head) {
		return true
	}
	_, ok := openStream(name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(head)), nil })
	return ok
}

// Items returns the items. Of several with one name the first is returned.
func (e *Export) Items() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		seed, seen := maphash.MakeSeed(), map[uint64]bool{}
		e.items(func(item Item, err error) bool {
			if item.Name == "" {
				return yield(item, err)
			}
			item.Name = cleanName(item.Name)
			if item.Origin.Parent != "" {
				item.Origin.Parent = cleanName(item.Origin.Parent)
			}
			item.Origin.System = cmp.Or(item.Origin.System, e.System)
			hash := maphash.String(seed, item.Name)
			if seen[hash] {
				return true
			}
			if len(seen) == maxItems {
				yield(Item{}, tooLarge("it has more than %d items", maxItems))
				return false
			}
			seen[hash] = true
			if err == nil && len(item.Content) > MaxItem {
				err = errTooLarge()
			}
			if err != nil {
				item.Content = nil
			}
			return yield(item, err)
		})
	}
}

// cleanName returns a name as a path that leads nowhere else.
func cleanName(name string) string {
	name = strings.ToValidUTF8(strings.ReplaceAll(name, `\`, "/"), "\uFFFD")
	return strings.TrimPrefix(path.Join("/", strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, name)), "/")
}

// broken returns the error for an export, or an item, that is damaged.
func broken(what string, cause error) error {
	err := fault.Field("content", "is a broken %s: export it anew", what)
	err.Cause = cause
	return err
}

// tooLarge returns the error for an export over a limit.
func tooLarge(format string, args ...any) error {
	return fault.Field("content", "is an export that is too large: "+format+"; export it in parts", args...)
}

// errTooLarge returns the error for an item over MaxItem.
func errTooLarge() error {
	return fault.Field("content", "is larger than %d bytes, the limit of an item of an export: split it in its system, or leave it out", MaxItem)
}

// member returns the content of a member of a zip file.
func member(f *zip.File) ([]byte, error) {
	if f.UncompressedSize64 > MaxItem {
		return nil, errTooLarge()
	}
	r, err := f.Open()
	if err != nil {
		return nil, broken("member of a zip file", err)
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, MaxItem+1))
	switch {
	case err != nil:
		return nil, broken("member of a zip file", err)
	case len(content) > MaxItem:
		return nil, errTooLarge()
	}
	return content, nil
}

// passedOver reports whether a member of a zip file is hidden, or a folder.
func passedOver(f *zip.File) bool {
	for part := range strings.SplitSeq(f.Name, "/") {
		if part == "__MACOSX" || strings.HasPrefix(part, ".") {
			return true
		}
	}
	return !f.Mode().IsRegular()
}

// dayAndTime is how people write a time.
const dayAndTime = "2 January 2006 15:04"

// dated returns a time as people write it, empty for none.
func dated(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(dayAndTime)
}

// byline returns the line above a text that says who wrote it when.
func byline(what, author string, at time.Time) string {
	switch when := dated(at); {
	case author == "" && when == "":
		return what
	case author == "":
		return fmt.Sprintf("%s, %s", what, when)
	case when == "":
		return fmt.Sprintf("%s by %s", what, author)
	default:
		return fmt.Sprintf("%s by %s, %s", what, author, when)
	}
}
