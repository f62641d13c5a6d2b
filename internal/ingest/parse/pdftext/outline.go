package pdftext

import (
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
)

const (
	maxLevel     = 6
	maxBookmarks = 20_000
)

// outline holds the levels of the headings on each page that the outline of the file
// names, by page index and title without number and punctuation.
type outline map[int]map[string]int

// outline reads the outline of the file, nil if it has none or more than maxBookmarks.
func (d *document) outline() outline {
	if left := maxBookmarks; !d.bookmarksEnd(nil, &left) { // GetBookmarks would not end
		return nil
	}
	found, err := d.GetBookmarks(&requests.GetBookmarks{Document: d.file})
	if err != nil {
		return nil
	}
	o, count := outline{}, 0
	var add func(list []responses.GetBookmarksBookmark, level int)
	add = func(list []responses.GetBookmarksBookmark, level int) {
		for _, b := range list {
			if count++; count > maxBookmarks || level > maxLevel {
				return
			}
			dest := b.DestInfo
			if dest == nil && b.ActionInfo != nil {
				dest = b.ActionInfo.DestInfo
			}
			if key := titleKey(b.Title); key != "" && dest != nil {
				if o[dest.PageIndex] == nil {
					o[dest.PageIndex] = map[string]int{}
				}
				o[dest.PageIndex][key] = level
			}
			add(b.Children, level+1)
		}
	}
	add(found.Bookmarks, 1)
	return o
}

// bookmarksEnd reports whether there are at most left bookmarks below one, of the file for nil. In a broken file one may
// follow itself or be below itself.
func (d *document) bookmarksEnd(above *references.FPDF_BOOKMARK, left *int) bool {
	first, err := d.FPDFBookmark_GetFirstChild(&requests.FPDFBookmark_GetFirstChild{Document: d.file, Bookmark: above})
	if err != nil {
		return false
	}
	for at := first.Bookmark; at != nil; {
		if *left--; *left < 0 || !d.bookmarksEnd(at, left) {
			return false
		}
		next, err := d.FPDFBookmark_GetNextSibling(&requests.FPDFBookmark_GetNextSibling{Document: d.file, Bookmark: *at})
		if err != nil {
			return false
		}
		at = next.Bookmark
	}
	return true
}

// mark sets the levels of the lines of a page that the outline names.
func (o outline) mark(page int, lines []line) {
	titles := o[page]
	for i := range lines {
		if len(titles) > 0 && len(lines[i].text) <= maxHeading {
			lines[i].level = titles[titleKey(lines[i].text)]
		}
	}
}

// titleKey returns the letters of a title and the digits after the first of them.
func titleKey(title string) string {
	var out strings.Builder
	for _, r := range title {
		if unicode.IsLetter(r) || unicode.IsDigit(r) && out.Len() > 0 {
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return out.String()
}
