package parse

import (
	"bytes"
	"context"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"
)

// epub reads a book: its chapters in reading order, without cover and navigation. A chapter
// that the spine names again is not read again.
func (p *parser) epub(ctx context.Context) error {
	from, err := p.openPack()
	if err != nil {
		return err
	}
	if _, ok := from.files["META-INF/encryption.xml"]; ok {
		if err := protectedBook(from); err != nil {
			return err
		}
	}
	name, err := packageName(from)
	if err != nil {
		return err
	}
	data, err := from.part(name)
	if err != nil {
		return err
	}
	book, err := tree(data)
	if err != nil {
		return broken(p.format, err)
	}
	p.describeBook(book)
	for _, chapter := range chapters(book, name) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if from.repeated(chapter) {
			continue
		}
		if err := p.chapter(from, chapter); err != nil {
			return err
		}
	}
	return nil
}

// protectedBook returns an error for a book whose text is encrypted. Many books encrypt
// only fonts.
func protectedBook(from *pack) error {
	data, err := from.part("META-INF/encryption.xml")
	if err != nil {
		return err
	}
	list, err := tree(data)
	if err != nil {
		return broken(from.format, err)
	}
	err = nil
	list.all("CipherReference", func(n *node) {
		if strings.HasSuffix(n.attr("URI"), "html") {
			err = encrypted(from.format)
		}
	})
	return err
}

// packageName returns the name of the package document.
func packageName(from *pack) (string, error) {
	data, err := from.part("META-INF/container.xml")
	if err != nil {
		return "", err
	}
	container, err := tree(data)
	if err != nil {
		return "", broken(from.format, err)
	}
	name := ""
	container.all("rootfile", func(n *node) {
		if name == "" {
			name = n.attr("full-path")
		}
	})
	return name, nil
}

func (p *parser) describeBook(book *node) {
	book.all("metadata", func(metadata *node) {
		for _, n := range metadata.children {
			switch n.name {
			case "title":
				if p.doc.Title == "" {
					p.doc.Title = string(n.content)
				}
			case "creator":
				p.property("author", string(n.content))
			case "date":
				p.property("created", string(n.content))
			case "language", "subject":
				p.property(n.name, string(n.content))
			}
		}
	})
}

// chapters returns the names of the chapters in the order of the spine.
func chapters(book *node, packageName string) []string {
	type item struct{ name, properties string }
	items := map[string]item{}
	book.all("manifest", func(manifest *node) {
		for _, n := range manifest.children {
			href, err := url.PathUnescape(n.attr("href"))
			if err != nil {
				continue
			}
			items[n.attr("id")] = item{path.Join(path.Dir(packageName), href), n.attr("properties")}
		}
	})
	var names []string
	book.all("itemref", func(n *node) {
		found, ok := items[n.attr("idref")]
		if ok && n.attr("linear") != "no" && !strings.Contains(found.properties, "nav") {
			names = append(names, found.name)
		}
	})
	return names
}

func (p *parser) chapter(from *pack, name string) error {
	data, err := from.part(name)
	if err != nil {
		return err
	}
	page, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return broken(p.format, err)
	}
	text, err := pageText(page)
	if err != nil {
		return broken(p.format, err)
	}
	p.text.block(text)
	return nil
}
