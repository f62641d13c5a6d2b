package export

import (
	"encoding/xml"
	"html"
	"strings"
)

// storagePage returns the HTML of a page in the storage format of Confluence, and the titles of the pages that it
// links to. What cannot be read of it is left out, from there on.
func storagePage(storage string) (page string, links []string) {
	// CDATA stands as "]]>" is written in entities.xml: with a space.
	decoder := xml.NewDecoder(strings.NewReader("<storage>" + strings.ReplaceAll(storage, "]] >", "]]>") + "</storage>"))
	decoder.Strict = false
	decoder.Entity = xml.HTMLEntity
	s := storageReader{}
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return s.out.String(), s.links
		}
		switch t := token.(type) {
		case xml.StartElement:
			s.start(t)
		case xml.EndElement:
			s.end(t)
		case xml.CharData:
			s.text(string(t))
		}
	}
}

// storageReader turns the storage format into HTML.
type storageReader struct {
	out     strings.Builder
	links   []string
	dropped int    // how many elements around are left out
	target  string // of the link that has had no text yet
}

// storageElements are the elements of the storage format with what stands for them: those without are left out
// and their text stays.
var storageElements = map[string]string{
	"ac:task-list": "ul", "ac:task": "li", "ac:rich-text-body": "div", "ac:layout": "div", "ac:layout-section": "div", "ac:layout-cell": "div",
}

// storageDropped are the elements whose text is left out.
var storageDropped = map[string]bool{"ac:task-id": true, "ac:task-status": true, "ac:task-uuid": true, "ac:placeholder": true, "ac:default-parameter": true}

func elementName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

func (s *storageReader) start(t xml.StartElement) {
	name := elementName(t.Name)
	attributes := map[string]string{}
	for _, a := range t.Attr {
		attributes[elementName(a.Name)] = a.Value
	}
	switch {
	case s.dropped > 0:
		s.dropped++
		return
	case name == "ac:parameter":
		if attributes["ac:name"] != "title" {
			s.dropped = 1
			return
		}
		s.out.WriteString("<p><strong>")
	case storageDropped[name]:
		s.dropped = 1
	case name == "ac:plain-text-body":
		s.out.WriteString("<pre><code>")
	case name == "ri:page" || name == "ri:blog-post":
		s.target = attributes["ri:content-title"]
		s.links = append(s.links, s.target)
	case name == "ri:attachment":
		s.target = attributes["ri:filename"]
	case name == "ac:link" || name == "ac:image" || name == "ac:link-body" || name == "ac:plain-text-link-body":
		s.target = ""
	case name == "ac:emoticon":
		s.out.WriteString(html.EscapeString(attributes["ac:emoji-fallback"]))
	case name == "time":
		s.out.WriteString(html.EscapeString(attributes["datetime"]))
	case storageElements[name] != "":
		s.out.WriteString("<" + storageElements[name] + ">")
	case t.Name.Space == "" && name != "storage":
		s.out.WriteString("<" + name)
		for _, a := range t.Attr {
			if a.Name.Space == "" {
				s.out.WriteString(" " + a.Name.Local + `="` + html.EscapeString(a.Value) + `"`)
			}
		}
		s.out.WriteString(">")
	}
}

func (s *storageReader) end(t xml.EndElement) {
	name := elementName(t.Name)
	switch {
	case s.dropped > 0:
		s.dropped--
	case name == "ac:parameter":
		s.out.WriteString("</strong></p>")
	case name == "ac:plain-text-body":
		s.out.WriteString("</code></pre>")
	case name == "ac:link":
		s.out.WriteString(html.EscapeString(s.target))
		s.target = ""
	case name == "ac:image":
		s.target = ""
	case storageElements[name] != "":
		s.out.WriteString("</" + storageElements[name] + ">")
	case t.Name.Space == "" && name != "storage" && !voidElements[name]:
		s.out.WriteString("</" + name + ">")
	}
}

// voidElements are the elements of HTML that have no end.
var voidElements = map[string]bool{"br": true, "hr": true, "img": true, "col": true}

func (s *storageReader) text(text string) {
	if s.dropped == 0 {
		s.out.WriteString(html.EscapeString(text))
	}
}
