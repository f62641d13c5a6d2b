package export

import (
	"archive/zip"
	"io"
	"path"
	"strings"
)

// openZip recognises the export in a zip file.
func openZip(r io.ReaderAt, size int64) (*Export, bool) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, false
	}
	names := map[string]*zip.File{}
	for _, f := range archive.File {
		names[f.Name] = f
	}
	switch {
	case names["entities.xml"] != nil && names["exportDescriptor.properties"] != nil:
		return &Export{"confluence", confluenceXML{archive, names}.items}, true
	case isSlack(archive, names):
		return &Export{"slack", newSlack(archive, names).items}, true
	case isNotion(archive):
		return &Export{"notion", func(yield yielder) { notion(archive, false, yield) }}, true
	case isConfluenceHTML(archive):
		return &Export{"confluence", confluenceHTML{archive}.items}, true
	case holdsStreams(archive):
		return &Export{"", func(yield yielder) { streams(archive, yield) }}, true
	}
	return nil, false
}

// streamEndings are the endings of files of many items that a zip file may hold.
var streamEndings = map[string]bool{".mbox": true, ".warc": true}

// isStream reports whether a member of a zip file is named as a file of many items.
func isStream(f *zip.File) bool {
	return streamEndings[path.Ext(strings.TrimSuffix(f.Name, ".gz"))] && !passedOver(f)
}

// holdsStreams reports whether a zip file, such as one of Google Takeout, has files of many items.
func holdsStreams(archive *zip.Reader) bool {
	for _, f := range archive.File {
		if isStream(f) {
			return true
		}
	}
	return false
}

// streams yields the items of the files in a zip file, each below the name of its file, and the other
// members as they are.
func streams(archive *zip.Reader, yield yielder) {
	for _, f := range archive.File {
		if passedOver(f) {
			continue
		}
		if isStream(f) {
			if inner, ok := openStream(f.Name, func() (io.ReadCloser, error) { return openMember(f) }); ok {
				more := true
				inner.items(func(item Item, err error) bool {
					item.Name = f.Name + "/" + item.Name
					item.Origin.System = inner.System
					more = yield(item, err)
					return more
				})
				if !more {
					return
				}
				continue
			}
		}
		content, err := member(f)
		if !yield(Item{Name: f.Name, Content: content}, err) {
			return
		}
	}
}
