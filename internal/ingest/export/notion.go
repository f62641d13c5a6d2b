package export

import (
	"archive/zip"
	"cmp"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

var (
	// notionID matches the id that Notion puts at the end of the names of pages and their folders.
	notionID = regexp.MustCompile(`^(.*?) ?([0-9a-f]{32})(_all)?$`)
	// notionPart matches the zip files that a large export consists of.
	notionPart = regexp.MustCompile(`^(?:.*/)?ExportBlock-[0-9a-f-]+(?:-Part-\d+)?\.zip$`)
	// notionProperty matches a property of a page in a database.
	notionProperty = regexp.MustCompile(`^([\p{L}\p{N}][^:\n]{0,80}): (.+)$`)
)

// isNotion reports whether a zip file is an export of Notion.
func isNotion(archive *zip.Reader) bool {
	for _, f := range archive.File {
		base := path.Base(f.Name)
		ending := path.Ext(base)
		if notionPart.MatchString(f.Name) || (ending == ".md" || ending == ".html" || ending == ".csv") && notionID.MatchString(strings.TrimSuffix(base, ending)) {
			return true
		}
	}
	return false
}

// notion yields the pages, databases and files of an export, in Markdown or HTML.
func notion(archive *zip.Reader, inner bool, yield yielder) bool {
	all := map[string]bool{} // databases with all of their rows; the other file has those of a view
	for _, f := range archive.File {
		if name, ok := strings.CutSuffix(f.Name, "_all.csv"); ok {
			all[name+".csv"] = true
		}
	}
	above := notionPages(archive)
	for _, f := range archive.File {
		if passedOver(f) || all[f.Name] || path.Base(f.Name) == "index.html" {
			continue
		}
		if notionPart.MatchString(f.Name) {
			if !notionInner(f, inner, yield) {
				return false
			}
			continue
		}
		content, err := member(f)
		if !yield(notionItem(f, content, above), err) {
			return false
		}
	}
	return true
}

// maxPart bounds a zip file within an export, which is written to a temporary file to be read, in bytes.
const maxPart = 16 << 30

// notionInner yields what is in a zip file within the export.
func notionInner(f *zip.File, inner bool, yield yielder) bool {
	if inner {
		return yield(Item{Name: f.Name}, fault.Field("content", "is a zip file within a zip file of an export: unpack it, and ingest the folder"))
	}
	spool, err := os.CreateTemp("", "ragd-export-*.zip")
	if err != nil {
		return yield(Item{Name: f.Name}, err)
	}
	defer func() { _ = os.Remove(spool.Name()) }()
	defer func() { _ = spool.Close() }()
	r, err := f.Open()
	if err != nil {
		return yield(Item{Name: f.Name}, broken("zip file", err))
	}
	defer r.Close()
	size, err := io.Copy(spool, io.LimitReader(r, maxPart+1))
	if size > maxPart {
		return yield(Item{Name: f.Name}, tooLarge("a zip file in it has more than %d bytes", maxPart))
	}
	var archive *zip.Reader
	if err == nil {
		archive, err = zip.NewReader(spool, size)
	}
	if err != nil {
		return yield(Item{Name: f.Name}, broken("zip file", err))
	}
	return notion(archive, true, yield)
}

// notionItem returns the item of a file.
func notionItem(f *zip.File, content []byte, above map[string]string) Item {
	item := Item{Name: f.Name, Content: content}
	folder, base := path.Split(f.Name)
	ending := path.Ext(base)
	title, id := notionTitle(strings.TrimSuffix(base, ending))
	item.Origin = Origin{ID: id, Updated: f.Modified}
	if f.Modified.Year() < 2000 {
		item.Origin.Updated = time.Time{}
	}
	if id != "" {
		item.Origin.URL = "https://www.notion.so/" + id
	}
	if ending == ".csv" { // pages have their title themselves
		item.Title = title
	}
	item.Origin.Path = notionPath(strings.TrimSuffix(folder, "/"))
	item.Origin.Parent = above[strings.Join(item.Origin.Path, "/")]
	if ending == ".md" {
		said := notionProperties(string(content))
		item.Origin.Properties, item.Origin.Author = said, cmp.Or(said["Created by"], said["Author"], said["Owner"])
	}
	return item
}

// notionPath returns the titles in a path, whose folders are named after pages, with their ids or without.
func notionPath(folder string) (titles []string) {
	for part := range strings.SplitSeq(folder, "/") {
		if title, _ := notionTitle(part); title != "" {
			titles = append(titles, title)
		}
	}
	return titles
}

// notionPages returns the names of pages and databases by the folder of what is below them.
func notionPages(archive *zip.Reader) map[string]string {
	pages := map[string]string{}
	for _, f := range archive.File {
		ending := path.Ext(f.Name)
		if ending == ".md" || ending == ".html" || ending == ".csv" {
			folder := strings.Join(notionPath(strings.TrimSuffix(f.Name, ending)), "/")
			if len(f.Name) > len(pages[folder]) { // that of all rows of a database
				pages[folder] = f.Name
			}
		}
	}
	return pages
}

// notionTitle returns the title and the id in the name of a page.
func notionTitle(name string) (title, id string) {
	if found := notionID.FindStringSubmatch(name); found != nil {
		return found[1], found[2]
	}
	return name, ""
}

// notionProperties returns the properties of a page of a database, which stand below its title.
func notionProperties(text string) map[string]string {
	text, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "# ")
	_, below, found := strings.Cut(text, "\n\n")
	if !ok || !found {
		return nil
	}
	block, _, _ := strings.Cut(below, "\n\n")
	properties := map[string]string{}
	for line := range strings.SplitSeq(block, "\n") {
		property := notionProperty.FindStringSubmatch(line)
		if property == nil {
			return nil // a paragraph
		}
		properties[property[1]] = property[2]
	}
	return properties
}
