package export

import (
	"archive/zip"
	"bufio"
	"cmp"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"strings"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// confluenceXML is the export of a space of Confluence as XML.
type confluenceXML struct {
	archive *zip.Reader
	names   map[string]*zip.File
}

// hibernateObject is an object of entities.xml.
type hibernateObject struct {
	Class      string `xml:"class,attr"`
	ID         string `xml:"id"`
	Properties []struct {
		Name string `xml:"name,attr"`
		ID   string `xml:"id"`
		Text string `xml:",chardata"`
	} `xml:"property"`
}

// value returns the value of a property.
func (o hibernateObject) value(name string) string {
	for _, p := range o.Properties {
		if p.Name == name {
			return strings.TrimSpace(p.Text)
		}
	}
	return ""
}

// reference returns the id of the object that a property names.
func (o hibernateObject) reference(name string) string {
	for _, p := range o.Properties {
		if p.Name == name {
			return p.ID
		}
	}
	return ""
}

// isCurrent reports whether an object is neither a draft nor an older version.
func (o hibernateObject) isCurrent() bool {
	status := o.value("contentStatus")
	return (status == "" || status == "current") && o.reference("originalVersion") == ""
}

// confluenceTexts is what is known of the pages, comments and attachments of an export.
type confluenceTexts struct {
	pages       map[string]hibernateObject // pages, posts and comments by id, without their bodies
	people      map[string]string
	spaces      map[string]string
	labels      map[string]string
	labelled    map[string][]string // ids of labels by page
	attachments []hibernateObject
}

// items yields the pages and posts that are current, the comments below them, and the attachments. The file with
// all of them is read twice: for what there is, and for the bodies.
func (c confluenceXML) items(yield yielder) {
	known := confluenceTexts{map[string]hibernateObject{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string][]string{}, nil}
	if err := c.objects(func(o hibernateObject) bool { return known.learn(o) }); err != nil {
		yield(Item{}, err)
		return
	}
	more := true
	err := c.objects(func(o hibernateObject) bool {
		if o.Class != "BodyContent" {
			return true
		}
		if item := known.item(o); item.Name != "" {
			more = yield(item, nil)
		}
		return more
	})
	if err != nil {
		yield(Item{}, err)
		return
	}
	for _, o := range known.attachments {
		if !more {
			return
		}
		more = c.attachment(known, o, yield)
	}
}

// objects calls visit with the objects of the export until it returns false.
func (c confluenceXML) objects(visit func(hibernateObject) bool) error {
	r, err := c.names["entities.xml"].Open()
	if err != nil {
		return broken("export of Confluence", err)
	}
	defer r.Close()
	limited := &recordLimit{r: bufio.NewReaderSize(r, HeadBytes)}
	decoder := xml.NewDecoder(limited)
	for {
		limited.reset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if start, begins := token.(xml.StartElement); err == nil && begins && start.Name.Local == "object" {
			var o hibernateObject
			if err = decoder.DecodeElement(&o, &start); err == nil && !visit(o) {
				return nil
			}
		}
		if err != nil {
			return limited.failure("export of Confluence", err)
		}
	}
}

// learn remembers an object. It reports whether there is room for more.
func (k *confluenceTexts) learn(o hibernateObject) bool {
	switch o.Class {
	case "Page", "BlogPost", "Comment":
		if o.isCurrent() {
			k.pages[o.ID] = o
		}
	case "Attachment":
		if o.isCurrent() {
			k.attachments = append(k.attachments, o)
		}
	case "ConfluenceUserImpl", "User":
		k.people[o.ID] = o.value("name")
	case "Space":
		k.spaces[o.ID] = o.value("name")
	case "Label":
		k.labels[o.ID] = o.value("name")
	case "Labelling":
		page := o.reference("content")
		k.labelled[page] = append(k.labelled[page], o.reference("label"))
	}
	return len(k.pages)+len(k.people)+len(k.labelled)+len(k.attachments) < maxNames
}

// name returns the name of the item of a page, post or comment.
func (k *confluenceTexts) name(o hibernateObject) string {
	if o.Class == "Comment" {
		above := k.pages[k.container(o)]
		return k.name(above) + "/comments/" + o.ID
	}
	kind := "pages/"
	if o.Class == "BlogPost" {
		kind = "blog/"
	}
	return kind + o.ID
}

// container returns the id of the page that a comment belongs to, empty if it is not in the export.
func (k *confluenceTexts) container(o hibernateObject) string {
	for _, name := range []string{"containerContent", "owner"} {
		if id := o.reference(name); id != "" && k.pages[id].Class != "" && k.pages[id].Class != "Comment" {
			return id
		}
	}
	return ""
}

// maxAbove is how many pages above a page are named at most.
const maxAbove = 50

// item returns the item whose text a body is, without a name for none.
func (k *confluenceTexts) item(body hibernateObject) Item {
	o, ok := k.pages[body.reference("content")]
	text := body.value("body")
	if !ok || text == "" || o.Class == "Comment" && k.container(o) == "" {
		return Item{}
	}
	item := Item{Name: k.name(o), Title: o.value("title"), ContentType: parse.HTML.MediaType(), Origin: k.origin(o)}
	if o.Class == "Comment" {
		above := k.pages[k.container(o)]
		item.Title = "Comment on " + above.value("title")
		item.Origin.Parent = k.name(above)
	}
	page, links := storagePage(text)
	item.Origin.Links = links
	item.Content = []byte("<h1>" + html.EscapeString(item.Title) + "</h1>\n" + page)
	return item
}

// origin returns what is known of a page, post, comment or attachment.
func (k *confluenceTexts) origin(o hibernateObject) Origin {
	origin := Origin{ID: o.ID, Author: cmp.Or(k.people[o.reference("creator")], o.value("creatorName"))}
	origin.Authors = []string{origin.Author, k.people[o.reference("lastModifier")]}
	origin.Created, origin.Updated = momentOf(o.value("creationDate")), momentOf(o.value("lastModificationDate"))
	for _, label := range k.labelled[o.ID] {
		origin.Labels = append(origin.Labels, k.labels[label])
	}
	for above, n := o.reference("parent"), 0; above != "" && n < maxAbove; n++ {
		page, ok := k.pages[above]
		if !ok || page.Class == "Comment" {
			break
		}
		if origin.Parent == "" {
			origin.Parent = k.name(page)
		}
		origin.Path = append([]string{page.value("title")}, origin.Path...)
		above = page.reference("parent")
	}
	if space := k.spaces[o.reference("space")]; space != "" {
		origin.Path = append([]string{space}, origin.Path...)
	}
	return origin
}

// attachment yields an attachment. It reports whether more items are wanted.
func (c confluenceXML) attachment(known confluenceTexts, o hibernateObject, yield yielder) bool {
	page := known.container(o)
	version := cmp.Or(o.value("version"), o.value("attachmentVersion"))
	f := c.names["attachments/"+page+"/"+o.ID+"/"+version]
	title := cmp.Or(o.value("title"), o.value("fileName"))
	if page == "" || f == nil || title == "" {
		return true
	}
	item := Item{Name: known.name(known.pages[page]) + "/attachments/" + title, Origin: known.origin(o)}
	item.Origin.Parent = known.name(known.pages[page])
	content, err := member(f)
	item.Content = content
	return yield(item, err)
}
